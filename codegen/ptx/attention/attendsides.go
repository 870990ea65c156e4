package attention

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
)

// follows computes statements [from, to) of follow, and the sides before them.
func (g *gradCell) follows(from, to, m int, key asm.Value) {
	for _, s := range g.m.sides {
		if from <= s.at && s.at <= to {
			g.elements(from, s.at, m, key)
			g.aside(s, m, key)
			from = s.at
		}
	}
	g.elements(from, to, m, key)
}

// aside computes a side for four keys of each row of a lane, together if their elements are at a
// multiple of four.
func (g *gradCell) aside(s side, m int, key asm.Value) {
	f, value := g.F, g.Own(s.Value)
	for h := range g.row {
		g.enter(h)
		arrays, shift := g.fourOfAll(h, m), g.Value(s.shift)
		apart := f.Do("setp.lt.s32", g.row[h], g.height)
		if coef, _, ok := expr.Affine(s.Dst.Args[0], s.Axes[0].Var); ok && expr.IsInt(coef, 1) && !s.every {
			g.Vars[s.Axes[0].Var] = key
			aligned := f.Do("setp.eq.s32", f.Do("and.b32", g.Value(s.Dst.Args[0]), asm.Int(3)), asm.Int(0))
			together := f.Do("and.pred", aligned, f.Do("setp.lt.s32", f.Do("add.s32", key, asm.Int(3)), g.size))
			f.If(f.Do("and.pred", together, apart), func() { g.asideOfFour(s, key, arrays) })
			apart = f.Do("and.pred", apart, f.Do("not.pred", together))
		}
		for i := range 4 {
			at := f.Do("add.s32", key, asm.Int(i))
			there := f.Do("and.pred", apart, f.Do("setp.lt.s32", at, g.size))
			place := f.Do("add.s32", at, shift)
			if s.every {
				there = f.Do("and.pred", there, g.isPlace(place, g.Value(s.Axes[0].Size)))
			}
			f.If(there, func() {
				g.Vars[s.Axes[0].Var] = place
				so := emit.Known{}
				for _, e := range expr.Elems(value) {
					if four, ok := arrays[e.Name]; ok {
						so[e] = four[i]
					}
				}
				g.Store(s.Dst, g.Eval(value, so))
			})
		}
	}
}

// asideOfFour stores a side's adjacent elements. It reads their old values together.
func (g *gradCell) asideOfFour(s side, key asm.Value, arrays map[string][]asm.Value) {
	value, name := g.Own(s.Value), s.Axes[0].Var
	loaded, old := map[*expr.Expr][]asm.Value{}, g.Own(s.Dst)
	g.Vars[name] = key
	for _, e := range expr.Elems(value) {
		if four, ok := arrays[e.Name]; ok {
			loaded[e] = four
		} else if e == old {
			loaded[e] = g.Load(g.At(e, emit.Known{}), 4)
		}
	}
	vs := g.Across(value, name, key, 4, loaded)
	g.Vars[name] = key
	g.Store(s.Dst, vs...)
}

// rest computes the elements of sides that correspond to no key, with 0 for elements of arrays.
// The lanes of a row take them round-robin.
func (g *gradCell) rest() {
	f := g.F
	for _, s := range g.m.sides {
		if !s.every {
			continue
		}
		value, arrays := g.Own(s.Value), g.m.names()
		for h := range g.row {
			g.enter(h)
			shift, size := g.Value(s.shift), g.Value(s.Axes[0].Size)
			limit := g.Choose(f.Do("setp.lt.s32", g.row[h], g.height), size, asm.Int(0))
			g.Count(f.Do("shr.u32", g.key, asm.Int(2)), limit, asm.Int(g.group/4), func(place asm.Value) {
				key := f.Do("sub.s32", place, shift)
				f.If(f.Do("not.pred", g.isPlace(key, g.size)), func() {
					g.Vars[s.Axes[0].Var] = place
					so := emit.Known{}
					for _, e := range expr.Elems(value) {
						if arrays[e.Name] {
							so[e] = asm.F32(0)
						}
					}
					g.Store(s.Dst, g.Eval(value, so))
				})
			})
		}
	}
}

// isPlace reports whether 0 <= place < size.
func (g *gradCell) isPlace(place, size asm.Value) asm.Value {
	f := g.F
	return f.Do("and.pred", f.Do("setp.le.s32", asm.Int(0), place), f.Do("setp.lt.s32", place, size))
}
