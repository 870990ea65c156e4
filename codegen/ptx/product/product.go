// Package product has the schedules of matrix products. A block takes tiles of the output, as
// large as tiling.go chooses. A thread finishes the outputs that it holds in registers
// (epilogue.go). Tensor cores multiply BF16 factors and split F32 factors (mma.go), from tiles
// that are copied while others are multiplied (feed.go). Other factors go through registers
// (product.go). In scatter.go the left factor only says which rows are added.
package product

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A product builds a Dot that a whole block computes.
type product struct {
	share
	stage *Stage
	depth int  // products at a time from shared memory
	ahead bool // reads the next products while it multiplies

	sizeK    asm.Value
	row, col asm.Value // a thread's first output within the tile
	a, b     *staged
}

// A staged is an operand's tile in shared memory: depth rows of width values, a row per k. The
// operand's rows go along the output's rows or columns, its columns along k.
type staged struct {
	flat.Operand
	size   *expr.Expr // of the rows
	limit  asm.Value  // size
	width  int
	alongK bool         // adjacent values in the operand belong to a row
	vector int          // adjacent values that a thread brings at a time
	slots  int          // how many vectors a thread brings
	step   int          // distance between slots: rows if alongK, else columns
	made   *kernel.Set  // computes the operand by row and k; nil if it is in memory
	mine   asm.Value    // whether a thread brings anything
	row, k asm.Value    // a thread's first slot
	to     emit.Address // the first slot in shared memory
	from   emit.Address // the first value that a thread multiplies
}

func newProduct(s *Stage, n flat.Product, t tiling, ahead bool) *product {
	p := s.Builder
	q := &product{share: t.share(p, n), stage: s, depth: t.depth, ahead: ahead, sizeK: p.Value(n.K)}
	ty, tx := p.Divide(p.Group.ID, asm.Int(t.cols/t.wide))
	q.row, q.col = p.F.Do("mul.lo.s32", ty, asm.Int(t.high)), p.F.Do("mul.lo.s32", tx, asm.Int(min(t.wide, emit.VectorMost)))
	second := s.at.Further(t.depth * (t.rows + stagePad))
	q.a = q.stagedOf(&staged{Operand: n.A, size: n.M, limit: q.sizeM, width: t.rows}, s.at, q.row)
	q.b = q.stagedOf(&staged{Operand: emit.Transposed(n.B), size: n.N, limit: q.sizeN, width: t.cols}, second, q.col)
	return q
}

func (s *staged) pitch() int { return s.width + stagePad }

// stagedOf plans how an operand's tile goes to shared memory: neighbouring threads bring
// adjacent values.
func (q *product) stagedOf(s *staged, at emit.Address, first asm.Value) *staged {
	f := q.F
	s.alongK = expr.IsInt(s.CS, 1)
	s.vector = q.SideBySide(emit.Transposed(s.Operand), s.size)
	beside := s.width // values of the tile that are adjacent in the operand
	if s.alongK {
		s.vector, beside = q.SideBySide(s.Operand, q.n.K), q.depth
	}
	threads, all := q.Group.Threads, s.width*q.depth/s.vector
	s.slots, s.step = (all+threads-1)/threads, threads*s.vector/beside
	far, near := q.Divide(q.Group.ID, asm.Int(beside/s.vector))
	near = f.Do("mul.lo.s32", near, asm.Int(s.vector))
	if s.alongK {
		s.row, s.k = far, near
	} else {
		s.row, s.k = near, far
		if k := q.n.K; k.IsConst() && s.slots > 1 {
			s.slots = min(s.slots, (int(k.I)+s.step-1)/s.step)
		}
	}
	s.mine = asm.Bool(true)
	if all < threads {
		s.mine = f.Do("setp.lt.s32", q.Group.ID, asm.Int(all))
	}
	s.to = q.Element(at, f.Do("mad.lo.s32", s.k, asm.Int(s.pitch()), s.row))
	s.from = q.Element(at, first)
	return s
}

// Print prints a product as loops over its output's tiles.
func (s *Stage) Print(d *kernel.Dot) {
	q := newProduct(s, flat.ProductOf(d), tilingOf(d), false)
	q.along(q.sizeM, q.rows, fits(q.n.MostRows, q.rows), func(m0 asm.Value) {
		q.along(q.sizeN, q.cols, fits(q.n.MostCols, q.cols), func(n0 asm.Value) { q.tile(m0, n0) })
	})
}

// along goes over a side of the output, n at a time, or once if n is sure to be enough.
func (q *product) along(size asm.Value, n int, once bool, tile func(at asm.Value)) {
	if once {
		tile(asm.Int(0))
		return
	}
	q.Count(asm.Int(0), q.once(size), asm.Int(n), tile)
}

// once returns a size of at least 1: an empty product also runs its barriers, which its neighbours
// need.
func (q *product) once(size asm.Value) asm.Value { return q.F.Do("max.s32", size, asm.Int(1)) }

// tile computes one tile of the output.
func (q *product) tile(m0, n0 asm.Value) {
	acc := q.sums(m0, n0)
	row, col := q.F.Do("add.s32", m0, q.row), q.F.Do("add.s32", n0, q.col)
	q.output(row, col, func(i, j, n int, at emit.Address) { q.F.Store(at.Address, acc[i][j:j+n]...) })
}

// sums computes a thread's outputs of a tile. Factors go to the halves of the shared memory
// alternately. One barrier a turn is enough: a thread that writes to a half has passed a
// barrier that all threads reached after reading the half.
func (q *product) sums(m0, n0 asm.Value) [][]asm.Value {
	f := q.F
	acc := make([][]asm.Value, q.high)
	for i := range acc {
		acc[i] = f.Variables(q.wide, asm.F32(0))
	}
	if !q.n.Zero {
		row, col := f.Do("add.s32", m0, q.row), f.Do("add.s32", n0, q.col)
		q.output(row, col, func(i, j, n int, at emit.Address) { f.LoadInto(at.Address, acc[i][j:j+n]...) })
	}
	factors := []*source{q.sourceOf(q.a, m0), q.sourceOf(q.b, n0)}
	fetch := func(k0 asm.Value) {
		for _, s := range factors {
			q.fetch(s, k0)
		}
	}
	if q.ahead {
		q.clear(factors...)
		fetch(asm.Int(0))
	}
	q.Count(asm.Int(0), q.once(q.sizeK), asm.Int(q.depth), func(k0 asm.Value) {
		for _, s := range factors {
			if !q.ahead {
				q.clear(s)
				q.fetch(s, k0)
			}
			q.put(s)
		}
		f.Barrier()
		if k, known := q.sizeK.Const(); q.ahead && !(known && k <= int64(q.depth)) {
			fetch(f.Do("add.s32", k0, asm.Int(q.depth)))
		}
		q.multiply(acc, q.left(k0))
		f.Into(q.stage.turn, "sub.s32", asm.Int(q.stage.half), q.stage.turn)
	})
	return acc
}

// left returns how many k an iteration from k0 on has.
func (q *product) left(k0 asm.Value) asm.Value {
	depth := asm.Int(q.depth)
	if emit.Whole(q.sizeK, q.depth) {
		return depth
	}
	return q.F.Do("min.s32", q.F.Do("sub.s32", q.sizeK, k0), depth)
}

// A source is the source of a thread's slots for a tile.
type source struct {
	*staged
	first  asm.Value     // row of the first slot
	at     emit.Address  // the first slot, a pointer
	inside []asm.Value   // whether a slot's rows exist and this thread brings it
	values [][]asm.Value // the next values of each slot
}

// sourceOf finds the values that a thread brings for a tile from a row on.
func (q *product) sourceOf(s *staged, first asm.Value) *source {
	f := q.F
	row := f.Do("add.s32", s.row, first)
	src := &source{staged: s, first: row, at: emit.Address{Typ: expr.F32}}
	if s.made == nil {
		src.at = q.Pointer(q.Operand(s.Operand, row, s.k))
	}
	for slot := range s.slots {
		here := row
		if s.alongK {
			here = f.Do("add.s32", row, asm.Int(slot*s.step))
		}
		src.inside = append(src.inside, f.Do("and.pred", s.mine, q.Below(here, s.limit, s.width)))
	}
	return src
}

// clear sets the values that a thread brings to 0, since some rows and k do not exist.
func (q *product) clear(factors ...*source) {
	for _, s := range factors {
		s.values = make([][]asm.Value, s.slots)
		for slot := range s.values {
			s.values[slot] = q.F.Variables(s.vector, emit.ClassOf(s.at.Typ).Zero())
		}
	}
}

// fetch loads the existing values from k0 on that a thread brings. Others reach no output.
func (q *product) fetch(s *source, k0 asm.Value) {
	if s.made != nil {
		q.evaluate(s, k0)
		return
	}
	f := q.F
	along, step := s.RS, 0 // step: along k
	if !s.alongK {
		along, step = s.CS, s.step
	}
	by, at := q.Stride(s.at, along, s.step), s.at
	left := f.Do("sub.s32", q.sizeK, k0)
	for slot, inside := range s.inside {
		k := f.Do("add.s32", s.k, asm.Int(slot*step))
		if emit.Whole(q.sizeK, q.depth) {
			k = asm.Int(0)
		}
		there := f.Do("and.pred", inside, f.Do("setp.lt.s32", k, left))
		f.Guarded(there, func() { f.LoadInto(at.Address, s.values[slot]...) })
		at = q.Behind(at, by)
	}
	q.Advance(s.at, q.Stride(s.at, s.CS, q.depth))
}

// evaluate is fetch for a computed operand, which goes along k.
func (q *product) evaluate(s *source, k0 asm.Value) {
	f := q.F
	k := f.Do("add.s32", k0, s.k)
	for slot, inside := range s.inside {
		f.If(f.Do("and.pred", inside, f.Do("setp.lt.s32", k, q.sizeK)), func() {
			q.Vars[s.made.Axes[0].Var] = f.Do("add.s32", s.first, asm.Int(slot*s.step))
			q.Vars[s.made.Axes[1].Var] = k
			f.Move(s.values[slot][0], q.Value(s.made.Value))
		})
	}
}

// put writes a thread's values to shared memory.
func (q *product) put(s *source) {
	to, step := q.inTurn(s.to), s.step
	if !s.alongK {
		step = s.step * s.pitch()
	}
	for slot, vs := range s.values {
		at := to.Further(slot * step)
		vs = q.Widened(s.at.Typ, vs...)
		q.F.Guarded(s.mine, func() {
			if !s.alongK {
				q.F.Store(at.Address, vs...)
				return
			}
			for i, v := range vs {
				q.F.Store(at.Further(i*s.pitch()).Address, v)
			}
		})
	}
}

// inTurn returns an address in the present half of the shared memory.
func (q *product) inTurn(at emit.Address) emit.Address {
	at.Base = q.F.Do("add.s32", at.Base, q.stage.turn)
	return at
}

// unroll is the number of values of k in an iteration of the inner loop.
const unroll = 4

// multiply adds the products of left staged k, which may be fewer than depth: adding 0 would
// change a sum of -0.
func (q *product) multiply(acc [][]asm.Value, left asm.Value) {
	a, b := q.Pointer(q.inTurn(q.a.from)), q.Pointer(q.inTurn(q.b.from))
	iterations := func(from, to asm.Value, n int) {
		q.Count(from, to, asm.Int(n), func(asm.Value) {
			for i := range n {
				q.products(acc, a.Further(i*q.a.pitch()), b.Further(i*q.b.pitch()))
			}
			q.Advance(a, q.Stride(a, expr.Int(1), n*q.a.pitch()))
			q.Advance(b, q.Stride(b, expr.Int(1), n*q.b.pitch()))
		})
	}
	even := q.F.Do("and.b32", left, asm.Int(-unroll))
	iterations(asm.Int(0), even, unroll)
	iterations(even, left, 1)
}

// products adds the products of one k.
func (q *product) products(acc [][]asm.Value, a, b emit.Address) {
	var x, y []asm.Value
	for i := 0; i < q.high; i += emit.VectorMost {
		x = append(x, q.Load(a.Further(i), min(q.high, emit.VectorMost))...)
	}
	for j := 0; j < q.wide; j += emit.VectorMost {
		y = append(y, q.Load(b.Further(q.across(j)), min(q.wide, emit.VectorMost))...)
	}
	for _, t := range q.Addends(q.n.Split, x, y) {
		for i := range acc {
			for j := range acc[i] {
				q.F.Into(acc[i][j], "fma.rn.f32", t.A[i], t.B[j], acc[i][j])
			}
		}
	}
}
