//go:build !windows

package disk

import "os"

// inTheWay returns false: readers never block renames here.
func inTheWay(error) bool { return false }

// SyncDir makes renames in a directory durable. It returns nil if the file system does not
// support this.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return Sync(d)
}
