// Package counted is the counting GPU of package ptxsim/count as a cuda.Driver: it does
// nothing and writes everything down. It says what a model would ask of a card: launches,
// graphs, copies, waits and memory. With the model's kernels and what they cost it also says
// what each launch has to do, and no less than how long that takes.
//
// Package cuda's Machine, before it, asks as it would ask NVIDIA's driver; package
// runtime and mlc explain print the Report after it. What comes back from the device is
// zeros, so nothing that a model computes on it is of any use.
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
	dev     *count.Device
	options Options
	pinned  [][]byte
	results [][]byte            // of the host, that the graph being recorded writes
	copied  map[cuda.Ptr][]byte // what was copied to the device last, by its place
	closed  bool
}

// Open makes a device.
func Open(o Options) (*Driver, error) {
	if o.SMs < 0 {
		return nil, fmt.Errorf("a card with %d multiprocessors", o.SMs)
	}
	c := o.Card
	if o.SMs > 0 {
		c = c.With(o.SMs)
	}
	return &Driver{dev: count.New(c, cuda.WorthGraph), options: o, copied: map[cuda.Ptr][]byte{}}, nil
}

// Counts returns what was counted since the device was opened or Take was called.
func (d *Driver) Counts() count.Counts { return d.dev.Counts() }

// Take returns the Counts, and begins new ones.
func (d *Driver) Take() count.Counts { return d.dev.Take() }

const version = 13000 // of CUDA: new enough for all PTX

// Info is that of the card. Its memory clock and the width of its bus are not known.
func (d *Driver) Info() cuda.Info {
	c := d.dev.Card()
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

// isPinned says whether memory is part of what AllocHost gave.
func (d *Driver) isPinned(mem []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	return slices.ContainsFunc(d.pinned, func(p []byte) bool {
		lo := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
		return at >= lo && at+uintptr(len(mem)) <= lo+uintptr(len(p))
	})
}

// move counts a copy, which is part of a graph while one is recorded.
func (d *Driver) move(doing string, k count.Copy, bytes int64, at ...uint64) error {
	if d.closed {
		return refuse(invalidValue, doing, "the device is closed")
	}
	if err := d.dev.Move(k, bytes, at...); err != nil {
		return refuse(invalidValue, doing, "%w", err)
	}
	return nil
}

// transfer counts a copy from or to the host's memory.
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

// ToDevice keeps what is copied, for the shapes of replicas in it.
func (d *Driver) ToDevice(dst cuda.Ptr, src []byte) error {
	d.copied[dst] = append(d.copied[dst][:0], src...)
	return d.transfer("copy to the device", src, dst, count.ToDevice, count.ToDevicePageable)
}

// at is what was copied to a place on the device, zeros where nothing was.
func (d *Driver) at(at cuda.Ptr, bytes int) []byte {
	for to, data := range d.copied {
		if to <= at && int64(at-to)+int64(bytes) <= int64(len(data)) {
			return data[at-to:][:bytes]
		}
	}
	return make([]byte, bytes)
}

// ToHost leaves zeros.
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
	e.d.dev.Mark()
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
	e.d.dev.WaitBehind()
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
