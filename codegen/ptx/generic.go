package ptx

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

const (
	productThreads = 256 // of a block that computes products
	// blockRows is how many rows of a product a block takes. Cells of more, which suit
	// a processor's caches, would leave most of a GPU idle.
	blockRows = 64
)

// A generic prints a kernel statement by statement. Cells go to workgroups round-robin, and
// elements of a statement to the workgroup's threads round-robin. The workgroup waits between
// statements only where one depends on other threads' accesses.
type generic struct {
	*printer
	stage *stage // of products; nil: there are none
	waits waits
}

// planGrid plans any kernel. A block is one workgroup if a cell is worth it: it computes
// products, or loops over rows.
func planGrid(k *kernel.Kernel, _ launches) (plan, string) {
	p := plan{otherThreads, false, "a cell a warp", func(p *printer) (cells, error) { return (&generic{printer: p}).grid(k) }}
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
func (p *generic) grid(k *kernel.Kernel) (cells, error) {
	ts := k.Tiles()
	if len(ts) > len(k.Once) {
		return cells{}, fmt.Errorf("tile %s: its size has no bound over the launch's scalars", ts[len(k.Once)].Name)
	}
	for _, t := range ts {
		p.aligned[t.Name] = true
	}
	p.place(k.Once, ownTiles(k.Body))
	if n := stageBytes(k.Body); n > 0 && p.group.whole {
		p.stage = newStage(p.printer, n)
	}
	p.waits = findWaits(p.printer, &kernel.For{Var: cellVar, Body: k.Body})
	return cells{kernel.Elements(kernel.Sizes(k.Grid)), func(cell asm.Value) {
		p.set(k.Grid, cell)
		p.nodes(k.Body)
	}}, nil
}

// cellVar names the loop over cells; no variable of a kernel has this name.
const cellVar = "cell"

// wait makes writes visible to all threads of the workgroup.
func (p *generic) wait() {
	if p.group.whole {
		p.f.Barrier()
		return
	}
	p.f.WarpSync()
}

// dot adds a matrix product, each output in ascending k.
func (p *generic) dot(d *kernel.Dot) {
	n := flat.ProductOf(d)
	switch {
	case n.M == nil:
		v := p.vars[n.C.Slice]
		p.chain(n, v, asm.Int(0), asm.Int(0))
	case !p.group.whole || !inTiles(d):
		p.outputs(n)
	default:
		newProduct(p.stage, n, tilingOf(d), false).print()
	}
}

// outputs gives each thread whole outputs, for products that are too small for tiles.
func (p *generic) outputs(n flat.Product) {
	p.each([]kernel.Axis{{Var: rowVar, Size: n.M}, {Var: colVar, Size: n.N}}, func() {
		row, col := p.vars[rowVar], p.vars[colVar]
		c := p.operand(n.C, row, col)
		acc := p.f.Variable(asm.F32(0))
		if !n.Zero {
			p.f.LoadInto(c.Address, acc)
		}
		p.chain(n, acc, row, col)
		p.f.Store(c.Address, acc)
	})
}

// chain adds the products of one output to a register.
func (p *generic) chain(n flat.Product, acc, row, col asm.Value) {
	f := p.f
	a, b := p.pointer(p.operand(n.A, row, asm.Int(0))), p.pointer(p.operand(n.B, asm.Int(0), col))
	da, db := p.stride(a, n.A.CS, 1), p.stride(b, n.B.RS, 1)
	p.count(asm.Int(0), p.value(n.K), asm.Int(1), func(asm.Value) {
		x, y := p.widened(a.typ, p.load(a, 1)...), p.widened(b.typ, p.load(b, 1)...)
		for _, t := range p.addends(n.Split, x, y) {
			f.Into(acc, "fma.rn.f32", t.a[0], t.b[0], acc)
		}
		p.advance(a, da)
		p.advance(b, db)
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
	f := p.f
	four := expr.Int(philoxWords)
	counters := func(words *expr.Expr) *expr.Expr { return expr.New(expr.Div, words, four) }
	count := counters(expr.New(expr.Add, n.Size, expr.Int(philoxWords-1)))
	even := expr.IsMultiple(n.Base, four) // then words beyond the end lie in the tile's padding
	if !even {
		last := expr.New(expr.Sub, expr.New(expr.Add, n.Base, n.Size), expr.Int(1))
		count = expr.New(expr.Add, expr.New(expr.Sub, counters(last), counters(n.Base)), expr.Int(1))
	}
	base, size := p.value(n.Base), p.value(n.Size)
	words := p.wordsOf(n)
	first := p.value(counters(n.Base))
	p.share(expr.Simplify(count), p.group.id, p.group.threads, func(i asm.Value) {
		i = f.Do("add.s32", i, first)
		words := words(i)
		e := f.Do("sub.s32", f.Do("shl.b32", i, asm.Int(2)), base)
		dst := p.slices[n.Dst]
		if even {
			f.Store(p.element(dst, e).Address, words[:]...)
			return
		}
		for j, w := range words {
			word := f.Do("add.s32", e, asm.Int(j))
			at := p.element(dst, word)
			f.Guarded(f.Do("setp.lt.u32", word, size), func() { f.Store(at.Address, w) })
		}
	})
}

func (p *generic) nodes(ns []kernel.Stmt) {
	for _, n := range ns {
		if p.waits[n] {
			p.wait()
		}
		p.f.Comment(p.k.Describe(n))
		p.bounds.Enter(n)
		p.node(n)
	}
}

func (p *generic) node(n kernel.Stmt) {
	switch n := n.(type) {
	case *kernel.Let:
		p.vars[n.Name] = p.value(n.Value)
	case *kernel.Var:
		p.declare(n)
	case *kernel.Set:
		p.assign(n)
	case *kernel.Random:
		p.random(n)
	case *kernel.Dot:
		p.dot(n)
	case *kernel.Reduce:
		p.vars[n.Name] = p.reduce(n)
	case *kernel.For:
		p.loop(n)
	case *kernel.If:
		p.f.If(p.value(n.Cond), func() { p.nodes(n.Body) })
	default:
		panic(fmt.Sprintf("BUG: unknown node %T", n))
	}
}

// loop runs a loop in every thread of the workgroup. If the workgroup is a block, an independent
// loop distributes its iterations to the warps, and each warp is then a workgroup.
func (p *generic) loop(n *kernel.For) {
	from, limit, step := p.value(n.Lo), p.value(n.Hi), 1
	if p.group.whole && n.Independent {
		block := p.group
		defer func() { p.group = block }()
		from, step = p.f.Do("add.s32", p.warp, from), p.warps
		p.group = workgroup{warpThreads, p.lane, false}
	}
	p.count(from, limit, asm.Int(step), func(i asm.Value) {
		p.vars[n.Var] = i
		p.nodes(n.Body)
	})
}

// declare makes a variable.
func (p *generic) declare(n *kernel.Var) {
	v := p.f.New(classOf(n.Type))
	if n.Value != nil {
		p.f.Move(v, p.value(n.Value))
	}
	p.vars[n.Name] = v
}

// isIndependent reports whether a node is a loop whose iterations a block distributes to its warps.
func isIndependent(n kernel.Stmt) bool {
	l, ok := n.(*kernel.For)
	return ok && l.Independent
}
