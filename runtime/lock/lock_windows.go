package lock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"

	"github.com/arithlang/mlc/runtime/damage"
)

// Try locks a directory until it is closed, or returns ErrTaken.
func Try(path string) (*Dir, error) { return everywhere(path, false) }

// Wait waits until no other process has a directory locked, then locks it until it is closed.
func Wait(path string) (*Dir, error) { return everywhere(path, true) }

// TryHere is Try for processes of only this machine. It leaves no file in the directory.
func TryHere(path string) (*Dir, error) { return here(path, false) }

// Held reports whether a process has a directory locked. To find out, it may hold a shared lock
// for a moment, which Try tolerates.
func Held(dir damage.Path) bool {
	d, err := dir.Open()
	if err != nil {
		return false
	}
	defer d.Close()
	own, err := ofMachine(d)
	return fileHeld(dir.Join(File).String()) || err == nil && fileHeld(own)
}

// everywhere locks a directory for this machine, and then File in it for all machines.
func everywhere(path string, wait bool) (*Dir, error) {
	d, err := here(path, wait)
	if err != nil {
		return nil, err
	}
	if d.lock, err = patient(filepath.Join(path, File), wait); err != nil {
		d.Close()
		if !errors.Is(err, ErrTaken) {
			err = fmt.Errorf("%s cannot be locked (%w): choose a folder on another file system", path, err)
		}
		return nil, err
	}
	return d, nil
}

// here locks a directory for this machine, by a temporary file: Windows has no locks of
// directories.
func here(path string, wait bool) (*Dir, error) {
	d, err := Watch(path)
	if err != nil {
		return nil, err
	}
	own, err := ofMachine(d.file)
	if err == nil {
		d.here, err = patient(own, wait)
	}
	if err != nil {
		return nil, errors.Join(err, d.file.Close())
	}
	return d, nil
}

// ofMachine returns the temporary file for a directory, the same for every path to it.
func ofMachine(dir *os.File) (string, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(dir.Fd()), &info); err != nil {
		return "", err
	}
	name := fmt.Sprintf("mlc-%08x-%08x%08x.lock", info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow)
	return filepath.Join(os.TempDir(), name), nil
}

// patient calls guard several times: Held may hold its shared lock.
func patient(path string, wait bool) (f *os.File, err error) {
	for tries := 0; tries < 5; tries++ {
		if f, err = guard(path, wait, lockFile); !errors.Is(err, ErrTaken) {
			return f, err
		}
		time.Sleep(2 * time.Millisecond)
	}
	return f, err
}

// region is a byte far beyond the end of a file: Windows lets nobody read locked bytes.
func region() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 8} }

func lockFile(f *os.File, wait bool) error {
	how := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, region())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrTaken
	}
	return err
}

// fileHeld reports whether a process has a file locked; a missing file is not locked.
func fileHeld(path string) bool {
	f, err := open(path, false)
	if err != nil {
		return false
	}
	defer f.Close()
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, region()) == windows.ERROR_LOCK_VIOLATION
}

// open opens a file so that it can be removed meanwhile, unlike os.OpenFile.
func open(path string, create bool) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	how := uint32(windows.OPEN_EXISTING)
	if create {
		how = windows.OPEN_ALWAYS
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, how, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// going reports whether an error may come from a removed file that others still have open. If
// so, it waits a moment.
func going(err error, tries int) bool {
	if tries > 500 || !errors.Is(err, windows.ERROR_ACCESS_DENIED) && !errors.Is(err, windows.ERROR_DELETE_PENDING) && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return false
	}
	time.Sleep(2 * time.Millisecond)
	return true
}
