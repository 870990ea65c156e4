package count

import (
	"bytes"
	"fmt"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// A Module is PTX that was read.
type Module struct {
	d *Device
	m *ptx.Module
}

// Load reads a module. Where the text is wrong its error is a *ptx.Error.
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

// Entry finds a kernel, nil if there is none: the same whenever it is asked for.
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

// threads of a .maxntid or .reqntid, 0 where there is none.
func threads(x [3]int) int { return x[0] * max(x[1], 1) * max(x[2], 1) }

// An Entry is a kernel and what its launches are bound by.
type Entry struct {
	// What the text does not say, and may be set.
	Cost      func(grid [3]int, args []byte) (Cost, error) // of a launch; nil: nothing is known
	Registers int                                          // of a thread; 0: not known
	Own       bool                                         // it is a tool of the program that launches: counts tell it apart

	d       *Device
	kernel  *ptx.Kernel
	number  int // of the device's entries
	most    int // threads of a block
	allowed int // bytes of dynamic shared memory
}

// Name is what the text calls the kernel.
func (e *Entry) Name() string { return e.kernel.Name }

// Local is the bytes of local memory of a thread.
func (e *Entry) Local() int { return int(e.kernel.LocalSize) }

// Static is the bytes of shared memory that a block always has.
func (e *Entry) Static() int { return int(e.kernel.StaticSize) }

// MaxThreads is how many a block may have.
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

// Launch counts a launch that a driver would take, with its parameters as they are passed.
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

// count counts a launch, with what it has to do now.
func (e *Entry) count(l launch, grid [3]int, args []byte) (err error) {
	if e.Cost != nil {
		if l.Cost, err = e.Cost(grid, args); err != nil {
			return err
		}
	}
	e.d.counts.launch(&e.d.card, l)
	return nil
}

// check is what a driver checks before it takes a launch.
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
