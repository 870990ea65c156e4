//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lock

import (
	"errors"
	"syscall"
)

// Try locks a directory until it is closed, or returns ErrTaken.
func Try(path string) (*Dir, error) { return flock(path, syscall.LOCK_NB) }

// Wait locks a directory until it is closed, when nobody else has it locked.
func Wait(path string) (*Dir, error) { return flock(path, 0) }

// Held says whether a process has a directory locked. It locks it for a moment together with
// others that ask, so that Try may be refused meanwhile.
func Held(path string) bool {
	d, err := Watch(path)
	if err != nil {
		return false
	}
	defer d.Close()
	return syscall.Flock(int(d.file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

func flock(path string, how int) (*Dir, error) {
	d, err := Watch(path)
	if err != nil {
		return nil, err
	}
	err = syscall.EINTR
	for err == syscall.EINTR { // a signal came while it waited
		err = syscall.Flock(int(d.file.Fd()), syscall.LOCK_EX|how)
	}
	if err == syscall.EWOULDBLOCK {
		return nil, errors.Join(ErrTaken, d.file.Close())
	}
	return d, nil // with an error the file system has no locks
}
