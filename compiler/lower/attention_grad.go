package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// An attentionGrad has the buffers and tiles of the gradients.
type attentionGrad struct {
	*attention
	result map[string]*ir.Value
	dout   string
	dk, dv string // tiles [J, dh] of this example, "" where not a result
	dtable string // tile [T, J] of the table's gradient, "" where not a result
}

// learned is the leaf whose gradient is a result, "" if there is none. Those of
// bias tables are read by their own kernels.
func (g *attentionGrad) learned() string {
	for _, leaf := range g.v.Attr.Attn.Leaves {
		if g.result[leaf] != nil {
			return leaf
		}
	}
	return ""
}

// lowerAttentionGrad computes all gradients of one head of one example in each
// cell. With p the probabilities, r the dropout factor (0 or 1/(1-rate)) and g the
// gradient of the output row of a query:
//
//	dp_j = r_j g·v_j   delta = sum_j p_j dp_j   ds_j = p_j (dp_j - delta)
//	dq = scale sum_j ds_j k_j   dk_j += scale ds_j q   dv_j += r_j p_j g
//
// The gradient of a relative score is the sum of scale ds_j over its keys.
// The gradient of a bias table is the sum of ds_j over the examples: then a cell
// is one head, which takes the examples in turn.
func lowerAttentionGrad(e *emitter) error {
	g := &attentionGrad{attention: newAttention(e), result: map[string]*ir.Value{}}
	g.values()
	for _, a := range e.group.Anchors {
		g.result[a.Attr.Result] = a
	}
	if leaf := g.learned(); leaf != "" {
		return unsupported(g.v, "the gradient of leaf "+leaf+" outside of a bias table")
	}
	g.dout = e.in(g.v.Args[3], "dout", product(g.v.Args[3].Type.Shape))
	example := func() { g.dense().backward(g) }
	if w := g.window.Narrow; w != nil {
		example = func() { g.narrow(w).backward(g) }
	}
	table := g.result["table"]
	g.cells(table == nil)
	if table == nil {
		example()
		return nil
	}
	g.dtable = e.tile("dtable_", expr.F32, g.rows, g.keys)
	e.zero(g.dtable)
	e.loop("b", ivar("B"), func(b *expr.Expr) {
		g.b = b
		example()
	})
	g.storeTable(table, g.dtable)
	return nil
}

// begin zeroes the sums over the queries of an example.
func (g *attentionGrad) begin() {
	sums := func(result string) string {
		if g.result[result] == nil {
			return ""
		}
		t := g.tile("d"+result+"_", expr.F32, g.keys, g.dh)
		g.zero(t)
		return t
	}
	g.dk, g.dv = sums("k"), sums("v")
}

// end stores them.
func (g *attentionGrad) end() {
	for _, sum := range []struct{ result, tile string }{{"k", g.dk}, {"v", g.dv}} {
		if sum.tile != "" {
			all := g.place("all_"+sum.result, g.keys, expr.Int(0))
			g.storeMatrix(g.result[sum.result], "d"+sum.result, all, g.keys, sum.tile)
		}
	}
}

// storeDistances writes the gradients of the relative scores of row n of an example.
func (at *attention) storeDistances(v *ir.Value, n *expr.Expr, tile string) {
	buf := at.out(v, "drelative", product(v.Type.Shape))
	place := at.let("drow", at.distance(n))
	as, vs := axes([]*expr.Expr{expr.Int(int64(2*at.v.Attr.Attn.Relative + 1))})
	x := elem(tile, vs[0])
	if at.env.accumulate[v] {
		old := at.load("old", expr.F32, buf, []*expr.Expr{as[0].Size}, func(a []*expr.Expr) []*expr.Expr { return []*expr.Expr{add(place, a[0])} })
		x = add(elem(old, vs[0]), x)
	}
	at.setOver(as, buf, []*expr.Expr{add(place, vs[0])}, x)
}

// storeTable writes a tile [T, J] to head h of a table's buffer.
func (s *site) storeTable(v *ir.Value, tile string) {
	buf := s.out(v, "dtable", sizes(v.Type.Shape)...)
	as, vs := axes([]*expr.Expr{s.rows, s.keys})
	s.setOver(as, buf, []*expr.Expr{s.h, vs[0], vs[1]}, elem(tile, vs...))
}
