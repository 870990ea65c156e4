// Package lock keeps processes out of each other's directories, and notices when a directory
// was moved. A lock ends with its process. It holds for all machines that share the directory,
// if its file system has locks.
package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ErrTaken is the error of Try if another process has the lock.
var ErrTaken = errors.New("locked by another process")

// File is the name of the file in a locked directory: shared file systems lock only files. A
// killed process leaves it behind; that keeps nobody out.
const File = ".lock"

// A Dir is an open directory, which is therefore not mistaken for another one made in its
// place.
type Dir struct {
	path string
	file *os.File
	lock *os.File // File in the directory; nil: not locked for other machines
	here *os.File // a file elsewhere, locked for this machine where directories have no locks
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
			os.Remove(f.Name()) // still locked: whoever has opened the file finds that it is gone
			f.Close()
		}
	}
	d.file.Close()
}

// Check returns an error if the directory is no longer at its path.
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

// Owner names the process that has locked a directory: "process 12 on node7", or "another
// process" if unknown.
func Owner(path string) string {
	text, err := os.ReadFile(path + string(os.PathSeparator) + File)
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return "another process"
}

// me is Owner's text for this process.
func me() string {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Sprintf("process %d", os.Getpid())
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}
