package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/ptx"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// handle is a context, a module or a function. The caller sees a pointer that it must not follow.
type handle uintptr

// firstContext is the context of device 0. That of the next device is one more.
const firstContext handle = 0x1000

// driver is the state behind the functions of the library. It has no devices before it is opened,
// but may know ranges.
type driver struct {
	info      cuda.Info // of every device
	devices   []*device
	ranges    ranges
	modules   map[handle]*module
	functions map[handle]*function
	last      handle // the newest module or function
	launches  uint64
}

type device struct {
	*ptxsim.Device
	retained int // times that the primary context is retained
}

type module struct {
	*ptxsim.Module
	on *device
}

type function struct {
	*ptxsim.Kernel
	name    string
	of      handle
	on      *device
	allowed int // bytes of dynamic shared memory
}

// open gives the driver devices of an architecture such as 90.
func (d *driver) open(devices, arch int) error {
	const doing = "start the simulator"
	if devices < 1 {
		return fail(cuda.NoDevice, doing, nil)
	}
	o := ptxsim.Options{Arch: arch, Workers: runtime.GOMAXPROCS(0)}
	first, err := simulated.Open(o)
	if err != nil {
		return fail(invalidValue, doing, err)
	}
	d.info, d.last = first.Info(), firstContext<<16
	d.modules, d.functions = map[handle]*module{}, map[handle]*function{}
	for range devices {
		d.devices = append(d.devices, &device{Device: ptxsim.New(o)})
	}
	return nil
}

// device returns a device by number.
func (d *driver) device(n int) (*device, error) {
	if n < 0 || n >= len(d.devices) {
		return nil, fail(cuda.InvalidDevice, fmt.Sprintf("find device %d of %d", n, len(d.devices)), nil)
	}
	return d.devices[n], nil
}

// retain returns the primary context of a device.
func (d *driver) retain(n int) (handle, error) {
	dev, err := d.device(n)
	if err != nil {
		return 0, err
	}
	dev.retained++
	return firstContext + handle(n), nil
}

func (d *driver) release(n int) error {
	dev, err := d.device(n)
	if err != nil {
		return err
	}
	if dev.retained == 0 {
		return fail(invalidContext, fmt.Sprintf("release the context of device %d, which nobody retains", n), nil)
	}
	dev.retained--
	return nil
}

// context returns the device of a context.
func (d *driver) context(c handle) (*device, error) {
	n := int(c) - int(firstContext)
	if n < 0 || n >= len(d.devices) || d.devices[n].retained == 0 {
		return nil, fail(invalidContext, "use the current context", fmt.Errorf("%#x is no context, or nobody retains it", c))
	}
	return d.devices[n], nil
}

func (d *driver) load(c handle, text string) (handle, error) {
	dev, err := d.context(c)
	if err != nil {
		return 0, err
	}
	m, err := dev.Load([]byte(text))
	if err != nil {
		return 0, fail(cuda.InvalidPTX, "load PTX", err)
	}
	d.last++
	d.modules[d.last] = &module{m, dev}
	return d.last, nil
}

func (d *driver) unload(m handle) error {
	if d.modules[m] == nil {
		return fail(invalidHandle, fmt.Sprintf("unload %#x, which is no module", m), nil)
	}
	delete(d.modules, m)
	for h, f := range d.functions {
		if f.of == m {
			delete(d.functions, h)
		}
	}
	return nil
}

// find returns an entry of a module.
func (d *driver) find(m handle, name string) (handle, error) {
	mod := d.modules[m]
	if mod == nil {
		return 0, fail(invalidHandle, fmt.Sprintf("find kernel %s in %#x, which is no module", name, m), nil)
	}
	k, err := mod.Kernel(name)
	if err != nil {
		return 0, fail(cuda.NotFound, "find kernel "+name, err)
	}
	d.last++
	d.functions[d.last] = &function{k, name, m, mod.on, d.info.Shared - k.Limits().Static}
	return d.last, nil
}

func (d *driver) function(f handle) (*function, error) {
	if d.functions[f] == nil {
		return nil, fail(invalidHandle, fmt.Sprintf("use %#x, which is no kernel of a loaded module", f), nil)
	}
	return d.functions[f], nil
}

// The attributes of a function that a caller may set.
const (
	dynamicShared = 8
	carveout      = 9 // of shared memory, in percent; a simulator has no cache to give it to
)

func (f *function) attribute(n int) (int, error) {
	l := f.Limits()
	v, ok := map[int]int{
		0: l.Threads, 1: l.Static, 2: 0 /* constant bytes */, 3: 0, /* local bytes */
		dynamicShared: f.allowed, carveout: -1,
	}[n]
	if !ok {
		return 0, fail(invalidValue, fmt.Sprintf("ask for attribute %d of kernel %s", n, f.name), nil)
	}
	return v, nil
}

func (f *function) setAttribute(n, v int) error {
	l := f.Limits()
	switch {
	case n == dynamicShared && 0 <= v && v <= l.Shared-l.Static:
		f.allowed = v
		return nil
	case n == carveout && -1 <= v && v <= 100:
		return nil
	}
	return fail(invalidValue, fmt.Sprintf("set attribute %d of kernel %s to %d: it has %d bytes of static shared memory, and a block may have %d",
		n, f.name, v, l.Static, l.Shared), nil)
}

// launch runs a kernel in a context. Pointers in the arguments are those of the caller.
func (d *driver) launch(c handle, f *function, l ptxsim.Launch) error {
	doing := "launch kernel " + f.name
	dev, err := d.context(c)
	switch {
	case err != nil:
		return err
	case dev != f.on:
		return fail(invalidHandle, doing+", which is loaded in another context", nil)
	case l.Shared > f.allowed:
		return fail(invalidValue, doing, fmt.Errorf("%d bytes of dynamic shared memory, %d are allowed", l.Shared, f.allowed))
	}
	moved, err := d.ranges.move(dev.Device, f.Params(), l.Args)
	defer moved.free(dev.Device)
	if err != nil {
		return fail(cuda.OutOfMemory, doing, err)
	}
	stats, err := f.Launch(l)
	if err == nil && len(stats.Warnings) > 0 {
		err = stats.Warnings[0]
	}
	if err == nil {
		err = moved.back(dev.Device)
	}
	if err != nil {
		return fail(simulated.Code(err), doing, err)
	}
	d.launches++
	return nil
}

// size returns the bytes of a parameter block.
func size(params []*ptx.Var) int {
	if len(params) == 0 {
		return 0
	}
	last := params[len(params)-1]
	return int(last.Offset + last.Size)
}

// fail returns an error with the name and the text of its code.
func fail(code cuda.Code, doing string, cause error) error {
	return &cuda.Error{Code: code, Name: codes[code].name, Text: codes[code].text, Doing: doing, Err: cause}
}

// trim shortens text to a buffer of C, whose last byte is 0, and returns the bytes that it takes.
func trim(buffer []byte, text string) int {
	if len(buffer) == 0 {
		return 0
	}
	n := copy(buffer[:len(buffer)-1], strings.TrimRight(text, "\n"))
	buffer[n] = 0
	return n + 1
}
