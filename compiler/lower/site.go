package lower

import (
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A site is where a bias and a mask apply: rows and keys of a launch, and the two
// expressions over h, i, j and tiles of leaves.
type site struct {
	*emitter
	v          *ir.Value
	rows, keys *expr.Expr // of this launch
	total      *expr.Expr // rows of the whole sequence, I
	h          *expr.Expr
	mask, bias *expr.Expr // nil where there is none
	leaves     []*ir.Value
	tiles      []string // of the leaves
}

// newSite declares the leaves' tiles and binds mask and bias to them.
func newSite(e *emitter, rows, keys ir.Dim, leaves []*ir.Value) *site {
	s := siteOf(e, rows, keys)
	s.leaves = leaves
	attr := s.v.Attr.Attn
	tile := map[string]string{}
	for n, leaf := range attr.Leaves {
		shape := sizes(leaves[n].Type.Shape)
		name := leafName(leaf)
		tile[leaf] = e.load(name, leaves[n].Type.Elem, e.in(leaves[n], name+"_", shape...), shape, func(a []*expr.Expr) []*expr.Expr { return a })
		s.tiles = append(s.tiles, tile[leaf])
	}
	s.bind(tile)
	return s
}

// siteOf is a site of so many rows and keys.
func siteOf(e *emitter, rows, keys ir.Dim) *site {
	v := e.group.Anchors[0]
	s := &site{emitter: e, v: v, rows: size(rows), keys: size(keys), total: ivar("C")}
	if v.Attr.Attn.Self {
		s.total = s.keys
	}
	return s
}

// bind makes mask and bias, with each leaf called by a name of its own.
func (s *site) bind(leaf map[string]string) {
	attr := s.v.Attr.Attn
	s.mask, s.bias = s.bound(attr.Mask, leaf), s.bound(attr.Guarded(), leaf)
	if s.mask != nil && s.mask.IsConst() && s.mask.I != 0 {
		s.mask = nil
	}
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
	return expr.Simplify(expr.Subst(x, map[string]*expr.Expr{
		"H": expr.Int(int64(s.v.Attr.Attn.Heads)), "I": s.total, "J": s.keys,
	}))
}

// at is a mask, bias or bound at query i and key j.
func at(x, i, j *expr.Expr) *expr.Expr {
	return expr.Simplify(expr.Subst(x, map[string]*expr.Expr{"i": i, "j": j}))
}

// leafName is a leaf's name as an identifier.
func leafName(leaf string) string { return strings.ReplaceAll(leaf, ".", "_") }
