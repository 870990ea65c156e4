package ptx

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// build makes the instructions of a kernel. Passes shorten them later.
func build(k *kernel.Kernel, m *asm.Module, o Options) (*printer, error) {
	p := newPrinter(k, m, o)
	s, how, choice := choose(k, launches{p.geometry, p.aligned})
	p.entry.Gemm = gemmOf(choice.Flat)
	return p, p.kernel(s, how, choice)
}

const (
	warpThreads = 32
	// A block is one workgroup if it computes products, or loops; otherwise each of its
	// warps is a workgroup.
	productThreads = 256
	otherThreads   = 128
	// blockRows is how many rows of a product a block takes. Cells of more, which suit
	// a processor's caches, would leave most of a GPU idle.
	blockRows = 64
)

// A workgroup is the threads that work on one cell together.
type workgroup struct {
	threads int
	id      asm.Value // a thread's number in its workgroup
	whole   bool      // the workgroup is the block
}

// A printer writes one kernel. Under the generic schedule, cells go to workgroups round-robin,
// and elements of a statement to the workgroup's threads round-robin. The workgroup waits
// between statements only where waits.go finds that one depends on other threads' accesses.
// Every thread computes scalars and conditions for itself.
type printer struct {
	k     *kernel.Kernel
	f     *asm.Func
	m     *asm.Module
	entry Entry

	in       *expr.Interner
	group    workgroup
	lane     asm.Value
	warp     asm.Value // of the block
	warps    int
	vars     map[string]asm.Value
	mutable  map[string]bool
	bounds   *flat.Bounds
	slices   map[string]address // where buffers and tiles begin
	geometry kernel.Geometry    // of its launches
	aligned  map[string]bool    // slices that begin at a multiple of 16 bytes
	waits    waits
	stage    address   // shared memory of products
	half     int       // half of stage, in bytes
	turn     asm.Value // 0 or half: where the next products go
}

func newPrinter(k *kernel.Kernel, m *asm.Module, o Options) *printer {
	p := &printer{
		k: k, m: m, in: expr.NewInterner(), aligned: o.aligned(k), geometry: o.geometry(k),
		vars: map[string]asm.Value{}, mutable: map[string]bool{}, slices: map[string]address{},
		bounds: flat.NewBounds(k.Grid),
	}
	for _, b := range k.Params {
		if b.Mode != kernel.Scalar {
			p.entry.Aligned = append(p.entry.Aligned, p.aligned[b.Name])
		}
	}
	p.entry.Sets, p.entry.Shapes = 1, o.Shapes
	if o.Sets != nil {
		p.entry.Sets = o.Sets(k)
	}
	return p
}

// kernel prints the kernel and fills its entry.
func (p *printer) kernel(s schedule, how plan, choice Choice) error {
	r := choice.Flat
	p.k, p.mutable = r, r.Vars()
	p.f = asm.NewFunc(p.k.Name, how.threads)
	p.entry.Name, p.entry.Threads, p.entry.Row, p.entry.Tensor, p.entry.Fours = p.k.Name, how.threads, s.name, s.tensor != nil, s.fours
	if p.k.Pos.Line > 0 {
		p.f.Loc(p.m.File(p.k.Pos.File), p.k.Pos.Line, p.k.Pos.Col)
	}
	p.parameters(r)
	p.workgroups(how.whole, how.threads)
	c, err := how.cells(p)
	if err != nil {
		return err
	}
	p.overCells(c)
	p.f.Return()
	return nil
}

// planGrid plans any kernel. A block is one workgroup if a cell is worth it: it computes
// products, or loops over rows.
func planGrid(k *kernel.Kernel, _ launches) (plan, string) {
	p := plan{otherThreads, false, "a cell a warp", func(p *printer) (cells, error) { return p.grid(k) }}
	products := has(k.Body, isProduct)
	if products {
		p.threads = productThreads
	}
	if products || slices.ContainsFunc(k.Body, func(s kernel.Stmt) bool { _, loops := s.(*kernel.For); return loops }) {
		p.whole, p.pieces = true, fmt.Sprintf("a cell, %d threads", p.threads)
	}
	return p, ""
}

// grid returns the cells of a kernel's grid, whose tiles get places in memory.
func (p *printer) grid(k *kernel.Kernel) (cells, error) {
	ts := k.Tiles()
	if len(ts) > len(k.Once) {
		return cells{}, fmt.Errorf("tile %s: its size has no bound over the launch's scalars", ts[len(k.Once)].Name)
	}
	for _, t := range ts {
		p.aligned[t.Name] = true
	}
	p.place(k.Once, k.Body)
	if n := stageBytes(k.Body); n > 0 && p.group.whole {
		p.makeStage(n)
	}
	p.waits = p.findWaits(&kernel.For{Var: cellVar, Body: k.Body})
	return cells{kernel.Elements(kernel.Sizes(k.Grid)), func(cell asm.Value) {
		p.set(k.Grid, cell)
		p.nodes(k.Body)
	}}, nil
}

func isProduct(n kernel.Stmt) bool {
	d, ok := n.(*kernel.Dot)
	return ok && len(d.Axes) > 1
}

// has reports whether a body has such a statement, at any depth.
func has(body []kernel.Stmt, such func(kernel.Stmt) bool) bool {
	for n := range kernel.All(body) {
		if such(n) {
			return true
		}
	}
	return false
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

// cellVar names the loop over cells; no variable of a kernel has this name.
const cellVar = "cell"

// overCells gives the cells to workgroups round-robin: a workgroup's first cell is its number.
func (p *printer) overCells(c cells) {
	f := p.f
	p.entry.Blocks = c.count
	first, step := f.Special("%ctaid.x"), f.Special("%nctaid.x")
	if !p.group.whole {
		more := expr.New(expr.Add, c.count, expr.Int(int64(p.warps-1)))
		p.entry.Blocks = expr.Simplify(expr.New(expr.Div, more, expr.Int(int64(p.warps))))
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

// wait makes writes visible to all threads of the workgroup.
func (p *printer) wait() {
	if p.group.whole {
		p.f.Barrier()
		return
	}
	p.f.WarpSync()
}
