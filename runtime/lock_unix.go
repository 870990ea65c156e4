//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runtime

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock keeps other processes from training in a run directory until unlock is called
// or this process ends. A file system without locks lets them.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("another process is training in %s: wait for its end, or choose another --out", dir), f.Close())
	}
	return func() { f.Close() }, nil
}
