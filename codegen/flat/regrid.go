package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Regrid returns a kernel of a product with cells of fewer rows, where its cells are
// of equally many: what becomes of a row does not depend on the cell that it is in.
func Regrid(k *kernel.Kernel, most int64) *kernel.Kernel {
	at := slices.IndexFunc(k.Body, func(s kernel.Stmt) bool { _, let := s.(*kernel.Let); return let })
	if !k.Op.Product() || len(k.Grid) != 1 || at < 0 || at+1 == len(k.Body) {
		return k
	}
	m, rows := expr.NewVar(k.Grid[0].Var, expr.I32), k.Op.Size("r")
	first := k.Body[at].(*kernel.Let)
	height, ok := k.Body[at+1].(*kernel.Let)
	c, _, affine := expr.Affine(first.Value, m.Name)
	if !ok || !affine || !c.IsConst() || c.I <= most || uses(k.Body[at+1:], m.Name) {
		return k
	}
	// cut is how many cells of n rows there are, and the first row and the rows of one.
	cut := func(n int64) (cells, start, count *expr.Expr) {
		c, left := expr.Int(n), expr.New(expr.Sub, rows, expr.NewVar(first.Name, expr.I32))
		cells = expr.New(expr.Div, expr.New(expr.Add, rows, expr.Int(n-1)), c)
		return expr.Simplify(cells), mul(m, c), expr.Simplify(expr.New(expr.Min, left, c))
	}
	cells, start, count := cut(c.I)
	if !expr.Equal(k.Grid[0].Size, cells) || !expr.Equal(first.Value, start) || !expr.Equal(height.Value, count) {
		return k
	}
	out := *k
	cells, start, count = cut(most)
	out.Grid = []kernel.Axis{{Var: m.Name, Size: cells}}
	out.Body = slices.Clone(k.Body)
	out.Body[at] = &kernel.Let{Name: first.Name, Value: start}
	out.Body[at+1] = &kernel.Let{Name: height.Name, Value: count}
	return &out
}

// uses says whether statements or those in their bodies read a variable.
func uses(body []kernel.Stmt, name string) bool {
	return slices.ContainsFunc(body, func(s kernel.Stmt) bool { return kernel.Uses(s, name) })
}
