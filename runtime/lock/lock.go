// Package lock keeps processes out of each other's directories, and notices when one is
// no longer where it was. A lock ends with the process that has it. It holds for all
// machines that see the directory, where its file system has locks.
package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ErrTaken is what Try returns, wrapped with what is known of the other, when another
// process has the lock.
var ErrTaken = errors.New("locked by another process")

// File is the name of what a lock leaves in a directory while it is held: file systems of
// several machines have locks of files alone. A killed process leaves it behind, which
// keeps nobody out.
const File = ".lock"

// A Dir is a directory that is kept open, and so is not taken for another one that is
// made in its place.
type Dir struct {
	path string
	file *os.File
	lock *os.File // File in it; nil: there is none
	here *os.File // a file elsewhere that is locked for this machine, where directories have no locks
}

// Watch opens a directory without locking it.
func Watch(path string) (*Dir, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Dir{path: path, file: f}, nil
}

// Close ends the lock.
func (d *Dir) Close() {
	for _, f := range []*os.File{d.lock, d.here} {
		if f != nil {
			os.Remove(f.Name()) // while it is locked: who has opened it finds that it is gone
			f.Close()
		}
	}
	d.file.Close()
}

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

// Owner says which process has locked a directory, as far as it is known: "process 12 on
// node7", else "another process".
func Owner(path string) string {
	text, err := os.ReadFile(path + string(os.PathSeparator) + File)
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return "another process"
}

// me is what Owner says of this process.
func me() string {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Sprintf("process %d", os.Getpid())
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}
