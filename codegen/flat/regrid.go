package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// RowCells are the cells of an attention that take equally many queries: the bits of a query do
// not depend on the cell that it is in.
type RowCells struct {
	First, Height *kernel.Let // of a cell: its first row, and how many it has

	at, axis int        // of the two lets in the body, and of the cells in the grid
	cell     *expr.Expr // which one it is
	all      *expr.Expr // rows of all cells
	rows     *expr.Expr // those that there are, of an example that may be shorter
	most     int64      // rows of a cell
}

// AttentionCells are those of an attention's queries. All have keys from the same one on;
// those that only others of a cell's queries see have weights of 0, as in any larger cell.
func AttentionCells(k *kernel.Kernel) (c RowCells, ok bool) {
	if k.Op.Family() != "attention" || len(k.Grid) == 0 {
		return c, false
	}
	return c, c.find(k, k.Op.Size("t")) && OwnRows(k, k.Body, c.First, c.Height)
}

// find looks for the lets behind which nothing says which cell it is.
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

// cut is how many cells of n rows there are, and the first row and the rows of one.
func (c *RowCells) cut(n int64) (cells, first, height *expr.Expr) {
	size, left := expr.Int(n), expr.New(expr.Sub, c.rows, expr.NewVar(c.First.Name, expr.I32))
	cells, first = expr.New(expr.Div, expr.New(expr.Add, c.all, expr.Int(n-1)), size), mul(c.cell, size)
	if c.rows != c.all {
		first = expr.New(expr.Min, first, c.rows)
	}
	return expr.Simplify(cells), first, expr.Simplify(expr.New(expr.Min, left, size))
}

// into is a kernel with cells of n rows.
func (c *RowCells) into(k *kernel.Kernel, n int64) *kernel.Kernel {
	cells, first, height := c.cut(n)
	out := withBody(k, slices.Clone(k.Body))
	out.Grid = slices.Clone(k.Grid)
	out.Grid[c.axis].Size = cells
	out.Body[c.at] = &kernel.Let{Name: c.First.Name, Value: first}
	out.Body[c.at+1] = &kernel.Let{Name: c.Height.Name, Value: height}
	return out
}

// regroup returns an attention with cells of more queries, where its cells are of equally
// many and its tiles are as large as these say.
func regroup(k *kernel.Kernel, rows int64) *kernel.Kernel {
	c, ok := AttentionCells(k)
	if !ok || c.most >= rows || slices.ContainsFunc(k.Tiles(), func(t *kernel.Tile) bool { return !plain(t.Shape) && uses(k.Body, t.Name) }) {
		return k
	}
	return c.into(k, rows)
}

// plain says whether extents are numbers and variables.
func plain(shape []*expr.Expr) bool {
	return !slices.ContainsFunc(shape, func(e *expr.Expr) bool { return e.Op != expr.Const && e.Op != expr.Var })
}

// uses says whether statements or those in their bodies read a variable.
func uses(body []kernel.Stmt, name string) bool {
	return slices.ContainsFunc(body, func(s kernel.Stmt) bool { return kernel.Uses(s, name) })
}
