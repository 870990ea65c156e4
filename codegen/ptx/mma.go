package ptx

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// An mmaTiling is how a block computes a product on tensor cores: rows x cols outputs, high x
// wide of them per warp. Shared memory holds stages tiles of the factors, in flight or read. A
// multiprocessor has registers for beside blocks.
type mmaTiling struct{ rows, cols, high, wide, stages, beside int }

// mmaTilings are tried in order: the first that gives enough blocks in a launch, over all
// replicas. The more outputs a warp has, the less shared memory it reads for each. Stages fit
// into 48 KiB of static shared memory, and two such blocks into every card's multiprocessor.
var mmaTilings = []struct {
	blocks int
	mmaTiling
}{
	{someBlocks, mmaTiling{128, 128, 64, 64, 3, 2}},
	{someBlocks, mmaTiling{128, 64, 64, 32, 4, 2}},
	{someBlocks, mmaTiling{64, 64, 32, 32, 4, 3}},
	{0, mmaTiling{32, 32, 16, 16, 4, 4}},
}

const (
	stageUnits = 4 // along k of each row and column of a stage
	// mmaGroup is how many rows of tiles blocks go through column by column, so that
	// concurrent blocks share their reads.
	mmaGroup = 8
)

func (t mmaTiling) threads() int { return t.rows / t.high * (t.cols / t.wide) * warpThreads }

// bytes returns the shared memory of a stage.
func (t mmaTiling) bytes() int { return stageUnits * unitBytes * (t.rows + t.cols) }

// mmaTilingOf chooses a tiling by the number of blocks.
func mmaTilingOf(n *kernel.Dot, g kernel.Geometry) mmaTiling {
	for _, t := range mmaTilings {
		if tiles(n, g, t.rows, t.cols) >= t.blocks {
			return t.mmaTiling
		}
	}
	panic("BUG: no tiling")
}

// planMMA plans a tiled kernel whose factors tensor cores multiply.
func planMMA(k *kernel.Kernel, l launches) (p plan, why string) {
	t, why := tiledOf(k)
	if why == "" {
		why = t.unfit(l.aligned)
	}
	if why != "" {
		return p, why
	}
	s, x, of := mmaTilingOf(t.Dot, l.Geometry), formatOf(t.Dot), ""
	if t.Split {
		of = " of halves"
	}
	pieces := fmt.Sprintf("%d x %d outputs, %d warps of %d x %d, sums%s of %d a turn, %d stages, about %d blocks a launch", s.rows, s.cols, s.threads()/warpThreads, s.high, s.wide, of, x.depth(), s.stages, tiles(t.Dot, l.Geometry, s.rows, s.cols))
	return plan{s.threads(), true, pieces, func(p *printer) (cells, error) { return mmaCells(p, t, s), nil }}, ""
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
	}{{n.A, n.M}, {transposed(n.B), n.N}} {
		if !aligned[x.Slice] {
			return x.Slice + " is not always at a multiple of 16 bytes"
		}
		if !form.inUnits(x.Operand, n.K) && !form.inUnits(transposed(x.Operand), x.size) {
			return x.Slice + " does not lie in rows of whole units of 16 bytes"
		}
	}
	return ""
}

// isNarrow reports whether a statement is a product of BF16 factors.
func isNarrow(s kernel.Stmt) bool { return isProduct(s) && s.(*kernel.Dot).A.Type == expr.BF16 }

// forCores reports whether a statement is a product of BF16, or of halves of F32.
func forCores(s kernel.Stmt) bool { return isNarrow(s) || isProduct(s) && s.(*kernel.Dot).Split }

// formatOf returns how tensor cores multiply the factors of a product.
func formatOf(d *kernel.Dot) format {
	if d.Split {
		return splitFormat
	}
	return narrowFormat
}

// An mma prints a product on tensor cores. Its tiles of the factors go around through
// the stages of shared memory.
type mma struct {
	share
	format
	stages, pitch int // stages of shared memory, and the bytes between them
	sizeK         asm.Value
	row, col      asm.Value // a thread's first output within the tile
	even          asm.Value // whether it has row g of a fragment, else row g + 8
	a, b          *feed
	read, write   asm.Value // which stage is next, in bytes
}

// mmaCells returns the tiles of a product's output.
func mmaCells(p *printer, t tiled, size mmaTiling) cells {
	n := flat.ProductOf(t.Dot)
	q := newMMA(p, n, size)
	down, across := ceilDiv(n.M, size.rows), ceilDiv(n.N, size.cols)
	return cells{expr.Simplify(expr.New(expr.Mul, down, across)), func(cell asm.Value) {
		row, col := q.inGroups(cell, p.value(down), p.value(across))
		m0, n0 := p.f.Do("mul.lo.s32", row, asm.Int(q.rows)), p.f.Do("mul.lo.s32", col, asm.Int(q.cols))
		row, col = p.f.Do("add.s32", m0, q.row), p.f.Do("add.s32", n0, q.col)
		acc := q.inFours(q.sums(m0, n0, row, col))
		if t.rows == nil {
			q.output(row, col, func(i, j, n int, at address) { p.f.Store(at.Address, acc[i][j:j+n]...) })
			return
		}
		q.follow(t, acc, row, col)
	}}
}

// inGroups returns the place of a tile by its number. Numbers go through mmaGroup rows of tiles,
// column by column, then through the next rows.
func (q *mma) inGroups(tile, down, across asm.Value) (row, col asm.Value) {
	f := q.f
	group, in := q.divide(tile, f.Do("mul.lo.s32", across, asm.Int(mmaGroup)))
	first := f.Do("mul.lo.s32", group, asm.Int(mmaGroup))
	col, row = q.divide(in, f.Do("min.s32", f.Do("sub.s32", down, first), asm.Int(mmaGroup)))
	return f.Do("add.s32", first, row), col
}

func newMMA(p *printer, n flat.Product, t mmaTiling) *mma {
	f := p.f
	q := &mma{format: formatOf(n.Dot), stages: t.stages, pitch: t.bytes(), sizeK: p.value(n.K), read: f.Variable(asm.Int(0)), write: f.New(asm.Word)}
	p.f.Beside = t.beside
	p.launch.Static += q.stages * q.pitch
	q.share = share{
		printer: p, n: n, sizeM: p.value(n.M), sizeN: p.value(n.N), rows: t.rows, cols: t.cols,
		high: t.high / fragmentRows, wide: t.wide / 2, down: fragmentRows, apart: fragmentCols,
	}
	y, x := p.divide(p.warp, asm.Int(t.cols/t.wide))
	y, x = f.Do("mul.lo.s32", y, asm.Int(t.high)), f.Do("mul.lo.s32", x, asm.Int(t.wide))
	g, odd, pair := f.Do("shr.u32", p.lane, asm.Int(2)), f.Do("and.b32", p.lane, asm.Int(1)), f.Do("and.b32", p.lane, asm.Int(2))
	q.row = f.Do("add.s32", y, f.Do("mad.lo.s32", odd, asm.Int(fragmentRows/2), g))
	q.col = f.Do("mad.lo.s32", pair, asm.Int(2), x)
	q.even = f.Do("setp.eq.s32", odd, asm.Int(0))
	at := asm.Shared.At(stageName, f.SharedArray(stageName, q.stages*q.pitch))
	q.a = q.feedOf(&feed{Operand: n.A, limit: q.sizeM, width: t.rows}, at)
	at.Base = f.Do("add.s32", at.Base, asm.Int(stageUnits*unitBytes*t.rows))
	q.b = q.feedOf(&feed{Operand: transposed(n.B), limit: q.sizeN, width: t.cols}, at)
	q.a.warp = q.part(q.a, true, y, t.high)
	q.b.warp = q.part(q.b, false, x, t.wide)
	return q
}

// part returns a warp's part of a factor's tiles, for n rows or columns of the output.
func (q *mma) part(s *feed, left bool, first asm.Value, n int) factor {
	if s.alongK {
		return q.factorOf(s.tile, left, true, first, asm.Int(0), q.depth())
	}
	return q.factorOf(s.tile, left, false, asm.Int(0), first, n)
}

// inFours turns accumulators into the shares of threads.
func (q *mma) inFours(acc accumulators) [][]asm.Value {
	rows := make([][]asm.Value, len(acc))
	for i := range acc {
		for _, c := range acc[i] {
			rows[i] = append(rows[i], q.fours(c, q.even)...)
		}
	}
	return rows
}

// begin returns the accumulators before any product.
func (q *mma) begin(row, col asm.Value) accumulators {
	acc := q.zeros(q.high*fragmentRows, q.wide*2)
	if q.n.Zero {
		return acc
	}
	was := make([][]asm.Value, q.high)
	for i := range was {
		for range q.wide {
			was[i] = append(was[i], q.f.Variable(asm.F32(0)))
		}
	}
	q.output(row, col, func(i, j, n int, at address) { q.f.LoadInto(at.Address, was[i][j:j+n]...) })
	for i := range acc {
		for j, c := range acc[i] {
			for r, v := range q.fours(was[i][4*j:][:4], q.even) { // fours is its own inverse
				q.f.Move(c[r], v)
			}
		}
	}
	return acc
}

// sums computes a tile. While a thread multiplies from one stage, the other stages are in
// flight. One barrier a turn is enough: a thread that copies to a stage has passed a barrier
// that all threads reached after reading the stage. This also holds across tiles, since each
// tile continues at the next stage.
func (q *mma) sums(m0, n0, row, col asm.Value) accumulators {
	f := q.f
	acc := q.begin(row, col)
	q.aim(q.a, m0)
	q.aim(q.b, n0)
	f.Move(q.write, q.read)
	for i := range q.stages - 1 {
		q.bring(asm.Int(i * q.depth()))
		f.Move(q.write, q.behindStage(q.write))
	}
	q.count(asm.Int(0), q.sizeK, asm.Int(q.depth()), func(k0 asm.Value) {
		f.Rolled() // unrolled turns spill registers
		f.WaitCopies(q.stages - 2)
		f.Barrier()
		q.bring(f.Do("add.s32", k0, asm.Int((q.stages-1)*q.depth())))
		q.multiply(acc)
		f.Move(q.write, q.read)
		f.Move(q.read, q.behindStage(q.read))
	})
	return acc
}

// behindStage returns the stage after another.
func (q *mma) behindStage(stage asm.Value) asm.Value {
	next := q.f.Do("add.s32", stage, asm.Int(q.pitch))
	return q.choose(q.f.Do("setp.eq.s32", next, asm.Int(q.stages*q.pitch)), asm.Int(0), next)
}

// bring begins to copy the factors from k0 on, if any are left. It always ends a group, since
// waits count groups.
func (q *mma) bring(k0 asm.Value) {
	q.when(q.f.Do("setp.lt.s32", k0, q.sizeK), func() {
		left := q.f.Do("sub.s32", q.sizeK, k0)
		q.copies(q.a, left)
		q.copies(q.b, left)
	})
	q.f.CommitCopies()
}

// multiply adds the products of a stage.
func (q *mma) multiply(acc accumulators) {
	left, right := q.moved(q.a.warp, q.read), q.moved(q.b.warp, q.read)
	for k := 0; k < q.depth(); k += q.deep() {
		var a, b []asm.Value
		for i := range acc {
			a = append(a, q.fragment(left, i*fragmentRows, k)...)
		}
		for j := 0; j < len(acc[0]); j += 2 {
			b = append(b, q.fragment(right, j*fragmentCols, k)...)
		}
		for _, t := range q.addends(q.n.Split, a, b) {
			acc.multiply(q.f, q.format, t.a, t.b)
		}
	}
}
