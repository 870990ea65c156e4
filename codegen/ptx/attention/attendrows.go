package attention

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// four returns a lane's elements of an array: row h, the four keys of group m.
func (a *attend) four(name string, h, m int) []asm.Value {
	if len(a.row) > laneRows {
		return a.parts[name][m][h]
	}
	x, y := a.parts[name][0][2*m], a.parts[name][0][2*m+1]
	return []asm.Value{x[2*h], x[2*h+1], y[2*h], y[2*h+1]}
}

// fourOfAll returns four of each array.
func (a *attend) fourOfAll(h, m int) map[string][]asm.Value {
	all := map[string][]asm.Value{}
	for name := range a.parts {
		all[name] = a.four(name, h, m)
	}
	return all
}

// enter sets the variables to row h of a lane.
func (a *attend) enter(h int) {
	a.Vars[emit.RowVar] = a.inside[h]
	for name, v := range a.known[h] {
		a.Vars[name] = v
	}
}

// scalars computes the values of whole rows, from a statement to the next reduction over keys.
func (a *attend) scalars(from int) {
	for _, s := range a.follow[from:] {
		switch s := s.(type) {
		case *kernel.Reduce:
			if _, ok := a.overKeys(s); ok {
				return
			}
			a.along(s)
		case *kernel.Let:
			for h := range a.row {
				a.enter(h)
				a.known[h][s.Name] = a.Value(s.Value)
			}
		}
	}
}

// overKeys reports whether a statement is a reduction over keys.
func (a *attend) overKeys(s kernel.Stmt) (r *kernel.Reduce, ok bool) {
	r, ok = s.(*kernel.Reduce)
	return r, ok && !a.ofHead(r)
}

// along computes a reduction over the width of a head. A lane takes the columns of a row that
// it would take as keys.
func (a *attend) along(r *kernel.Reduce) {
	sums, op := a.sums(r), emit.Reductions[r.Op]
	for h := range a.row {
		a.enter(h)
		for m := range (a.width + a.group - 1) / a.group {
			column := a.F.Do("add.s32", a.key, asm.Int(m*a.group))
			there := asm.Bool(true)
			if (m+1)*a.group > a.width {
				there = a.F.Do("setp.lt.s32", column, asm.Int(a.width))
			}
			a.When(there, func() {
				for _, v := range a.beside(r.Value, r.Axis.Var, column, h, m) {
					a.F.Into(sums[h][m], op, sums[h][m], v)
				}
			})
		}
	}
	a.combine(r, sums)
}

// beside computes an expression for four adjacent columns, of group m of row h of a lane. Elements
// are loaded together if they are in shared memory, or the values of lets show that they are adjacent
// and aligned.
func (a *attend) beside(value *expr.Expr, name string, first asm.Value, h, m int) []asm.Value {
	value = a.Own(value)
	loaded := map[*expr.Expr][]asm.Value{}
	a.Vars[name] = first
	for _, e := range expr.Elems(value) {
		if at, ok := a.held(e, name, h, m); ok {
			loaded[e] = a.Load(at, 4)
		} else if emit.Aligned(expr.Subst(e, a.meanings), name, 4, a.Aligned) {
			loaded[e] = a.Load(a.At(e, emit.Known{}), 4)
		}
	}
	return a.Across(value, name, first, 4, loaded)
}

// elements computes the elementwise statements of [from, to) for four keys of each row of a lane.
func (a *attend) elements(from, to, m int, key asm.Value) {
	for h := range a.row {
		a.enter(h)
		given := a.fourOfAll(h, m)
		for _, s := range a.follow[from:to] {
			switch s := s.(type) {
			case *kernel.Random:
				if a.wants(s.Dst) {
					given[s.Dst] = a.Four(s, key)
				}
			case *kernel.Set:
				if a.wants(s.Dst.Name) {
					given[s.Dst.Name] = a.each4(s.Value, s.Axes[0].Var, key, given, a.nearBand(h, m))
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(a.parts)) {
			for i, at := range a.four(name, h, m) {
				if v := given[name][i]; v != at {
					a.F.Move(at, v)
				}
			}
		}
	}
}

// each4 computes an expression for four adjacent keys of a row, whose variables are set. Elements of
// arrays are given; band has the elements of bands by the number of a key. Where it reads memory, the
// last key stands in for keys that do not exist.
func (a *attend) each4(value *expr.Expr, name string, key asm.Value, given map[string][]asm.Value, band func(n, key int) asm.Value) []asm.Value {
	value = a.Own(value)
	last := a.F.Do("add.s32", a.size, asm.Int(-1))
	fours, reads := map[*expr.Expr][]asm.Value{}, false
	for _, e := range expr.Elems(value) {
		four, ok := given[e.Name]
		switch n := bandAt(a.bands, e, name); {
		case ok:
			fours[e] = four
		case n >= 0:
			for i := range 4 {
				fours[e] = append(fours[e], band(n, i))
			}
		case a.adjacent(e, name):
			fours[e] = a.loadFour(e, name, key, last)
		default:
			reads = true
		}
	}
	var vs []asm.Value
	for i := range 4 {
		so := emit.Known{}
		for e, four := range fours {
			so[e] = four[i]
		}
		at := a.F.Do("add.s32", key, asm.Int(i))
		if reads {
			at = a.nearest(at, last)
		}
		a.Vars[name] = at
		vs = append(vs, a.Eval(value, so))
	}
	return vs
}

// adjacent reports whether the elements of adjacent keys are adjacent in a buffer of F32.
func (a *attend) adjacent(e *expr.Expr, name string) bool {
	if e.Type != expr.F32 || !a.buffers[e.Name] || !a.Aligned[e.Name] {
		return false
	}
	coef, _, ok := expr.Affine(e.Args[0], name)
	return ok && expr.IsInt(coef, 1)
}

// nearest returns a key, or the nearest one that exists.
func (a *attend) nearest(key, last asm.Value) asm.Value {
	key = a.F.Do("min.s32", key, last)
	if a.moves {
		key = a.F.Do("max.s32", key, asm.Int(0))
	}
	return key
}

// loadFour loads elements of four keys, together if all keys exist and the first element lies at a
// multiple of four.
func (a *attend) loadFour(e *expr.Expr, name string, key, last asm.Value) []asm.Value {
	f := a.F
	a.Vars[name] = key
	aligned := f.Do("setp.eq.s32", f.Do("and.b32", a.Value(e.Args[0]), asm.Int(3)), asm.Int(0))
	together := f.Do("and.pred", aligned, f.Do("setp.le.s32", f.Do("add.s32", key, asm.Int(3)), last))
	if a.moves {
		together = f.Do("and.pred", together, f.Do("setp.le.s32", asm.Int(0), key))
	}
	vs := f.Variables(4, asm.F32(0))
	f.If(together, func() { f.LoadInto(a.At(e, emit.Known{}).Address, vs...) })
	f.If(f.Do("not.pred", together), func() {
		for i, v := range vs {
			a.Vars[name] = a.nearest(f.Do("add.s32", key, asm.Int(i)), last)
			f.LoadInto(a.At(e, emit.Known{}).Address, v)
		}
	})
	return vs
}

// sums returns the initial partial values of a reduction, by row of a lane and group of keys.
func (a *attend) sums(r *kernel.Reduce) [][]asm.Value {
	all := make([][]asm.Value, len(a.row))
	for h := range all {
		all[h] = a.F.Variables(keysAtOnce/a.group, asm.F32(kernel.Start(r.Op)))
	}
	return all
}

// partial combines four keys into the partial value of their group.
func (a *attend) partial(r *kernel.Reduce, sums [][]asm.Value, m int, key asm.Value) {
	f, op := a.F, emit.Reductions[r.Op]
	for h := range a.row {
		a.enter(h)
		for i, v := range a.each4(r.Value, r.Axis.Var, key, a.fourOfAll(h, m), a.nearBand(h, m)) {
			there := f.Do("setp.lt.s32", f.Do("add.s32", key, asm.Int(i)), a.size)
			f.Into(sums[h][m], op, sums[h][m], a.Choose(there, v, asm.F32(kernel.Start(r.Op))))
		}
	}
}

// swap exchanges the halves of the partial values after the last group, if the keys at once
// use only the first half.
func (a *attend) swap(sums [][]asm.Value) {
	n := a.many / a.group
	if a.to < n {
		return
	}
	for _, part := range sums {
		for m := range keysAtOnce/a.group - n {
			first := a.F.Copy(part[m])
			a.F.Move(part[m], part[m+n])
			a.F.Move(part[m+n], first)
		}
	}
}

// combine combines the 32 partial values of a row as kernel.Reduce says. Partial values of a
// lane are as far apart as groups.
func (a *attend) combine(r *kernel.Reduce, sums [][]asm.Value) {
	f, op := a.F, emit.Reductions[r.Op]
	for h, part := range sums {
		for n := len(part) / 2; n > 0; n /= 2 {
			for m := range n {
				f.Into(part[m], op, part[m], part[m+n])
			}
		}
		for d := a.group / 8; d > 0; d /= 2 {
			f.Into(part[0], op, part[0], f.Shuffle("bfly", part[0], d))
		}
		a.known[h][r.Name] = f.Do("add.rn.f32", part[0], asm.F32(0))
	}
}
