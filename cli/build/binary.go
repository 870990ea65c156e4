// Package build writes the programs of specs and builds them, in the user's module or in
// mlc's cache. It also writes new specs and modules.
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

// A GoBuild builds a package into a binary. pkg is relative to dir.
type GoBuild func(dir, pkg, binary string) error

// A Generate prints the program of a compiled spec.
type Generate func(*compiler.Program, codegen.Options) ([]codegen.File, error)

// A Maker makes programs and binaries. A nil field stands for codegen.Generate or the go
// command.
type Maker struct {
	Generate Generate
	Build    GoBuild
}

// A Builder makes programs of specs, and their binaries.
type Builder struct {
	*shell.Shell
	Maker
	Source  fs.FS  // the folder runtime of mlc's source
	homeDir string // folder of the module in the cache, once it exists
	given   Maker
}

// New returns a builder that makes programs and binaries as by says.
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

// On returns the same builder with another shell.
func (b *Builder) On(sh *shell.Shell) *Builder { return New(sh, b.Source, b.given) }

// makeBinary builds the program in its folder. It always runs the go command, which also
// sees changes in the runtime. The go command writes next to the binary; the new binary
// replaces it once it is complete and on the disk. Processes that build the same binary
// take turns, and remove the files of killed ones.
func (b *Builder) makeBinary(p *Product) (err error) {
	if info, err := os.Stat(p.Binary); err == nil && info.IsDir() { // it cannot be replaced
		return fmt.Errorf("%s is a folder, so the trainer cannot be written there: move it away, or choose another place with --bin", paths.FromHere(p.Binary))
	}
	folder, name := filepath.Split(p.Binary)
	place := filepath.Join(folder, paths.Unfinished+name)
	if !paths.Exists(folder) {
		defer func() {
			if err != nil {
				os.Remove(folder) // only if empty
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

// binaryError wraps an error of writing a binary, with advice.
func (b *Builder) binaryError(p *Product, err error) error {
	if err == nil || b.Context.Err() != nil {
		return err
	}
	return withAdvice(fmt.Errorf("cannot write the trainer %s: %w", paths.FromHere(p.Binary), err), "--bin")
}

// A seal records the SHA-256, in hex, of a binary and of its program. It is a file next to
// the binary. It reveals binaries that were truncated or changed.
type seal struct{ binary, program string }

func sealPath(binary string) string {
	return filepath.Join(filepath.Dir(binary), "."+filepath.Base(binary)+".sha256")
}

// readSeal reads the seal of a binary. A missing seal is zero.
func readSeal(binary string) (s seal) {
	text, err := paths.ReadUpTo(sealPath(binary), 1<<10)
	if words := strings.Fields(string(text)); err == nil && len(words) == 2 {
		s = seal{words[0], words[1]}
	}
	return s
}

// programSum returns the SHA-256 of the files of a program.
func programSum(files []codegen.File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %d\n", f.Path, len(f.Data))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fileSum returns the SHA-256 of a file.
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

// errChanged is the error for a binary that differs from its seal.
var errChanged = errors.New("it is not what was built")

// copyWhole copies a binary if it has the given checksum. The go command does not build a
// copy again if nothing has changed.
func copyWhole(from, to, sum string) error {
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

// install moves a binary to its place and seals it. A process killed in between leaves a
// binary without a valid seal, which is built again.
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

// keep renames a file once its content is on the disk.
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

// whole reports whether a binary equals its seal, byte for byte.
func whole(binary string) bool {
	s := readSeal(binary)
	if s.binary == "" {
		return false
	}
	sum, err := fileSum(binary)
	return err == nil && sum == s.binary
}

// fresh reports whether the binary of a product is whole and was built from its program.
func (p *Product) fresh() bool {
	return readSeal(p.Binary).program == programSum(p.files) && whole(p.Binary)
}

// touch marks files as used, so that forget keeps them.
func touch(paths ...string) {
	now := time.Now()
	for _, path := range paths {
		os.Chtimes(path, now, now)
	}
}

// goBuild runs go build in a folder of a module that has the runtime.
func (b *Builder) goBuild(dir, pkg, binary string) error {
	tool, err := findGo()
	if err != nil {
		return err
	}
	// Without version control, since git may refuse and a trainer depends only on its spec.
	// Without debug information, which is a quarter of the binary.
	cmd := b.Command(tool.Path, "build", "-buildvcs=false", "-ldflags=-w", "-o", binary, pkg)
	cmd.Dir, cmd.Env = dir, tool.environ()
	if b.isHome(dir) {
		cmd.Env = homeEnv(cmd.Env)
	}
	if b.Verbose {
		fmt.Fprintf(b.Err, "cd %s && %s\n", paths.FromHere(dir), strings.Join(cmd.Args, " "))
	}
	text, err := cmd.CombinedOutput()
	if err = b.Ended(err); err == nil || b.Context.Err() != nil {
		return err
	}
	return fmt.Errorf("go build of %s failed: %w\n%s%s", paths.FromHere(dir), err, text, buildAdvice(text))
}

// buildAdvice returns advice on messages of the go command.
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
