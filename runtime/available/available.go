// Package available finds how much memory a process may still take. Package runtime asks it
// before a run, and package prove before it starts several processes.
package available

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Memory returns how many bytes the process may still take, and what sets the limit: the
// machine (proc(5), MemAvailable), or a control group. Groups are the process's and those
// around it (cgroup v2: memory.max; v1: memory.limit_in_bytes). A group's file caches count as
// free. It returns +Inf if the system does not tell.
func Memory(root fs.FS) (bytes float64, of string) {
	bytes, of = math.Inf(1), "the machine"
	if kib, ok := field(root, "proc/meminfo", "MemAvailable:"); ok {
		bytes = kib * 1024
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		for _, v := range cgroups {
			if !strings.Contains(","+parts[1]+",", ","+v.controller+",") {
				continue
			}
			if left := v.left(root, parts[2]); left < bytes {
				bytes, of = left, "its control group"
			}
		}
	}
	return bytes, of
}

// A cgroup is a version of Linux's memory control groups.
type cgroup struct {
	controller, dir  string
	limit, used      string // files
	inactive, active string // keys of memory.stat: bytes of the file cache
}

var cgroups = []cgroup{
	{"", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file"},
	{"memory", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"},
}

// left returns the smallest rest in a group and the groups around it. A container may see its
// group as the outermost one under any path.
func (c *cgroup) left(root fs.FS, group string) float64 {
	least := math.Inf(1)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		dir := path.Join(c.dir, at)
		limit, ok1 := number(root, path.Join(dir, c.limit))
		used, ok2 := number(root, path.Join(dir, c.used))
		if ok1 && ok2 {
			inactive, _ := field(root, path.Join(dir, "memory.stat"), c.inactive+" ")
			active, _ := field(root, path.Join(dir, "memory.stat"), c.active+" ")
			least = min(least, max(0, limit-max(0, used-inactive-active)))
		}
		if at == "/" {
			return least
		}
	}
}

// number returns the number in a file. Other text, such as max, means no limit.
func number(root fs.FS, name string) (float64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return n, err == nil
}

// field returns the number after a name at the beginning of a line.
func field(root fs.FS, name, key string) (float64, bool) {
	text, _ := fs.ReadFile(root, name)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return n, err == nil
		}
	}
	return 0, false
}
