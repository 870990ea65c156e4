// Package disk has what operating systems do differently with files that several
// processes see: names that take the place of others, removal, and what is on the disk for
// certain. Packages ckpt and track and the compiler's commands write by it.
package disk

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// patience is how long Rename and Remove wait for readers that are in the way.
const patience = 2 * time.Second

// Rename gives a file another name, in place of the file that has it. Windows refuses that
// while another process has the old file open, such as a scanner of viruses, an indexer or
// mlc serve, which is soon over.
func Rename(from, to string) error {
	return insist(inTheWay, time.Sleep, func() error { return os.Rename(from, to) })
}

// Remove removes a file, with the same patience.
func Remove(name string) error {
	return insist(inTheWay, time.Sleep, func() error { return os.Remove(name) })
}

// insist does f again while it fails for what may be over soon.
func insist(soon func(error) bool, sleep func(time.Duration), f func() error) error {
	err := f()
	for wait, slept := time.Millisecond, time.Duration(0); err != nil && soon(err) && slept < patience; wait = min(2*wait, 16*time.Millisecond) {
		sleep(wait)
		slept += wait
		err = f()
	}
	return err
}

// Sync waits until what was written to a file is on the disk, where there is such a thing:
// pipes and some file systems have none.
func Sync(f *os.File) error {
	err := f.Sync()
	for _, none := range []error{errors.ErrUnsupported, os.ErrInvalid, syscall.EINVAL, syscall.ENOTTY} {
		if errors.Is(err, none) {
			return nil
		}
	}
	return err
}
