// Package lock keeps processes out of each other's directories, and notices when one is
// no longer where it was. A lock ends with the process that has it. Where there are no
// locks everybody gets one.
package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrTaken is returned by Try when another process has the lock.
var ErrTaken = errors.New("locked by another process")

// A Dir is a directory that is kept open, and so is not taken for another one that is
// made in its place.
type Dir struct {
	path string
	file *os.File
}

// Watch opens a directory without locking it.
func Watch(path string) (*Dir, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Dir{path, f}, nil
}

// Close ends the lock.
func (d *Dir) Close() { d.file.Close() }

// Check is an error once the directory is not at its path any more.
func (d *Dir) Check() error {
	then, err := d.file.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	if err == nil && os.SameFile(then, now) {
		return nil
	}
	return fmt.Errorf("the folder %s was removed or moved while it was written to", d.path)
}
