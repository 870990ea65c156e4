package attention

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// write writes a product after its epilogue, for the rows of a lane below a limit.
func (a *attend) write(o emit.Accumulators, d *kernel.Dot, out []*kernel.Set, rows []asm.Value, limit asm.Value) {
	f := a.F
	row := a.Choose(a.even, rows[0], rows[1])
	column := f.Do("shl.b32", f.Do("shr.u32", a.key, asm.Int(3)), asm.Int(2))
	for j := 0; j < len(o[0]); j += 2 {
		pair := [][]asm.Value{a.Fours(o[0][j], a.even), a.Fours(o[0][j+1], a.even)}
		stores := a.wholeSectors(d, out, pair, row, j*emit.FragmentCols)
		f.If(f.Do("setp.lt.s32", row, limit), func() {
			for i, four := range pair {
				col := f.Do("add.s32", column, asm.Int((j+i)*emit.FragmentCols))
				a.writeFour(d, slices.DeleteFunc(slices.Clone(out), func(s *kernel.Set) bool { return stores[s] != nil }), row, col, four)
			}
			for _, s := range out {
				if store := stores[s]; store != nil {
					store()
				}
			}
		})
	}
}

// writeFour writes four columns of a product after its epilogue.
func (a *attend) writeFour(d *kernel.Dot, out []*kernel.Set, row, col asm.Value, four []asm.Value) {
	if _, buffer := a.Slices[d.Dst.Name]; buffer {
		a.Vars[d.Axes[0].Var] = row
		a.StoreFrom(d.Dst, expr.Subst(d.Dst, a.meanings), d.Axes[1].Var, col, four)
	}
	for _, s := range out {
		a.Vars[s.Axes[0].Var] = row
		vs := a.Neighbours(a.Own(s.Value), s.Axes[1].Var, col, 4, map[string][]asm.Value{d.Dst.Name: four})
		a.StoreFrom(s.Dst, expr.Subst(s.Dst, a.meanings), s.Axes[1].Var, col, vs)
	}
}

// wholeSectors computes the rounded columns of a pair and exchanges them with the lane that has
// the row's other columns. Then each lane stores 8 elements, and both lanes a sector. All lanes
// take part, so it leaves out values that read memory: their row may not exist.
func (a *attend) wholeSectors(d *kernel.Dot, out []*kernel.Set, pair [][]asm.Value, row asm.Value, first int) map[*kernel.Set]func() {
	f, stores := a.F, map[*kernel.Set]func(){}
	low := f.Do("setp.lt.s32", a.key, asm.Int(8)) // has columns from 0 on, of each 8
	for _, s := range out {
		name := s.Axes[1].Var
		reads := slices.ContainsFunc(expr.Elems(s.Value), func(e *expr.Expr) bool { return e.Name != d.Dst.Name })
		if s.Value.Op != expr.ToBF16 || reads || !emit.Aligned(expr.Subst(s.Dst, a.meanings), name, emit.UnitWide, a.Aligned) {
			continue
		}
		a.Vars[s.Axes[0].Var] = row
		column := f.Do("shl.b32", f.Do("shr.u32", a.key, asm.Int(3)), asm.Int(2))
		var words [][]asm.Value
		for i, four := range pair {
			col := f.Do("add.s32", column, asm.Int(first+i*emit.FragmentCols))
			words = append(words, a.LeftOf(a.Neighbours(a.Own(s.Value.Args[0]), name, col, 4, map[string][]asm.Value{d.Dst.Name: four}), nil))
		}
		var left, right []asm.Value
		for i := range words[0] {
			other := f.Shuffle("bfly", a.Choose(low, words[1][i], words[0][i]), 2)
			left, right = append(left, a.Choose(low, words[0][i], other)), append(right, a.Choose(low, other, words[1][i]))
		}
		stores[s] = func() {
			a.Vars[s.Axes[0].Var] = row
			a.Vars[name] = a.Choose(low, asm.Int(first), asm.Int(first+emit.FragmentCols))
			f.Store(a.At(a.Own(s.Dst), emit.Known{}).Address, append(left, right...)...)
		}
	}
	return stores
}
