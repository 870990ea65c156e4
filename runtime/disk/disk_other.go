//go:build !windows

package disk

import "os"

// inTheWay is of no error: names can be given and taken whoever reads the file.
func inTheWay(error) bool { return false }

// SyncDir makes renames in a directory last. Some file systems cannot; they are done then.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return Sync(d)
}
