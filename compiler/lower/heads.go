package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A grouped is a row of heads in groups. The op has one head per group in its input or output.
type grouped struct {
	*emitter
	row        *expr.Expr
	groups, dh int
	group      *expr.Expr // heads per group
}

// grouped declares one cell per row for an op on groups of heads.
func (e *emitter) grouped(v *ir.Value) *grouped {
	all, heads, group := e.rowsOf(v.Type.Shape), v.Attr.Attn.Heads, v.Attr.Group
	groups, width := heads/group, v.Type.Shape[v.Type.Rank()-1].N
	dh := width / groups
	if v.Op == ir.RepeatHeads {
		dh = width / heads
	}
	row := e.grid("r", all)
	return &grouped{e, row, groups, dh, num(group)}
}

// head is the place of a head in a row.
func (g *grouped) head(h *expr.Expr) place {
	return func(i exprs) exprs { return exprs{g.row, add(mul(h, num(g.dh)), i[0])} }
}

// rows returns the shape of v as rows.
func (g *grouped) rows(v *ir.Value) exprs {
	return exprs{g.rowsOf(v.Type.Shape), size(v.Type.Shape[v.Type.Rank()-1])}
}

// lowerRepeatHeads copies each head of a row to all heads of its group.
func lowerRepeatHeads(e *emitter, v *ir.Value) {
	g := e.grouped(v)
	x, elem := v.Args[0], v.Type.Elem
	from, to := e.in(x, "x", g.rows(x)...), e.out(v, "y", g.rows(v)...)
	e.loop("h", num(g.groups), func(h *expr.Expr) {
		one := e.load("one", elem, from, exprs{num(g.dh)}, g.head(h))
		e.store(v, to, exprs{g.group, num(g.dh)}, func(i exprs) exprs {
			return g.head(add(mul(h, g.group), i[0]))(i[1:])
		}, func(i exprs) *expr.Expr { return expr.NewElem(one, elem, i[1]) })
	})
}

// lowerSumHeads adds up the heads of a group, in ascending order.
func lowerSumHeads(e *emitter, v *ir.Value) {
	g := e.grouped(v)
	x := v.Args[0]
	from, to := e.in(x, "x", g.rows(x)...), e.out(v, "y", g.rows(v)...)
	e.loop("h", num(g.groups), func(h *expr.Expr) {
		first := mul(h, g.group)
		sum := e.load("sum", expr.F32, from, exprs{num(g.dh)}, g.head(first))
		e.loop("c", sub(g.group, expr.Int(1)), func(c *expr.Expr) {
			next := e.load("next", expr.F32, from, exprs{num(g.dh)}, g.head(add(add(first, c), expr.Int(1))))
			e.addTo(sum, exprs{num(g.dh)}, same, func(i exprs) *expr.Expr { return elem(next, i...) })
		})
		e.store(v, to, exprs{num(g.dh)}, g.head(h), func(i exprs) *expr.Expr { return elem(sum, i...) })
	})
}
