// Package generic builds any kernel, statement by statement. A block takes a cell, or a warp does
// where the cell has neither products nor loops. Elements go to threads round-robin, four at a
// time where alignment is known. Independent iterations go to warps, or to fewer lanes where rows
// are short (iterations.go). Products go through shared memory in ascending k. A thread waits only
// where it needs another's elements (waits.go).
package generic

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/codegen/ptx/product"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

const (
	productThreads = 256 // of a block that computes products

	// cellBeside is how many blocks a multiprocessor must have registers for if a cell takes a
	// block. Otherwise ptxas makes room for as many as possible, and loads an element only when
	// the one before is used.
	cellBeside = 4
)

// A generic builds a kernel statement by statement. Cells go to workgroups round-robin, and
// elements of a statement to the workgroup's threads round-robin. The workgroup waits between
// statements only where one depends on other threads' accesses.
type generic struct {
	*emit.Builder
	stage *product.Stage // nil in a kernel without products
	waits waits
}

// Plan plans any kernel. A block is one workgroup if a cell is worth it: it computes
// products, or loops over rows.
func Plan(k *kernel.Kernel, _ emit.Launches) (emit.Plan, string) {
	p := emit.Plan{Threads: emit.OtherThreads, Whole: false, Pieces: "a cell a warp", Cells: func(p *emit.Builder) emit.Cells { return (&generic{Builder: p}).grid() }}
	products := kernel.Has(k.Body, emit.IsProduct)
	if products {
		p.Threads = productThreads
	}
	if products || slices.ContainsFunc(k.Body, kernel.Is[*kernel.For]) {
		p.Whole, p.Pieces = true, fmt.Sprintf("a cell, %d threads", p.Threads)
	}
	return p, ""
}

// grid returns the cells of the grid, whose tiles get places in memory.
func (p *generic) grid() emit.Cells {
	for _, t := range p.K.Tiles() {
		p.Aligned[t.Name] = true
	}
	body := p.K.Body
	p.Place(p.K.Once, ownTiles(body))
	switch n := product.StageBytes(body); {
	case !p.Group.Whole:
	case n > 0:
		p.stage = product.NewStage(p.Builder, n)
	default:
		p.F.Beside = cellBeside
	}
	p.waits = findWaits(p.Builder, &kernel.For{Var: cellVar, Body: body})
	return p.Grid(func() { p.nodes(body) })
}

// cellVar names the loop over cells; no variable of a kernel has this name.
const cellVar = "cell"

// wait makes writes visible to all threads of the workgroup.
func (p *generic) wait() {
	if p.Group.Whole {
		p.F.Barrier()
		return
	}
	p.F.WarpSync()
}

// dot adds a matrix product, each output in ascending k.
func (p *generic) dot(d *kernel.Dot) {
	n := flat.ProductOf(d)
	switch {
	case n.M == nil:
		v := p.Vars[n.C.Slice]
		p.chain(n, v, asm.Int(0), asm.Int(0))
	case !p.Group.Whole || !product.InTiles(d):
		p.outputs(n)
	default:
		p.stage.Print(d)
	}
}

// outputs gives each thread whole outputs, for products that are too small for tiles.
func (p *generic) outputs(n flat.Product) {
	p.Each([]kernel.Axis{{Var: emit.RowVar, Size: n.M}, {Var: emit.ColVar, Size: n.N}}, func() {
		row, col := p.Vars[emit.RowVar], p.Vars[emit.ColVar]
		c := p.Operand(n.C, row, col)
		acc := p.F.Variable(asm.F32(0))
		if !n.Zero {
			p.F.LoadInto(c.Address, acc)
		}
		p.chain(n, acc, row, col)
		p.F.Store(c.Address, acc)
	})
}

// chain adds the products of one output to a register.
func (p *generic) chain(n flat.Product, acc, row, col asm.Value) {
	f := p.F
	a, b := p.Pointer(p.Operand(n.A, row, asm.Int(0))), p.Pointer(p.Operand(n.B, asm.Int(0), col))
	da, db := p.Stride(a, n.A.CS, 1), p.Stride(b, n.B.RS, 1)
	p.Count(asm.Int(0), p.Value(n.K), asm.Int(1), func(asm.Value) {
		x, y := p.Widened(a.Typ, p.Load(a, 1)...), p.Widened(b.Typ, p.Load(b, 1)...)
		for _, t := range p.Addends(n.Split, x, y) {
			f.Into(acc, "fma.rn.f32", t.A[0], t.B[0], acc)
		}
		p.Advance(a, da)
		p.Advance(b, db)
	})
}

// ownTiles returns the tiles of loops whose iterations are distributed to warps.
func ownTiles(body []kernel.Stmt) map[string]bool {
	own := map[string]bool{}
	for n := range kernel.All(body) {
		if isIndependent(n) {
			maps.Copy(own, n.(*kernel.For).Own)
		}
	}
	return own
}

// random fills a tile with random words. A thread computes the four words of a counter, and
// writes the words within the tile.
func (p *generic) random(n *kernel.Random) {
	f := p.F
	four := expr.Int(emit.PhiloxWords)
	counters := func(words *expr.Expr) *expr.Expr { return expr.New(expr.Div, words, four) }
	count := counters(expr.New(expr.Add, n.Size, expr.Int(emit.PhiloxWords-1)))
	even := expr.IsMultiple(n.Base, four) // then words beyond the end lie in the tile's padding
	if !even {
		last := expr.New(expr.Sub, expr.New(expr.Add, n.Base, n.Size), expr.Int(1))
		count = expr.New(expr.Add, expr.New(expr.Sub, counters(last), counters(n.Base)), expr.Int(1))
	}
	base, size := p.Value(n.Base), p.Value(n.Size)
	words := p.WordsOf(n)
	first := p.Value(counters(n.Base))
	p.Share(expr.Simplify(count), p.Group.ID, p.Group.Threads, func(i asm.Value) {
		i = f.Do("add.s32", i, first)
		words := words(i)
		e := f.Do("sub.s32", f.Do("shl.b32", i, asm.Int(2)), base)
		dst := p.Slices[n.Dst]
		if even {
			f.Store(p.Element(dst, e).Address, words[:]...)
			return
		}
		for j, w := range words {
			word := f.Do("add.s32", e, asm.Int(j))
			at := p.Element(dst, word)
			f.Guarded(f.Do("setp.lt.u32", word, size), func() { f.Store(at.Address, w) })
		}
	})
}

func (p *generic) nodes(ns []kernel.Stmt) {
	for _, n := range ns {
		if p.waits[n] {
			p.wait()
		}
		p.enter(n)
		p.node(n)
	}
}

// enter begins a statement.
func (p *generic) enter(n kernel.Stmt) {
	p.F.Comment(p.K.Describe(n))
	p.Bounds.Enter(n)
}

func (p *generic) node(n kernel.Stmt) {
	switch n := n.(type) {
	case *kernel.Let:
		p.Vars[n.Name] = p.Value(n.Value)
	case *kernel.Var:
		p.declare(n)
	case *kernel.Set:
		p.Assign(n)
	case *kernel.Random:
		p.random(n)
	case *kernel.Dot:
		p.dot(n)
	case *kernel.Reduce:
		p.Vars[n.Name] = p.Reduce(n)
	case *kernel.For:
		p.loop(n)
	case *kernel.If:
		p.F.If(p.Value(n.Cond), func() { p.nodes(n.Body) })
	default:
		panic(fmt.Sprintf("BUG: unknown node %T", n))
	}
}

// loop runs a loop in every thread of the workgroup. If the workgroup is a block, an independent
// loop distributes its iterations to the warps, and each warp is then a workgroup, or several lanes
// of it are.
func (p *generic) loop(n *kernel.For) {
	from, limit, step := p.Value(n.Lo), p.Value(n.Hi), 1
	if p.Group.Whole && n.Independent {
		block := p.Group
		defer func() { p.Group = block }()
		if lanes := lanesOf(n); lanes < emit.WarpThreads {
			p.iterations(n, from, limit, lanes)
			return
		}
		from, step = p.F.Do("add.s32", p.Warp, from), p.Warps
		p.Group = emit.Workgroup{Threads: emit.WarpThreads, ID: p.Lane, Whole: false}
	}
	if row, ok := p.rowOf(n); ok && step == 1 {
		p.columns(n, row, from, limit)
		return
	}
	p.Count(from, limit, asm.Int(step), func(i asm.Value) {
		p.Vars[n.Var] = i
		p.nodes(n.Body)
	})
}

// declare makes a variable.
func (p *generic) declare(n *kernel.Var) {
	v := p.F.New(emit.ClassOf(n.Type))
	if n.Value != nil {
		p.F.Move(v, p.Value(n.Value))
	}
	p.Vars[n.Name] = v
}

// isIndependent reports whether a node is a loop whose iterations a block distributes to its warps.
func isIndependent(n kernel.Stmt) bool {
	l, ok := n.(*kernel.For)
	return ok && l.Independent
}
