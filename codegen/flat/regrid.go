package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// rowCells are the cells of a kernel of a product that are of equally many rows: what
// becomes of a row does not depend on the cell that it is in.
type rowCells struct {
	at            int // in the body, of the two lets
	first, height *kernel.Let
	cell          *expr.Expr // which one it is
	rows          *expr.Expr // of all cells
	most          int64      // rows of a cell
}

func rowCellsOf(k *kernel.Kernel) (c rowCells, ok bool) {
	c.at = slices.IndexFunc(k.Body, func(s kernel.Stmt) bool { _, let := s.(*kernel.Let); return let })
	product := k.Op.Product() || k.Op.Family() == "scatter"
	if !product || len(k.Grid) != 1 || c.at < 0 || c.at+1 == len(k.Body) {
		return c, false
	}
	c.cell, c.rows = expr.NewVar(k.Grid[0].Var, expr.I32), k.Op.Size("r")
	c.first = k.Body[c.at].(*kernel.Let)
	c.height, ok = k.Body[c.at+1].(*kernel.Let)
	most, _, affine := expr.Affine(c.first.Value, c.cell.Name)
	if !ok || !affine || !most.IsConst() || most.I < 1 || uses(k.Body[c.at+1:], c.cell.Name) {
		return c, false
	}
	c.most = most.I
	cells, first, height := c.cut(c.most)
	ok = expr.Equal(k.Grid[0].Size, cells) && expr.Equal(c.first.Value, first) && expr.Equal(c.height.Value, height)
	return c, ok
}

// cut is how many cells of n rows there are, and the first row and the rows of one.
func (c *rowCells) cut(n int64) (cells, first, height *expr.Expr) {
	size, left := expr.Int(n), expr.New(expr.Sub, c.rows, expr.NewVar(c.first.Name, expr.I32))
	cells = expr.New(expr.Div, expr.New(expr.Add, c.rows, expr.Int(n-1)), size)
	return expr.Simplify(cells), mul(c.cell, size), expr.Simplify(expr.New(expr.Min, left, size))
}

// Regrid returns a kernel of a product with cells of fewer rows, where its cells are
// of equally many.
func Regrid(k *kernel.Kernel, most int64) *kernel.Kernel {
	c, ok := rowCellsOf(k)
	if !ok || c.most <= most {
		return k
	}
	cells, first, height := c.cut(most)
	out := withBody(k, slices.Clone(k.Body))
	out.Grid = []kernel.Axis{{Var: c.cell.Name, Size: cells}}
	out.Body[c.at] = &kernel.Let{Name: c.first.Name, Value: first}
	out.Body[c.at+1] = &kernel.Let{Name: c.height.Name, Value: height}
	return out
}

// ungrid returns a kernel of a product with one cell of all rows, where its cells are
// of equally many.
func ungrid(k *kernel.Kernel) *kernel.Kernel {
	c, ok := rowCellsOf(k)
	if !ok {
		return k
	}
	all := map[string]*expr.Expr{c.first.Name: expr.Int(0), c.height.Name: c.rows}
	body := slices.Delete(slices.Clone(k.Body), c.at, c.at+2)
	out := withBody(k, kernel.RewriteAll(body, func(e *expr.Expr) *expr.Expr { return expr.Simplify(expr.Subst(e, all)) }))
	out.Grid = nil
	return out
}

// uses says whether statements or those in their bodies read a variable.
func uses(body []kernel.Stmt, name string) bool {
	return slices.ContainsFunc(body, func(s kernel.Stmt) bool { return kernel.Uses(s, name) })
}
