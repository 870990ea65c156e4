// Package counted makes the counting GPU of package ptxsim/count a cuda.Driver. It runs nothing
// and counts everything a model asks of a card: launches, graphs, copies, waits and memory. With
// the model's kernels and their costs it also counts the work of each launch and a lower bound on
// its time.
//
// Package cuda's Machine uses it as it uses NVIDIA's driver; package runtime and mlc explain
// print its Report. Every copy from the device yields zeros, so a model's results on it are
// meaningless.
package counted

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/ptxsim/count"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// Options of a Driver.
type Options struct {
	Card card.Card // the card to model
	SMs  int       // multiprocessors instead of the card's, each as fast; 0: the card's

	// Program and Costs are the model's. Costs has an entry for each of the program's kernels; an
	// entry may be nil, and so may Costs. A cost is a function of the sizes in the Env (B, T, S,
	// R, C, P and N).
	Program cuda.Program
	Costs   []func(e *device.Env) cpu.Cost

	// Registers of a thread, by the entry's name, where they are known. They only decide how many
	// blocks are resident.
	Registers map[string]int
}

// A Driver is a cuda.Driver that counts.
type Driver struct {
	dev     *count.Device
	options Options
	pinned  [][]byte
	results [][]byte            // host memory that the graph being recorded writes
	copied  map[cuda.Ptr][]byte // the last data copied to the device, by address
	closed  bool
}

// Open returns a driver that counts. It refuses a negative number of multiprocessors.
func Open(o Options) (*Driver, error) {
	if o.SMs < 0 {
		return nil, fmt.Errorf("a card with %d multiprocessors: want 1 or more, or 0 for the card's own number", o.SMs)
	}
	c := o.Card
	if o.SMs > 0 {
		c = c.With(o.SMs)
	}
	return &Driver{dev: count.New(c, cuda.WorthGraph), options: o, copied: map[cuda.Ptr][]byte{}}, nil
}

// Counts returns the counts since the device was opened or Take was called.
func (d *Driver) Counts() count.Counts { return d.dev.Counts() }

// Take returns the Counts and resets them.
func (d *Driver) Take() count.Counts { return d.dev.Take() }

const version = 13000 // CUDA's version, new enough for all PTX

// Info describes the card. The memory clock and the bus width are unknown.
func (d *Driver) Info() cuda.Info {
	c := d.dev.Card()
	return cuda.Info{Name: "counted " + c.Name, Major: c.Major, Minor: c.Minor, Version: version, SMs: c.SMs,
		Memory: c.Memory, Shared: card.DefaultShared, SharedOptIn: c.SharedOptIn(), Clock: c.Clock, L2: c.L2,
		SMShared: c.Shared, SMRegisters: card.Registers, SMThreads: c.Threads, SMBlocks: c.Blocks}
}

// Codes that users of a Driver do not distinguish.
const (
	invalidValue  cuda.Code = 1
	invalidHandle cuda.Code = 400
)

var names = map[cuda.Code]string{
	invalidValue: "CUDA_ERROR_INVALID_VALUE", invalidHandle: "CUDA_ERROR_INVALID_HANDLE", cuda.OutOfMemory: "CUDA_ERROR_OUT_OF_MEMORY", cuda.InvalidPTX: "CUDA_ERROR_INVALID_PTX",
	cuda.NotFound: "CUDA_ERROR_NOT_FOUND", cuda.CaptureUnsupported: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
}

// refuse returns an error of the driver. format may be empty.
func refuse(code cuda.Code, doing, format string, args ...any) *cuda.Error {
	e := &cuda.Error{Code: code, Name: names[code], Doing: doing}
	if format != "" {
		e.Err = fmt.Errorf(format, args...)
	}
	return e
}

// ready returns an error if the device is closed or records a graph.
func (d *Driver) ready(doing string) error {
	switch {
	case d.closed:
		return refuse(invalidValue, doing, "the device is closed")
	case d.dev.Recording():
		return refuse(cuda.CaptureUnsupported, doing, "")
	}
	return nil
}

func (d *Driver) Alloc(bytes int64) (cuda.Ptr, error) {
	doing := "allocate " + cuda.Bytes(bytes)
	if err := d.ready(doing); err != nil {
		return 0, err
	}
	if bytes <= 0 {
		return 0, refuse(invalidValue, doing, "")
	}
	p, err := d.dev.Alloc(bytes)
	if full := (*count.MemoryError)(nil); errors.As(err, &full) {
		return 0, &cuda.MemoryError{Asked: full.Asked, Free: full.Free, Total: full.Total, Err: refuse(cuda.OutOfMemory, doing, "")}
	}
	return cuda.Ptr(p), err
}

func (d *Driver) Free(p cuda.Ptr) error {
	const doing = "free memory"
	if p == 0 {
		return nil
	}
	if err := d.ready(doing); err != nil {
		return err
	}
	delete(d.copied, p)
	if d.dev.Free(uint64(p)) != nil {
		return refuse(invalidValue, doing, "")
	}
	return nil
}

func (d *Driver) MemInfo() (free, total int64, err error) {
	if err := d.ready("ask for free memory"); err != nil {
		return 0, 0, err
	}
	return d.dev.Left(), d.dev.Card().Memory, nil
}

func (d *Driver) AllocHost(bytes int) ([]byte, error) {
	const doing = "allocate pinned memory"
	if err := d.ready(doing); err != nil {
		return nil, err
	}
	if bytes <= 0 {
		return nil, refuse(invalidValue, doing, "")
	}
	mem := make([]byte, bytes)
	d.pinned = append(d.pinned, mem)
	d.dev.Pin(int64(bytes))
	return mem, nil
}

func (d *Driver) FreeHost(mem []byte) error {
	const doing = "free pinned memory"
	if err := d.ready(doing); err != nil {
		return err
	}
	i := slices.IndexFunc(d.pinned, func(p []byte) bool { return len(mem) == len(p) && &mem[0] == &p[0] })
	if i < 0 {
		return refuse(invalidValue, doing, "")
	}
	d.dev.Pin(-int64(len(mem)))
	d.pinned = slices.Delete(d.pinned, i, i+1)
	return nil
}

// isPinned reports whether memory is part of an allocation of AllocHost.
func (d *Driver) isPinned(mem []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	return slices.ContainsFunc(d.pinned, func(p []byte) bool {
		lo := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
		return at >= lo && at+uintptr(len(mem)) <= lo+uintptr(len(p))
	})
}

// move counts a copy, or adds it to the graph being recorded.
func (d *Driver) move(doing string, k count.Copy, bytes int64, at ...uint64) error {
	if d.closed {
		return refuse(invalidValue, doing, "the device is closed")
	}
	if err := d.dev.Move(k, bytes, at...); err != nil {
		return refuse(invalidValue, doing, "%w", err)
	}
	return nil
}

// transfer counts a copy from or to host memory.
func (d *Driver) transfer(doing string, mem []byte, at cuda.Ptr, pinned, pageable count.Copy) error {
	if len(mem) == 0 {
		return d.ready(doing)
	}
	k := pinned
	if !d.isPinned(mem) {
		if err := d.ready(doing + ", memory that is not pinned"); err != nil {
			return err
		}
		k = pageable
	}
	return d.move(doing, k, int64(len(mem)), uint64(at))
}

// ToDevice keeps the bytes: they hold the shapes of replicas.
func (d *Driver) ToDevice(dst cuda.Ptr, src []byte) error {
	d.copied[dst] = append(d.copied[dst][:0], src...)
	return d.transfer("copy to the device", src, dst, count.ToDevice, count.ToDevicePageable)
}

// at returns the bytes last copied to a device address, or zeros.
func (d *Driver) at(at cuda.Ptr, bytes int) []byte {
	for to, data := range d.copied {
		if to <= at && int64(at-to)+int64(bytes) <= int64(len(data)) {
			return data[at-to:][:bytes]
		}
	}
	return make([]byte, bytes)
}

// ToHost fills dst with zeros.
func (d *Driver) ToHost(dst []byte, src cuda.Ptr) error {
	if err := d.transfer("copy to the host", dst, src, count.ToHost, count.ToHostPageable); err != nil {
		return err
	}
	if d.dev.Recording() {
		d.results = append(d.results, dst)
		return nil
	}
	clear(dst)
	return nil
}

func (d *Driver) Copy(dst, src cuda.Ptr, bytes int64) error {
	return d.move("copy within the device", count.Within, bytes, uint64(dst), uint64(src))
}

func (d *Driver) Zero(dst cuda.Ptr, bytes int64) error {
	return d.move("clear memory", count.Cleared, bytes, uint64(dst))
}

func (d *Driver) Synchronize() error {
	if err := d.ready("wait for the device"); err != nil {
		return err
	}
	d.dev.Wait()
	return nil
}

// An event is a mark in work that takes no time.
type event struct {
	d                *Driver
	recorded, closed bool
}

func (d *Driver) NewEvent() (cuda.Event, error) {
	if err := d.ready("make an event"); err != nil {
		return nil, err
	}
	return &event{d: d}, nil
}

func (e *event) Record() error {
	const doing = "record an event"
	if err := e.d.ready(doing); err != nil {
		return err
	}
	if e.closed {
		return refuse(invalidHandle, doing, "")
	}
	e.recorded = true
	e.d.dev.Mark()
	return nil
}

// Wait counts a wait during which the device has other work.
func (e *event) Wait() error {
	const doing = "wait for an event"
	if err := e.d.ready(doing); err != nil {
		return err
	}
	if !e.recorded || e.closed {
		return refuse(invalidHandle, doing, "")
	}
	e.d.dev.WaitBehind()
	return nil
}

// Since waits and returns 0.
func (e *event) Since(start cuda.Event) (time.Duration, error) {
	const doing = "ask for the time between two events"
	if err := e.d.ready(doing); err != nil {
		return 0, err
	}
	s, ok := start.(*event)
	if !ok || s.d != e.d || !e.recorded || !s.recorded || e.closed || s.closed {
		return 0, refuse(invalidHandle, doing, "")
	}
	e.d.dev.Wait()
	return 0, nil
}

func (e *event) Close() error {
	if err := e.d.ready("free an event"); err != nil {
		return err
	}
	e.closed = true
	return nil
}

func (d *Driver) Close() error {
	d.closed, d.pinned = true, nil
	return nil
}
