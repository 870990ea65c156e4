package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// An attentionGrad has the buffers and tiles for the gradients of an attention.
type attentionGrad struct {
	*attention
	result map[string]*ir.Value
	dout   source
	y      source // BF16 only: the attention's result, rounded as later products read it
	dk, dv string // tiles [J, dh] of this example, "" if not a result
	dtable string // tile [T, J] of the table's gradient, "" if not a result
	dline  string // tile [L] of sums by distance of the products' gradients, "" if not a result
}

// lowerAttentionGrad computes all gradients of one head of one example in each cell. A query
// has scores s, their largest m and the norm n of their exponentials. It has a dropout factor r
// (0 or 1/(1-rate)), the output row y, and the gradient g of y.
//
//	p_j = n exp(s_j - m)   dp_j = r_j g·v_j   delta = sum_j p_j dp_j = g·y   ds_j = p_j (dp_j - delta)
//	dq = scale sum_j ds_j k_j   dk_j += scale ds_j q   dv_j += r_j p_j g
//
// In F32, delta is the sum: then ds is exactly 0 for a query with one key. With rounded
// factors, delta is the product g·y, which needs no pass over the keys. The gradient of a
// relative score is the sum of scale ds_j over its keys. The gradient of a bias table is the
// sum of ds_j over the examples. Then a cell is one head: it loops over the examples and
// continues the sum that earlier launches left. The gradients of parameters are computed from
// the gradients of tables.
func lowerAttentionGrad(e *emitter, v *ir.Value) {
	g := &attentionGrad{attention: newAttention(e, v), result: e.results()}
	g.val, g.dout = g.source(e, v.Args[2], "v", v.Attr.Group), g.source(e, v.Args[3], "dout", 1)
	g.largest, g.norm = e.flat(v.Args[4], "largest_"), e.flat(v.Args[5], "norm_")
	if g.elem.Narrow() {
		g.y = g.source(e, v.Args[6], "y", 1)
	}
	for _, param := range g.attr.Params {
		if g.result[param] != nil {
			e.unsupported(g.v, "the gradient of parameter "+param+" outside of a bias table")
			return
		}
	}
	example := func() { g.dense().backward(g) }
	if w := g.window.Narrow; w != nil {
		example = func() { g.narrow(w).backward(g) }
	}
	table := g.result["table"]
	g.cells(table == nil)
	if table == nil {
		example()
		return
	}
	buf := e.out(table, "dtable", sizes(table.Type.Shape)...)
	g.dtable = e.sum("dtable_", table, buf, exprs{g.rows, g.keys}, g.ofHead)
	e.loop("b", ivar("B"), func(b *expr.Expr) {
		g.enter(b)
		example()
	})
	if shape := sizes(table.Type.Shape)[1:]; !e.env.accumulate[table] && !(expr.Equal(shape[0], g.rows) && expr.Equal(shape[1], g.keys)) {
		e.fill(buf, shape, g.ofHead, func(exprs) *expr.Expr { return expr.F(0) })
	}
	e.copyOut(g.dtable, buf, g.ofHead)
}

// results maps the name of each gradient's input to the anchor that computes the gradient.
func (e *emitter) results() map[string]*ir.Value {
	all := map[string]*ir.Value{}
	for _, a := range e.group.Anchors {
		all[a.Attr.Result] = a
	}
	return all
}

// begin zeroes the sums over the queries of an example, for so many rows of keys.
func (g *attentionGrad) begin(keys *expr.Expr) {
	sums := func(result string) string {
		if g.result[result] == nil {
			return ""
		}
		t := g.tile("d"+result+"_", expr.F32, keys, g.dh)
		g.zero(t)
		return t
	}
	g.dk, g.dv = sums("k"), sums("v")
	if line := g.result["line"]; line != nil {
		g.dline = g.tile("dline_", expr.F32, size(line.Type.Shape[2]))
		g.zero(g.dline)
	}
}

// end stores the sums that begin has zeroed. Scores are products times the scale, so the sums of
// their gradients by distance are divided by it.
func (g *attentionGrad) end() {
	for _, sum := range []struct{ result, tile string }{{"k", g.dk}, {"v", g.dv}} {
		if sum.tile != "" {
			all := g.place("all_"+sum.result, g.keyed, expr.Int(0))
			g.storeMatrix(g.result[sum.result], "d"+sum.result, all, g.keyed.rows, sum.tile)
		}
	}
	if line := g.result["line"]; line != nil {
		shape := sizes(line.Type.Shape)
		buf := g.out(line, "dline", shape...)
		g.fill(buf, shape[2:], func(i exprs) exprs { return exprs{g.b, g.h, i[0]} }, func(i exprs) *expr.Expr {
			return mul(elem(g.dline, i[0]), expr.F(1/g.attr.Scale))
		})
	}
}

// storeDistances writes the gradients for the relative scores of row n in an example.
func (g *attentionGrad) storeDistances(n *expr.Expr, tile string) {
	place := from(g.let("drow", g.distance(n)))
	g.storeFlat(g.result["relative"], "drelative", exprs{g.distances}, place, func(i exprs) *expr.Expr { return elem(tile, i...) })
}
