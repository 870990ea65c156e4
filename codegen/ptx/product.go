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
	n *flat.Dot
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

func newProduct(p *printer, n *flat.Dot) *product {
	t := tilingOf(n)
	q := &product{printer: p, n: n, tiling: t}
	q.sizeM, q.sizeN, q.sizeK = p.f.Register(p.value(n.M)), p.f.Register(p.value(n.N)), p.f.Register(p.value(n.K))
	across := asm.Int(int64(t.cols / t.wide))
	ty, tx := p.divide(p.team.id, across)
	q.row = p.f.Do("mul.lo.s32", ty, asm.Int(int64(t.high)))
	q.col = p.f.Do("mul.lo.s32", tx, asm.Int(int64(t.wide)))
	q.a = q.stagedOf(n.A, n.A.RS, n.A.CS, t.rows, p.stage, q.row, q.sizeM)
	second := p.f.Do("add.s32", p.stage, asm.Int(int64(4*t.depth*(t.rows+stagePad))))
	q.b = q.stagedOf(n.B, n.B.CS, n.B.RS, t.cols, second, q.col, q.sizeN)
	return q
}

func (s *staged) pitch() int { return s.width + stagePad }

// stagedOf plans how an operand's tile goes to shared memory: neighbouring threads
// bring what lies side by side.
func (q *product) stagedOf(o flat.Operand, outer, inner *expr.Expr, width int, at, first, limit asm.Value) *staged {
	f := q.f
	s := &staged{operand: o, outer: outer, inner: inner, width: width, depth: q.depth, limit: limit, alongK: flat.IsInt(inner, 1)}
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
		if !flat.IsInt(s.outer, 1) {
			return 1
		}
		size, across = q.n.M, s.inner
		if s.limit == q.sizeN {
			size = q.n.N
		}
	}
	if q.aligned[s.operand.Slice] && multiple(s.operand.Off, four) && multiple(across, four) && multiple(size, four) {
		return v
	}
	return 1
}

// print prints the loops over the output's tiles.
func (q *product) print() {
	f := q.f
	m0 := f.Copy(asm.Int(0))
	q.while(m0, q.sizeM, asm.Int(int64(q.rows)), func() error {
		n0 := f.Copy(asm.Int(0))
		return q.while(n0, q.sizeN, asm.Int(int64(q.cols)), func() error {
			q.tile(m0, n0)
			return nil
		})
	})
}

// onlyProduct is the product that a kernel of one cell consists of, but for names of
// scalars; nil if it is something else.
func onlyProduct(k *kernel.Kernel, body []flat.Node) *flat.Dot {
	if len(k.Grid) > 0 || len(body) == 0 {
		return nil
	}
	n, ok := body[len(body)-1].(*flat.Dot)
	if !ok || n.M == nil || flat.IsInt(n.M, 1) {
		return nil
	}
	for _, other := range body[:len(body)-1] {
		if _, ok := other.(*flat.Let); !ok {
			return nil
		}
	}
	return n
}

// tilesOf are the tiles of a product's output as cells.
func (p *printer) tilesOf(n *flat.Dot, body []flat.Node) cells {
	t := tilingOf(n)
	down, across := ceilDiv(n.M, t.rows), ceilDiv(n.N, t.cols)
	return cells{expr.Simplify(expr.New(expr.Mul, down, across)), func(cell asm.Value) error {
		if err := p.nodes(body[:len(body)-1]); err != nil {
			return err
		}
		q := newProduct(p, n)
		row, col := p.divide(cell, p.value(across))
		m0 := p.f.Do("mul.lo.s32", row, asm.Int(int64(q.rows)))
		q.tile(m0, p.f.Do("mul.lo.s32", col, asm.Int(int64(q.cols))))
		return nil
	}}
}

// ceilDiv is a size in units of n, rounded up.
func ceilDiv(size *expr.Expr, n int) *expr.Expr {
	return expr.Simplify(expr.New(expr.Div, expr.New(expr.Add, size, expr.Int(int64(n-1))), expr.Int(int64(n))))
}

// tile computes one tile of the output.
func (q *product) tile(m0, n0 asm.Value) {
	f := q.f
	acc := make([][]asm.Value, q.high)
	for i := range acc {
		for range q.wide {
			acc[i] = append(acc[i], f.Copy(asm.F32(0)))
		}
	}
	row, col := f.Do("add.s32", m0, q.row), f.Do("add.s32", n0, q.col)
	if !q.n.Zero {
		q.output(row, col, func(i, j int, s asm.Space, at asm.Value) { f.LoadInto(s, acc[i][j], at, 0) })
	}
	a, b := q.sources(q.a, m0), q.sources(q.b, n0)
	k0 := f.Copy(asm.Int(0))
	q.while(k0, q.sizeK, asm.Int(int64(q.depth)), func() error {
		left := f.Do("sub.s32", q.sizeK, k0)
		q.bring(q.a, a, left)
		q.bring(q.b, b, left)
		f.Barrier()
		q.multiply(acc, left)
		f.Barrier()
		return nil
	})
	q.output(row, col, func(i, j int, s asm.Space, at asm.Value) { f.Store(s, at, 0, acc[i][j]) })
}

// A source is where a slot's value comes from.
type source struct {
	addr, inside asm.Value // inside: within the operand, along the outer side
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
		inside := f.Do("setp.lt.s32", o, s.limit)
		out = append(out, source{q.offset(q.slices[s.operand.Slice], index), inside})
	}
	return out
}

// bring copies the next depth values of k to shared memory, and 0 where there are
// none: those meet no output.
func (q *product) bring(s *staged, from []source, left asm.Value) {
	f := q.f
	step := q.stride(s.operand, expr.Simplify(expr.New(expr.Mul, s.inner, expr.Int(int64(q.depth)))))
	for slot, src := range from {
		k := f.Do("add.s32", s.innerAt, asm.Int(int64(slot*s.innerStep)))
		there := f.Do("and.pred", src.inside, f.Do("setp.lt.s32", k, left))
		vs := make([]asm.Value, s.vector)
		for i := range vs {
			vs[i] = f.Copy(asm.F32(0))
		}
		f.Guarded(there, true, func() { f.LoadInto(q.slices[s.operand.Slice].space, vs[0], src.addr, 0, vs[1:]...) })
		to := 4 * (slot*s.innerStep*s.pitch() + slot*s.outerStep)
		if room := s.width * s.depth / s.vector; room < q.team.threads {
			f.Guarded(f.Do("setp.lt.s32", q.team.id, asm.Int(int64(room))), true, func() { s.put(f, to, vs) })
		} else {
			s.put(f, to, vs)
		}
		q.advance(src.addr, step)
	}
}

// put writes what a thread brings to shared memory.
func (s *staged) put(f *asm.Func, to int, vs []asm.Value) {
	if !s.alongK {
		f.Store(asm.Shared, s.to, to, vs...)
		return
	}
	for i, v := range vs {
		f.Store(asm.Shared, s.to, to+4*i*s.pitch(), v)
	}
}

// unroll is the number of values of k in a turn of the inner loop.
const unroll = 4

// multiply adds the products of the staged values, of which there may be fewer
// than depth: adding 0 would change a sum of -0.
func (q *product) multiply(acc [][]asm.Value, left asm.Value) {
	f := q.f
	count := f.Do("min.s32", left, asm.Int(int64(q.depth)))
	a, b := f.Copy(q.a.from), f.Copy(q.b.from)
	k := f.Copy(asm.Int(0))
	for _, turn := range []int{unroll, 1} {
		last := f.Do("sub.s32", count, asm.Int(int64(turn-1)))
		q.while(k, last, asm.Int(int64(turn)), func() error {
			for i := range turn {
				q.products(acc, a, b, i)
			}
			f.Into(a, "add.s32", a, asm.Int(int64(4*turn*q.a.pitch())))
			f.Into(b, "add.s32", b, asm.Int(int64(4*turn*q.b.pitch())))
			return nil
		})
	}
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
	vs := make([]asm.Value, n)
	for i := range vs {
		vs[i] = q.f.New(asm.Float)
	}
	q.f.LoadInto(asm.Shared, vs[0], at, bytes, vs[1:]...)
	return vs
}

// output does something for each of a thread's outputs that exists.
func (q *product) output(row, col asm.Value, do func(i, j int, s asm.Space, at asm.Value)) {
	f := q.f
	c := q.n.C
	rs, cs, off := q.value(c.RS), q.value(c.CS), q.value(c.Off)
	s := q.slices[c.Slice]
	q.push()
	for i := range q.high {
		r := f.Do("add.s32", row, asm.Int(int64(i)))
		rowIn := f.Do("setp.lt.s32", r, q.sizeM)
		for j := range q.wide {
			k := f.Do("add.s32", col, asm.Int(int64(j)))
			in := f.Do("and.pred", rowIn, f.Do("setp.lt.s32", k, q.sizeN))
			at := q.offset(s, f.Do("mad.lo.s32", r, rs, f.Do("mad.lo.s32", k, cs, off)))
			f.Guarded(in, true, func() { do(i, j, s.space, at) })
		}
	}
	q.pop()
}
