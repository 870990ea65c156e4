package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
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
	set := func(lo, hi *expr.Expr, value element) {
		if !expr.Equal(lo, hi) {
			key := func(j exprs) *expr.Expr { return add(lo, j[0]) }
			row := func(j exprs) exprs { return s.tableCell(v.Type, exprs{t, key(j)}) }
			e.fill(buf, exprs{sub(hi, lo)}, row, func(j exprs) *expr.Expr { return value(key(j)) })
		}
	}
	closed := func(*expr.Expr) *expr.Expr { return expr.F(0) }
	lo, hi, rest := s.openTo(i)
	lo, hi = e.let("lo", lo), e.let("hi", hi)
	set(expr.Int(0), lo, closed)
	set(lo, hi, func(j *expr.Expr) *expr.Expr { return whereOpen(at(rest, i, j), at(s.bias, i, j), expr.F(0)) })
	set(hi, s.keys, closed)
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
	g := &paramGrads{site: s, sums: map[string]string{}, cells: map[string]string{}, holds: map[string]*expr.Expr{}}
	result := e.results()
	for n, param := range s.attr.Params {
		if result[param] != nil {
			t := e.tile("d_"+paramName(param), expr.F32, sizes(s.params[n].Type.Shape)...)
			e.zero(t)
			g.sums[s.tiles[n]] = t
		}
	}
	dtable := e.in(v.Args[0], "dtable", sizes(d)...)
	g.sum(func(t, j *expr.Expr) *expr.Expr { return elem(dtable, s.tableCell(table, exprs{t, j})...) })
	for n, param := range s.attr.Params {
		if a := result[param]; a != nil {
			e.copyOut(g.sums[s.tiles[n]], e.out(a, "d"+paramName(param), sizes(a.Type.Shape)...), s.ofHead)
		}
	}
}
