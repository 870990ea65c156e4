package cli

import (
	"bytes"
	"context"
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

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/runtime/disk"
	"github.com/arithlang/mlc/runtime/lock"
)

// errNoGo means that there is no Go toolchain.
var errNoGo = errors.New("there is no go command in PATH, and the trainer is built with it: install Go from https://go.dev/dl, or write the program alone with mlc build --no-binary")

// makeBinary builds the program in its folder. The go command knows best whether
// there is anything to do: it also sees changes in the runtime. It writes beside the binary,
// which is replaced when the new one is whole and on the disk. Processes that build the same
// binary take turns, and what a killed one has left goes.
func (a *app) makeBinary(p *product) (err error) {
	if info, err := os.Stat(p.binary); err == nil && info.IsDir() { // it cannot be replaced
		return fmt.Errorf("%s is a folder, and the trainer is to be written there: move it away, or choose another place with --bin", fromHere(p.binary))
	}
	if _, err := toolchain(); err != nil {
		return err
	}
	folder, name := filepath.Split(p.binary)
	place := filepath.Join(folder, unfinished+name)
	if !exists(folder) {
		defer func() {
			if err != nil {
				os.Remove(folder) // if it is empty
			}
		}()
	}
	held, err := a.hold(place)
	if err != nil {
		return a.binaryError(p, err)
	}
	defer held.Close()
	defer os.RemoveAll(place)
	if a.isHome(p.dir) && p.fresh() { // another process has built it meanwhile
		return nil
	}
	made := filepath.Join(place, name)
	old := readSeal(p.binary)
	if copyWhole(p.binary, made, old.binary) != nil {
		old.binary = ""
	}
	if err := a.build(a, p.dir, ".", made); err != nil {
		return err
	}
	return a.binaryError(p, install(p, made, old))
}

// binaryError says what could not be done about a binary, and what to do about that.
func (a *app) binaryError(p *product, err error) error {
	if err == nil || a.ctx.Err() != nil {
		return err
	}
	return withAdvice(fmt.Errorf("cannot write the trainer %s: %w", fromHere(p.binary), err), "--bin")
}

// pause is the time between two looks at what another process has locked.
const pause = 20 * time.Millisecond

// hold makes a folder, and locks it as soon as no other process of this machine has.
func (a *app) hold(dir string) (*lock.Dir, error) {
	for {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		switch held, err := lock.TryHere(dir); {
		case err == nil && held.Check() == nil:
			return held, nil
		case err == nil: // its last owner has removed it
			held.Close()
		case errors.Is(err, lock.ErrTaken):
			select {
			case <-a.ctx.Done():
				return nil, context.Cause(a.ctx)
			case <-time.After(pause):
			}
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
}

// A seal says which bytes a binary has, and which program it was built from, as SHA-256 in
// hex. It is a file beside the binary, so that one that was cut off or changed is noticed.
type seal struct{ binary, program string }

func sealPath(binary string) string {
	return filepath.Join(filepath.Dir(binary), "."+filepath.Base(binary)+".sha256")
}

// readSeal reads the seal of a binary: a zero one where there is none.
func readSeal(binary string) (s seal) {
	text, err := readUpTo(sealPath(binary), 1<<10)
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
func install(p *product, made string, old seal) error {
	sum, err := fileSum(made)
	if err != nil {
		return err
	}
	now := seal{sum, programSum(p.files)}
	if now == old {
		return nil
	}
	if sum != old.binary {
		if err := keep(made, p.binary); err != nil {
			return err
		}
	}
	text := made + ".sha256"
	if err := os.WriteFile(text, []byte(now.binary+" "+now.program+"\n"), 0o644); err != nil {
		return err
	}
	return errors.Join(keep(text, sealPath(p.binary)), disk.SyncDir(filepath.Dir(p.binary)))
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
func (p *product) fresh() bool {
	return readSeal(p.binary).program == programSum(p.files) && whole(p.binary)
}

// touch notes that files are used, so that forget leaves them.
func touch(paths ...string) {
	now := time.Now()
	for _, path := range paths {
		os.Chtimes(path, now, now)
	}
}

// goBuild is the builder: it runs go build in a folder of a module that has the runtime.
func (a *app) goBuild(dir, pkg, binary string) error {
	tool, err := toolchain()
	if err != nil {
		return err
	}
	// Without version control: a trainer is what its spec says, and git may refuse.
	cmd := a.command(tool, "build", "-buildvcs=false", "-o", binary, pkg)
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
	case bytes.Contains(text, []byte("signal: killed")):
		return "a part of it was " + errKilled.Error() + ": end other programs, or let go build less at a time: GOFLAGS=-p=1"
	case bytes.Contains(text, []byte("permission denied")):
		return "choose a folder that you may write to with --bin"
	}
	return ""
}
