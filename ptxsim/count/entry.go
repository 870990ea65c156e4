package count

import (
	"bytes"
	"fmt"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// A Module is parsed PTX.
type Module struct {
	d *Device
	m *ptx.Module
}

// Load reads a module. If the text is wrong, the error is a *ptx.Error.
func (d *Device) Load(text []byte) (*Module, error) {
	m, err := ptx.Parse(text)
	if err != nil {
		return nil, err
	}
	if have := 10*d.card.Major + d.card.Minor; m.Arch > have {
		return nil, fmt.Errorf("the module is for sm_%d, the device is sm_%d", m.Arch, have)
	}
	return &Module{d, m}, nil
}

// Entry returns the kernel with a name, or nil. Every call returns the same Entry.
func (m *Module) Entry(name string) *Entry {
	for _, k := range m.m.Kernels {
		if k.Name == name {
			return m.d.entry(k)
		}
	}
	return nil
}

func (d *Device) entry(k *ptx.Kernel) *Entry {
	for _, e := range d.entries {
		if e.kernel == k {
			return e
		}
	}
	e := &Entry{d: d, kernel: k, number: len(d.entries), most: card.MaxThreads, allowed: card.DefaultShared - int(k.StaticSize)}
	if x := threads(k.MaxThreads); x > 0 {
		e.most = min(e.most, x)
	}
	d.entries = append(d.entries, e)
	return e
}

// threads returns the threads of a .maxntid or .reqntid; 0 if the directive is missing.
func threads(x [3]int) int { return x[0] * max(x[1], 1) * max(x[2], 1) }

// An Entry is a kernel and the limits of its launches.
type Entry struct {
	// These are not in the text; the caller may set them.
	Cost      func(grid [3]int, args []byte) (Cost, error) // of a launch; nil: unknown
	Registers int                                          // per thread; 0: unknown
	Own       bool                                         // the kernel is a tool of the launching program; counts list it separately

	d       *Device
	kernel  *ptx.Kernel
	number  int // among the device's entries
	most    int // threads per block
	allowed int // bytes of dynamic shared memory
}

// Name returns the kernel's name in the text.
func (e *Entry) Name() string { return e.kernel.Name }

// Local returns the bytes of local memory per thread.
func (e *Entry) Local() int { return int(e.kernel.LocalSize) }

// Static returns the bytes of static shared memory per block.
func (e *Entry) Static() int { return int(e.kernel.StaticSize) }

// MaxThreads returns how many threads a block may have.
func (e *Entry) MaxThreads() int { return e.most }

// AllowShared lets launches take up to so many bytes of dynamic shared memory.
func (e *Entry) AllowShared(bytes int) error {
	if most := e.d.card.SharedOptIn() - e.Static(); bytes < 0 || bytes > most {
		return fmt.Errorf("it may take %d", most)
	}
	e.allowed = bytes
	e.d.counts.Allowed++
	return nil
}

// Launch counts a launch if a driver would accept it. args is the parameter block.
func (e *Entry) Launch(grid, block [3]int, shared int, args []byte) error {
	if err := e.check(grid, block, shared, args); err != nil {
		return err
	}
	l := launch{number: e.number, blocks: grid[0] * grid[1] * grid[2], replicas: grid[1] * grid[2],
		threads: block[0] * block[1] * block[2], shared: shared, overhead: card.Launch}
	if g := e.d.recording; g != nil {
		l.overhead = card.Node
		g.nodes = append(g.nodes, node{e, l, grid, bytes.Clone(args)})
		return nil
	}
	if err := e.count(l, grid, args); err != nil {
		return err
	}
	e.d.counts.Direct++
	e.d.run++
	return nil
}

// count counts a launch, with its present cost.
func (e *Entry) count(l launch, grid [3]int, args []byte) (err error) {
	if e.Cost != nil {
		if l.Cost, err = e.Cost(grid, args); err != nil {
			return err
		}
	}
	e.d.counts.launch(&e.d.card, l)
	return nil
}

// check makes the driver's checks of a launch.
func (e *Entry) check(grid, block [3]int, shared int, args []byte) error {
	k := e.kernel
	switch n := block[0] * block[1] * block[2]; {
	case grid[0] < 1 || grid[1] < 1 || grid[2] < 1 || grid[0] > card.MaxGridX || grid[1] > card.MaxGridYZ || grid[2] > card.MaxGridYZ:
		return fmt.Errorf("a grid of %v blocks", grid)
	case block[0] < 1 || block[1] < 1 || block[2] < 1 || n > e.most:
		return fmt.Errorf("blocks of %v threads, %d at most", block, e.most)
	case k.RequiredThreads[0] > 0 && n != threads(k.RequiredThreads):
		return fmt.Errorf("blocks of %v threads, the kernel wants %v", block, k.RequiredThreads)
	case shared < 0 || shared > e.allowed:
		return fmt.Errorf("%d bytes of dynamic shared memory, %d are allowed", shared, e.allowed)
	case int64(len(args)) != k.ParamSize:
		return fmt.Errorf("%d bytes of parameters, the kernel has %d", len(args), k.ParamSize)
	}
	return nil
}
