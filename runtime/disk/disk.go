// Package disk hides what operating systems do differently with files that several processes
// use: renaming over an existing file, removal, and flushing to disk. Packages ckpt and track
// and the compiler's commands write files by it.
package disk

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// patience is how long Rename and Remove wait for readers to close a file.
const patience = 2 * time.Second

// Rename renames a file and replaces the file of that name. Windows refuses this while another
// process has the old file open, such as a virus scanner, an indexer or mlc serve. They soon
// close it, so Rename tries again for up to two seconds.
func Rename(from, to string) error {
	return insist(inTheWay, time.Sleep, func() error { return os.Rename(from, to) })
}

// Remove removes a file, and tries as long as Rename.
func Remove(name string) error {
	return insist(inTheWay, time.Sleep, func() error { return os.Remove(name) })
}

// insist repeats f while soon reports that its error may pass.
func insist(soon func(error) bool, sleep func(time.Duration), f func() error) error {
	err := f()
	for wait, slept := time.Millisecond, time.Duration(0); err != nil && soon(err) && slept < patience; wait = min(2*wait, 16*time.Millisecond) {
		sleep(wait)
		slept += wait
		err = f()
	}
	return err
}

// Sync flushes a file to disk. Pipes and some file systems do not support this; Sync then
// returns nil.
func Sync(f *os.File) error {
	err := f.Sync()
	for _, none := range []error{errors.ErrUnsupported, os.ErrInvalid, syscall.EINVAL, syscall.ENOTTY} {
		if errors.Is(err, none) {
			return nil
		}
	}
	return err
}
