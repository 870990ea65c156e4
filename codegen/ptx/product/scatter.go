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
// gradient of a gathered table is one. A warp has columns of a row of the output. It tests 64
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
	scatterSlots  = 2 // vectors of a lane in each row, at most
	scatterAhead  = 8 // rows that are loaded before the first of them is added
	scatterTests  = 2 // rows that a lane tests at a time
	scatterBeside = 4 // blocks; else ptxas makes room for more, and loads a row only when one before is added
)

// A marks is a bit for each row that a warp tests at a time, 32 in a word.
type marks [scatterTests]asm.Value

// PlanScatter plans a scatter.
func PlanScatter(k *kernel.Kernel, _ emit.Launches) (emit.Plan, string) {
	s, why := scatterOf(k)
	pieces := fmt.Sprintf("up to %d columns of a row a warp, %d rows a turn", scatterSlots*emit.WarpThreads*emit.VectorMost, scatterTests*emit.WarpThreads)
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
	f.Beside = scatterBeside
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
		p.Count(asm.Int(0), rows, asm.Int(scatterTests*emit.WarpThreads), func(base asm.Value) {
			var there, holds, left, ones marks
			for i := range there {
				mine := f.Do("add.s32", base, f.Do("add.s32", p.Lane, asm.Int(i*emit.WarpThreads)))
				p.Vars[s.one.Axes[1].Var] = f.Do("min.s32", mine, f.Do("add.s32", rows, asm.Int(-1)))
				holds[i] = p.Value(s.holds)
				there[i] = f.Do("and.pred", f.Do("setp.lt.s32", mine, rows), f.Do("or.pred", all, holds[i]))
			}
			for i := range left {
				left[i], ones[i] = f.Variable(f.Ballot(there[i])), f.Ballot(holds[i])
			}
			f.If(left.any(f), func() {
				f.Loop(func() asm.Value {
					addRows(p, &s, base, left, ones, at, acc)
					return left.any(f)
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
func addRows(p *emit.Builder, s *scatter, base asm.Value, left, ones marks, at []asm.Value, acc [][]asm.Value) {
	f := p.F
	var factors []asm.Value
	var terms [][][]asm.Value
	for range scatterAhead {
		mark := left.lowest(p)
		there := left.any(f)
		factors = append(factors, p.Choose(ones.has(f, mark), asm.F32(1), asm.F32(0)))
		k := f.Do("add.s32", base, mark)
		var row [][]asm.Value
		for slot := range at {
			from := p.Operand(s.B, k, at[slot])
			values := f.Variables(len(acc[slot]), emit.ClassOf(from.Typ).MinusZero())
			f.Guarded(there, func() { f.LoadInto(from.Address, values...) })
			row = append(row, p.Widened(from.Typ, values...))
		}
		terms = append(terms, row)
		left.drop(f)
	}
	for i, row := range terms {
		for slot, values := range row {
			for j, x := range values {
				f.Into(acc[slot][j], "fma.rn.f32", factors[i], x, acc[slot][j])
			}
		}
	}
}

// any reports whether there is a mark.
func (m marks) any(f *asm.Func) asm.Value {
	return f.Do("setp.ne.s32", f.Do("or.b32", m[0], m[1]), asm.Int(0))
}

// lowest returns the number of the lowest mark.
func (m marks) lowest(p *emit.Builder) asm.Value {
	first := func(word asm.Value) asm.Value { return p.F.Do("clz.b32", p.F.Do("brev.b32", word)) } // 32: none
	low := first(m[0])
	return p.Choose(p.F.Do("setp.ne.s32", m[0], asm.Int(0)), low, p.F.Do("add.s32", low, first(m[1])))
}

// drop takes the lowest mark away.
func (m marks) drop(f *asm.Func) {
	without := func(word asm.Value) asm.Value { return f.Do("and.b32", word, f.Do("add.s32", word, asm.Int(-1))) }
	f.Into(m[1], "selp.b32", m[1], without(m[1]), f.Do("setp.ne.s32", m[0], asm.Int(0)))
	f.Into(m[0], "mov.b32", without(m[0]))
}

// has reports whether a number is marked. A shift by 32 or more gives 0.
func (m marks) has(f *asm.Func, mark asm.Value) asm.Value {
	words := f.Do("or.b32", f.Do("shr.u32", m[0], mark), f.Do("shr.u32", m[1], f.Do("add.s32", mark, asm.Int(-emit.WarpThreads))))
	return f.Do("setp.ne.s32", f.Do("and.b32", words, asm.Int(1)), asm.Int(0))
}
