package available

import (
	"math"
	"testing"
	"testing/fstest"
)

// TestMemory takes the smallest limit of machine and control groups.
func TestMemory(t *testing.T) {
	const meminfo = "MemTotal:       16000 kB\nMemFree:          100 kB\nMemAvailable:    8000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
		of    string
	}{
		"nothing known": {nil, math.Inf(1), "the machine"},
		"no groups":     {map[string]string{"proc/meminfo": meminfo}, 8000 << 10, "the machine"},
		"no limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "5\n"}, 8000 << 10, "the machine"},
		"v2": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "3000000\n", "sys/fs/cgroup/a/b/memory.current": "1000000\n"}, 2000000, "its control group"},
		"v2, an outer one": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "1000000\n",
			"sys/fs/cgroup/a/memory.max": "1500000\n", "sys/fs/cgroup/a/memory.current": "1000000\n"}, 500000, "its control group"},
		"v2, with a cache of files": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "3000000\n", "sys/fs/cgroup/memory.current": "2900000\n",
			"sys/fs/cgroup/memory.stat": "anon 900000\nfile 2000000\ninactive_file 1500000\nactive_file 500000\n"}, 2100000, "its control group"},
		"v2, used up": {map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "3000000\n", "sys/fs/cgroup/memory.current": "3000001\n"}, 0, "its control group"},
		"v2, seen from within": {map[string]string{"proc/self/cgroup": "0::/docker/1a2b\n",
			"sys/fs/cgroup/memory.max": "3000000\n", "sys/fs/cgroup/memory.current": "1000000\n"}, 2000000, "its control group"},
		"v1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "12:cpu,cpuacct:/x\n5:memory:/a\n0::/\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "3000000\n", "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "2000000\n",
			"sys/fs/cgroup/memory/a/memory.stat": "cache 1\ntotal_inactive_file 200000\ntotal_active_file 300000\n"}, 1500000, "its control group"},
		"v1 without a limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "2000000\n"}, 8000 << 10, "the machine"},
		"no numbers": {map[string]string{"proc/meminfo": "MemAvailable: much\n", "proc/self/cgroup": "x\n"}, math.Inf(1), "the machine"},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, of := Memory(root); got != c.want || of != c.of {
			t.Errorf("%s: %.0f of %s, want %.0f of %s", name, got, of, c.want, c.of)
		}
	}
}
