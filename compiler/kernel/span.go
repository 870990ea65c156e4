package kernel

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// A Span names the rows that a cell computes: Height of them, from row First on, of Rows in all.
// The bits of a row are the same in every span, so each target chooses the size of cells. The sign
// of a zero alone may differ in attention: a cell adds zeros for keys that are closed to a row and
// open to another, and -0 + 0 is 0. Defined gives the cells that decide.
type Span struct {
	First, Height string
	Rows          *expr.Expr // over scalars
}

// Queries is how many queries a cell of an attention has, in the definition of its results and
// wherever scores lie in memory.
const Queries = 32

// Defined returns the kernel with the cells that its results and costs are defined by: of so many
// queries in attention, else one of all rows.
func (k *Kernel) Defined() *Kernel {
	if k.Family() == "attention" {
		return k.Cells(Queries)
	}
	return k.Whole()
}

// spanCell is the grid axis that Cells adds.
const spanCell = "m"

// Cut returns the kernel with cells of this many rows; the last one may have fewer. A span with a
// constant number of rows, at most this many, becomes one cell.
func (k *Kernel) Cut(rows int64) *Kernel {
	if k.Span != nil && k.Span.Rows.IsConst() && k.Span.Rows.I <= rows {
		return k.Whole()
	}
	return k.Cells(rows)
}

// Cells is Cut, but a single cell also gets a grid axis and names its rows. A kernel without a
// span stays as it is.
func (k *Kernel) Cells(rows int64) *Kernel {
	if k.Span == nil {
		return k
	}
	s, out := k.Span, *k
	size, first := expr.Int(rows), expr.NewVar(s.First, expr.I32)
	out.Span = nil
	out.Grid = append(slices.Clip(k.Grid), Axis{Var: spanCell, Size: CeilDiv(s.Rows, rows)})
	out.Body = append([]Stmt{
		&Let{Name: s.First, Value: expr.New(expr.Mul, expr.NewVar(spanCell, expr.I32), size)},
		&Let{Name: s.Height, Value: expr.Simplify(expr.New(expr.Min, expr.New(expr.Sub, s.Rows, first), size))},
	}, k.Body...)
	return &out
}

// Whole returns the kernel with one cell of all rows of its span.
func (k *Kernel) Whole() *Kernel {
	if k.Span == nil {
		return k
	}
	s, out := k.Span, *k
	all := map[string]*expr.Expr{s.First: expr.Int(0), s.Height: s.Rows}
	out.Span = nil
	out.Body = RewriteAll(k.Body, func(e *expr.Expr) *expr.Expr { return expr.Simplify(expr.Subst(e, all)) })
	return &out
}
