package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Regrid returns a kernel of products with cells of fewer rows. It knows one form, and
// leaves kernels of other forms as they are:
//
//	grid m < (rows + c-1) / c
//	let  first = m * c
//	let  height = min(rows - first, c)
//
// where m is used nowhere else. Then a cell is any range of rows, and what becomes of
// a row does not depend on the range that it is in.
func Regrid(k *kernel.Kernel, most int64) *kernel.Kernel {
	at := slices.IndexFunc(k.Body, func(s kernel.Stmt) bool { _, tile := s.(*kernel.Tile); return !tile })
	if k.Op.Family() != "matmul" || len(k.Grid) != 1 || at < 0 || len(k.Body) < at+2 {
		return k
	}
	first, ok1 := k.Body[at].(*kernel.Let)
	height, ok2 := k.Body[at+1].(*kernel.Let)
	if !ok1 || !ok2 || uses(k.Body[at+1:], k.Grid[0].Var) {
		return k
	}
	m := expr.NewVar(k.Grid[0].Var, expr.I32)
	c, base, ok := expr.Affine(first.Value, m.Name)
	if !ok || !expr.IsInt(base, 0) || !c.IsConst() || c.I <= most {
		return k
	}
	rows := rowsOf(height.Value, first.Name, c)
	if rows == nil || !expr.Equal(k.Grid[0].Size, cellsOf(rows, c)) {
		return k
	}
	fewer, left := expr.Int(most), expr.New(expr.Sub, rows, expr.NewVar(first.Name, expr.I32))
	out := *k
	out.Grid = []kernel.Axis{{Var: m.Name, Size: cellsOf(rows, fewer)}}
	out.Body = slices.Clone(k.Body)
	out.Body[at] = &kernel.Let{Name: first.Name, Value: mul(m, fewer)}
	out.Body[at+1] = &kernel.Let{Name: height.Name, Value: expr.New(expr.Min, left, fewer)}
	return &out
}

// rowsOf finds rows in min(rows - first, c), in either order; nil if e is not of
// that form.
func rowsOf(e *expr.Expr, first string, c *expr.Expr) *expr.Expr {
	if e.Op != expr.Min {
		return nil
	}
	left, most := e.Args[0], e.Args[1]
	if left.IsConst() {
		left, most = most, left
	}
	coef, rows, ok := expr.Affine(left, first)
	if !ok || !expr.IsInt(coef, -1) || !expr.Equal(most, c) {
		return nil
	}
	return rows
}

// cellsOf is the number of cells of c rows.
func cellsOf(rows, c *expr.Expr) *expr.Expr {
	return expr.Simplify(expr.New(expr.Div, expr.New(expr.Add, rows, expr.Int(c.I-1)), c))
}

// uses says whether statements or those in their bodies read a variable.
func uses(body []kernel.Stmt, name string) bool {
	return slices.ContainsFunc(body, func(s kernel.Stmt) bool { return kernel.Uses(s, name) })
}
