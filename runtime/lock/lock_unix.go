//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/arithlang/mlc/runtime/damage"
)

// Try locks a directory until it is closed, or returns ErrTaken.
func Try(path string) (*Dir, error) { return everywhere(path, syscall.LOCK_NB, own) }

// Wait waits until no other process has a directory locked, then locks it until it is closed.
func Wait(path string) (*Dir, error) { return everywhere(path, 0, own) }

// TryHere is Try for processes of only this machine. It leaves no file.
func TryHere(path string) (*Dir, error) { return flock(path, syscall.LOCK_NB) }

// Held reports whether a process has a directory locked. To find out, it may hold a shared lock
// for a moment, which Try tolerates.
func Held(dir damage.Path) bool {
	d, err := dir.Open()
	if err != nil {
		return false
	}
	defer d.Close()
	if f, err := dir.Join(File).Open(); err == nil {
		defer f.Close()
		if fileHeld(f) {
			return true
		}
	}
	return syscall.Flock(int(d.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

func flock(path string, how int) (*Dir, error) {
	d, err := Watch(path)
	if err != nil {
		return nil, err
	}
	err = syscall.EINTR
	for tries := 0; err == syscall.EINTR || err == syscall.EWOULDBLOCK && tries < 5; tries++ { // a signal interrupted the wait, or Held holds its shared lock
		if err == syscall.EWOULDBLOCK {
			time.Sleep(2 * time.Millisecond)
		}
		err = syscall.Flock(int(d.file.Fd()), syscall.LOCK_EX|how)
	}
	if err == syscall.EWOULDBLOCK {
		return nil, errors.Join(ErrTaken, d.file.Close())
	}
	return d, nil // other errors mean no such locks; everywhere handles that
}

// A system provides the locks of shared file systems.
type system struct {
	lock    func(f *os.File, wait bool) error
	network func(path string) string // shared file system of a path; "": local
}

var own = system{lockFile, network}

// everywhere locks a directory for this machine, and then File in it for all machines: shared
// file systems lock directories only for one machine, if at all.
func everywhere(path string, how int, s system) (*Dir, error) {
	d, err := flock(path, how)
	if err != nil {
		return nil, err
	}
	if d.lock, err = guard(filepath.Join(path, File), how&syscall.LOCK_NB == 0, s.lock); err == nil {
		return d, nil
	}
	kind := s.network(path)
	if errors.Is(err, ErrTaken) || kind != "" {
		d.file.Close()
	}
	switch {
	case errors.Is(err, ErrTaken):
		return nil, err
	case kind != "":
		return nil, fmt.Errorf("%s is on %s, which has no locks (%w), so another machine might write there at the same time: "+
			"choose a folder on another file system, or have this one mounted with locks", path, kind, err)
	}
	return d, nil // a local file system: its lock is enough
}

// open opens File.
func open(path string, create bool) (*os.File, error) {
	how := os.O_RDWR
	if create {
		how |= os.O_CREATE
	}
	return os.OpenFile(path, how, 0o644)
}

// going returns false: a removed file is gone at once.
func going(error, int) bool { return false }
