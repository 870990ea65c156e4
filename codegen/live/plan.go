package live

import (
	"reflect"
	"slices"

	"github.com/arithlang/mlc/codegen/host"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/device"
)

// newPlan is what package host prints as plan.go, with names resolved to places.
func newPlan(p *lower.Program) device.Plan {
	out := device.Plan{NumParams: p.NumParams}
	groups := map[*plan.Group]*device.Group{}
	for _, g := range p.Groups {
		groups[g] = (*device.Group)(g)
	}
	for _, e := range p.Entries {
		memory := newMemory(e.Memory)
		made := device.Program{Layout: memory.layout, Run: newProgram(p, e, memory, groups).run}
		if e.Flat {
			made.Layout = device.FlatLayout
		}
		reflect.ValueOf(&out).Elem().FieldByName(host.ProgramField(e.Name)).Set(reflect.ValueOf(made))
	}
	return out
}

// A program is an entry of the plan.
type program struct {
	memory *memory
	flat   bool
	steps  []step
}

type step struct {
	lower.Step
	launches []launch
}

type launch struct {
	kernel int
	args   []argument
}

// An argument is an Arg with its names resolved.
type argument struct {
	lower.Arg
	buffer int           // InBuffer: its number in the memory
	group  *device.Group // InParams, InGrads
}

func newProgram(p *lower.Program, e *lower.Entry, memory *memory, groups map[*plan.Group]*device.Group) *program {
	out := &program{memory: memory, flat: e.Flat}
	for _, s := range e.Steps {
		t := step{Step: s}
		for _, l := range s.Routine.Launches {
			made := launch{kernel: slices.Index(p.Kernels, l.Kernel)}
			for _, a := range l.Args {
				buffer := slices.IndexFunc(e.Memory.Buffers, func(b *lower.Buffer) bool { return b.Name == a.Ref.Buffer })
				made.args = append(made.args, argument{a, buffer, groups[a.Group]})
			}
			t.launches = append(t.launches, made)
		}
		out.steps = append(out.steps, t)
	}
	return out
}

// A run is one launch of a program.
type run struct {
	*program
	q      device.Queue
	e      *device.Env
	arrays []device.Array // by buffer
	refs   []device.Ref   // room for the arguments of a kernel
}

func (p *program) run(q device.Queue, e *device.Env) {
	r := run{program: p, q: q, e: e}
	if !p.flat {
		r.arrays, _ = p.memory.place(e)
		for i, b := range p.memory.Buffers {
			if b.Zero {
				q.Zero(r.arrays[i].At(0), r.arrays[i].Len())
			}
		}
	}
	for i := range p.steps {
		r.step(&p.steps[i])
	}
}

// step runs a routine as often as the launch says.
func (r *run) step(s *step) {
	switch {
	case s.Unless != plan.Once && runs(s.Unless, r.e) > 0:
		return
	case s.N == 0:
		r.routine(s, 0)
		return
	}
	first := 0 // the layer number of the first iteration
	if s.Runs == plan.Kept {
		first = s.N * runs(plan.Free, r.e)
	}
	n := s.N * runs(s.Runs, r.e)
	for l := range n {
		if s.Down {
			l = n - 1 - l
		}
		r.e.Layer = first + l
		r.routine(s, l)
	}
	r.e.Layer = 0
}

// routine launches the kernels of a routine in iteration l of its loop.
func (r *run) routine(s *step, l int) {
	for i := range s.launches {
		at := &s.launches[i]
		r.refs = r.refs[:0]
		for j := range at.args {
			r.refs = append(r.refs, r.place(&at.args[j], l))
		}
		r.q.Launch(at.kernel, r.e, r.refs...)
	}
}

// place is where an argument is in iteration l.
func (r *run) place(a *argument, l int) device.Ref {
	switch a.Space {
	case lower.InParams:
		return a.group.At(l).Plus(a.Off)
	case lower.InGrads:
		return a.group.Gradient(l).Plus(a.Off)
	case lower.FlatParams:
		return device.Ref{Space: device.Params, Off: r.e.P}
	case lower.FlatGrads:
		return device.Ref{Space: device.Grads, Off: r.e.P}
	case lower.FlatMoment1:
		return device.Ref{Space: device.Moment1, Off: r.e.P}
	case lower.FlatMoment2:
		return device.Ref{Space: device.Moment2, Off: r.e.P}
	}
	if r.flat {
		return device.Ref{Space: device.Work} // the result
	}
	return r.arrays[a.buffer].At(a.Ref.Index(l, runs(a.Ref.Runs, r.e)))
}

// runs is how often a launch goes through a stack.
func runs(r plan.Runs, e *device.Env) int {
	switch r {
	case plan.Free:
		return e.Free
	case plan.Kept:
		return e.Kept
	case plan.Times:
		return e.Times
	}
	return 1
}

// A memory is the buffers of a program.
type memory struct {
	*lower.Memory
	elements []func(e *device.Env) int // of a tensor of each buffer
	fields   map[int]int               // buffers by the number of the field of device.Layout that says where they are
}

func newMemory(m *lower.Memory) *memory {
	out := &memory{Memory: m, fields: map[int]int{}}
	for _, b := range m.Buffers {
		out.elements = append(out.elements, elements(b.Type.Shape))
	}
	for name, buffer := range host.LayoutFields(m.Name) {
		if i := slices.Index(m.Buffers, m.Buffer(buffer)); i >= 0 {
			field, _ := reflect.TypeFor[device.Layout]().FieldByName(name)
			out.fields[field.Index[0]] = i
		}
	}
	return out
}

// elements is the size of a tensor in memory, with C rows where the shape has T.
func elements(shape []ir.Dim) func(e *device.Env) int {
	n := expr.Int(1)
	for _, d := range shape {
		size := expr.Int(int64(d.N))
		switch d.Sym {
		case "":
		case "T":
			size = expr.NewVar("C", expr.I32)
		default:
			size = expr.NewVar(d.Sym, expr.I32)
		}
		n = expr.New(expr.Mul, n, size)
	}
	return ofLaunch(n)
}

// place lays out the buffers one after another.
func (m *memory) place(e *device.Env) ([]device.Array, device.Allocator) {
	var at device.Allocator
	arrays := make([]device.Array, len(m.Buffers))
	for i, b := range m.Buffers {
		count, n := b.Count, m.elements[i](e)
		if b.PerTime {
			count *= runs(plan.Times, e)
		}
		if b.Type.Elem == expr.F32 {
			arrays[i] = at.Floats(count, n)
		} else {
			arrays[i] = at.Int32s(count, n)
		}
	}
	return arrays, at
}

// layout says where the runtime meets the buffers.
func (m *memory) layout(e *device.Env) device.Layout {
	arrays, used := m.place(e)
	l := device.Layout{Work: used.Work, Ints: used.Ints, Largest: used.Largest}
	for field, buffer := range m.fields {
		reflect.ValueOf(&l).Elem().Field(field).Set(reflect.ValueOf(arrays[buffer].At(0)))
	}
	return l
}
