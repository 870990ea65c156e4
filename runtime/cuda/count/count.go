// Package count is a GPU that is not there: a cuda.Driver that does nothing and writes
// everything down. It says what a model would ask of a card: launches, graphs, copies,
// waits and memory. With the model's kernels and what they cost it also says what each
// launch has to do, and no less than how long that takes.
//
// Package cuda's Machine, before it, asks as it would ask NVIDIA's driver; package
// runtime and mlc explain print the Report after it. What comes back from the device is
// zeros, so nothing that a model computes on it is of any use.
package count

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// Options of a Driver.
type Options struct {
	Card card.Card // that it plays
	SMs  int       // multiprocessors in place of the card's, each as fast as its; 0: the card's

	// Program and Costs, by its kernels' numbers, are the model's, so that it is known
	// what its launches have to do. A cost is a function of the sizes in the Env (B, T, S,
	// C, P and N); it may be nil, and so may all.
	Program cuda.Program
	Costs   []func(e *device.Env) cpu.Cost

	// Registers of a thread, by the entry's name, where they are known: they decide how
	// many blocks are resident, and nothing else.
	Registers map[string]int
}

// A Driver is a cuda.Driver that counts.
type Driver struct {
	card      card.Card
	options   Options
	next      cuda.Ptr
	memory    []allocation // ascending
	pinned    [][]byte
	functions []*function
	counts    Counts
	run       int // launches since the last wait
	capture   *graph
	closed    bool
}

type allocation struct {
	at    cuda.Ptr
	bytes int64
}

// Open makes a device.
func Open(o Options) (*Driver, error) {
	if o.SMs < 0 {
		return nil, fmt.Errorf("a card with %d multiprocessors", o.SMs)
	}
	d := &Driver{card: o.Card, options: o, next: firstAddress}
	if o.SMs > 0 {
		d.card = o.Card.With(o.SMs)
	}
	return d, nil
}

const (
	firstAddress cuda.Ptr = 1 << 40
	align                 = 256   // bytes, of an allocation
	version               = 13000 // of CUDA: new enough for all PTX
)

// Info is that of the card. Its memory clock and the width of its bus are not known.
func (d *Driver) Info() cuda.Info {
	c := &d.card
	return cuda.Info{Name: "counted " + c.Name, Major: c.Major, Minor: c.Minor, Version: version, SMs: c.SMs,
		Memory: c.Memory, Shared: card.DefaultShared, SharedOptIn: c.SharedOptIn(), Clock: c.Clock, L2: c.L2,
		SMShared: c.Shared, SMRegisters: card.Registers, SMThreads: c.Threads, SMBlocks: c.Blocks}
}

// Codes that packages which use a Driver do not tell apart.
const (
	invalidValue  cuda.Code = 1
	invalidHandle cuda.Code = 400
)

var names = map[cuda.Code]string{
	invalidValue: "CUDA_ERROR_INVALID_VALUE", invalidHandle: "CUDA_ERROR_INVALID_HANDLE", cuda.OutOfMemory: "CUDA_ERROR_OUT_OF_MEMORY", cuda.InvalidPTX: "CUDA_ERROR_INVALID_PTX",
	cuda.NotFound: "CUDA_ERROR_NOT_FOUND", cuda.CaptureUnsupported: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
}

// refuse is the error of a driver. The cause may be empty.
func refuse(code cuda.Code, doing, format string, args ...any) *cuda.Error {
	e := &cuda.Error{Code: code, Name: names[code], Doing: doing}
	if format != "" {
		e.Err = fmt.Errorf(format, args...)
	}
	return e
}

// ready is nil where something can be done at once, which is not while a graph is
// recorded.
func (d *Driver) ready(doing string) error {
	switch {
	case d.closed:
		return refuse(invalidValue, doing, "the device is closed")
	case d.capture != nil:
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
	if free := d.card.Memory - d.counts.Memory; bytes > free {
		return 0, &cuda.MemoryError{Asked: bytes, Free: free, Total: d.card.Memory, Err: refuse(cuda.OutOfMemory, doing, "")}
	}
	p := d.next
	d.memory = append(d.memory, allocation{p, bytes})
	d.next += cuda.Ptr((bytes + 2*align - 1) / align * align) // a gap between two
	d.counts.Memory += bytes
	d.counts.MostMemory = max(d.counts.MostMemory, d.counts.Memory)
	return p, nil
}

func (d *Driver) Free(p cuda.Ptr) error {
	const doing = "free memory"
	if p == 0 {
		return nil
	}
	if err := d.ready(doing); err != nil {
		return err
	}
	i := slices.IndexFunc(d.memory, func(a allocation) bool { return a.at == p })
	if i < 0 {
		return refuse(invalidValue, doing, "")
	}
	d.counts.Memory -= d.memory[i].bytes
	d.memory = slices.Delete(d.memory, i, i+1)
	return nil
}

func (d *Driver) MemInfo() (free, total int64, err error) {
	if err := d.ready("ask for free memory"); err != nil {
		return 0, 0, err
	}
	return d.card.Memory - d.counts.Memory, d.card.Memory, nil
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
	d.counts.Pinned += int64(bytes)
	d.counts.MostPinned = max(d.counts.MostPinned, d.counts.Pinned)
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
	d.counts.Pinned -= int64(len(mem))
	d.pinned = slices.Delete(d.pinned, i, i+1)
	return nil
}

// isPinned says whether memory is part of what AllocHost gave.
func (d *Driver) isPinned(mem []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	return slices.ContainsFunc(d.pinned, func(p []byte) bool {
		lo := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
		return at >= lo && at+uintptr(len(mem)) <= lo+uintptr(len(p))
	})
}

// holds is an error unless a range of device memory was allocated.
func (d *Driver) holds(doing string, p cuda.Ptr, bytes int64) error {
	for _, a := range d.memory {
		if p >= a.at && bytes >= 0 && uint64(p-a.at)+uint64(bytes) <= uint64(a.bytes) {
			return nil
		}
	}
	return refuse(invalidValue, doing, "%d bytes at %#x are not allocated", bytes, uint64(p))
}

// copied counts a copy, which is part of a graph while one is recorded.
func (d *Driver) copied(doing string, t traffic, bytes int64, at ...cuda.Ptr) error {
	if d.closed {
		return refuse(invalidValue, doing, "the device is closed")
	}
	for _, p := range at {
		if err := d.holds(doing, p, bytes); err != nil {
			return err
		}
	}
	d.into().move(t, bytes)
	return nil
}

// into is where work is counted that is asked for now.
func (d *Driver) into() *work {
	if d.capture != nil {
		return &d.capture.work
	}
	return &d.counts.work
}

// transfer counts a copy from or to the host's memory.
func (d *Driver) transfer(doing string, mem []byte, at cuda.Ptr, pinned, pageable traffic) error {
	if len(mem) == 0 {
		return d.ready(doing)
	}
	t := pinned
	if !d.isPinned(mem) {
		if err := d.ready(doing + ", memory that is not pinned"); err != nil {
			return err
		}
		t = pageable
	}
	return d.copied(doing, t, int64(len(mem)), at)
}

func (d *Driver) ToDevice(dst cuda.Ptr, src []byte) error {
	return d.transfer("copy to the device", src, dst, toDevice, toDevicePageable)
}

// ToHost leaves zeros.
func (d *Driver) ToHost(dst []byte, src cuda.Ptr) error {
	if err := d.transfer("copy to the host", dst, src, toHost, toHostPageable); err != nil {
		return err
	}
	if d.capture != nil {
		d.capture.results = append(d.capture.results, dst)
		return nil
	}
	clear(dst)
	return nil
}

func (d *Driver) Copy(dst, src cuda.Ptr, bytes int64) error {
	return d.copied("copy within the device", within, bytes, dst, src)
}

func (d *Driver) Zero(dst cuda.Ptr, bytes int64) error {
	return d.copied("clear memory", cleared, bytes, dst)
}

func (d *Driver) Synchronize() error {
	if err := d.ready("wait for the device"); err != nil {
		return err
	}
	d.wait()
	return nil
}

// wait waits for everything.
func (d *Driver) wait() {
	d.counts.Waits++
	d.end()
}

// end ends a stretch of work.
func (d *Driver) end() {
	if d.run >= cuda.WorthGraph {
		d.counts.Misses++
	}
	d.run = 0
}

// An event is a place in work that takes no time.
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
	e.d.end()
	return nil
}

// Wait counts what leaves the device other work.
func (e *event) Wait() error {
	const doing = "wait for an event"
	if err := e.d.ready(doing); err != nil {
		return err
	}
	if !e.recorded || e.closed {
		return refuse(invalidHandle, doing, "")
	}
	e.d.counts.Behind++
	return nil
}

// Since waits, and is 0.
func (e *event) Since(start cuda.Event) (time.Duration, error) {
	const doing = "ask for the time between two events"
	if err := e.d.ready(doing); err != nil {
		return 0, err
	}
	s, ok := start.(*event)
	if !ok || s.d != e.d || !e.recorded || !s.recorded || e.closed || s.closed {
		return 0, refuse(invalidHandle, doing, "")
	}
	e.d.wait()
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
	*d = Driver{closed: true, counts: d.counts}
	return nil
}
