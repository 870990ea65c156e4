package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/runtime/flag"
)

// self is how a shell calls this program where it was called, as words: mlc if that is in
// PATH, go run . if that has made it, else the path that the user has typed.
func self() []string {
	executable, _ := os.Executable()
	return selfOf(executable, os.Args[0], exec.LookPath)
}

func selfOf(executable, typed string, find func(string) (string, error)) []string {
	if _, err := find("mlc"); err == nil {
		return []string{"mlc"}
	}
	if built := string(filepath.Separator) + "go-build"; strings.Contains(executable, built) {
		return []string{"go", "run", "."}
	}
	return []string{typed}
}

// hint is a command line of this program.
func hint(words ...string) string { return flag.Line(append(self(), words...)) }

// calledBy is what trainers of the cache call themselves: a word.
func calledBy() string {
	if words := self(); len(words) == 1 {
		return words[0]
	}
	return "mlc"
}
