package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/runtime/flag"
)

// Self returns the words that call this program in the user's shell: mlc if it is in PATH,
// go run . if go run has built it, or else the path that the user typed.
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

// Hint returns a command line of this program.
func Hint(words ...string) string { return flag.Line(append(Self(), words...)) }

// CalledBy returns the name that trainers of the cache use for themselves. It is one word.
func CalledBy() string {
	if words := Self(); len(words) == 1 {
		return words[0]
	}
	return "mlc"
}
