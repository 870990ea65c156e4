package lower

import (
	"fmt"
	"maps"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/plan"
)

// A Machine is the memory on which Run interprets a program: the oracle of what a
// generated plan computes. Arenas have NumParams elements.
type Machine struct {
	Params, Grads, Moment1, Moment2 []float32

	program *Program
	floats  map[*Buffer][][]float32
	ints    map[*Buffer][][]int32
}

// NewMachine returns a machine with zeroed arenas.
func NewMachine(p *Program) *Machine {
	arena := func() []float32 { return make([]float32, p.NumParams) }
	return &Machine{
		Params: arena(), Grads: arena(), Moment1: arena(), Moment2: arena(), program: p,
		floats: map[*Buffer][][]float32{}, ints: map[*Buffer][][]int32{},
	}
}

// Prepare allocates the memory of an entry for a launch's shapes; entries that
// share it keep their contents between launches until it is prepared again.
func (m *Machine) Prepare(e *Entry, s kernel.Scalars) {
	for _, b := range e.Memory.Buffers {
		n := 1
		for _, d := range b.Type.Shape {
			switch d.Sym {
			case "":
				n *= d.N
			case "T":
				n *= int(s["C"])
			default:
				n *= int(s[d.Sym])
			}
		}
		m.floats[b], m.ints[b] = nil, nil
		count := b.Count
		if b.PerTime {
			count *= runs(plan.Times, s)
		}
		for range count {
			if b.Type.Elem == expr.F32 {
				m.floats[b] = append(m.floats[b], make([]float32, n))
			} else {
				m.ints[b] = append(m.ints[b], make([]int32, n))
			}
		}
	}
}

// Floats and Ints are tensor i of a buffer of a prepared entry.
func (m *Machine) Floats(e *Entry, name string, i int) []float32 {
	return m.floats[e.Memory.Buffer(name)][i]
}
func (m *Machine) Ints(e *Entry, name string, i int) []int32 { return m.ints[e.Memory.Buffer(name)][i] }

// Run interprets an entry kernel by kernel.
func (m *Machine) Run(e *Entry, s kernel.Scalars) error {
	for _, b := range e.Memory.Buffers {
		if b.Zero {
			for _, t := range m.floats[b] {
				clear(t)
			}
		}
	}
	for _, step := range e.Steps {
		if step.Unless != plan.Once && runs(step.Unless, s) > 0 {
			continue
		}
		if step.N == 0 {
			if err := m.routine(e, step, s, 0); err != nil {
				return err
			}
		}
		n := step.N * runs(step.Runs, s)
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

// runs is the number of runs of a launch, whose scalars have them by the names of
// the fields of runtime/device.Env; 0 where the launch does not say.
func runs(r plan.Runs, s kernel.Scalars) int {
	switch r {
	case plan.Free:
		return int(s["Free"])
	case plan.Kept:
		return int(s["Kept"])
	case plan.Times:
		return int(s["Times"])
	}
	return 1
}

func (m *Machine) routine(e *Entry, step Step, s kernel.Scalars, l int) error {
	r := step.Routine
	at := maps.Clone(s)
	at["layer"] = float64(l)
	if step.Runs == plan.Kept {
		at["layer"] += float64(step.N * runs(plan.Free, s))
	}
	for _, launch := range r.Launches {
		bufs := make([]kernel.Buffer, len(launch.Args))
		for i, a := range launch.Args {
			bufs[i] = m.Buffer(e, a, l, s)
		}
		if err := kernel.Run(launch.Kernel, at, bufs); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	return nil
}

// Buffer is the memory behind an argument in iteration l of a launch; flat arenas
// begin at element P.
func (m *Machine) Buffer(e *Entry, a Arg, l int, s kernel.Scalars) kernel.Buffer {
	if a.Group != nil {
		l %= a.Group.Layers
	}
	first := int(s["P"])
	switch a.Space {
	case InParams:
		return kernel.Buffer{F: m.Params[a.Group.Off+l*a.Group.Stride+a.Off:]}
	case InGrads:
		return kernel.Buffer{F: m.Grads[a.Group.Off+l*a.Group.Stride+a.Off:]}
	case FlatParams:
		return kernel.Buffer{F: m.Params[first:]}
	case FlatGrads:
		return kernel.Buffer{F: m.Grads[first:]}
	case FlatMoment1:
		return kernel.Buffer{F: m.Moment1[first:]}
	case FlatMoment2:
		return kernel.Buffer{F: m.Moment2[first:]}
	}
	b := e.Memory.Buffer(a.Ref.Buffer)
	i := a.Ref.Index(l, runs(a.Ref.Runs, s))
	if b.Type.Elem == expr.F32 {
		return kernel.Buffer{F: m.floats[b][i]}
	}
	return kernel.Buffer{I: m.ints[b][i]}
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
