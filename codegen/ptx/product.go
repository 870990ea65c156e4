package ptx

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A product prints a Dot that a whole block computes.
type product struct {
	*printer
	n flat.Product
	tiling

	sizeM, sizeN, sizeK asm.Value
	row, col            asm.Value // of a thread's first output within the tile
	a, b                *staged
}

// A staged is an operand's tile in shared memory: depth rows of width values, the
// values of one k side by side.
type staged struct {
	operand      flat.Operand
	outer, inner *expr.Expr // strides: along the output's rows or columns, along k
	width, depth int
	mine         asm.Value // whether a thread brings anything
	vector       int       // values that a thread brings at a time, side by side in the operand
	alongK       bool      // values side by side are those of neighbouring k
	slots        int       // how many times a thread brings some
	outerAt      asm.Value // of a thread's first slot
	innerAt      asm.Value
	outerStep    int // from slot to slot
	innerStep    int
	to           asm.Value // shared address of the first slot
	from         asm.Value // shared address of what a thread multiplies first
	limit        asm.Value // of outer
}

func newProduct(p *printer, n flat.Product) *product {
	t := tilingOf(n.Dot)
	q := &product{printer: p, n: n, tiling: t}
	q.sizeM, q.sizeN, q.sizeK = p.value(n.M), p.value(n.N), p.value(n.K)
	across := asm.Int(int64(t.cols / t.wide))
	ty, tx := p.divide(p.team.id, across)
	q.row = p.f.Do("mul.lo.s32", ty, asm.Int(int64(t.high)))
	q.col = p.f.Do("mul.lo.s32", tx, asm.Int(int64(t.wide)))
	q.a = q.stagedOf(n.A, n.A.RS, n.A.CS, t.rows, p.stage.base, q.row, q.sizeM)
	second := p.f.Do("add.s32", p.stage.base, asm.Int(int64(4*t.depth*(t.rows+stagePad))))
	q.b = q.stagedOf(n.B, n.B.CS, n.B.RS, t.cols, second, q.col, q.sizeN)
	return q
}

func (s *staged) pitch() int { return s.width + stagePad }

// stagedOf plans how an operand's tile goes to shared memory: neighbouring threads
// bring what lies side by side.
func (q *product) stagedOf(o flat.Operand, outer, inner *expr.Expr, width int, at, first, limit asm.Value) *staged {
	f := q.f
	s := &staged{operand: o, outer: outer, inner: inner, width: width, depth: q.depth, limit: limit, alongK: expr.IsInt(inner, 1)}
	s.vector = q.vectorOf(s)
	threads := q.team.threads
	s.slots = (width*q.depth/s.vector + threads - 1) / threads
	if s.alongK {
		s.outerAt, s.innerAt = q.divide(q.team.id, asm.Int(int64(q.depth/s.vector)))
		s.innerAt = f.Do("mul.lo.s32", s.innerAt, asm.Int(int64(s.vector)))
		s.outerStep = threads * s.vector / q.depth
	} else {
		s.innerAt, s.outerAt = q.divide(q.team.id, asm.Int(int64(width/s.vector)))
		s.outerAt = f.Do("mul.lo.s32", s.outerAt, asm.Int(int64(s.vector)))
		s.innerStep = threads * s.vector / width
		if k := q.n.K; k.IsConst() && s.slots > 1 {
			s.slots = min(s.slots, (int(k.I)+s.innerStep-1)/s.innerStep)
		}
	}
	s.mine = asm.Bool(true)
	if room := width * q.depth / s.vector; room < threads {
		s.mine = f.Do("setp.lt.s32", q.team.id, asm.Int(int64(room)))
	}
	place := f.Do("mad.lo.s32", s.innerAt, asm.Int(int64(s.pitch())), s.outerAt)
	s.to = f.Do("mad.lo.s32", place, asm.Int(4), at)
	s.from = f.Do("mad.lo.s32", first, asm.Int(4), at)
	return s
}

// vectorOf is 4 where the values side by side begin at multiples of 16 bytes and
// end together.
func (q *product) vectorOf(s *staged) int {
	const v = 4
	four := expr.Int(v)
	size, across := q.n.K, s.outer
	if !s.alongK {
		if !expr.IsInt(s.outer, 1) {
			return 1
		}
		size, across = q.n.M, s.inner
		if s.limit == q.sizeN {
			size = q.n.N
		}
	}
	if q.aligned[s.operand.Slice] && expr.IsMultiple(s.operand.Off, four) && expr.IsMultiple(across, four) && expr.IsMultiple(size, four) {
		return v
	}
	return 1
}

// print prints the loops over the output's tiles.
func (q *product) print() {
	f := q.f
	again := oneTurn(q.n.Dot) && (q.n.MostRows == 0 || q.n.MostRows > q.rows || q.n.MostCols == 0 || q.n.MostCols > q.cols)
	q.count(asm.Int(0), q.once(q.sizeM), asm.Int(int64(q.rows)), func(m0 asm.Value) {
		q.count(asm.Int(0), q.once(q.sizeN), asm.Int(int64(q.cols)), func(n0 asm.Value) {
			if again {
				f.Barrier()
			}
			q.tile(m0, n0)
		})
	})
}

// once is a size that is 1 at least: a product of nothing has its barriers too, on
// which those around it rely.
func (q *product) once(size asm.Value) asm.Value { return q.f.Do("max.s32", size, asm.Int(1)) }

// onlyProduct is the product of a kernel of one cell that ends with it; nil if it is
// something else. What stands before it may be done again for each tile.
func onlyProduct(k *kernel.Kernel, body []kernel.Stmt) *kernel.Dot {
	if !k.Op.Product() || len(k.Grid) > 0 {
		return nil
	}
	n, ok := body[len(body)-1].(*kernel.Dot)
	if !ok || !inTiles(n) {
		return nil
	}
	return n
}

// tilesOf are the tiles of a product's output as cells.
func (p *printer) tilesOf(d *kernel.Dot, body []kernel.Stmt) cells {
	n, t := flat.ProductOf(d), tilingOf(d)
	down, across := ceilDiv(n.M, t.rows), ceilDiv(n.N, t.cols)
	return cells{expr.Simplify(expr.New(expr.Mul, down, across)), func(cell asm.Value) {
		p.nodes(body[:len(body)-1])
		q := newProduct(p, n)
		row, col := p.divide(cell, p.value(across))
		m0 := p.f.Do("mul.lo.s32", row, asm.Int(int64(q.rows)))
		if oneTurn(d) {
			p.f.Barrier()
		}
		q.tile(m0, p.f.Do("mul.lo.s32", col, asm.Int(int64(q.cols))))
	}}
}

// ceilDiv is a size in units of n, rounded up.
func ceilDiv(size *expr.Expr, n int) *expr.Expr {
	return expr.Simplify(expr.New(expr.Div, expr.New(expr.Add, size, expr.Int(int64(n-1))), expr.Int(int64(n))))
}

// tile computes one tile of the output. If that takes one turn, the staged values
// are still in use when a thread is through.
func (q *product) tile(m0, n0 asm.Value) {
	f := q.f
	acc := make([][]asm.Value, q.high)
	for i := range acc {
		for range q.wide {
			acc[i] = append(acc[i], f.Variable(asm.F32(0)))
		}
	}
	row, col := f.Do("add.s32", m0, q.row), f.Do("add.s32", n0, q.col)
	if !q.n.Zero {
		q.output(row, col, func(i, j, n int, m asm.Memory, at asm.Value) { f.LoadInto(m, at, 0, acc[i][j:j+n]...) })
	}
	a, b := q.sources(q.a, m0), q.sources(q.b, n0)
	q.count(asm.Int(0), q.once(q.sizeK), asm.Int(int64(q.depth)), func(k0 asm.Value) {
		left := q.left(k0)
		q.bring(q.a, a, left)
		q.bring(q.b, b, left)
		f.Barrier()
		q.multiply(acc, left)
		if !oneTurn(q.n.Dot) {
			f.Barrier()
		}
	})
	q.output(row, col, func(i, j, n int, m asm.Memory, at asm.Value) { f.Store(m, at, 0, acc[i][j:j+n]...) })
}

// left is how many k are left from k0 on, as far as one turn is concerned.
func (q *product) left(k0 asm.Value) asm.Value {
	depth := asm.Int(int64(q.depth))
	if whole(q.sizeK, q.depth) {
		return depth
	}
	return q.f.Do("min.s32", q.f.Do("sub.s32", q.sizeK, k0), depth)
}

// A source is where a slot's values come from.
type source struct {
	addr, inside asm.Value // inside: brought by this thread, and within the operand along the outer side
}

// whole says whether a size is sure to be a multiple of what is taken at a time, so
// that nothing is ever beyond it.
func whole(size asm.Value, n int) bool {
	k, known := size.Const()
	return known && k%int64(n) == 0
}

// below is whether i, of a tile that takes n at a time, is below a size.
func (q *product) below(i, size asm.Value, n int) asm.Value {
	if whole(size, n) {
		return asm.Bool(true)
	}
	return q.f.Do("setp.lt.s32", i, size)
}

// sources finds the first values that a thread brings for a tile from first on.
func (q *product) sources(s *staged, first asm.Value) []source {
	f := q.f
	var out []source
	outer, inner := q.value(s.outer), q.value(s.inner)
	off := q.value(s.operand.Off)
	for slot := range s.slots {
		o := f.Do("add.s32", f.Do("add.s32", s.outerAt, first), asm.Int(int64(slot*s.outerStep)))
		k := f.Do("add.s32", s.innerAt, asm.Int(int64(slot*s.innerStep)))
		index := f.Do("mad.lo.s32", o, outer, f.Do("mad.lo.s32", k, inner, off))
		inside := f.Do("and.pred", s.mine, q.below(o, s.limit, s.width))
		out = append(out, source{f.Variable(q.offset(q.slices[s.operand.Slice], index)), inside})
	}
	return out
}

// bring copies the next depth values of k to shared memory, and 0 where there are
// none: those meet no output.
func (q *product) bring(s *staged, from []source, left asm.Value) {
	f := q.f
	step := q.stride(s.operand, expr.Simplify(expr.New(expr.Mul, s.inner, expr.Int(int64(q.depth)))))
	for slot, src := range from {
		vs := q.fetch(s, src, slot, left)
		to := 4 * (slot*s.innerStep*s.pitch() + slot*s.outerStep)
		f.Guarded(s.mine, true, func() { q.put(s, to, vs) })
		if !oneTurn(q.n.Dot) {
			q.advance(src.addr, step)
		}
	}
}

// fetch loads the values of a slot.
func (q *product) fetch(s *staged, src source, slot int, left asm.Value) []asm.Value {
	f := q.f
	m := q.slices[s.operand.Slice].Memory
	k := f.Do("add.s32", s.innerAt, asm.Int(int64(slot*s.innerStep)))
	there := f.Do("and.pred", src.inside, q.below(k, left, q.depth))
	if there == asm.Bool(true) {
		return f.Loads(m, asm.Float, s.vector, src.addr, 0)
	}
	vs := make([]asm.Value, s.vector)
	for i := range vs {
		vs[i] = f.Variable(asm.F32(0))
	}
	f.Guarded(there, true, func() { f.LoadInto(m, src.addr, 0, vs...) })
	return vs
}

// put writes what a thread brings to shared memory.
func (q *product) put(s *staged, to int, vs []asm.Value) {
	if !s.alongK {
		q.f.Store(q.stage.Memory, s.to, to, vs...)
		return
	}
	for i, v := range vs {
		q.f.Store(q.stage.Memory, s.to, to+4*i*s.pitch(), v)
	}
}

// unroll is the number of values of k in a turn of the inner loop.
const unroll = 4

// multiply adds the products of the staged values, of which there may be fewer
// than depth: adding 0 would change a sum of -0.
func (q *product) multiply(acc [][]asm.Value, left asm.Value) {
	f := q.f
	a, b := f.Variable(q.a.from), f.Variable(q.b.from)
	turns := func(from, to asm.Value, n int) {
		q.count(from, to, asm.Int(int64(n)), func(asm.Value) {
			for i := range n {
				q.products(acc, a, b, i)
			}
			f.Into(a, "add.s32", a, asm.Int(int64(4*n*q.a.pitch())))
			f.Into(b, "add.s32", b, asm.Int(int64(4*n*q.b.pitch())))
		})
	}
	even := f.Do("and.b32", left, asm.Int(-unroll))
	turns(asm.Int(0), even, unroll)
	turns(even, left, 1)
}

// products adds the products of one k.
func (q *product) products(acc [][]asm.Value, a, b asm.Value, k int) {
	x := q.vector(a, 4*k*q.a.pitch(), q.high)
	y := q.vector(b, 4*k*q.b.pitch(), q.wide)
	for i := range acc {
		for j := range acc[i] {
			q.f.Into(acc[i][j], "fma.rn.f32", x[i], y[j], acc[i][j])
		}
	}
}

// vector loads values that lie side by side in shared memory.
func (q *product) vector(at asm.Value, bytes, n int) []asm.Value {
	return q.f.Loads(q.stage.Memory, asm.Float, n, at, bytes)
}

// output does something for each of a thread's outputs that exists, n side by side
// from output (i, j) on.
func (q *product) output(row, col asm.Value, do func(i, j, n int, m asm.Memory, at asm.Value)) {
	f := q.f
	c := q.n.C
	rs, cs, off := q.value(c.RS), q.value(c.CS), q.value(c.Off)
	s := q.slices[c.Slice]
	n := 1
	if four := expr.Int(4); q.wide == 4 && q.aligned[c.Slice] && expr.IsInt(c.CS, 1) && expr.IsMultiple(c.RS, four) && expr.IsMultiple(c.Off, four) && expr.IsMultiple(q.n.N, four) {
		n = 4
	}
	for i := range q.high {
		r := f.Do("add.s32", row, asm.Int(int64(i)))
		inside := q.below(r, q.sizeM, q.rows)
		for j := 0; j < q.wide; j += n {
			k := f.Do("add.s32", col, asm.Int(int64(j)))
			in := f.Do("and.pred", inside, q.below(k, q.sizeN, q.cols))
			at := q.offset(s, f.Do("mad.lo.s32", r, rs, f.Do("mad.lo.s32", k, cs, off)))
			f.Guarded(in, true, func() { do(i, j, n, s.Memory, at) })
		}
	}
}
