package product

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// mmaGroup is how many rows of tiles blocks go through column by column, so that concurrent
// blocks share their reads.
const mmaGroup = 8

// PlanCores plans a tiled kernel whose factors tensor cores multiply.
func PlanCores(k *kernel.Kernel, l emit.Launches) (p emit.Plan, why string) {
	t, why := tiledOf(k)
	if why == "" {
		why = t.unfit(l.Aligned)
	}
	if why != "" {
		return p, why
	}
	s, x, of := mmaTilingOf(t.Dot, l.Geometry), formatOf(t.Dot), ""
	if t.Split {
		of = " of halves"
	}
	pieces := fmt.Sprintf("%d x %d outputs, %d warps of %d x %d, sums%s of %d a turn, %d stages, about %d blocks a launch", s.rows, s.cols, s.threads()/emit.WarpThreads, s.high, s.wide, of, x.Depth(), s.stages, tiles(t.Dot, l.Geometry, s.rows, s.cols))
	return emit.Plan{Threads: s.threads(), Whole: true, Pieces: pieces, Cells: func(p *emit.Builder) emit.Cells { return mmaCells(p, t, s) }}, ""
}

// unfit says why tensor cores cannot multiply the factors.
func (t *tiled) unfit(aligned map[string]bool) string {
	if t.left != nil {
		return "the left factor is computed"
	}
	n, form := flat.ProductOf(t.Dot), formatOf(t.Dot)
	for _, x := range []struct {
		flat.Operand
		size *expr.Expr
	}{{n.A, n.M}, {emit.Transposed(n.B), n.N}} {
		if !aligned[x.Slice] {
			return x.Slice + " is not always at a multiple of 16 bytes"
		}
		if !form.InUnits(x.Operand, n.K) && !form.InUnits(emit.Transposed(x.Operand), x.size) {
			return x.Slice + " does not lie in rows of whole units of 16 bytes"
		}
	}
	return ""
}

// formatOf returns how tensor cores multiply the factors of a product.
func formatOf(d *kernel.Dot) emit.Format {
	if d.Split {
		return emit.SplitFormat
	}
	return emit.NarrowFormat
}

// An mma builds a product on tensor cores. Its tiles of the factors go around through
// the stages of shared memory.
type mma struct {
	share
	emit.Format
	stages, pitch int // stages of shared memory, and the bytes between them
	sizeK         asm.Value
	row, col      asm.Value // a thread's first output within the tile
	even          asm.Value // whether it has row g of a fragment, else row g + 8
	a, b          *feed
	read, write   asm.Value // which stage is next, in bytes
}

// mmaCells returns the tiles of a product's output.
func mmaCells(p *emit.Builder, t tiled, size mmaTiling) emit.Cells {
	n := flat.ProductOf(t.Dot)
	q := newMMA(p, n, size)
	down, across := kernel.CeilDiv(n.M, int64(size.rows)), kernel.CeilDiv(n.N, int64(size.cols))
	return emit.Cells{Count: expr.Simplify(expr.New(expr.Mul, down, across)), Body: func(cell asm.Value) {
		row, col := q.inGroups(cell, p.Value(down), p.Value(across))
		m0, n0 := p.F.Do("mul.lo.s32", row, asm.Int(q.rows)), p.F.Do("mul.lo.s32", col, asm.Int(q.cols))
		row, col = p.F.Do("add.s32", m0, q.row), p.F.Do("add.s32", n0, q.col)
		acc := q.inFours(q.sums(m0, n0, row, col))
		if t.rows == nil {
			q.output(row, col, func(i, j, n int, at emit.Address) { p.F.Store(at.Address, acc[i][j:j+n]...) })
			return
		}
		q.follow(t, acc, row, col)
	}}
}

// inGroups returns the place of a tile by its number. Numbers go through mmaGroup rows of tiles,
// column by column, then through the next rows.
func (q *mma) inGroups(tile, down, across asm.Value) (row, col asm.Value) {
	f := q.F
	group, in := q.Divide(tile, f.Do("mul.lo.s32", across, asm.Int(mmaGroup)))
	first := f.Do("mul.lo.s32", group, asm.Int(mmaGroup))
	col, row = q.Divide(in, f.Do("min.s32", f.Do("sub.s32", down, first), asm.Int(mmaGroup)))
	return f.Do("add.s32", first, row), col
}

func newMMA(p *emit.Builder, n flat.Product, t mmaTiling) *mma {
	f := p.F
	q := &mma{Format: formatOf(n.Dot), stages: t.stages, pitch: t.bytes(), sizeK: p.Value(n.K), read: f.Variable(asm.Int(0)), write: f.New(asm.Word)}
	p.F.Beside = t.beside
	p.Launch.Static += q.stages * q.pitch
	q.share = share{
		Builder: p, n: n, sizeM: p.Value(n.M), sizeN: p.Value(n.N), rows: t.rows, cols: t.cols,
		high: t.high / emit.FragmentRows, wide: t.wide / 2, down: emit.FragmentRows, apart: emit.FragmentCols,
	}
	y, x := p.Divide(p.Warp, asm.Int(t.cols/t.wide))
	y, x = f.Do("mul.lo.s32", y, asm.Int(t.high)), f.Do("mul.lo.s32", x, asm.Int(t.wide))
	g, odd, pair := f.Do("shr.u32", p.Lane, asm.Int(2)), f.Do("and.b32", p.Lane, asm.Int(1)), f.Do("and.b32", p.Lane, asm.Int(2))
	q.row = f.Do("add.s32", y, f.Do("mad.lo.s32", odd, asm.Int(emit.FragmentRows/2), g))
	q.col = f.Do("mad.lo.s32", pair, asm.Int(2), x)
	q.even = f.Do("setp.eq.s32", odd, asm.Int(0))
	at := asm.Shared.At(emit.StageName, f.SharedArray(emit.StageName, q.stages*q.pitch))
	q.a = q.feedOf(&feed{Operand: n.A, limit: q.sizeM, width: t.rows}, at)
	at.Base = f.Do("add.s32", at.Base, asm.Int(emit.StageUnits*emit.UnitBytes*t.rows))
	q.b = q.feedOf(&feed{Operand: emit.Transposed(n.B), limit: q.sizeN, width: t.cols}, at)
	q.a.warp = q.part(q.a, true, y, t.high)
	q.b.warp = q.part(q.b, false, x, t.wide)
	return q
}

// part returns a warp's part of a factor's tiles, for n rows or columns of the output.
func (q *mma) part(s *feed, left bool, first asm.Value, n int) emit.Factor {
	if s.alongK {
		return q.FactorOf(s.tile, left, true, first, asm.Int(0), q.Depth())
	}
	return q.FactorOf(s.tile, left, false, asm.Int(0), first, n)
}

// inFours turns accumulators into the shares of threads.
func (q *mma) inFours(acc emit.Accumulators) [][]asm.Value {
	rows := make([][]asm.Value, len(acc))
	for i := range acc {
		for _, c := range acc[i] {
			rows[i] = append(rows[i], q.Fours(c, q.even)...)
		}
	}
	return rows
}

// begin returns the accumulators before any product.
func (q *mma) begin(row, col asm.Value) emit.Accumulators {
	acc := q.Zeros(q.high*emit.FragmentRows, q.wide*2)
	if q.n.Zero {
		return acc
	}
	was := make([][]asm.Value, q.high)
	for i := range was {
		was[i] = q.F.Variables(q.wide, asm.F32(0))
	}
	q.output(row, col, func(i, j, n int, at emit.Address) { q.F.LoadInto(at.Address, was[i][j:j+n]...) })
	for i := range acc {
		for j, c := range acc[i] {
			for r, v := range q.Fours(was[i][4*j:][:4], q.even) { // fours is its own inverse
				q.F.Move(c[r], v)
			}
		}
	}
	return acc
}

// sums computes a tile. While a thread multiplies from one stage, the other stages are in
// flight. One barrier a turn is enough: a thread that copies to a stage has passed a barrier
// that all threads reached after reading the stage. This also holds across tiles, since each
// tile continues at the next stage.
func (q *mma) sums(m0, n0, row, col asm.Value) emit.Accumulators {
	f := q.F
	acc := q.begin(row, col)
	q.aim(q.a, m0)
	q.aim(q.b, n0)
	f.Move(q.write, q.read)
	for i := range q.stages - 1 {
		q.bring(asm.Int(i * q.Depth()))
		f.Move(q.write, q.behindStage(q.write))
	}
	q.Count(asm.Int(0), q.sizeK, asm.Int(q.Depth()), func(k0 asm.Value) {
		f.Rolled() // unrolled turns spill registers
		f.WaitCopies(q.stages - 2)
		f.Barrier()
		q.bring(f.Do("add.s32", k0, asm.Int((q.stages-1)*q.Depth())))
		q.multiply(acc)
		f.Move(q.write, q.read)
		f.Move(q.read, q.behindStage(q.read))
	})
	return acc
}

// behindStage returns the stage after another.
func (q *mma) behindStage(stage asm.Value) asm.Value {
	next := q.F.Do("add.s32", stage, asm.Int(q.pitch))
	return q.Choose(q.F.Do("setp.eq.s32", next, asm.Int(q.stages*q.pitch)), asm.Int(0), next)
}

// bring begins to copy the factors from k0 on, if any are left. It always ends a group, since
// waits count groups.
func (q *mma) bring(k0 asm.Value) {
	q.When(q.F.Do("setp.lt.s32", k0, q.sizeK), func() {
		left := q.F.Do("sub.s32", q.sizeK, k0)
		q.copies(q.a, left)
		q.copies(q.b, left)
	})
	q.F.CommitCopies()
}

// multiply adds the products of a stage.
func (q *mma) multiply(acc emit.Accumulators) {
	left, right := q.Moved(q.a.warp, q.read), q.Moved(q.b.warp, q.read)
	for k := 0; k < q.Depth(); k += q.Deep() {
		var a, b []asm.Value
		for i := range acc {
			a = append(a, q.Fragment(left, i*emit.FragmentRows, k)...)
		}
		for j := 0; j < len(acc[0]); j += 2 {
			b = append(b, q.Fragment(right, j*emit.FragmentCols, k)...)
		}
		for _, t := range q.Addends(q.n.Split, a, b) {
			acc.Multiply(q.F, q.Format, t.A, t.B)
		}
	}
}
