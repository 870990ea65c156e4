//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import (
	"runtime"
	"unsafe"

	"github.com/arithlang/mlc/runtime/cuda"
)

// driver is one device, its primary context and one stream.
type driver struct {
	api
	info   cuda.Info
	dev    device
	ctx    context
	stream stream
	launch launch
	pinner runtime.Pinner // of launch

	// What Close frees.
	allocated map[cuda.Ptr]bool
	pinned    [][]byte
	modules   map[*module]bool
	graphs    map[*graph]bool
	events    map[*event]bool

	capturing bool
	// pending names the kernels launched since Synchronize, each once: one of them is to blame if
	// the device is lost. A function or graph is among them if its round is the current one.
	pending []string
	round   uint64
	lost    error
}

// Info describes the device.
func (d *driver) Info() cuda.Info { return d.info }

// do calls the driver on a thread where the context is current.
func (d *driver) do(call func() cuda.Code, doing string, args ...any) error {
	if d.lost != nil {
		return d.lost
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := d.setCurrent(d.ctx)
	if c == 0 {
		c = call()
	}
	if c != 0 {
		return d.failure(c, doing, args...)
	}
	return nil
}

// wait is do for calls that are impossible while the stream is captured.
func (d *driver) wait(call func() cuda.Code, doing string, args ...any) error {
	if d.capturing {
		return d.failure(cuda.CaptureUnsupported, doing, args...)
	}
	return d.do(call, doing, args...)
}

// Alloc reserves memory of the device.
func (d *driver) Alloc(bytes int64) (p cuda.Ptr, err error) {
	if bytes <= 0 {
		return 0, d.failure(invalidValue, "allocate %d bytes of GPU memory", bytes)
	}
	err = d.wait(func() (c cuda.Code) {
		p, c = d.memAlloc(bytes)
		return c
	}, "allocate %s of GPU memory", cuda.Bytes(bytes))
	if err != nil {
		return 0, d.shortage(err, bytes)
	}
	d.allocated[p] = true
	return p, nil
}

// Free frees memory of Alloc.
func (d *driver) Free(p cuda.Ptr) error {
	switch {
	case p == 0:
		return nil
	case !d.allocated[p]:
		return d.failure(invalidValue, "free GPU memory at %#x, which Alloc did not give", uint64(p))
	}
	return drop(d, d.allocated, p, func() cuda.Code { return d.memFree(p) }, "free GPU memory")
}

// drop frees an object, unless it is freed already.
func drop[T comparable](d *driver, there map[T]bool, x T, free func() cuda.Code, doing string) error {
	if !there[x] {
		return nil
	}
	err := d.wait(free, "%s", doing)
	if err == nil {
		delete(there, x)
	}
	return err
}

// MemInfo returns the device's memory.
func (d *driver) MemInfo() (free, total int64, err error) {
	err = d.wait(func() (c cuda.Code) {
		free, total, c = d.memInfo()
		return c
	}, "ask how much GPU memory is free")
	return free, total, err
}

// AllocHost reserves pinned host memory.
func (d *driver) AllocHost(bytes int) (b []byte, err error) {
	if bytes <= 0 {
		return nil, d.failure(invalidValue, "allocate %d bytes of pinned memory", bytes)
	}
	err = d.wait(func() (c cuda.Code) {
		b, c = d.hostAlloc(bytes)
		return c
	}, "allocate %s of pinned memory", cuda.Bytes(int64(bytes)))
	if err != nil {
		return nil, hostShortage(err, int64(bytes))
	}
	d.pinned = append(d.pinned, b)
	return b, nil
}

// FreeHost frees memory of AllocHost.
func (d *driver) FreeHost(b []byte) error {
	for i, p := range d.pinned {
		if unsafe.SliceData(p) != unsafe.SliceData(b) {
			continue
		}
		err := d.wait(func() cuda.Code { return d.hostFree(p) }, "free pinned memory")
		if err == nil {
			d.pinned = append(d.pinned[:i], d.pinned[i+1:]...)
		}
		return err
	}
	return d.failure(invalidValue, "free pinned memory that AllocHost did not give")
}

// isPinned reports whether the device may read or write b after a call has returned.
func (d *driver) isPinned(b []byte) bool {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, p := range d.pinned {
		base := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
		if start >= base && start-base+uintptr(len(b)) <= uintptr(len(p)) {
			return true
		}
	}
	return false
}

// ToDevice copies to the device.
func (d *driver) ToDevice(dst cuda.Ptr, src []byte) error {
	return d.copyHost(src, func() cuda.Code { return d.copyToDevice(dst, src, d.stream) }, "to the GPU")
}

// ToHost copies from the device.
func (d *driver) ToHost(dst []byte, src cuda.Ptr) error {
	return d.copyHost(dst, func() cuda.Code { return d.copyToHost(dst, src, d.stream) }, "from the GPU")
}

// copyHost queues a copy of pinned memory. For other memory it waits until the copy ends, and
// keeps the memory in place.
func (d *driver) copyHost(host []byte, queue func() cuda.Code, direction string) error {
	switch {
	case len(host) == 0:
		return nil
	case d.isPinned(host):
		return d.do(queue, "copy %s %s", amount(len(host)), direction)
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(unsafe.SliceData(host))
	return d.wait(func() cuda.Code {
		if c := queue(); c != 0 {
			return c
		}
		return d.streamSynchronize(d.stream)
	}, "copy %s %s", amount(len(host)), direction)
}

// Copy copies within the device.
func (d *driver) Copy(dst, src cuda.Ptr, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return d.do(func() cuda.Code { return d.copyWithin(dst, src, bytes, d.stream) }, "copy %s within the GPU", amount(bytes))
}

// Zero clears memory of the device.
func (d *driver) Zero(dst cuda.Ptr, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return d.do(func() cuda.Code { return d.zero(dst, bytes, d.stream) }, "clear %s of GPU memory", amount(bytes))
}

// Synchronize waits for the stream.
func (d *driver) Synchronize() error {
	err := d.wait(func() cuda.Code { return d.streamSynchronize(d.stream) }, "wait for the GPU")
	if err == nil {
		d.pending = d.pending[:0]
		d.round++
	}
	return err
}

// Close frees everything. On a lost device only the end of the process frees memory.
func (d *driver) Close() error {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	if d.lost == nil {
		keep(d.Synchronize())
	}
	for g := range d.graphs {
		keep(g.Close())
	}
	for e := range d.events {
		keep(e.Close())
	}
	for m := range d.modules {
		keep(m.Unload())
	}
	for p := range d.allocated {
		keep(d.Free(p))
	}
	for len(d.pinned) > 0 && first == nil {
		keep(d.FreeHost(d.pinned[0]))
	}
	if first == nil {
		first = d.do(func() cuda.Code { return d.streamDestroy(d.stream) }, "end the stream")
	}
	d.release(d.dev)
	d.pinner.Unpin()
	return first
}
