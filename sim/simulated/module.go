package simulated

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/ptx"
	"github.com/arithlang/mlc/runtime/cuda"
)

// A Library keeps the PTX that its devices have read: each text is read once. Any number of
// goroutines may use it, and the zero Library is empty.
type Library struct{ texts sync.Map } // of *ptx.Module, by text

// Open is the function Open, of a device that shares what the library's other devices have read.
func (l *Library) Open(o ptxsim.Options) (cuda.Driver, error) {
	return open(o, func(string, ptxsim.Stats) {}, l)
}

func (l *Library) module(text string) (*ptx.Module, error) {
	if m, ok := l.texts.Load(text); ok {
		return m.(*ptx.Module), nil
	}
	m, err := ptx.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("sim: load: %w", err)
	}
	l.texts.Store(text, m)
	return m, nil
}

type module struct {
	d *driver
	m *ptxsim.Module
}

func (d *driver) Load(text string) (cuda.Module, error) {
	if err := d.ready("load PTX"); err != nil {
		return nil, err
	}
	m, err := d.load(text)
	if err != nil {
		e := fail(cuda.InvalidPTX, "load PTX", nil)
		e.Log = err.Error()
		return nil, e
	}
	return &module{d, m}, nil
}

func (d *driver) load(text string) (*ptxsim.Module, error) {
	m, err := d.read.module(text)
	if err != nil {
		return nil, err
	}
	return d.dev.Place(m)
}

func (m *module) Function(name string) (cuda.Function, error) {
	k, err := m.m.Kernel(name)
	if err != nil {
		return nil, fail(cuda.NotFound, "find kernel "+name, err)
	}
	return &function{d: m.d, k: k, name: name, limits: k.Limits(), allowed: defaultShared - k.Limits().Static}, nil
}

func (m *module) Unload() error { return m.d.Synchronize() }

type function struct {
	d       *driver
	k       *ptxsim.Kernel
	name    string
	limits  ptxsim.Limits
	allowed int // bytes of dynamic shared memory
}

func (f *function) Attributes() (cuda.Attributes, error) {
	if err := f.d.ready("ask for attributes of kernel " + f.name); err != nil {
		return cuda.Attributes{}, err
	}
	return cuda.Attributes{Shared: f.limits.Static, MaxThreads: f.limits.Threads}, nil
}

func (f *function) AllowShared(bytes int) error {
	doing := fmt.Sprintf("allow kernel %s %d bytes of dynamic shared memory", f.name, bytes)
	if err := f.d.ready(doing); err != nil {
		return err
	}
	if bytes < 0 || bytes > f.limits.Shared-f.limits.Static {
		return fail(invalidValue, doing, nil)
	}
	f.allowed = bytes
	return nil
}

// kinds maps a kind of the simulator's reports to a code of the driver.
var kinds = map[ptxsim.Kind]cuda.Code{
	ptxsim.OutOfBounds: cuda.IllegalAddress, ptxsim.ReadOnly: cuda.IllegalAddress, ptxsim.Misaligned: cuda.MisalignedAddress, ptxsim.BadLaunch: invalidValue,
}

func (f *function) Launch(grid, block [3]int, shared int, args []byte) error {
	doing := "launch kernel " + f.name
	if shared > f.allowed {
		return fail(invalidValue, doing, fmt.Errorf("%d bytes of dynamic shared memory, %d are allowed", shared, f.allowed))
	}
	l := ptxsim.Launch{Grid: grid, Block: block, Shared: shared, Args: slices.Clone(args)}
	return f.d.do(func() error {
		stats, err := f.k.Launch(l)
		if err == nil {
			f.d.ended(f.name, stats)
			return nil
		}
		return fail(Code(err), doing, err)
	})
}

// Code returns the driver's code for what a launch on the simulator has found.
func Code(err error) cuda.Code {
	if r := (*ptxsim.Report)(nil); errors.As(err, &r) && kinds[r.Kind] != 0 {
		return kinds[r.Kind]
	}
	return cuda.LaunchFailed
}

type graph struct {
	d   *driver
	ops []func() error
}

func (d *driver) Capture(record func() error) (cuda.Graph, error) {
	if err := d.ready("record a graph"); err != nil {
		return nil, err
	}
	var ops []func() error
	d.record = &ops
	err := record()
	d.record = nil
	if err != nil {
		return nil, err
	}
	return &graph{d, ops}, nil
}

func (g *graph) Launch() error {
	if err := g.d.ready("launch a graph"); err != nil {
		return err
	}
	g.d.queue = append(g.d.queue, g.ops...)
	return nil
}

func (g *graph) Close() error { return g.d.Synchronize() }
