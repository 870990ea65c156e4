package ptx

import (
	"maps"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

const (
	warpThreads  = 32
	otherThreads = 128 // of a block whose warps are workgroups
)

// A workgroup is the threads that work on one cell together.
type workgroup struct {
	threads int
	id      asm.Value // a thread's number in its workgroup
	whole   bool      // the workgroup is the block
}

// A printer writes one kernel after the passes of its schedule. Every thread computes scalars and
// conditions for itself.
type printer struct {
	k      *kernel.Kernel
	f      *asm.Func
	launch launch

	in      *expr.Interner
	group   workgroup
	lane    asm.Value
	warp    asm.Value // of the block
	warps   int
	vars    map[string]asm.Value
	mutable map[string]bool
	bounds  *flat.Bounds
	slices  map[string]address // where buffers and tiles begin
	aligned map[string]bool    // slices that begin at a multiple of 16 bytes
}

// A launch says what a launch of a kernel needs.
type launch struct {
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

// print builds a kernel as planned in a module. Passes shorten it later.
func print(k *kernel.Kernel, m *asm.Module, how plan, l launches) (*asm.Func, launch, error) {
	p := &printer{
		k: k, f: asm.NewFunc(k.Name, how.threads), launch: launch{Threads: how.threads, Sets: l.Sets, Shapes: l.Shapes},
		in: expr.NewInterner(), aligned: maps.Clone(l.aligned), vars: map[string]asm.Value{}, mutable: k.Vars(), slices: map[string]address{},
		bounds: flat.NewBounds(k.Grid),
	}
	for _, b := range k.Params {
		if b.Mode != kernel.Scalar {
			p.launch.Aligned = append(p.launch.Aligned, p.aligned[b.Name])
		}
	}
	if k.Pos.Line > 0 {
		p.f.Loc(m.File(k.Pos.File), k.Pos.Line, k.Pos.Col)
	}
	p.parameters()
	p.workgroups(how.whole, how.threads)
	c, err := how.cells(p)
	if err != nil {
		return nil, launch{}, err
	}
	p.overCells(c)
	p.f.Return()
	return p.f, p.launch, nil
}

// workgroups finds a thread's place.
func (p *printer) workgroups(whole bool, threads int) {
	tid := p.f.Special("%tid.x")
	p.lane = p.f.Do("and.b32", tid, asm.Int(warpThreads-1))
	p.warp, p.warps = p.f.Do("shr.u32", tid, asm.Int(5)), threads/warpThreads
	p.group = workgroup{warpThreads, p.lane, false}
	if whole {
		p.group = workgroup{threads, tid, true}
	}
}

// overCells gives the cells to workgroups round-robin: a workgroup's first cell is its number.
func (p *printer) overCells(c cells) {
	f := p.f
	p.launch.Blocks = c.count
	first, step := f.Special("%ctaid.x"), f.Special("%nctaid.x")
	if !p.group.whole {
		more := expr.New(expr.Add, c.count, expr.Int(int64(p.warps-1)))
		p.launch.Blocks = expr.Simplify(expr.New(expr.Div, more, expr.Int(int64(p.warps))))
		first = f.Do("mad.lo.s32", first, asm.Int(p.warps), p.warp)
		step = f.Do("mul.lo.s32", step, asm.Int(p.warps))
	}
	p.count(first, p.value(c.count), step, c.body)
}

// divide returns quotient and remainder of natural numbers.
func (p *printer) divide(x, by asm.Value) (quotient, remainder asm.Value) {
	q := p.f.Do("div.u32", x, by)
	return q, p.f.Do("sub.s32", x, p.f.Do("mul.lo.s32", q, by))
}

// count runs body for i = from, from+step, … below limit.
func (p *printer) count(from, limit, step asm.Value, body func(i asm.Value)) {
	f := p.f
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
