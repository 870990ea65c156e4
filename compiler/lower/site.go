package lower

import (
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A site is where a bias and a mask apply: rows and keys of a launch, and the two
// expressions over h, i, j and tiles of parameters.
type site struct {
	*emitter
	v          *ir.Value
	attr       *ir.AttnAttr
	rows, keys *expr.Expr // of this launch
	total      *expr.Expr // rows of the whole sequence, I
	heads, h   *expr.Expr
	mask, bias *expr.Expr // nil where there is none
	params     []*ir.Value
	tiles      []string // of the parameters
}

// newSite declares the parameters' buffers and tiles and binds mask and bias to them; the
// operation names the buffers.
func newSite(e *emitter, v *ir.Value, rows, keys ir.Dim, params []*ir.Value) *site {
	s := &site{emitter: e, v: v, attr: v.Attr.Attn, rows: size(rows), keys: size(keys), total: ivar("C"), params: params}
	s.heads = num(s.attr.Heads)
	if s.attr.Self {
		s.total = s.keys
	}
	buffer, tile := map[string]string{}, map[string]string{}
	for n, param := range s.attr.Params {
		shape, name := sizes(params[n].Type.Shape), paramName(param)
		buffer[param] = e.in(params[n], name+"_", shape...)
		tile[param] = e.load(name, params[n].Type.Elem, buffer[param], shape, same)
		s.tiles = append(s.tiles, tile[param])
	}
	s.mask, s.bias = s.bind(tile)
	op := &e.k.Op
	op.Mask, op.Bias = s.bind(buffer)
	if v.Attr.Rate > 0 {
		op.Drop = kernel.Dropout{Rate: v.Attr.Rate, Stream: v.Attr.Stream}
		if w := s.attr.Words; len(w) > 0 {
			op.Drop.Rows, op.Drop.Keys = w[0], w[1]
		}
	}
	e.over("h t j", s.heads, s.rows, s.keys)
	return s
}

// bind makes mask and bias, with each parameter called by a name of its own.
func (s *site) bind(param map[string]string) (mask, bias *expr.Expr) {
	mask, bias = s.bound(s.attr.Mask, param), s.bound(s.attr.Guarded(), param)
	if mask != nil && mask.IsConst() && mask.I != 0 {
		mask = nil
	}
	return mask, bias
}

// bound puts tiles and lengths into a mask or a bias.
func (s *site) bound(x *expr.Expr, tile map[string]string) *expr.Expr {
	if x == nil {
		return nil
	}
	x = expr.Rewrite(x, func(n *expr.Expr) *expr.Expr {
		if t, ok := tile[n.Name]; ok && n.Op == expr.Elem {
			return s.ref(t, n.Type, n.Args...)
		}
		return n
	})
	return expr.Simplify(expr.Subst(x, map[string]*expr.Expr{"H": s.heads, "I": s.total, "J": s.keys}))
}

// at is a mask, bias or bound at query i and key j, nil if there is none.
func at(x, i, j *expr.Expr) *expr.Expr {
	if x == nil {
		return nil
	}
	return expr.Simplify(expr.Subst(x, map[string]*expr.Expr{"i": i, "j": j}))
}

// whereOpen is x where a cell is open, everywhere if there is no condition for that,
// and else closed.
func whereOpen(open, x, closed *expr.Expr) *expr.Expr {
	if open == nil {
		return x
	}
	return where(open, x, closed)
}

// ofHead is the place of a tile that a buffer has for each head.
func (s *site) ofHead(i exprs) exprs { return append(exprs{s.h}, i...) }

// queryOf is the row i of its sequence that row t of a launch is.
func queryOf(t *expr.Expr) *expr.Expr { return add(ivar("P"), t) }

// paramName is a parameter's name as an identifier.
func paramName(param string) string { return strings.ReplaceAll(param, ".", "_") }
