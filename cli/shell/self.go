package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/runtime/flag"
)

// Self is how a shell calls this program where it was called, as words: mlc if that is in
// PATH, go run . if that has made it, else the path that the user has typed.
func Self() []string {
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

// Hint is a command line of this program.
func Hint(words ...string) string { return flag.Line(append(Self(), words...)) }

// CalledBy is what trainers of the cache call themselves: a word.
func CalledBy() string {
	if words := Self(); len(words) == 1 {
		return words[0]
	}
	return "mlc"
}
