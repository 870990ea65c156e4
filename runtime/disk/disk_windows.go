package disk

import (
	"errors"

	"golang.org/x/sys/windows"
)

// inTheWay is of the errors by which Windows says that another process has a file open. It
// says the same of a file that may not be written, which then takes longer to be an error.
func inTheWay(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

// SyncDir does nothing: Windows refuses it for directories that are open for reading, and
// NTFS keeps its names in a journal.
func SyncDir(string) error { return nil }
