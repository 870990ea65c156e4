package lower

import (
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/config"
)

// A Program is a lowered plan: what a back end prints.
type Program struct {
	Groups    []*plan.Group
	NumParams int
	States    []string         // names of the optimizer's
	Kernels   []*kernel.Kernel // each once
	Entries   []*Entry

	MatrixStates int // how many states, the first ones, the optimizer keeps of a Matrix

	NumUses   int             // elements of Kept buffers, and of the gradients of parameters by their further uses
	Folds     []config.Fold   // which add those to the gradients of the first use
	Source    int             // tokens and
	Target    int             // rows of the longest problems, which Kept buffers are for; 0: there are none
	AnyLaunch bool            // sums of gradients are the same however a chunk is cut into launches
	Joins     bool            // launches of Update may go together
	Rounds    bool            // parameters are kept rounded to BF16, too
	Packed    bool            // the memory of gradients has packed rows
	Geometry  kernel.Geometry // of launches of gradients, on a machine that runs all chunks together
	AnyLength bool            // rows behind a problem's last change nothing that is said of it
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

// An Entry is one program of the plan as launches.
type Entry struct {
	Name   string
	Doc    string
	Memory *Memory
	Steps  []Step
	Flat   bool  // runs on N elements of the arenas from element P on
	Matrix []int // the shape of the one parameter that it runs on, whose first element is P in the arenas
}

// Optimizer reports whether an entry is of the optimizer, which runs on the arenas.
func (e *Entry) Optimizer() bool { return e.Flat || e.Matrix != nil }

// A Memory is the buffers of one or more entries. The extent T of a buffer is C
// in memory, so that the layout does not depend on how many rows a launch has.
type Memory struct {
	Name    string
	Buffers []*Buffer
	Packed  bool // in [B, T, …] there are R rows
}

// Buffer finds a buffer by name.
func (m *Memory) Buffer(name string) *Buffer {
	for _, b := range m.Buffers {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// A Buffer is memory between kernels. A Temp lives within one routine and may serve
// several. A Kept one is in the space Uses, at the same place in all entries.
type Buffer struct {
	plan.Buffer
	Temp        bool
	Off, Stride int // Kept: of the first tensor, and from one to the next
}

// A Step runs a routine once, or for l = 0 … N*Runs-1 (from there to 0 when Down)
// when N > 0; not at all when the launch has runs of the kind Unless. The layer
// number of a launch is l, after all runs without gradients where Runs is WithGrad.
type Step struct {
	Routine *Routine
	N       int
	Runs    plan.Runs
	Most    int // Runs at most, 0: once
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
	Args     map[*ir.Value]Arg // where the function's parameters, results and temporaries live
}

// A Launch runs one kernel. Note says what it computes, in the model's names. One that
// Joins may run at the same time as the launch before it, which has the same kernel, and
// as those that this joins: none writes what another reads or writes.
type Launch struct {
	Kernel *kernel.Kernel
	Args   []Arg
	Joins  bool
	Note   string
	Pos    diag.Pos
}

// Space is where an argument lives.
type Space uint8

// The spaces: a buffer of the entry, the parameter or gradient arena or the rounded
// parameters at a group's parameter, an element of the gradients of further uses, and the
// flat arenas that the optimizer runs on.
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

// An Arg is what a kernel's buffer is bound to.
type Arg struct {
	Space  Space
	Ref    plan.Ref    // InBuffer
	Group  *plan.Group // InParams, InRounded, InGrads: of the instance of layer l in a loop, else instance 0
	Param  string      // of the group; FlatState: the name of the state
	Off    int         // of the parameter within an instance; InUses: in the space
	Stride int         // InUses: from the place of a layer to that of the next, in a loop over layers
	State  int         // FlatState: its number
	Use    int         // InGrads: how many uses of the parameter the routine has before
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
