package lower

import (
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A site is the place of a bias and a mask: rows and keys of a launch, and two expressions. The
// expressions read h, i, j and tiles of parameters.
type site struct {
	*emitter
	v          *ir.Value
	attr       *ir.AttnAttr
	rows, keys *expr.Expr // of this launch
	total      *expr.Expr // rows of the whole sequence, I
	heads, h   *expr.Expr
	mask, bias *expr.Expr // nil: none
	params     []*ir.Value
	tileOf     map[string]string // keyed by the parameter's name
	tiles      []string          // tiles that all examples share
	ofExamples []int             // the parameters with one row per row of an example
	bufferOf   map[string]string // of these parameters, keyed by name
}

// newSite declares the parameters' buffers and tiles and binds mask and bias to the tiles.
func newSite(e *emitter, v *ir.Value, rows, keys ir.Dim, params []*ir.Value) *site {
	s := &site{emitter: e, v: v, attr: v.Attr.Attn, rows: size(rows), keys: size(keys), total: ivar("C"), params: params}
	s.heads = num(s.attr.Heads)
	if s.attr.Self {
		s.total = s.keys
	}
	s.bufferOf, s.tileOf = map[string]string{}, map[string]string{}
	for n, param := range s.attr.Params {
		t, name := params[n].Type, paramName(param)
		if t.Elem == expr.I32 && t.Rank() == 2 {
			s.bufferOf[param] = e.flat(params[n], name+"_")
			s.ofExamples = append(s.ofExamples, n)
			continue
		}
		shape := sizes(t.Shape)
		s.tileOf[param] = e.load(name, t.Elem, e.in(params[n], name+"_", shape...), shape, same)
		s.tiles = append(s.tiles, s.tileOf[param])
	}
	if len(s.ofExamples) == 0 {
		s.bind()
	}
	return s
}

// enter binds mask and bias to an example, if they read numbers that each example has for its
// rows. These numbers are loaded into tiles. rows returns the rows of an extent in the example.
func (s *site) enter(rows func(n ir.Dim) example) {
	if len(s.ofExamples) == 0 {
		return
	}
	loaded := map[string]string{}
	for _, n := range s.ofExamples {
		param, extent := s.attr.Params[n], s.params[n].Type.Shape[1]
		buffer := s.bufferOf[param]
		if loaded[buffer] == "" {
			own := rows(extent)
			loaded[buffer] = s.load(paramName(param), expr.I32, buffer, exprs{own.rows}, from(own.first))
		}
		s.tileOf[param] = loaded[buffer]
	}
	s.bind()
}

// bind sets mask and bias.
func (s *site) bind() {
	s.mask, s.bias = s.bound(s.attr.Mask), s.bound(s.attr.Guarded())
	if s.mask != nil && s.mask.IsConst() && s.mask.I != 0 {
		s.mask = nil
	}
}

// bound substitutes tiles and lengths in a mask, a bias or a bound of a window.
func (s *site) bound(x *expr.Expr) *expr.Expr {
	if x == nil {
		return nil
	}
	x = expr.Rewrite(x, func(n *expr.Expr) *expr.Expr {
		if t, ok := s.tileOf[n.Name]; ok && n.Op == expr.Elem {
			return s.ref(t, n.Type, n.Args...)
		}
		return n
	})
	return expr.Simplify(expr.Subst(x, map[string]*expr.Expr{"H": s.heads, "I": s.total, "J": s.keys}))
}

// at returns a mask, bias or bound at query i and key j, or nil for nil.
func at(x, i, j *expr.Expr) *expr.Expr {
	if x == nil {
		return nil
	}
	return expr.Simplify(expr.Subst(x, map[string]*expr.Expr{"i": i, "j": j}))
}

// whereOpen returns x at open cells and closed at others. A nil condition opens all cells.
func whereOpen(open, x, closed *expr.Expr) *expr.Expr {
	if open == nil {
		return x
	}
	return where(open, x, closed)
}

// ofHead returns the index of a tile's element in a buffer with one such tile per head.
func (s *site) ofHead(i exprs) exprs { return append(exprs{s.h}, i...) }

// queryOf returns the row i of the sequence for row t of a launch.
func queryOf(t *expr.Expr) *expr.Expr { return add(ivar("P"), t) }

// paramName returns a parameter's name as an identifier.
func paramName(param string) string { return strings.ReplaceAll(param, ".", "_") }

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
