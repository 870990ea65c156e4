package runtime

import (
	"os"
	"syscall"
)

// inMemory is a folder for temporary files that are in memory, where there is room for them:
// a checkpoint is on the disk before a training goes on, which takes most of the time of one
// as small as a test's.
func inMemory() string {
	const folder = "/dev/shm"
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil || s.Bavail*uint64(s.Bsize) < 1<<30 || syscall.Access(folder, 7) != nil {
		return os.TempDir()
	}
	return folder
}
