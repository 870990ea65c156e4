package runtime

import (
	"os"
	"syscall"
)

// inMemory returns a folder for temporary files in memory, if there is room: flushing a
// checkpoint to disk takes most of the time of a small training.
func inMemory() string {
	const folder = "/dev/shm"
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil || s.Bavail*uint64(s.Bsize) < 1<<30 || syscall.Access(folder, 7) != nil {
		return os.TempDir()
	}
	return folder
}
