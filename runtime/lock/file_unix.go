//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package lock

import (
	"os"
	"syscall"
)

func lockFile(f *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		switch err := syscall.Flock(int(f.Fd()), how); err {
		case syscall.EINTR: // a signal came while it waited
		case syscall.EWOULDBLOCK:
			return ErrTaken
		default:
			return err
		}
	}
}

func fileHeld(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// network returns "": clusters run Linux.
func network(string) string { return "" }
