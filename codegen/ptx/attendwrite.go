package ptx

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// write writes a product after its epilogue, for the rows of a lane below a limit.
func (a *attend) write(o accumulators, d *kernel.Dot, out []*kernel.Set, rows [halves]asm.Value, limit asm.Value) {
	f := a.f
	row := a.choose(a.even, rows[0], rows[1])
	column := f.Do("shl.b32", f.Do("shr.u32", a.key, asm.Int(3)), asm.Int(2))
	for j := 0; j < len(o[0]); j += 2 {
		pair := [][]asm.Value{a.fours(o[0][j], a.even), a.fours(o[0][j+1], a.even)}
		stores := a.wholeSectors(d, out, pair, row, j*fragmentCols)
		f.If(f.Do("setp.lt.s32", row, limit), func() {
			for i, four := range pair {
				col := f.Do("add.s32", column, asm.Int((j+i)*fragmentCols))
				if _, buffer := a.slices[d.Dst.Name]; buffer {
					a.vars[d.Axes[0].Var] = row
					a.fill(d.Dst, d.Axes[1].Var, col, four)
				}
				for _, s := range out {
					if stores[s] == nil {
						a.vars[s.Axes[0].Var] = row
						vs := a.neighbours(a.own(s.Value), s.Axes[1].Var, col, 4, map[string][]asm.Value{d.Dst.Name: four})
						a.fill(s.Dst, s.Axes[1].Var, col, vs)
					}
				}
			}
			for _, s := range out {
				if store := stores[s]; store != nil {
					store()
				}
			}
		})
	}
}

// wholeSectors computes the rounded columns of a pair and exchanges them with the lane that has
// the row's other columns. Then each lane stores 8 elements, and both lanes a sector. All lanes
// take part, so it leaves out values that read memory: their row may not exist.
func (a *attend) wholeSectors(d *kernel.Dot, out []*kernel.Set, pair [][]asm.Value, row asm.Value, first int) map[*kernel.Set]func() {
	f, stores := a.f, map[*kernel.Set]func(){}
	low := f.Do("setp.lt.s32", a.key, asm.Int(8)) // has columns from 0 on, of each 8
	for _, s := range out {
		name := s.Axes[1].Var
		reads := slices.ContainsFunc(expr.Elems(s.Value), func(e *expr.Expr) bool { return e.Name != d.Dst.Name })
		if s.Value.Op != expr.ToBF16 || reads || !aligned(expr.Subst(s.Dst, a.meanings), name, unitWide, a.aligned) {
			continue
		}
		a.vars[s.Axes[0].Var] = row
		column := f.Do("shl.b32", f.Do("shr.u32", a.key, asm.Int(3)), asm.Int(2))
		var words [][]asm.Value
		for i, four := range pair {
			col := f.Do("add.s32", column, asm.Int(first+i*fragmentCols))
			words = append(words, a.leftOf(a.neighbours(a.own(s.Value.Args[0]), name, col, 4, map[string][]asm.Value{d.Dst.Name: four}), nil))
		}
		var left, right []asm.Value
		for i := range words[0] {
			other := f.Shuffle("bfly", a.choose(low, words[1][i], words[0][i]), 2)
			left, right = append(left, a.choose(low, words[0][i], other)), append(right, a.choose(low, other, words[1][i]))
		}
		stores[s] = func() {
			a.vars[s.Axes[0].Var] = row
			a.vars[name] = a.choose(low, asm.Int(first), asm.Int(first+fragmentCols))
			f.Store(a.at(a.own(s.Dst), known{}).Address, append(left, right...)...)
		}
	}
	return stores
}

// fill is storeFrom, where the values of lets may show that elements are adjacent.
func (a *attend) fill(dst *expr.Expr, name string, first asm.Value, vs []asm.Value) {
	n := 1
	if aligned(expr.Subst(dst, a.meanings), name, len(vs), a.aligned) {
		n = len(vs)
	}
	a.storeBy(n, dst, name, first, vs)
}
