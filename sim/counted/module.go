package counted

import (
	"errors"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/ptxsim/count"
	"github.com/arithlang/mlc/ptxsim/ptx"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

type module struct {
	d    *Driver
	text string
	m    *count.Module
}

func (d *Driver) Load(text string) (cuda.Module, error) {
	const doing = "load PTX"
	if err := d.ready(doing); err != nil {
		return nil, err
	}
	m, err := d.dev.Load([]byte(text))
	switch {
	case errors.As(err, new(*ptx.Error)):
		e := refuse(cuda.InvalidPTX, doing, "")
		e.Log = err.Error()
		return nil, e
	case err != nil:
		return nil, refuse(cuda.InvalidPTX, doing, "%w", err)
	}
	return &module{d, text, m}, nil
}

// Function returns an entry that knows the cost of its launches.
func (m *module) Function(name string) (cuda.Function, error) {
	doing := "find kernel " + name
	if err := m.d.ready(doing); err != nil {
		return nil, err
	}
	e := m.m.Entry(name)
	if e == nil {
		return nil, refuse(cuda.NotFound, doing, "")
	}
	if e.Cost == nil {
		e.Registers = m.d.options.Registers[name]
		switch m.text {
		case cuda.MovePTX:
			e.Own = true
			e.Cost = func(grid [3]int, args []byte) (count.Cost, error) {
				flops, bytes := LeastWork(name, grid, args)
				return count.Cost{Flops: flops, Bytes: bytes}, nil
			}
		case m.d.options.Program.PTX:
			e.Cost = m.d.costOf(name)
		}
	}
	return &function{m.d, e}, nil
}

// Cost converts a cost to the device's type.
func Cost(c cpu.Cost) count.Cost {
	return count.Cost{Flops: c.Flops, Bytes: c.Bytes, Narrow: c.Narrow, Split: c.Split}
}

// costOf returns the cost of launches of a kernel of the model, or nil if it is unknown. It sums
// the kernel's cost over replicas and sets of buffers. The cost of each size is computed once,
// because a cost may go through loops.
func (d *Driver) costOf(name string) func(grid [3]int, args []byte) (count.Cost, error) {
	i := slices.IndexFunc(d.options.Program.Kernels, func(k cuda.Kernel) bool { return k.Name == name })
	if i < 0 || i >= len(d.options.Costs) || d.options.Costs[i] == nil {
		return nil
	}
	k, cost, known := &d.options.Program.Kernels[i], d.options.Costs[i], map[device.Env]cpu.Cost{}
	return func(grid [3]int, args []byte) (count.Cost, error) {
		all, err := Envs(k, args, grid[1], d.at)
		if err != nil {
			return count.Cost{}, err
		}
		var sum cpu.Cost
		for _, e := range all {
			e = device.Env{B: e.B, T: e.T, S: e.S, R: e.R, C: e.C, P: e.P, N: e.N}
			c, ok := known[e]
			if !ok {
				c = cost(&e)
				known[e] = c
			}
			sum = sum.Plus(c)
		}
		if !k.Tensor {
			sum = sum.Plain()
		}
		return Cost(sum.Times(float64(grid[1] / len(all) * grid[2]))), nil
	}
}

func (m *module) Unload() error { return m.d.ready("unload PTX") }

type function struct {
	d     *Driver
	entry *count.Entry
}

func (f *function) Attributes() (cuda.Attributes, error) {
	if err := f.d.ready("ask for attributes of kernel " + f.entry.Name()); err != nil {
		return cuda.Attributes{}, err
	}
	return cuda.Attributes{Registers: f.entry.Registers, Local: f.entry.Local(), Shared: f.entry.Static(), MaxThreads: f.entry.MaxThreads()}, nil
}

func (f *function) AllowShared(bytes int) error {
	doing := fmt.Sprintf("allow kernel %s %d bytes of dynamic shared memory", f.entry.Name(), bytes)
	if err := f.d.ready(doing); err != nil {
		return err
	}
	if err := f.entry.AllowShared(bytes); err != nil {
		return refuse(invalidValue, doing, "%w", err)
	}
	return nil
}

func (f *function) Launch(grid, block [3]int, shared int, args []byte) error {
	doing := "launch kernel " + f.entry.Name()
	if f.d.closed {
		return refuse(invalidValue, doing, "the device is closed")
	}
	if err := f.entry.Launch(grid, block, shared, args); err != nil {
		return refuse(invalidValue, doing, "%w", err)
	}
	return nil
}

// A graph clears the host memory that its copies would write.
type graph struct {
	d       *Driver
	work    *count.Graph
	results [][]byte
}

func (d *Driver) Capture(record func() error) (cuda.Graph, error) {
	if err := d.ready("record a graph"); err != nil {
		return nil, err
	}
	d.results = nil
	work, err := d.dev.Record(record)
	if err != nil {
		return nil, err
	}
	return &graph{d, work, d.results}, nil
}

func (g *graph) Launch() error {
	if err := g.d.ready("launch a graph"); err != nil {
		return err
	}
	if err := g.work.Launch(); err != nil {
		return refuse(invalidValue, "launch a graph", "%w", err)
	}
	for _, mem := range g.results {
		clear(mem)
	}
	return nil
}

func (g *graph) Close() error {
	g.work.Close()
	return nil
}
