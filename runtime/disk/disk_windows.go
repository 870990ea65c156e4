package disk

import (
	"errors"

	"golang.org/x/sys/windows"
)

// inTheWay reports whether Windows says that another process has a file open. It gives the same
// errors for a file without write permission, which then fails only after the wait.
func inTheWay(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

// SyncDir does nothing: Windows refuses to flush directories that are open for reading, and
// NTFS keeps names in a journal.
func SyncDir(string) error { return nil }
