// Package paths reads and writes files that other processes may write too. A file is never
// visible half written, and writers to a folder take turns.
package paths

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/disk"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/lock"
)

// Unfinished begins the names of unfinished files.
const Unfinished = ".mlc-"

// WriteTemp writes a new file in dir and returns its path, or "" if it made none.
func WriteTemp(dir string, data []byte) (path string, err error) {
	f, err := os.CreateTemp(dir, Unfinished+"*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	return f.Name(), errors.Join(err, f.Close())
}

// longestTurn is how long a process waits for others that write to the same folder. A write
// takes far less, but a training locks its run directory for hours.
const longestTurn = 3 * time.Second

// Turn locks a folder for a writer until done is called, and removes the unfinished files
// of killed processes. If another process keeps the folder locked, Turn removes nothing and
// the writer proceeds.
func Turn(dir string) (done func()) {
	if !Exists(dir) {
		return func() {} // the writer reports the error
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestTurn)
	defer cancel()
	held, err := Hold(ctx, dir)
	if err != nil {
		return func() {}
	}
	found, _ := os.ReadDir(dir)
	for _, f := range found {
		if f.Type().IsRegular() && (strings.HasPrefix(f.Name(), Unfinished) || ckpt.IsTemp(f.Name())) {
			os.Remove(filepath.Join(dir, f.Name())) // an error leaves it
		}
	}
	return held.Close
}

// Put writes a file, which is never visible half written. It writes directly to anything
// but a regular file, such as a pipe, until ctx ends.
func Put(ctx context.Context, path string, data []byte) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		return Replace(path, data)
	case err == nil:
		_, err := interrupt.Await(ctx, func() (struct{}, error) { return struct{}{}, os.WriteFile(path, data, 0o644) }) // opening a pipe waits for a reader
		return err
	}
	return putWhole(path, data, 0o644)
}

// Replace replaces the content of a file. The complete new file takes the place of the old
// one, and symbolic links stay.
func Replace(path string, data []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return putWhole(path, data, info.Mode().Perm())
}

// putWhole moves a complete file to a path.
func putWhole(path string, data []byte, mode fs.FileMode) error {
	defer Turn(filepath.Dir(path))()
	temp, err := WriteTemp(filepath.Dir(path), data)
	if err == nil {
		err = os.Chmod(temp, mode)
	}
	if err == nil {
		err = disk.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// Exists reports whether there is a file or folder at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadUpTo reads at most most bytes of a file, which may be endless.
func ReadUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// FromHere returns a path relative to the current directory, unless that is longer.
func FromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(here, path)
	if err != nil || len(rel) > len(path) {
		return path
	}
	return rel
}

// pause is the time between two attempts to lock a folder.
const pause = 20 * time.Millisecond

// Hold creates a folder, and locks it as soon as no other process on this machine holds it.
func Hold(ctx context.Context, dir string) (*lock.Dir, error) {
	for {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		switch held, err := lock.TryHere(dir); {
		case err == nil && held.Check() == nil:
			return held, nil
		case err == nil: // its last owner has removed the folder
			held.Close()
		case errors.Is(err, lock.ErrTaken):
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(pause):
			}
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
}
