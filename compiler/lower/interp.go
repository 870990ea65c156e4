package lower

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/config"
)

// A Machine is the memory of an interpreted program. Run is the oracle for generated plans.
// Arenas have NumParams elements.
type Machine struct {
	Params, Grads []float32
	Rounded       []uint16    // written by the optimizer; kernels read Params instead, rounded
	States        [][]float32 // the optimizer's states

	uses    []float32
	program *Program

	buffers map[*Buffer][]kernel.Buffer
	runners map[*kernel.Kernel]*kernel.Runner
}

// NewMachine returns a machine with zeroed arenas.
func NewMachine(p *Program) *Machine {
	arena := func() []float32 { return make([]float32, p.NumParams) }
	m := &Machine{Params: arena(), Grads: arena(), Rounded: make([]uint16, p.NumParams), uses: make([]float32, p.NumUses), program: p, buffers: map[*Buffer][]kernel.Buffer{}, runners: map[*kernel.Kernel]*kernel.Runner{}}
	for range p.States {
		m.States = append(m.States, arena())
	}
	return m
}

// Anew returns a machine with zeroed arenas that shares the compiled kernels of m. Only one of
// the two may run at a time.
func (m *Machine) Anew() *Machine {
	fresh := NewMachine(m.program)
	fresh.runners = m.runners
	return fresh
}

// Prepare allocates the memory of an entry for a launch's shapes. Entries that share it keep
// their contents between launches until the next Prepare. Packed rows are for examples of one
// length, T.
func (m *Machine) Prepare(e *Entry, s kernel.Scalars) {
	dims := map[string]int{}
	for name, x := range s {
		dims[name] = int(x)
	}
	dims["T"] = dims["C"]
	for _, b := range e.Memory.Buffers {
		if b.Kept {
			m.buffers[b] = make([]kernel.Buffer, b.Count)
			for i := range b.Count {
				m.buffers[b][i] = kernel.Buffer{F: m.uses[b.Off+i*b.Stride:][:b.Stride]}
			}
			continue
		}
		n, err := elements(b.Type, dims)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		count := b.Count
		if b.PerTime {
			count *= runs(plan.Times, s)
		}
		m.buffers[b] = make([]kernel.Buffer, count)
		for i := range count {
			m.buffers[b][i] = kernel.NewBuffer(b.Type.Elem, n)
		}
		kernel.Pack(b.Name, m.buffers[b][0].I, slices.Repeat([]int32{int32(s["T"])}, dims["B"]), slices.Repeat([]int32{int32(s["S"])}, dims["B"]))
	}
}

// Floats and Ints return tensor i of a buffer of a prepared entry.
func (m *Machine) Floats(e *Entry, name string, i int) []float32 {
	return m.buffers[e.Memory.Buffer(name)][i].F
}
func (m *Machine) Ints(e *Entry, name string, i int) []int32 {
	return m.buffers[e.Memory.Buffer(name)][i].I
}

// Run interprets an entry kernel by kernel. For gradients, it also runs Prepare, Finish and the
// folds, as for a chunk of one launch.
func (m *Machine) Run(e *Entry, s kernel.Scalars) error {
	if e.Name != training {
		return m.steps(e, s)
	}
	clear(m.uses)
	for _, part := range []*Entry{m.program.Entry(plan.Prepare), e, m.program.Entry(plan.Finish)} {
		if part == nil {
			continue
		}
		at := s
		if part != e {
			at = maps.Clone(s)
			at["S"], at["T"], at["C"] = float64(m.program.Source), float64(m.program.Target), float64(m.program.Target)
			m.Prepare(part, at)
		}
		if err := m.steps(part, at); err != nil {
			return err
		}
	}
	for _, f := range m.program.Folds {
		for i := range f.N {
			m.Grads[f.To+i] += m.uses[f.From+i]
		}
	}
	return nil
}

// steps interprets the kernels of an entry.
func (m *Machine) steps(e *Entry, s kernel.Scalars) error {
	if _, said := s["R"]; !said {
		s = maps.Clone(s)
		s["R"] = s["B"] * s["T"]
	}
	for _, b := range e.Memory.Buffers {
		if b.Zero {
			for _, t := range m.buffers[b] {
				clear(t.F)
			}
		}
	}
	for _, step := range e.Steps {
		if step.Unless != plan.Once && runs(step.Unless, s) > 0 {
			continue
		}
		n := 1
		if step.N > 0 {
			n = step.N * runs(step.Runs, s)
		}
		for l := range n {
			if step.Down {
				l = n - 1 - l
			}
			if err := m.routine(e, step, s, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// runs returns the number of runs of a launch, or 0 if the scalars lack it. A scalar has the
// name of its field in runtime/device.Env.
func runs(r plan.Runs, s kernel.Scalars) int {
	switch r {
	case plan.NoGrad:
		return int(s["NoGrad"])
	case plan.WithGrad:
		return int(s["WithGrad"])
	case plan.Times:
		return int(s["Times"])
	}
	return 1
}

func (m *Machine) routine(e *Entry, step Step, s kernel.Scalars, l int) error {
	r := step.Routine
	at := maps.Clone(s)
	at["layer"], at["recurrences"] = float64(l), s["WithGrad"]
	if step.Runs == plan.WithGrad {
		at["layer"] += float64(step.N * runs(plan.NoGrad, s))
	}
	for _, launch := range r.Launches {
		bufs := make([]kernel.Buffer, len(launch.Args))
		for i, a := range launch.Args {
			bufs[i] = m.Buffer(e, a, l, s)
		}
		run := m.runners[launch.Kernel]
		if run == nil {
			var err error
			if run, err = kernel.NewRunner(launch.Kernel, nil); err != nil {
				return fmt.Errorf("%s: %w", r.Name, err)
			}
			m.runners[launch.Kernel] = run
		}
		if err := run.Run(at, bufs); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	return nil
}

// Buffer returns the memory of an argument in iteration l of a launch. Flat arenas begin at
// element P.
func (m *Machine) Buffer(e *Entry, a Arg, l int, s kernel.Scalars) kernel.Buffer {
	var arena []float32
	switch a.Space {
	case InBuffer:
		return m.buffers[e.Memory.Buffer(a.Ref.Buffer)][a.Ref.Index(l, runs(a.Ref.Runs, s))]
	case FlatRounded:
		return kernel.Buffer{H: m.Rounded[int(s["P"]):]}
	case InParams, InRounded, FlatParams:
		arena = m.Params
	case InGrads, FlatGrads:
		arena = m.Grads
	case InUses:
		arena = m.uses
	case FlatState:
		arena = m.States[a.State]
	}
	first := int(s["P"])
	switch {
	case a.Space == InUses:
		first = a.Off + l*a.Stride
	case a.Space == InGrads:
		at, again := (*config.Group)(a.Group).Gradient(l)
		if first = at + a.Off; again {
			arena = m.uses
		}
	case a.Group != nil:
		first = a.Group.Off + (*config.Group)(a.Group).Instance(l)*a.Group.Stride + a.Off
	}
	if a.Space == InRounded {
		return kernel.Buffer{H: a.rounded(arena[first:])}
	}
	return kernel.Buffer{F: arena[first:]}
}

// rounded returns a parameter rounded to BF16.
func (a Arg) rounded(values []float32) []uint16 {
	i := slices.IndexFunc(a.Group.Params, func(p plan.Param) bool { return p.Name == a.Param })
	out := make([]uint16, a.Group.Params[i].Elems())
	for i := range out {
		bits := math.Float32bits(values[i])
		out[i] = uint16((bits + 0x7fff + bits>>16&1) >> 16) // to nearest even; parameters are finite
	}
	return out
}

// Entry finds a program's entry by name.
func (p *Program) Entry(name string) *Entry {
	for _, e := range p.Entries {
		if e.Name == name {
			return e
		}
	}
	return nil
}
