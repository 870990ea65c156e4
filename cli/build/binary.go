// Package build makes programs of specs and binaries of programs, in a module of the user or in
// the cache of mlc, and begins new specs and modules.
package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/runtime/disk"
)

// A GoBuild makes a package into a binary; its path is relative to a folder.
type GoBuild func(dir, pkg, binary string) error

// A Generate prints the program of a compiled spec.
type Generate func(*compiler.Program, codegen.Options) ([]codegen.File, error)

// A Maker makes programs and binaries. Its zero value is codegen.Generate and the go command.
type Maker struct {
	Generate Generate
	Build    GoBuild
}

// A Builder makes programs of specs, and their binaries.
type Builder struct {
	*shell.Shell
	Maker
	Source  fs.FS  // of mlc: the folder runtime
	homeDir string // of the module in the cache, once it is there
	given   Maker
}

// New is a builder that makes programs and binaries by a maker.
func New(sh *shell.Shell, source fs.FS, by Maker) *Builder {
	b := &Builder{Shell: sh, Maker: by, Source: source, given: by}
	if by.Generate == nil {
		b.Generate = codegen.Generate
	}
	if by.Build == nil {
		b.Build = b.goBuild
	}
	return b
}

// On is the builder for something that is done with another shell.
func (b *Builder) On(sh *shell.Shell) *Builder { return New(sh, b.Source, b.given) }

// errNoGo means that there is no Go toolchain.
var errNoGo = errors.New("there is no go command in PATH, and the trainer is built with it: install Go from https://go.dev/dl, or write the program alone with mlc build --no-binary")

// makeBinary builds the program in its folder. The go command knows best whether
// there is anything to do: it also sees changes in the runtime. It writes beside the binary,
// which is replaced when the new one is whole and on the disk. Processes that build the same
// binary take turns, and what a killed one has left goes.
func (b *Builder) makeBinary(p *Product) (err error) {
	if info, err := os.Stat(p.Binary); err == nil && info.IsDir() { // it cannot be replaced
		return fmt.Errorf("%s is a folder, and the trainer is to be written there: move it away, or choose another place with --bin", paths.FromHere(p.Binary))
	}
	if _, err := toolchain(); err != nil {
		return err
	}
	folder, name := filepath.Split(p.Binary)
	place := filepath.Join(folder, paths.Unfinished+name)
	if !paths.Exists(folder) {
		defer func() {
			if err != nil {
				os.Remove(folder) // if it is empty
			}
		}()
	}
	held, err := paths.Hold(b.Context, place)
	if err != nil {
		return b.binaryError(p, err)
	}
	defer held.Close()
	defer os.RemoveAll(place)
	if b.isHome(p.dir) && p.fresh() { // another process has built it meanwhile
		return nil
	}
	made := filepath.Join(place, name)
	old := readSeal(p.Binary)
	if copyWhole(p.Binary, made, old.binary) != nil {
		old.binary = ""
	}
	if err := b.Build(p.dir, ".", made); err != nil {
		return err
	}
	return b.binaryError(p, install(p, made, old))
}

// binaryError says what could not be done about a binary, and what to do about that.
func (b *Builder) binaryError(p *Product, err error) error {
	if err == nil || b.Context.Err() != nil {
		return err
	}
	return withAdvice(fmt.Errorf("cannot write the trainer %s: %w", paths.FromHere(p.Binary), err), "--bin")
}

// A seal says which bytes a binary has, and which program it was built from, as SHA-256 in
// hex. It is a file beside the binary, so that one that was cut off or changed is noticed.
type seal struct{ binary, program string }

func sealPath(binary string) string {
	return filepath.Join(filepath.Dir(binary), "."+filepath.Base(binary)+".sha256")
}

// readSeal reads the seal of a binary: a zero one where there is none.
func readSeal(binary string) (s seal) {
	text, err := paths.ReadUpTo(sealPath(binary), 1<<10)
	if words := strings.Fields(string(text)); err == nil && len(words) == 2 {
		s = seal{words[0], words[1]}
	}
	return s
}

// programSum is the SHA-256 of the files of a program.
func programSum(files []codegen.File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %d\n", f.Path, len(f.Data))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fileSum is the SHA-256 of a file.
func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// errChanged is of a binary that is not the one that was built.
var errChanged = errors.New("it is not what was built")

// copyWhole copies a program that has this checksum, which the go command need not build
// again where nothing has changed.
func copyWhole(from, to, sum string) error {
	if sum == "" {
		return errChanged
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	if err = errors.Join(err, out.Close()); err == nil && hex.EncodeToString(h.Sum(nil)) != sum {
		err = errChanged
	}
	if err != nil {
		os.Remove(to)
	}
	return err
}

// install puts a binary that was made beside its place there, and seals it. A process that
// is killed in between leaves a binary without its seal, which is built again.
func install(p *Product, made string, old seal) error {
	sum, err := fileSum(made)
	if err != nil {
		return err
	}
	now := seal{sum, programSum(p.files)}
	if now == old {
		return nil
	}
	if sum != old.binary {
		if err := keep(made, p.Binary); err != nil {
			return err
		}
	}
	text := made + ".sha256"
	if err := os.WriteFile(text, []byte(now.binary+" "+now.program+"\n"), 0o644); err != nil {
		return err
	}
	return errors.Join(keep(text, sealPath(p.Binary)), disk.SyncDir(filepath.Dir(p.Binary)))
}

// keep gives a file its name once its contents are on the disk.
func keep(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(disk.Sync(f), f.Close()); err != nil {
		return err
	}
	return disk.Rename(from, to)
}

// whole reports whether a binary is the one that was built, byte for byte.
func whole(binary string) bool {
	s := readSeal(binary)
	if s.binary == "" {
		return false
	}
	sum, err := fileSum(binary)
	return err == nil && sum == s.binary
}

// fresh reports whether the binary of a product is whole, and was built from its program.
func (p *Product) fresh() bool {
	return readSeal(p.Binary).program == programSum(p.files) && whole(p.Binary)
}

// touch notes that files are used, so that forget leaves them.
func touch(paths ...string) {
	now := time.Now()
	for _, path := range paths {
		os.Chtimes(path, now, now)
	}
}

// goBuild is the builder: it runs go build in a folder of a module that has the runtime.
func (b *Builder) goBuild(dir, pkg, binary string) error {
	tool, err := toolchain()
	if err != nil {
		return err
	}
	// Without version control: a trainer is what its spec says, and git may refuse.
	// Without what debuggers read, which is a quarter of it.
	cmd := b.Command(tool, "build", "-buildvcs=false", "-ldflags=-w", "-o", binary, pkg)
	cmd.Dir = dir
	if b.isHome(dir) {
		cmd.Env = homeEnv()
	}
	if b.Verbose {
		fmt.Fprintf(b.Err, "cd %s && %s\n", paths.FromHere(dir), strings.Join(cmd.Args, " "))
	}
	text, err := cmd.CombinedOutput()
	switch err = b.Ended(err); {
	case err == nil || b.Context.Err() != nil:
		return err
	}
	return fmt.Errorf("go build of %s failed: %w\n%s%s", paths.FromHere(dir), err, text, buildAdvice(text))
}

// buildAdvice says what to do about messages of the go command.
func buildAdvice(text []byte) string {
	switch {
	case bytes.Contains(text, []byte("go.mod requires go >=")):
		return "the trainer needs a newer Go toolchain: https://go.dev/dl"
	case bytes.Contains(text, []byte("no space left on device")):
		return "the disk is full: make room, or choose another folder with --bin"
	case bytes.Contains(text, []byte("signal: killed")):
		return "a part of it was " + shell.ErrKilled.Error() + ": end other programs, or let go build less at a time: GOFLAGS=-p=1"
	case bytes.Contains(text, []byte("permission denied")):
		return "choose a folder that you may write to with --bin"
	}
	return ""
}
