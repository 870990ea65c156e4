package counted

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of Steps with n = 0: it runs some seconds, or enough steps to see whether memory grows.
const (
	enoughTime  = 10 * time.Second
	enoughSteps = 50
)

// Steps counts n steps of training and their time and memory on the host. It checks machine,
// whose driver is d, for errors before the first step and after the last.
func (d *Driver) Steps(name string, machine interface{ Err() error }, n int, step func() error) (Report, error) {
	if err := machine.Err(); err != nil {
		return Report{}, err
	}
	d.Take()
	var took []time.Duration
	first, begin := int64(0), time.Now()
	for more := true; more; more = len(took) < n || n == 0 && len(took) < enoughSteps && time.Since(begin) < enoughTime {
		start := time.Now()
		if err := step(); err != nil {
			return Report{}, err
		}
		if took = append(took, time.Since(start)); len(took) == 1 {
			first = resident() // the step has allocated everything it needs
		}
	}
	if err := machine.Err(); err != nil {
		return Report{}, err
	}
	r := d.Report(name, d.Take(), len(took))
	slices.Sort(took)
	r.Host = took[len(took)/2].Seconds()
	if first > 0 {
		r.Growth = resident() - first
		runtime.KeepAlive(step) // and everything it refers to, until it is measured
	}
	return r, nil
}

// resident returns the process's resident memory in bytes, without what can be freed. It returns
// 0 where the system does not report it.
func resident() int64 {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
