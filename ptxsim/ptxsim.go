// Package ptxsim runs PTX without a GPU. It takes the place of the driver: it allocates and
// copies memory, loads modules and launches kernels. It checks every access of every thread:
// bounds, alignment, initialisation, data races, barriers that not all threads reach, and endless
// waits.
//
// Package ptx parses the instructions and package num has their arithmetic. The simulator decodes
// a kernel once, into closures that each run an instruction for the 32 lanes of a warp. Where the
// hardware has a choice (the order of warps and blocks, the time of an asynchronous copy, the
// content of unwritten memory), the simulator chooses so that mistakes show. A seed decides.
package ptxsim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"sync"
)

// Order is how warps and blocks take turns.
type Order uint8

// The orders.
const (
	RoundRobin Order = iota // round-robin, each for a slice of time
	Reversed                // round-robin, from the last to the first
	Random                  // drawn from the seed, in slices down to one instruction
	Greedy                  // one warp runs until it must wait
)

func (o Order) String() string {
	return [...]string{"round-robin", "reversed", "random", "greedy"}[o]
}

// Orders lists all orders.
func Orders() []Order { return []Order{RoundRobin, Reversed, Random, Greedy} }

// Options select the device and the checks.
type Options struct {
	Arch  int    // 80, 86, 89 or 90; 0 means 80
	Seed  uint64 // of all random choices
	Order Order
	// NoRaces and NoInit turn off the checks for data races, and for reads of unwritten memory.
	NoRaces, NoInit bool
	// SameValue makes unordered writes of one value to one place a warning. Compilers let many
	// threads compute and store the same value.
	SameValue bool
	Count     bool  // Stats have Counts
	Reach     bool  // Stats have Reached
	Eager     bool  // cp.async copies when issued, not when waited for
	Jitter    bool  // approximate instructions err within their bounds
	MaxSteps  int64 // lane instructions per launch; 0 means 1<<37
	Workers   int   // blocks that run at the same time; 0 means 1
	Memory    int64 // bytes of the device; 0 means 16 GiB
}

// Device is a simulated GPU. One goroutine at a time may use it.
type Device struct {
	opt    Options
	global space
	used   int64
	table  table // of the accesses to global memory
	// mu guards global memory, its shadow and the counts while several workers run.
	mu       sync.Mutex
	launches uint64
}

// New returns an empty device.
func New(o Options) *Device {
	o.Arch = cmp.Or(o.Arch, 80)
	o.MaxSteps = cmp.Or(o.MaxSteps, 1<<37)
	o.Memory = cmp.Or(o.Memory, 16<<30)
	o.Workers = max(o.Workers, 1)
	return &Device{opt: o, global: space{base: globalBase}, table: newTable()}
}

// Ptr is an address in global memory. It is not a pointer of this process.
type Ptr uint64

// Alloc reserves uninitialised memory. The addresses around it stay free, so that an access
// beyond it is noticed.
func (d *Device) Alloc(bytes int64) (Ptr, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("sim: cannot allocate %d bytes", bytes)
	}
	if free := d.opt.Memory - d.used; bytes > free {
		return 0, fmt.Errorf("sim: out of memory: asked for %d bytes, %d of %d are free", bytes, free, d.opt.Memory)
	}
	b := &buffer{name: "global memory", data: make([]byte, bytes)}
	if !d.opt.NoInit {
		b.init = newBitmap(bytes)
	}
	poison(b.data)
	d.used += bytes
	return Ptr(d.place(b)), nil
}

// place assigns an address to a buffer of global memory.
func (d *Device) place(b *buffer) uint64 {
	if !d.opt.NoRaces {
		b.shadow = newShadow(len(b.data))
	}
	return d.global.add(b)
}

// Free releases an allocation.
func (d *Device) Free(p Ptr) error {
	b := d.global.find(uint64(p))
	switch {
	case b == nil || b.start != uint64(p) || b.fixed:
		return fmt.Errorf("sim: free of %#x, which Alloc did not give", uint64(p))
	case b.freed:
		return fmt.Errorf("sim: %#x is freed twice", uint64(p))
	}
	d.used -= int64(len(b.data))
	*b = buffer{name: b.name, start: b.start, freed: true}
	return nil
}

// hostRange returns the bytes of a copy from or to the host.
func (d *Device) hostRange(verb string, p Ptr, n int) (*buffer, int, error) {
	b := d.global.find(uint64(p))
	if b == nil || b.freed {
		return nil, 0, fmt.Errorf("sim: %s at %#x, where nothing is allocated", verb, uint64(p))
	}
	off := uint64(p) - b.start
	if off > uint64(len(b.data)) || uint64(n) > uint64(len(b.data))-off {
		return nil, 0, fmt.Errorf("sim: %s of %d bytes at offset %d of an allocation of %d bytes", verb, n, int64(off), len(b.data))
	}
	return b, int(off), nil
}

// Write copies data to the device.
func (d *Device) Write(p Ptr, data []byte) error {
	b, off, err := d.hostRange("write", p, len(data))
	if err != nil {
		return err
	}
	copy(b.data[off:], data)
	if len(data) == len(b.data) {
		b.init = nil
	}
	b.init.setRange(off, len(data))
	return nil
}

// Read copies from the device. If a byte was never written, the error is an *UninitialisedError.
// The data are copied anyway, so the caller may ignore it.
func (d *Device) Read(data []byte, p Ptr) error {
	b, off, err := d.hostRange("read", p, len(data))
	if err != nil {
		return err
	}
	copy(data, b.data[off:])
	if at := b.init.firstClear(off, len(data)); at >= 0 {
		return &UninitialisedError{Offset: int64(at)}
	}
	return nil
}

// UninitialisedError reports that the host read a byte of an allocation before anything wrote it.
type UninitialisedError struct{ Offset int64 }

func (e *UninitialisedError) Error() string {
	return fmt.Sprintf("sim: read of an uninitialised byte at offset %d of the allocation", e.Offset)
}

// random returns the random generator for one part of a launch.
func (d *Device) random(part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(d.opt.Seed^d.launches<<32, part))
}
