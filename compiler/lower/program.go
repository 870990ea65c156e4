package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/config"
)

// A Program is a lowered plan, which back ends print.
type Program struct {
	Groups    []*plan.Group
	NumParams int
	States    []string         // names of the optimizer's states
	Kernels   []*kernel.Kernel // without duplicates
	Entries   []*Entry

	MatrixStates int // the optimizer keeps the first MatrixStates states for a Matrix

	NumUses   int             // elements of the space Uses: Kept buffers, and gradients by further uses of parameters
	Folds     []config.Fold   // add the gradients by further uses to those by the first use
	Source    int             // tokens of the longest problems, the size of Kept buffers; 0: no Kept buffers
	Target    int             // rows of the longest problems
	AnyLaunch bool            // sums of gradients do not depend on how launches cut a chunk
	Joins     bool            // launches of Update may run together
	Rounds    bool            // the program also keeps the parameters rounded to BF16
	Packed    bool            // the memory of gradients has packed rows
	Geometry  kernel.Geometry // size of the gradients' launches, on a machine that runs all chunks together
	AnyLength bool            // rows after a problem's last row cannot change its results
}

// Routines lists the routines of all entries.
func (p *Program) Routines() []*Routine {
	var all []*Routine
	for _, e := range p.Entries {
		for _, s := range e.Steps {
			all = append(all, s.Routine)
		}
	}
	return all
}

// An Entry is the launches of one program of the plan.
type Entry struct {
	Name   string
	Doc    string
	Memory *Memory
	Steps  []Step
	Flat   bool  // runs on N elements of the arenas, starting at element P
	Matrix []int // the shape of the one parameter that the entry updates; its first element is P in the arenas
}

// Optimizer reports whether an entry belongs to the optimizer, which runs on the arenas.
func (e *Entry) Optimizer() bool { return e.Flat || e.Matrix != nil }

// A Memory is the buffers of one or more entries. In memory, the extent T of a buffer is C: the
// layout does not depend on the number of rows in a launch.
type Memory struct {
	Name    string
	Buffers []*Buffer
	Packed  bool // a shape [B, T, …] has R rows, and [B, S, …] RK if buffers locate keys
}

// Elements returns the number of elements of a buffer.
func (m *Memory) Elements(b *Buffer) *expr.Expr {
	rows := packing{counted: m.Packed, at: map[string]*ir.Value{}}
	if m.Buffer(kernel.KeyStart) != nil {
		rows.at[kernel.KeyStart] = &ir.Value{}
	}
	return kernel.Elements(rows.extents(b.Type.Shape))
}

// Buffer returns the buffer with the given name, or nil.
func (m *Memory) Buffer(name string) *Buffer {
	for _, b := range m.Buffers {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// A Buffer is memory that kernels exchange. A Temp buffer lives within one routine, and several
// routines may share it. A Kept buffer is in the space Uses, at the same place in all entries.
type Buffer struct {
	plan.Buffer
	Temp        bool
	Off, Stride int // Kept: the place of the first tensor, and the distance to the next
}

// A Step runs a routine once, or for l = 0 … N*Runs-1 when N > 0 (downwards if Down). It does
// not run when the launch has runs of the kind Unless. The layer number of a launch is l. If
// Runs is WithGrad, it also counts the layers of all runs without gradients.
type Step struct {
	Routine *Routine
	N       int
	Runs    plan.Runs
	Most    int // the most Runs; 0: once
	Down    bool
	Unless  plan.Runs
}

// A Routine is a function of the model as launches.
type Routine struct {
	Name     string
	Pos      diag.Pos
	InLoop   bool
	Launches []Launch
	Func     *ir.Func
	Groups   []*opt.Group
	Args     map[*ir.Value]Arg // the places of the function's parameters, results and temporaries
}

// A Launch runs one kernel. Note names the values that it computes, as the model does. A launch
// that Joins has the same kernel as the launch before it. Both may run at the same time, with
// all launches that the one before joins. No launch among them reads or writes memory that
// another writes.
type Launch struct {
	Kernel *kernel.Kernel
	Args   []Arg
	Joins  bool
	Note   string
	Pos    diag.Pos
}

// Space is the memory that an argument lives in.
type Space uint8

// The spaces. InBuffer is a buffer of the entry. InParams, InRounded and InGrads are a group's
// parameter in the arenas of parameters, rounded parameters and gradients. InUses is an element
// of the gradients by further uses. The others are the flat arenas of the optimizer.
const (
	InBuffer Space = iota
	InParams
	InRounded
	InGrads
	InUses
	FlatParams
	FlatRounded
	FlatGrads
	FlatState
)

// An Arg is the memory that a kernel's buffer is bound to.
type Arg struct {
	Space  Space
	Ref    plan.Ref    // InBuffer
	Group  *plan.Group // InParams, InRounded, InGrads: the group; its instance is l in a loop, else 0
	Param  string      // in the group; FlatState: the name of the state
	Off    int         // the parameter's place within an instance; InUses: the place in the space
	Stride int         // InUses: the distance between the places of two layers, in a loop over layers
	State  int         // FlatState: the number of the state
	Use    int         // InGrads: the number of earlier uses of the parameter in the routine
}

// Lower lowers a plan.
func Lower(p *plan.Plan) (*Program, error) {
	l := &lowerer{plan: p, kernels: map[string]*kernel.Kernel{}, names: map[string]bool{}, kept: map[string]*Buffer{},
		out: &Program{Groups: p.Groups, NumParams: p.NumParams(), Source: p.Source, Target: p.Target, States: p.States, MatrixStates: p.MatrixStates}}
	l.out.Packed = packs(p)
	for _, prog := range p.Programs {
		if err := l.program(prog); err != nil {
			return nil, err
		}
	}
	for _, f := range p.Optimizer {
		if err := l.optimizer(f); err != nil {
			return nil, err
		}
	}
	l.out.separateUses()
	if forward := l.out.Entry("forward"); forward != nil {
		l.out.AnyLength = anyLength(forward)
	}
	return l.out, nil
}
