//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import (
	"runtime"
	"slices"

	"github.com/arithlang/mlc/runtime/cuda"
)

// Enqueue lets another library queue work on the stream.
func (d *driver) Enqueue(name string, queue func(stream uintptr) error) error {
	if d.lost != nil {
		return d.lost
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c := d.setCurrent(d.ctx); c != 0 {
		return d.failure(c, "use %s", name)
	}
	if err := queue(uintptr(d.stream)); err != nil {
		return err
	}
	if !slices.Contains(d.pending, name) {
		d.pending = append(d.pending, name)
	}
	return nil
}

// Busy asks the stream without waiting for it.
func (d *driver) Busy() (busy bool, err error) {
	err = d.wait(func() cuda.Code {
		c := d.streamQuery(d.stream)
		if busy = c == notReady; busy {
			return 0
		}
		return c
	}, "ask whether the GPU is through")
	return busy, err
}
