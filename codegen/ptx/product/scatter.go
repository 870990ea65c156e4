package product

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A scatter is a product whose left factor is 1 where a condition holds and 0 elsewhere. The
// gradient of a gathered table is one. A warp has columns of a row of the output. It tests 32
// rows of the right factor at a time, and adds the rows for its own row in ascending order. Other
// rows add 0, which changes only a sum of -0: a warp that begins with -0 takes all rows. A row
// that is not finite makes the whole table NaN by definition, but here only its own row. The norm
// of the gradients is not finite either way.
type scatter struct {
	flat.Product
	one   *kernel.Set // the left factor
	holds *expr.Expr  // where it is 1
}

const (
	scatterSlots = 2 // vectors of a lane in each row, at most
	scatterAhead = 4 // rows that are loaded before the first of them is added
)

// PlanScatter plans a scatter.
func PlanScatter(k *kernel.Kernel, _ emit.Launches) (emit.Plan, string) {
	s, why := scatterOf(k)
	pieces := fmt.Sprintf("up to %d columns of a row a warp, %d rows a turn", scatterSlots*emit.WarpThreads*emit.VectorMost, emit.WarpThreads)
	return emit.Plan{Threads: emit.OtherThreads, Whole: false, Pieces: pieces, Cells: func(p *emit.Builder) emit.Cells { return scatterCells(p, s) }}, why
}

func scatterOf(k *kernel.Kernel) (s scatter, why string) {
	t, why := tiledOf(k)
	switch {
	case why != "":
		return s, why
	case t.left == nil || t.rows != nil || t.Split:
		return s, "its left factor is in memory, or the product is not all of it"
	}
	one := t.left.Value
	if one.Op != expr.Where || !expr.Equal(one.Args[1], expr.F(1)) || !expr.Equal(one.Args[2], expr.F(0)) {
		return s, "its left factor is something else than 1 or 0"
	}
	return scatter{flat.ProductOf(t.Dot), t.left, one.Args[0]}, ""
}

// scatterCells are columns of a row each.
func scatterCells(p *emit.Builder, s scatter) emit.Cells {
	f := p.F
	vector := min(p.SideBySide(s.B, s.N), p.SideBySide(s.C, s.N))
	slots := scatterSlots
	if s.N.IsConst() && s.N.I <= int64(emit.WarpThreads*vector) {
		slots = 1
	}
	across := kernel.CeilDiv(s.N, int64(slots*emit.WarpThreads*vector))
	return emit.Cells{Count: expr.Simplify(expr.New(expr.Mul, s.M, across)), Body: func(cell asm.Value) {
		row, block := p.Divide(cell, p.Value(across))
		width, rows := p.Value(s.N), p.Value(s.K)
		last := f.Do("sub.s32", width, asm.Int(vector))
		var cols, inside, at []asm.Value
		var acc [][]asm.Value
		for slot := range slots {
			col := f.Do("mad.lo.s32", block, asm.Int(slots*emit.WarpThreads*vector), f.Do("mad.lo.s32", p.Lane, asm.Int(vector), asm.Int(slot*emit.WarpThreads*vector)))
			cols, inside = append(cols, col), append(inside, f.Do("setp.lt.s32", col, width))
			at = append(at, f.Do("min.s32", col, last)) // lanes after the last column repeat it
			sums := f.Variables(vector, asm.F32(0))
			if !s.Zero {
				from := p.Operand(s.C, row, at[slot])
				f.Guarded(inside[slot], func() { f.LoadInto(from.Address, sums...) })
			}
			acc = append(acc, sums)
		}
		all := asm.Bool(false)
		if !s.Zero {
			all = anyNegativeZero(p, acc)
		}
		p.Vars[s.one.Axes[0].Var] = row
		p.Count(asm.Int(0), rows, asm.Int(emit.WarpThreads), func(base asm.Value) {
			mine := f.Do("add.s32", base, p.Lane)
			p.Vars[s.one.Axes[1].Var] = f.Do("min.s32", mine, f.Do("add.s32", rows, asm.Int(-1)))
			holds := p.Value(s.holds)
			there := f.Do("and.pred", f.Do("setp.lt.s32", mine, rows), f.Do("or.pred", all, holds))
			left, ones := f.Variable(f.Ballot(there)), f.Ballot(holds)
			f.If(f.Do("setp.ne.s32", left, asm.Int(0)), func() {
				f.Loop(func() asm.Value {
					addRows(p, &s, base, left, ones, at, acc)
					return f.Do("setp.ne.s32", left, asm.Int(0))
				})
			})
		})
		for slot, col := range cols {
			f.If(inside[slot], func() { f.Store(p.Operand(s.C, row, col).Address, acc[slot]...) })
		}
	}}
}

// anyNegativeZero reports whether a sum of the warp is -0.
func anyNegativeZero(p *emit.Builder, acc [][]asm.Value) asm.Value {
	f, any := p.F, asm.Bool(false)
	for _, x := range slices.Concat(acc...) {
		any = f.Do("or.pred", any, f.Do("setp.eq.s32", f.As(asm.Word, x), asm.Int(math.MinInt32)))
	}
	return f.Do("setp.ne.s32", f.Ballot(any), asm.Int(0))
}

// addRows adds the rows of the lowest bits that are left, times 1 where ones have a bit and else
// 0, and takes these away. For missing rows it adds -0, which changes no sum.
func addRows(p *emit.Builder, s *scatter, base, left, ones asm.Value, at []asm.Value, acc [][]asm.Value) {
	f := p.F
	var there, factors []asm.Value
	var terms [][][]asm.Value
	lane := f.Do("clz.b32", f.Do("brev.b32", left))
	for i := range scatterAhead {
		if i > 0 {
			there = append(there, f.Do("setp.ne.s32", left, asm.Int(0)))
			lane = p.Choose(there[i], f.Do("clz.b32", f.Do("brev.b32", left)), lane)
		} else {
			there = append(there, asm.Bool(true))
		}
		one := f.Do("setp.ne.s32", f.Do("and.b32", f.Do("shr.u32", ones, lane), asm.Int(1)), asm.Int(0))
		factors = append(factors, p.Choose(one, asm.F32(1), asm.F32(0)))
		k := f.Do("add.s32", base, lane)
		var row [][]asm.Value
		for slot := range at {
			from := p.Operand(s.B, k, at[slot])
			row = append(row, p.Widened(from.Typ, f.Loads(from.Address, emit.ClassOf(from.Typ), len(acc[slot]))...))
		}
		terms = append(terms, row)
		f.Into(left, "and.b32", left, f.Do("add.s32", left, asm.Int(-1)))
	}
	for i, row := range terms {
		for slot, values := range row {
			for j, x := range values {
				x = p.Choose(there[i], x, asm.F32(float32(math.Copysign(0, -1))))
				f.Into(acc[slot][j], "fma.rn.f32", factors[i], x, acc[slot][j])
			}
		}
	}
}
