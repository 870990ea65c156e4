package prove

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
)

// freeMemory is how many bytes this machine has left (proc(5), MemAvailable), or the
// control group of this container (cgroup v2); infinite where the system does not tell.
func freeMemory(root fs.FS) float64 {
	free := math.Inf(1)
	for line := range strings.Lines(text(root, "proc/meminfo")) {
		kib := 0.0
		if n, _ := fmt.Sscanf(line, "MemAvailable: %g kB", &kib); n == 1 {
			free = 1024 * kib
		}
	}
	var most, used float64
	if n, _ := fmt.Sscan(text(root, "sys/fs/cgroup/memory.max"), &most); n == 1 {
		fmt.Sscan(text(root, "sys/fs/cgroup/memory.current"), &used)
		free = min(free, max(0, most-used))
	}
	return free
}

// text is what is in a file; a file that cannot be read has nothing in it.
func text(root fs.FS, name string) string {
	data, _ := fs.ReadFile(root, name)
	return string(data)
}
