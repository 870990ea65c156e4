package count

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/ptxsim/ptx"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

type module struct {
	d    *Driver
	text string
	m    *ptx.Module
}

func (d *Driver) Load(text string) (cuda.Module, error) {
	const doing = "load PTX"
	if err := d.ready(doing); err != nil {
		return nil, err
	}
	m, err := ptx.Parse([]byte(text))
	if err != nil {
		e := refuse(cuda.InvalidPTX, doing, "")
		e.Log = err.Error()
		return nil, e
	}
	if have := 10*d.card.Major + d.card.Minor; m.Arch > have {
		return nil, refuse(cuda.InvalidPTX, doing, "the module is for sm_%d, the device is sm_%d", m.Arch, have)
	}
	return &module{d, text, m}, nil
}

func (m *module) Function(name string) (cuda.Function, error) {
	doing := "find kernel " + name
	if err := m.d.ready(doing); err != nil {
		return nil, err
	}
	for _, k := range m.m.Kernels {
		if k.Name == name {
			return m.d.function(m.text, k), nil
		}
	}
	return nil, refuse(cuda.NotFound, doing, "")
}

// function is an entry of a module, the same whenever it is asked for.
func (d *Driver) function(text string, k *ptx.Kernel) *function {
	for _, f := range d.functions {
		if f.entry == k {
			return f
		}
	}
	f := &function{d: d, entry: k, number: len(d.functions), most: card.MaxThreads, need: nothing, registers: d.options.Registers[k.Name]}
	f.allowed = card.DefaultShared - int(k.StaticSize)
	if x := threads(k.MaxThreads); x > 0 {
		f.most = min(f.most, x)
	}
	switch text {
	case cuda.MovePTX:
		f.own = true
		f.need = func(grid [3]int, args []byte) (cpu.Cost, error) {
			flops, bytes := cuda.Moved(k.Name, grid, args)
			return cpu.Cost{Flops: flops, Bytes: bytes}, nil
		}
	case d.options.Program.PTX:
		f.need = d.costOf(k.Name)
	}
	d.functions = append(d.functions, f)
	return f
}

// threads of a .maxntid or .reqntid, 0 where there is none.
func threads(x [3]int) int { return x[0] * max(x[1], 1) * max(x[2], 1) }

// A need says what a launch has to do.
type need func(grid [3]int, args []byte) (cpu.Cost, error)

func nothing([3]int, []byte) (cpu.Cost, error) { return cpu.Cost{}, nil }

// costOf is what launches of a kernel of the model have to do: as often what one of the plan
// does as there are replicas and sets of buffers. Each size is asked for once: a cost may go through loops.
func (d *Driver) costOf(name string) need {
	i := slices.IndexFunc(d.options.Program.Kernels, func(k cuda.Kernel) bool { return k.Name == name })
	if i < 0 || i >= len(d.options.Costs) || d.options.Costs[i] == nil {
		return nothing
	}
	k, cost, known := &d.options.Program.Kernels[i], d.options.Costs[i], map[device.Env]cpu.Cost{}
	return func(grid [3]int, args []byte) (cpu.Cost, error) {
		e, err := k.Env(args)
		if err != nil {
			return cpu.Cost{}, err
		}
		e = device.Env{B: e.B, T: e.T, S: e.S, R: e.R, C: e.C, P: e.P, N: e.N}
		c, ok := known[e]
		if !ok {
			c = cost(&e)
			known[e] = c
		}
		if !k.Tensor {
			c = c.Plain()
		}
		return c.Times(float64(grid[1] * grid[2])), nil
	}
}

func (m *module) Unload() error { return m.d.ready("unload PTX") }

// A function is an entry and what its launches are bound by.
type function struct {
	d         *Driver
	entry     *ptx.Kernel
	number    int // of the driver's functions
	own       bool
	need      need
	most      int // threads of a block
	allowed   int // bytes of dynamic shared memory
	registers int
}

func (f *function) Attributes() (cuda.Attributes, error) {
	if err := f.d.ready("ask for attributes of kernel " + f.entry.Name); err != nil {
		return cuda.Attributes{}, err
	}
	return cuda.Attributes{Registers: f.registers, Local: int(f.entry.LocalSize), Shared: int(f.entry.StaticSize), MaxThreads: f.most}, nil
}

func (f *function) AllowShared(bytes int) error {
	doing := fmt.Sprintf("allow kernel %s %d bytes of dynamic shared memory", f.entry.Name, bytes)
	if err := f.d.ready(doing); err != nil {
		return err
	}
	if most := f.d.card.SharedOptIn() - int(f.entry.StaticSize); bytes < 0 || bytes > most {
		return refuse(invalidValue, doing, "it may take %d", most)
	}
	f.allowed = bytes
	f.d.counts.Allowed++
	return nil
}

func (f *function) Launch(grid, block [3]int, shared int, args []byte) error {
	doing := "launch kernel " + f.entry.Name
	if f.d.closed {
		return refuse(invalidValue, doing, "the device is closed")
	}
	if err := f.check(grid, block, shared, args); err != nil {
		return refuse(invalidValue, doing, "%w", err)
	}
	cost, err := f.need(grid, args)
	if err != nil {
		return refuse(invalidValue, doing, "%w", err)
	}
	l := launch{function: f, blocks: grid[0] * grid[1] * grid[2], replicas: grid[1] * grid[2],
		threads: block[0] * block[1] * block[2], shared: shared, Cost: cost, overhead: card.Launch}
	if f.d.capture != nil {
		l.overhead = card.Node
	} else {
		f.d.counts.Direct++
		f.d.run++
	}
	f.d.into().launch(&f.d.card, l)
	return nil
}

// check is what a driver checks before it takes a launch.
func (f *function) check(grid, block [3]int, shared int, args []byte) error {
	k := f.entry
	switch n := block[0] * block[1] * block[2]; {
	case grid[0] < 1 || grid[1] < 1 || grid[2] < 1 || grid[0] > card.MaxGridX || grid[1] > card.MaxGridYZ || grid[2] > card.MaxGridYZ:
		return fmt.Errorf("a grid of %v blocks", grid)
	case block[0] < 1 || block[1] < 1 || block[2] < 1 || n > f.most:
		return fmt.Errorf("blocks of %v threads, %d at most", block, f.most)
	case k.RequiredThreads[0] > 0 && n != threads(k.RequiredThreads):
		return fmt.Errorf("blocks of %v threads, the kernel wants %v", block, k.RequiredThreads)
	case shared < 0 || shared > f.allowed:
		return fmt.Errorf("%d bytes of dynamic shared memory, %d are allowed", shared, f.allowed)
	case int64(len(args)) != k.ParamSize:
		return fmt.Errorf("%d bytes of parameters, the kernel has %d", len(args), k.ParamSize)
	}
	return nil
}

// A graph is the work that was recorded, already added up.
type graph struct {
	d       *Driver
	work    work
	results [][]byte
}

func (d *Driver) Capture(record func() error) (cuda.Graph, error) {
	if err := d.ready("record a graph"); err != nil {
		return nil, err
	}
	g := &graph{d: d}
	d.capture = g
	err := record()
	d.capture = nil
	if err != nil {
		return nil, err
	}
	d.counts.Captures++
	d.counts.Graphs++
	d.counts.MostGraphs = max(d.counts.MostGraphs, d.counts.Graphs)
	return g, nil
}

func (g *graph) Launch() error {
	if err := g.d.ready("launch a graph"); err != nil {
		return err
	}
	g.d.counts.Replays++
	g.d.counts.work.add(&g.work)
	for _, mem := range g.results {
		clear(mem)
	}
	return nil
}

func (g *graph) Close() error {
	g.d.counts.Graphs--
	return nil
}
