// Package emit makes the instructions that kernels of all schedules have in common: parameters,
// places of tiles, expressions, elements of buffers and tiles, reductions, random words, and
// matrices as tensor cores read them. A Plan says what a schedule adds.
package emit

import (
	"maps"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

const (
	WarpThreads  = 32
	OtherThreads = 128 // of a block whose warps are workgroups
)

// A Workgroup is the threads that work on one cell together.
type Workgroup struct {
	Threads int
	ID      asm.Value // a thread's number in its workgroup
	Whole   bool      // the workgroup is the block
}

// A Builder makes the instructions of one kernel, after the passes of its schedule. Every thread computes scalars and
// conditions for itself.
type Builder struct {
	K      *kernel.Kernel
	F      *asm.Func
	Launch Launch

	In      *expr.Interner
	Group   Workgroup
	Lane    asm.Value
	Warp    asm.Value // of the block
	Warps   int
	Vars    map[string]asm.Value
	Mutable map[string]bool
	Bounds  *flat.Bounds
	Slices  map[string]Address // where buffers and tiles begin
	Aligned map[string]bool    // slices that begin at a multiple of 16 bytes, and variables that are multiples of VectorMost
}

// A Launch says what a launch of a kernel needs.
type Launch struct {
	Threads int        // of a block
	Scalars []string   // that hold for one launch
	Shapes  bool       // takes the shapes of replicas
	Step    bool       // takes the step's scalars
	Blocks  *expr.Expr // worth launching, over the launch's scalars
	Scratch *expr.Expr // bytes that the tiles of a block need; nil if it takes no scratch
	Static  int        // bytes of static shared memory
	Aligned []bool     // whether each buffer must be at a multiple of 16 bytes
	Sets    int        // most sets of buffers
}

// Build makes the instructions of a kernel as planned, in a module. Passes shorten it later.
func Build(k *kernel.Kernel, m *asm.Module, how Plan, l Launches) (*asm.Func, Launch) {
	p := &Builder{
		K: k, F: asm.NewFunc(k.Name, how.Threads), Launch: Launch{Threads: how.Threads, Sets: l.Sets, Shapes: l.Shapes},
		In: expr.NewInterner(), Aligned: maps.Clone(l.Aligned), Vars: map[string]asm.Value{}, Mutable: k.Vars(), Slices: map[string]Address{},
		Bounds: flat.NewBounds(k.Grid),
	}
	for _, b := range k.Params {
		if b.Mode != kernel.Scalar {
			p.Launch.Aligned = append(p.Launch.Aligned, p.Aligned[b.Name])
		}
	}
	alignLets(k.Body, p.Aligned)
	if k.Pos.Line > 0 {
		p.F.Loc(m.File(k.Pos.File), k.Pos.Line, k.Pos.Col)
	}
	p.parameters()
	p.workgroups(how.Whole, how.Threads)
	p.overCells(how.Cells(p))
	p.F.Return()
	return p.F, p.Launch
}

// workgroups finds a thread's place.
func (p *Builder) workgroups(whole bool, threads int) {
	tid := p.F.Special("%tid.x")
	p.Lane = p.F.Do("and.b32", tid, asm.Int(WarpThreads-1))
	p.Warp, p.Warps = p.F.Do("shr.u32", tid, asm.Int(5)), threads/WarpThreads
	p.Group = Workgroup{WarpThreads, p.Lane, false}
	if whole {
		p.Group = Workgroup{threads, tid, true}
	}
}

// overCells gives the cells to workgroups round-robin: a workgroup's first cell is its number.
func (p *Builder) overCells(c Cells) {
	f := p.F
	p.Launch.Blocks = c.Count
	first, step := f.Special("%ctaid.x"), f.Special("%nctaid.x")
	if !p.Group.Whole {
		p.Launch.Blocks = kernel.CeilDiv(c.Count, int64(p.Warps))
		first = f.Do("mad.lo.s32", first, asm.Int(p.Warps), p.Warp)
		step = f.Do("mul.lo.s32", step, asm.Int(p.Warps))
	}
	p.Count(first, p.Value(c.Count), step, c.Body)
}

// Divide returns quotient and remainder of natural numbers.
func (p *Builder) Divide(x, by asm.Value) (quotient, remainder asm.Value) {
	q := p.F.Do("div.u32", x, by)
	return q, p.F.Do("sub.s32", x, p.F.Do("mul.lo.s32", q, by))
}

// Count runs body for i = from, from+step, … below limit.
func (p *Builder) Count(from, limit, step asm.Value, body func(i asm.Value)) {
	f := p.F
	f.If(f.Do("setp.lt.s32", from, limit), func() {
		if f.Do("setp.lt.s32", f.Do("add.s32", from, step), limit) == asm.Bool(false) { // one iteration
			body(from)
			return
		}
		i := f.Variable(from)
		f.Loop(func() asm.Value {
			body(i)
			f.Into(i, "add.s32", i, step)
			return f.Do("setp.lt.s32", i, limit)
		})
	})
}

// Launches holds what is known of the launches of a kernel.
type Launches struct {
	kernel.Geometry
	Aligned map[string]bool // buffers that are always at a multiple of 16 bytes
	Sets    int             // most sets of buffers
	Shapes  bool            // replicas differ in how many rows they have
}

// A Plan is how blocks compute a kernel.
type Plan struct {
	Threads int    // of a block
	Whole   bool   // a block is one workgroup; else each of its warps is one
	Pieces  string // the work of a block, in words
	// Cells prepares a builder and returns the cells that workgroups take.
	Cells func(p *Builder) Cells
}

// Cells are the units of work that are distributed to workgroups.
type Cells struct {
	Count *expr.Expr
	Body  func(cell asm.Value) // runs one cell in a workgroup
}

// Grid returns the cells of the kernel's grid, each run with the values of its axes.
func (p *Builder) Grid(run func()) Cells {
	return Cells{Count: kernel.Elements(kernel.Sizes(p.K.Grid)), Body: func(cell asm.Value) {
		p.Set(p.K.Grid, cell)
		run()
	}}
}
