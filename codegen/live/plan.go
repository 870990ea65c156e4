package live

import (
	"reflect"

	"github.com/arithlang/mlc/codegen/host"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/device"
)

// newPlan returns the plan that package host prints as plan.go.
func newPlan(p *lower.Program) device.Plan {
	out := device.Plan{NumParams: p.NumParams, States: p.States, MatrixStates: p.MatrixStates,
		NumUses: p.NumUses, Joins: p.Joins, Rounds: p.Rounds, Folds: p.Folds, Source: p.Source, Target: p.Target, AnyLaunch: p.AnyLaunch, AnyLength: p.AnyLength, Packed: p.Packed}
	kernels := map[*kernel.Kernel]int{}
	for i, k := range p.Kernels {
		kernels[k] = i
	}
	for _, e := range p.Entries {
		run := program{e, kernels}
		made := device.Program{Layout: layout(e.Memory), Run: run.run}
		if len(e.Memory.Buffers) == 0 {
			made.Layout = device.FlatLayout
		}
		if e.Matrix != nil {
			out.Matrices = append(out.Matrices, device.Matrix{Rows: e.Matrix[0], Cols: e.Matrix[1], Update: made})
			continue
		}
		reflect.ValueOf(&out).Elem().FieldByName(host.ProgramField(e.Name)).Set(reflect.ValueOf(made))
	}
	return out
}

// A program is an entry of the plan.
type program struct {
	*lower.Entry
	kernels map[*kernel.Kernel]int // kernel numbers
}

// A run is one launch of a program.
type run struct {
	*program
	q      device.Queue
	e      *device.Env
	arrays map[string]device.Array // by buffer
	refs   []device.Ref            // reused for the arguments of a kernel
}

func (p *program) run(q device.Queue, e *device.Env) {
	r := run{program: p, q: q, e: e}
	r.arrays, _ = place(p.Memory, e)
	for _, b := range p.Memory.Buffers {
		if b.Zero {
			q.Zero(r.arrays[b.Name].At(0), r.arrays[b.Name].Len())
		}
	}
	for _, s := range p.Steps {
		r.step(s)
	}
}

// step runs a routine as often as the launch requires.
func (r *run) step(s lower.Step) {
	switch {
	case s.Unless != plan.Once && runs(s.Unless, r.e) > 0:
		return
	case s.N == 0:
		r.routine(s.Routine, 0)
		return
	}
	first := 0 // layer number of the first iteration
	if s.Runs == plan.WithGrad {
		first = s.N * runs(plan.NoGrad, r.e)
	}
	n := s.N * runs(s.Runs, r.e)
	for l := range n {
		if s.Down {
			l = n - 1 - l
		}
		r.e.Layer = first + l
		r.routine(s.Routine, l)
	}
	r.e.Layer = 0
}

// routine launches the kernels of a routine in iteration l of its loop.
func (r *run) routine(of *lower.Routine, l int) {
	for _, at := range of.Launches {
		r.refs = r.refs[:0]
		for _, a := range at.Args {
			r.refs = append(r.refs, r.place(a, l))
		}
		do := r.q.Launch
		if at.Joins {
			do = r.q.Join
		}
		do(r.kernels[at.Kernel], r.e, r.refs...)
	}
}

// place returns the place of an argument in iteration l.
func (r *run) place(a lower.Arg, l int) device.Ref {
	switch a.Space {
	case lower.InParams:
		return (*device.Group)(a.Group).At(l).Plus(a.Off)
	case lower.InRounded:
		return (*device.Group)(a.Group).At(l).Plus(a.Off).Rounded()
	case lower.InGrads:
		return (*device.Group)(a.Group).Gradient(l).Plus(a.Off)
	case lower.InUses:
		return device.Ref{Space: device.Uses, Off: a.Off + l*a.Stride}
	case lower.FlatParams:
		return device.Ref{Space: device.Params, Off: r.e.P}
	case lower.FlatRounded:
		return device.Ref{Space: device.Rounded, Off: r.e.P}
	case lower.FlatGrads:
		return device.Ref{Space: device.Grads, Off: r.e.P}
	case lower.FlatState:
		return device.Ref{Space: device.State + device.Space(a.State), Off: r.e.P}
	}
	return r.arrays[a.Ref.Buffer].At(a.Ref.Index(l, runs(a.Ref.Runs, r.e)))
}

// runs returns how often a launch runs a stack.
func runs(r plan.Runs, e *device.Env) int {
	switch r {
	case plan.NoGrad:
		return e.NoGrad
	case plan.WithGrad:
		return e.WithGrad
	case plan.Times:
		return e.Times
	}
	return 1
}

// place lays out the buffers of a memory one after another.
func place(m *lower.Memory, e *device.Env) (map[string]device.Array, device.Allocator) {
	var at device.Allocator
	arrays := map[string]device.Array{}
	for _, b := range m.Buffers {
		if b.Kept {
			arrays[b.Name] = at.Kept(b.Off, b.Count, b.Stride)
			continue
		}
		count, n := b.Count, elements(b.Type.Shape, e, m.Packed)
		if b.PerTime {
			count *= runs(plan.Times, e)
		}
		switch b.Type.Elem {
		case expr.BF16:
			arrays[b.Name] = at.Halves(count, n)
		case expr.I32:
			arrays[b.Name] = at.Int32s(count, n)
		default:
			arrays[b.Name] = at.Floats(count, n)
		}
	}
	return arrays, at
}

// elements returns the size of a tensor in memory, with C rows for T. Packed rows are as many as
// the examples have.
func elements(shape []ir.Dim, e *device.Env, packed bool) int {
	n := 1
	if packed && lower.Rows(shape) {
		n, shape = e.Rows(), shape[2:]
	}
	for _, d := range shape {
		switch {
		case d.Sym == "":
			n *= d.N
		case d.N > 0:
			n *= (integer(d.Sym)(e) + d.N - 1) / d.N
		case d.Sym == "T":
			n *= e.C
		default:
			n *= integer(d.Sym)(e)
		}
	}
	return n
}

// layout returns the layout of the buffers that the runtime uses.
func layout(m *lower.Memory) func(e *device.Env) device.Layout {
	return func(e *device.Env) device.Layout {
		arrays, used := place(m, e)
		l := device.Layout{Work: used.Work, Ints: used.Ints, Largest: used.Largest}
		for field, buffer := range host.LayoutFields {
			if a, ok := arrays[buffer]; ok {
				reflect.ValueOf(&l).Elem().FieldByName(field).Set(reflect.ValueOf(a.At(0)))
			}
		}
		return l
	}
}
