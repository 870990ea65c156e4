package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// errNoGo means that there is no Go toolchain.
var errNoGo = errors.New("there is no go command in PATH, and the trainer is built with it: install Go from https://go.dev/dl, or write the program alone with mlc build --no-binary")

// makeBinary builds the program in its folder. The go command knows best whether
// there is anything to do: it also sees changes in the runtime.
func (a *app) makeBinary(p *product) error {
	if info, err := os.Stat(p.binary); err == nil && info.IsDir() { // go build would write into it
		return fmt.Errorf("%s is a folder, and the trainer is to be written there: move it away, or choose another place with --bin", fromHere(p.binary))
	}
	return a.goBuild(p.dir, "-o", p.binary, ".")
}

// goBuild runs go build in a folder of a module that has the runtime.
func (a *app) goBuild(dir string, args ...string) error {
	tool, err := toolchain()
	if err != nil {
		return err
	}
	// Without version control: a trainer is what its spec says, and git may refuse.
	cmd := a.command(tool, append([]string{"build", "-buildvcs=false"}, args...)...)
	cmd.Dir = dir
	if a.isHome(dir) {
		cmd.Env = homeEnv()
	}
	if a.verbose {
		fmt.Fprintf(a.err, "cd %s && %s\n", fromHere(dir), strings.Join(cmd.Args, " "))
	}
	text, err := cmd.CombinedOutput()
	switch err = a.ended(err); {
	case err == nil || a.ctx.Err() != nil:
		return err
	}
	return fmt.Errorf("go build of %s failed: %w\n%s%s", fromHere(dir), err, text, buildAdvice(text))
}

// buildAdvice says what to do about messages of the go command.
func buildAdvice(text []byte) string {
	switch {
	case bytes.Contains(text, []byte("go.mod requires go >=")):
		return "the trainer needs a newer Go toolchain: https://go.dev/dl"
	case bytes.Contains(text, []byte("no space left on device")):
		return "the disk is full: make room, or choose another folder with --bin"
	case bytes.Contains(text, []byte("file exists")):
		return "a part of that path is a file: choose another folder with --bin"
	case bytes.Contains(text, []byte("signal: killed")):
		return "a part of it was " + errKilled.Error() + ": end other programs, or let go build less at a time: GOFLAGS=-p=1"
	case bytes.Contains(text, []byte("permission denied")):
		return "choose a folder that you may write to with --bin"
	}
	return ""
}

// binaryIsNew reports whether the binary is there and no older than its program.
func binaryIsNew(p *product) bool {
	made, err := os.Stat(p.binary)
	if err != nil {
		return false
	}
	for _, f := range p.files {
		info, err := os.Stat(filepath.Join(p.dir, f.Path))
		if err != nil || info.ModTime().After(made.ModTime()) {
			return false
		}
	}
	return true
}
