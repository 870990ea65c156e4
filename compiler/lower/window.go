package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// openKeys returns bounds of the keys that a window leaves open to any query from first to
// last. The keys run from lo until hi, which may be less than lo.
func (s *site) openKeys(w ir.Window, keys, first, last *expr.Expr) (lo, hi *expr.Expr) {
	// A bound is linear in i, so its extreme is at the first or the last query.
	extreme := func(x *expr.Expr, of, among expr.Op, bounds exprs) *expr.Expr {
		for _, b := range bounds {
			b = s.bound(b)
			x = expr.New(of, x, expr.New(among, at(b, first, ivar("j")), at(b, last, ivar("j"))))
		}
		return x
	}
	lo = extreme(expr.Int(0), expr.Max, expr.Min, w.Lows)
	if len(w.Lows) > 0 {
		lo = expr.New(expr.Min, lo, keys)
	}
	return expr.Simplify(lo), expr.Simplify(extreme(keys, expr.Min, expr.Max, w.Highs))
}

// openTo returns the keys that the mask's window leaves open to query i, from lo until hi. rest
// is the mask if it also has other conditions, else nil.
func (s *site) openTo(i *expr.Expr) (lo, hi, rest *expr.Expr) {
	w := ir.WindowOf(s.attr.Mask)
	lo, hi = s.openKeys(w, s.keys, i, i)
	if !whole(w) {
		hi = greater(hi, lo)
	}
	if !w.Exact {
		rest = s.mask
	}
	return lo, hi, rest
}

// whole reports whether a window leaves all keys open to all queries.
func whole(w ir.Window) bool { return w.Exact && len(w.Lows)+len(w.Highs) == 0 }
