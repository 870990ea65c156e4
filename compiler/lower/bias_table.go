package lower

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
)

// lowerBiasTable evaluates an attention's bias for one query row of one head in
// each cell; closed keys have 0.
func lowerBiasTable(e *emitter, v *ir.Value) {
	shape := v.Type.Shape
	s := newSite(e, v, ir.TableRows(v.Type), shape[len(shape)-1], v.Args)
	s.h = e.grid("h", size(v.Type.Shape[0]))
	t := e.grid("t", s.rows)
	buf := e.out(v, "table", sizes(shape)...)
	i := e.let("i", queryOf(t))
	row := func(j exprs) exprs { return s.tableCell(v.Type, exprs{t, j[0]}) }
	e.fill(buf, exprs{s.keys}, row, func(j exprs) *expr.Expr {
		return whereOpen(at(s.mask, i, j[0]), at(s.bias, i, j[0]), expr.F(0))
	})
}

// tableCell is the place in a table of a cell of the head.
func (s *site) tableCell(table ir.Type, cell exprs) exprs {
	return s.ofHead(cell[len(cell)+1-table.Rank():])
}

// lowerBiasTableGrad sums, for one head in each cell, the table's gradient times
// the bias's derivative into every parameter element.
func lowerBiasTableGrad(e *emitter, v *ir.Value) {
	table := v.Args[0].Type
	d := table.Shape
	s := newSite(e, v, ir.TableRows(table), d[len(d)-1], v.Args[1:])
	s.h = e.grid("h", size(d[0]))
	g := &paramGrads{site: s, sums: map[string]string{}, cells: map[string]string{}, within: map[string]*expr.Expr{}}
	result := e.results()
	for n, param := range s.attr.Params {
		if result[param] != nil {
			t := e.tile("d_"+paramName(param), expr.F32, sizes(s.params[n].Type.Shape)...)
			e.zero(t)
			g.sums[s.tiles[n]] = t
		}
	}
	dtable := e.in(v.Args[0], "dtable", sizes(d)...)
	g.sum(e.load("ds", expr.F32, dtable, exprs{s.rows, s.keys}, func(i exprs) exprs { return s.tableCell(table, i) }))
	for n, param := range s.attr.Params {
		if a := result[param]; a != nil {
			e.copyOut(g.sums[s.tiles[n]], e.out(a, "d"+paramName(param), sizes(a.Type.Shape)...), s.ofHead)
		}
	}
}

// paramGrads are the gradients of a site's learned parameters, the part of one head.
type paramGrads struct {
	*site
	sums   map[string]string     // parameter tile -> tile of its gradient
	cells  map[string]string     // what differs between cells -> tile [T J] of it
	within map[string]*expr.Expr // tile of cells -> what it holds, over i, j and cell
}

// sum adds, for every parameter element that the bias reads, ds times the bias's
// derivative: over all cells as one axis, cell, where the element is the same for all
// of them, else cell by cell.
func (g *paramGrads) sum(ds string) {
	var whole, single exprs
	for _, x := range append(expr.Elems(g.bias), expr.Vars(g.bias)...) {
		switch _, learned := g.sums[x.Name]; {
		case !learned:
		case ir.OverCells(x):
			single = append(single, x)
		default:
			whole = append(whole, x)
		}
	}
	if len(whole) > 0 {
		open := g.perCell(whereOpen(g.mask, elem(ds, ivar("a1"), ivar("e")), expr.F(0)))
		bias := g.spill(g.bias)
		for n, x := range whole {
			slope := g.spill(g.slope(bias, x))
			name := fmt.Sprintf("sum%d", n)
			g.emit(&kernel.Reduce{Name: name, Op: expr.Add, Axis: g.all()[0], Value: g.guarded(mul(open, slope))})
			g.set(g.sums[x.Name], add(elem(g.sums[x.Name], x.Args...), expr.NewVar(name, expr.F32)), x.Args...)
		}
	}
	if len(single) > 0 {
		g.loop("t", g.rows, func(t *expr.Expr) {
			i := g.let("i", queryOf(t))
			g.loop("j", g.keys, func(j *expr.Expr) { g.single(single, i, j, elem(ds, t, j)) })
		})
	}
}

// guarded is a sum's term where a cell is open, and 0 where it is closed, whatever
// the bias is there: it need not be a number.
func (g *paramGrads) guarded(x *expr.Expr) *expr.Expr {
	if g.mask == nil {
		return x
	}
	open := g.perCell(whereOpen(g.mask, expr.F(1), expr.F(0)))
	return where(lt(expr.F(0), open), x, expr.F(0))
}

// single adds to the parameter elements that the bias reads at one cell, if it is open.
func (g *paramGrads) single(elems exprs, i, j, ds *expr.Expr) {
	g.when(at(g.mask, i, j), func() {
		for _, x := range elems {
			idx := make(exprs, len(x.Args))
			for k, e := range x.Args {
				idx[k] = at(e, i, j)
			}
			t := g.sums[x.Name]
			g.set(t, add(elem(t, idx...), mul(ds, at(expr.Diff(g.bias, x), i, j))), idx...)
		}
	})
}

// spill puts parts of x that are costly or differ between the cells by themselves
// into tiles, so that the rest can run over the axis cell.
func (g *paramGrads) spill(x *expr.Expr) *expr.Expr {
	return expr.Rewrite(x, func(n *expr.Expr) *expr.Expr {
		costly := n.Op == expr.Div || n.Op.Transcendental()
		switch {
		case n.Type != expr.F32:
		case n.Op == expr.Where && ir.OverCells(n.Args[0]):
			open := g.perCell(where(n.Args[0], expr.F(1), expr.F(0)))
			return where(lt(expr.F(0), open), n.Args[1], n.Args[2])
		case ir.OverCells(n), costly && expr.Depends(n, "cell"):
			return g.perCell(n)
		}
		return n
	})
}

// slope is the derivative of e by x, also through the tiles that e reads: the
// derivatives by those are tiles that all parameter elements share.
func (g *paramGrads) slope(e, x *expr.Expr) *expr.Expr {
	sum := expr.Diff(e, x)
	for _, t := range expr.Elems(e) {
		if g.within[t.Name] == nil {
			continue
		}
		inner := g.slope(g.within[t.Name], x)
		if inner.IsConst() && inner.F == 0 {
			continue
		}
		outer := expr.Diff(e, t)
		if outer.Op != expr.Elem && expr.Depends(outer, "cell") {
			outer = g.perCell(outer)
		}
		part := mul(outer, inner)
		if !outer.IsConst() { // of a branch that is not taken inner need not be a number
			part = where(eq(outer, expr.F(0)), expr.F(0), part)
		}
		if sum.IsConst() && sum.F == 0 {
			sum = part
		} else {
			sum = add(sum, part)
		}
	}
	return sum
}

// perCell computes an expression over i, j and cell at every cell, (a1, e) as row
// and column, and returns the element of the result there.
func (g *paramGrads) perCell(x *expr.Expr) *expr.Expr {
	key := x.String()
	if g.cells[key] == "" {
		t := g.tile("cells", expr.F32, mul(g.rows, g.keys))
		g.cells[key], g.within[t] = t, x
		if ir.OverCells(x) || expr.Depends(x, "a1") {
			cell := func(i exprs) exprs { return exprs{add(mul(i[0], g.keys), i[1])} }
			g.fill(t, exprs{g.rows, g.keys}, cell, func(i exprs) *expr.Expr {
				return expr.Simplify(expr.Subst(x, map[string]*expr.Expr{"i": queryOf(i[0]), "j": i[1], "cell": cell(i)[0]}))
			})
		} else {
			g.setOver(g.all(), t, exprs{ivar("cell")}, x)
		}
	}
	return elem(g.cells[key], ivar("cell"))
}

// all is the axis of all cells.
func (g *paramGrads) all() []kernel.Axis {
	return []kernel.Axis{{Var: "cell", Size: mul(g.rows, g.keys)}}
}
