package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// RowCells describes attention cells of equally many queries. A query's bits do not depend
// on its cell.
type RowCells struct {
	First, Height *kernel.Let // first row and number of rows of a cell

	at, axis int        // index of First in the body and of cells in the grid
	cell     *expr.Expr // the grid variable
	all      *expr.Expr // rows of all cells
	rows     *expr.Expr // rows of the example, which may be shorter
	most     int64      // most rows of a cell
}

// AttentionCells returns the cells of an attention kernel. All cells start at the same key.
// A key that a query does not see has weight 0, in cells of any size.
func AttentionCells(k *kernel.Kernel) (c RowCells, ok bool) {
	if k.Family() != "attention" || len(k.Grid) == 0 {
		return c, false
	}
	for _, p := range k.Params {
		if p.Mode == kernel.Scalar && p.Type == expr.I32 && c.find(k, expr.NewVar(p.Name, p.Type)) {
			return c, OwnRows(k, k.Body, c.First, c.Height)
		}
	}
	return c, false
}

// find finds the lets First and Height, after which no statement reads the grid variable.
func (c *RowCells) find(k *kernel.Kernel, all *expr.Expr) (ok bool) {
	c.axis = len(k.Grid) - 1
	c.cell, c.all = expr.NewVar(k.Grid[c.axis].Var, expr.I32), all
	c.at = slices.IndexFunc(k.Body, func(s kernel.Stmt) bool { return kernel.Uses(s, c.cell.Name) })
	if c.at < 0 || c.at+1 == len(k.Body) || uses(k.Body[c.at+1:], c.cell.Name) {
		return false
	}
	if c.First, ok = k.Body[c.at].(*kernel.Let); !ok {
		return false
	}
	if c.Height, ok = k.Body[c.at+1].(*kernel.Let); !ok {
		return false
	}
	first := c.First.Value
	c.rows = all
	if first.Op == expr.Min {
		first, c.rows = first.Args[0], first.Args[1]
	}
	most, _, affine := expr.Affine(first, c.cell.Name)
	if !affine || !most.IsConst() || most.I < 1 {
		return false
	}
	c.most = most.I
	cells, first, height := c.cut(c.most)
	return expr.Equal(k.Grid[c.axis].Size, cells) && expr.Equal(c.First.Value, first) && expr.Equal(c.Height.Value, height)
}

// cut returns the number of cells of n rows, and the first row and height of a cell.
func (c *RowCells) cut(n int64) (cells, first, height *expr.Expr) {
	size, left := expr.Int(n), expr.New(expr.Sub, c.rows, expr.NewVar(c.First.Name, expr.I32))
	cells, first = expr.New(expr.Div, expr.New(expr.Add, c.all, expr.Int(n-1)), size), mul(c.cell, size)
	if c.rows != c.all {
		first = expr.New(expr.Min, first, c.rows)
	}
	return expr.Simplify(cells), first, expr.Simplify(expr.New(expr.Min, left, size))
}

// into returns the kernel with cells of n rows.
func (c *RowCells) into(k *kernel.Kernel, n int64) *kernel.Kernel {
	cells, first, height := c.cut(n)
	out := withBody(k, slices.Clone(k.Body))
	out.Grid = slices.Clone(k.Grid)
	out.Grid[c.axis].Size = cells
	out.Body[c.at] = &kernel.Let{Name: c.First.Name, Value: first}
	out.Body[c.at+1] = &kernel.Let{Name: c.Height.Name, Value: height}
	return out
}

// regroup enlarges attention cells to rows queries. It leaves a kernel whose cells are not
// RowCells, or whose tile extents are not plain.
func regroup(k *kernel.Kernel, rows int64) *kernel.Kernel {
	c, ok := AttentionCells(k)
	if !ok || c.most >= rows || slices.ContainsFunc(k.Tiles(), func(t *kernel.Tile) bool { return !plain(t.Shape) && uses(k.Body, t.Name) }) {
		return k
	}
	return c.into(k, rows)
}

// plain reports whether every extent is a constant or a variable.
func plain(shape []*expr.Expr) bool {
	return !slices.ContainsFunc(shape, func(e *expr.Expr) bool { return e.Op != expr.Const && e.Op != expr.Var })
}

// uses reports whether statements or their bodies use a name.
func uses(body []kernel.Stmt, name string) bool {
	return slices.ContainsFunc(body, func(s kernel.Stmt) bool { return kernel.Uses(s, name) })
}
