package attention

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A side is a row's assignment outside the arrays by query and key, before follow[at].
// Element n of its axis reads key n - shift of these arrays.
type side struct {
	*kernel.Set
	at    int
	shift *expr.Expr
	every bool // it also sets elements that correspond to no key
}

// stripVar names a place in a strip; no variable of a kernel has this name.
const stripVar = "strip"

// A strip is a row's own tile, kept as an expression instead of in memory. Its value is the
// element at stripVar after the assignments so far. The first assignment comes before follow[at].
type strip struct {
	size, value *expr.Expr
	at          int
}

// rowsOf sorts the statements of a row into statements that follow and sides.
func (g *attentionGrad) rowsOf(l *kernel.For) string {
	strips := map[string]strip{}
	for _, s := range ofRow(l.Body, l.Var) {
		why := ""
		set, _ := s.(*kernel.Set)
		cond, _ := s.(*kernel.If)
		switch {
		case set != nil && l.Own[set.Dst.Name]:
			why = g.assign(strips, set, nil)
		case cond != nil:
			for _, s := range cond.Body {
				if set, ok := s.(*kernel.Set); !ok || !l.Own[set.Dst.Name] {
					return "rows have loops or conditions"
				} else if why := g.assign(strips, set, cond.Cond); why != "" {
					return why
				}
			}
		case set != nil && g.sumOverExamples(set.Dst.Name):
			g.sides = append(g.sides, side{Set: set, at: len(g.follow), shift: expr.Int(0)})
		case set != nil && g.buffers[set.Dst.Name]:
			why = g.keep(strips, set)
		default:
			g.goOn(s)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// sumOverExamples reports whether a tile is a sum over examples.
func (g *attentionGrad) sumOverExamples(name string) bool {
	return slices.ContainsFunc(g.before, func(s *kernel.Set) bool { return g.examples != nil && s.Dst.Name == name })
}

// assign begins or changes a strip, where cond holds unless it is nil.
func (g *attentionGrad) assign(strips map[string]strip, s *kernel.Set, cond *expr.Expr) string {
	old, begun := strips[s.Dst.Name]
	if !begun {
		if cond != nil || len(s.Axes) != 1 || !isAxis(s.Dst.Args[0], s.Axes[0]) {
			return "a row begins with a part of a tile"
		}
		strips[s.Dst.Name] = strip{s.Axes[0].Size, expr.Subst(s.Value, map[string]*expr.Expr{s.Axes[0].Var: expr.NewVar(stripVar, expr.I32)}), len(g.follow)}
		return ""
	}
	value, in := atStrip(s)
	if in == nil {
		return "a row sets places apart"
	}
	if cond != nil {
		in = expr.New(expr.And, cond, in)
	}
	old.value = expr.New(expr.Where, in, value, old.value)
	strips[s.Dst.Name] = old
	return ""
}

func isAxis(e *expr.Expr, a kernel.Axis) bool { return e.Op == expr.Var && e.Name == a.Var }

// atStrip returns the value that an assignment puts at stripVar, and its condition; nil if unknown.
func atStrip(s *kernel.Set) (value, in *expr.Expr) {
	n := expr.NewVar(stripVar, expr.I32)
	switch len(s.Axes) {
	case 0:
		return s.Value, expr.New(expr.Eq, n, s.Dst.Args[0])
	case 1:
		a := s.Axes[0]
		if coef, first, ok := expr.Affine(s.Dst.Args[0], a.Var); ok && expr.IsInt(coef, 1) {
			place := expr.Simplify(expr.New(expr.Sub, n, first))
			in = expr.New(expr.And, expr.New(expr.Le, expr.Int(0), place), expr.New(expr.Lt, place, a.Size))
			return expr.Subst(s.Value, map[string]*expr.Expr{a.Var: place}), in
		}
	}
	return nil, nil
}

// keep adds a side that writes a strip to a buffer.
func (g *attentionGrad) keep(strips map[string]strip, s *kernel.Set) string {
	other := "a row writes other than a tile of its own"
	if len(s.Axes) != 1 {
		return other
	}
	axis, to, known := s.Axes[0], &kernel.Set{Axes: s.Axes, Dst: s.Dst}, true
	to.Value = expr.Rewrite(s.Value, func(e *expr.Expr) *expr.Expr {
		t, ok := strips[e.Name]
		if e.Op != expr.Elem || !ok {
			return e
		}
		later := slices.ContainsFunc(g.follow[t.at:], kernel.Is[*kernel.Set])
		known = known && !later && expr.Equal(t.size, axis.Size) && isAxis(e.Args[0], axis)
		return expr.Subst(t.value, map[string]*expr.Expr{stripVar: e.Args[0]})
	})
	shift := g.shift(to.Value, axis.Var)
	if !known || shift == nil {
		return other
	}
	g.sides = append(g.sides, side{to, len(g.follow), shift, true})
	return ""
}

// shift returns the offset from the key that an expression reads to the variable, or nil. No
// kernel reads beyond a row of an array, so elements beyond the keys do not count.
func (g *attentionGrad) shift(value *expr.Expr, name string) (shift *expr.Expr) {
	_, place, _ := expr.Affine(g.place(), emit.ColVar)
	width, origin, _ := expr.Affine(place, emit.RowVar)
	for _, e := range expr.Elems(value) {
		if !g.names()[e.Name] {
			continue
		}
		coef, rest, affine := expr.Affine(e.Args[0], name)
		wide, rest, affine2 := expr.Affine(rest, emit.RowVar)
		by := expr.Simplify(expr.New(expr.Sub, origin, rest))
		if !affine || !affine2 || !expr.IsInt(coef, 1) || !expr.Equal(wide, width) || shift != nil && !expr.Equal(shift, by) {
			return nil
		}
		shift = by
	}
	return shift
}

// checkSides says why a side does not fit. It must add to a separate element for each query and
// key, and read no other pair's elements.
func (g *attentionGrad) checkSides(inRegisters map[string]bool) string {
	place := g.place()
	for _, s := range g.sides {
		if slices.ContainsFunc(g.follow, func(f kernel.Stmt) bool { return kernel.Uses(f, s.Dst.Name) }) {
			return "rows read " + s.Dst.Name
		}
		col := s.Axes[0].Var
		_, _, affine := expr.Affine(s.Dst.Args[0], col)
		if !s.every && (!affine || !expr.Depends(s.Dst.Args[0], col) || !expr.Depends(s.Dst.Args[0], emit.RowVar) || !expr.Equal(s.Axes[0].Size, g.scores.Axes[1].Size)) {
			return "it adds up other sums"
		}
		for _, e := range expr.Elems(s.Value) {
			own := inRegisters[e.Name] && (s.every || expr.Equal(emit.Place(e, "", col), place))
			if !own && !g.buffers[e.Name] && !expr.Equal(e, s.Dst) {
				return "it adds up other elements of " + e.Name
			}
		}
	}
	return ""
}
