package ir

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// A Window bounds the keys that a mask may leave open to a query, as far as the mask's
// comparisons tell. No key below a low is open, and none from a high on. Lows and highs
// are expressions over the mask's variables except j.
type Window struct {
	Lows, Highs []*expr.Expr
	Exact       bool    // all keys within the bounds are open
	Narrow      *Narrow // nil if the bounds are far apart
}

// A Narrow window has Width keys from Lo on. Some may lie outside of 0 … J-1. Rest is the
// remaining condition on keys inside, or nil.
type Narrow struct {
	Lo    *expr.Expr
	Width int
	Rest  *expr.Expr
}

// widest is the largest width of a narrow window.
const widest = 8

// WindowOf returns the bounds from the comparisons of a mask that are linear in its
// variables. A comparison may hold in some heads or layers only.
func WindowOf(mask *expr.Expr) Window {
	w := Window{Exact: true}
	var los, his []linear
	parts := conjuncts(mask)
	for _, c := range parts {
		if without, within := apart(c); within != nil {
			w.Exact = w.unless(without, within) && w.Exact
			continue
		}
		lower, upper, ok := bound(c)
		w.Exact = w.Exact && ok
		los, his = append(los, lower...), append(his, upper...)
	}
	width := int64(widest + 1)
	var first linear
	for _, l := range los {
		w.Lows = with(w.Lows, l.expr())
		for _, h := range his {
			if d := h.minus(l); d.natural() && d.constant > 0 && d.constant < width {
				first, width = l, d.constant
			}
		}
	}
	for _, h := range his {
		w.Highs = with(w.Highs, h.expr())
	}
	if width <= widest {
		w.Narrow = &Narrow{Lo: first.expr(), Width: int(width), Rest: rest(parts, first, width)}
	}
	return w
}

// apart splits a condition into one that is the same for all cells, and one that else holds. The
// second is nil if there is no such split.
func apart(e *expr.Expr) (without, within *expr.Expr) {
	if e.Op != expr.Or {
		return nil, nil
	}
	for n, a := range e.Args {
		if OverCells(e) && !OverCells(a) && len(expr.Elems(a)) == 0 {
			return a, e.Args[1-n]
		}
	}
	return nil, nil
}

// unless adds the bounds of a condition where another one does not hold, and reports whether they
// are exact.
func (w *Window) unless(without, within *expr.Expr) (exact bool) {
	exact = true
	for _, c := range conjuncts(within) {
		lower, upper, ok := bound(c)
		exact = exact && ok
		for _, l := range lower {
			w.Lows = with(w.Lows, expr.New(expr.Where, without, expr.Int(0), l.expr()))
		}
		for _, h := range upper {
			w.Highs = with(w.Highs, expr.New(expr.Where, without, expr.NewVar("J", expr.I32), h.expr()))
		}
	}
	return exact
}

// with adds a bound if it is new.
func with(bounds []*expr.Expr, b *expr.Expr) []*expr.Expr {
	if slices.ContainsFunc(bounds, func(old *expr.Expr) bool { return expr.Equal(old, b) }) {
		return bounds
	}
	return append(bounds, b)
}

// rest joins the parts of a mask that do not hold for all keys lo … lo+width-1.
func rest(parts []*expr.Expr, lo linear, width int64) *expr.Expr {
	var all *expr.Expr
	end := lo.minus(linear{constant: -width})
	for _, c := range parts {
		lower, upper, ok := bound(c)
		for _, l := range lower {
			ok = ok && lo.minus(l).natural()
		}
		for _, h := range upper {
			ok = ok && h.minus(end).natural()
		}
		switch {
		case ok:
		case all == nil:
			all = c
		default:
			all = expr.New(expr.And, all, c)
		}
	}
	return all
}

// conjuncts lists the parts of a && b && …. abs(x) <= c becomes two parts.
func conjuncts(e *expr.Expr) []*expr.Expr {
	switch {
	case e == nil || e.Op == expr.Const && e.I != 0:
		return nil
	case e.Op == expr.And:
		return append(conjuncts(e.Args[0]), conjuncts(e.Args[1])...)
	case (e.Op == expr.Le || e.Op == expr.Lt) && e.Args[0].Op == expr.Abs:
		x, c := e.Args[0].Args[0], e.Args[1]
		return []*expr.Expr{expr.New(e.Op, x, c), expr.New(e.Op, expr.New(expr.Neg, c), x)}
	}
	return []*expr.Expr{e}
}

// bound turns a comparison into the least j that it allows, or the first j that it
// forbids. A comparison without j is no bound.
func bound(e *expr.Expr) (lower, upper []linear, ok bool) {
	if e.Op != expr.Le && e.Op != expr.Lt || e.Args[0].Type != expr.I32 {
		return nil, nil, false
	}
	a, aok := linearOf(e.Args[0])
	b, bok := linearOf(e.Args[1])
	if !aok || !bok {
		return nil, nil, false
	}
	d := a.minus(b) // d <= 0, or d < 0
	if e.Op == expr.Lt {
		d.constant++
	}
	if !d.small() {
		return nil, nil, false
	}
	k := d.coef["j"]
	delete(d.coef, "j")
	switch k {
	case 1: // j <= -d
		d = linear{coef: map[string]int64{}}.minus(d)
		d.constant++
		return nil, []linear{d}, true
	case -1: // d <= j
		return []linear{d}, nil, true
	}
	return nil, nil, false
}

// LineOf returns the slope of an index that is not linear, but constant along the lines
// of cells with equal j + slope i. It depends on i and j only through that sum.
func LineOf(index *expr.Expr) (slope int64, ok bool) {
	if _, plain := linearOf(index); plain {
		return 0, false
	}
	var parts []linear
	if !sums(index, &parts) || len(parts) == 0 {
		return 0, false
	}
	for n, l := range parts {
		i, j := l.coef["i"], l.coef["j"]
		if j == 0 || i%j != 0 || n > 0 && i/j != slope {
			return 0, false
		}
		slope = i / j
	}
	return slope, true
}

// OfDistance reports whether a mask or bias depends on i and j only through j - i.
func OfDistance(e *expr.Expr) bool {
	if !OverCells(e) {
		return true
	}
	if l, ok := linearOf(e); ok {
		return l.coef["j"] == -l.coef["i"]
	}
	switch e.Op {
	case expr.Var:
		return false
	case expr.Lt, expr.Le, expr.Eq, expr.Ne:
		if l, ok := linearOf(bin(expr.Sub, e.Args[0], e.Args[1])); ok && e.Args[0].Type == expr.I32 {
			return l.coef["j"] == -l.coef["i"]
		}
	}
	return !slices.ContainsFunc(e.Args, func(a *expr.Expr) bool { return !OfDistance(a) })
}

// sums collects the largest linear parts of e that differ between cells, and reports
// whether i and j occur nowhere else.
func sums(e *expr.Expr, parts *[]linear) bool {
	if !OverCells(e) {
		return true
	}
	if l, ok := linearOf(e); ok {
		*parts = append(*parts, l)
		return true
	}
	for _, a := range e.Args {
		if !sums(a, parts) {
			return false
		}
	}
	return e.Op != expr.Var
}

// A linear is a sum of integer variables with constant factors.
type linear struct {
	coef     map[string]int64
	constant int64
}

func linearOf(e *expr.Expr) (linear, bool) {
	l := linear{coef: map[string]int64{}}
	if e.Type != expr.I32 {
		return l, false
	}
	switch e.Op {
	case expr.Const:
		l.constant = e.I
	case expr.Var:
		l.coef[e.Name] = 1
	case expr.Neg:
		a, ok := linearOf(e.Args[0])
		return l.minus(a), ok
	case expr.Add, expr.Sub:
		a, aok := linearOf(e.Args[0])
		b, bok := linearOf(e.Args[1])
		if e.Op == expr.Add {
			b = l.minus(b)
		}
		return a.minus(b), aok && bok
	case expr.Mul:
		a, aok := linearOf(e.Args[0])
		b, bok := linearOf(e.Args[1])
		if len(a.coef) > 0 {
			a, b = b, a
		}
		return b.times(a.constant), aok && bok && len(a.coef) == 0
	default:
		return l, false
	}
	return l, true
}

func (l linear) minus(m linear) linear {
	d := linear{coef: maps.Clone(l.coef), constant: l.constant - m.constant}
	for v, k := range m.coef {
		if d.coef[v] -= k; d.coef[v] == 0 {
			delete(d.coef, v)
		}
	}
	return d
}

func (l linear) times(k int64) linear {
	p := linear{coef: map[string]int64{}, constant: l.constant * k}
	for v, c := range l.coef {
		if c*k != 0 {
			p.coef[v] = c * k
		}
	}
	return p
}

// small reports whether the sum is far from overflow, for indices of any problem. Bounds
// are computed in 64 bits and printed in 32.
func (l linear) small() bool {
	const most = 1 << 28
	for _, k := range l.coef {
		if max(k, -k) > most {
			return false
		}
	}
	return max(l.constant, -l.constant) <= most
}

// natural reports whether a sum is a constant that is not negative.
func (l linear) natural() bool { return len(l.coef) == 0 && l.constant >= 0 }

// expr returns the sum as an expression: positive terms in alphabetical order, then
// negative ones, then the constant.
func (l linear) expr() *expr.Expr {
	var e *expr.Expr
	term := func(op expr.Op, x *expr.Expr) {
		switch {
		case e == nil && op == expr.Add:
			e = x
		case e == nil:
			e = expr.New(expr.Neg, x)
		default:
			e = expr.New(op, e, x)
		}
	}
	for _, positive := range []bool{true, false} {
		for _, v := range slices.Sorted(maps.Keys(l.coef)) {
			k, op := l.coef[v], expr.Add
			if (k > 0) != positive {
				continue
			}
			if k < 0 {
				k, op = -k, expr.Sub
			}
			x := expr.NewVar(v, expr.I32)
			if k != 1 {
				x = expr.New(expr.Mul, expr.Int(k), x)
			}
			term(op, x)
		}
	}
	switch {
	case e == nil:
		return expr.Int(l.constant)
	case l.constant > 0:
		term(expr.Add, expr.Int(l.constant))
	case l.constant < 0:
		term(expr.Sub, expr.Int(-l.constant))
	}
	return e
}
