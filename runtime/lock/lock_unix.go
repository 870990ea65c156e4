//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lock

import (
	"errors"
	"os"
	"syscall"
)

// Try locks a directory until unlock is called, or returns ErrTaken.
func Try(dir string) (unlock func(), err error) { return flock(dir, syscall.LOCK_NB) }

// Wait locks a directory until unlock is called, when nobody else has it locked.
func Wait(dir string) (unlock func(), err error) { return flock(dir, 0) }

func flock(dir string, how int) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.EINTR
	for err == syscall.EINTR { // a signal came while it waited
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|how)
	}
	if err == syscall.EWOULDBLOCK {
		return nil, errors.Join(ErrTaken, f.Close())
	}
	return func() { f.Close() }, nil // with an error the file system has no locks
}
