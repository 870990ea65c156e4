package ir

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// ReadsLength reports whether mask or bias hang on how many rows and keys there are.
func (a *AttnAttr) ReadsLength() bool {
	return slices.ContainsFunc([]*expr.Expr{a.Mask, a.Bias}, func(e *expr.Expr) bool {
		return e != nil && (expr.Depends(e, "I") || expr.Depends(e, "J"))
	})
}

// CountedBy is by how many rows and keys dropout counts its random words, in a launch of
// so many.
func (a *AttnAttr) CountedBy(rows, keys *expr.Expr) (*expr.Expr, *expr.Expr) {
	if len(a.Words) == 0 {
		return rows, keys
	}
	return expr.Int(int64(a.Words[0])), expr.Int(int64(a.Words[1]))
}

// Guarded is the bias made safe to compute at closed cells, where it may divide
// integers by zero or, if the parameters are not Fixed, index one outside of its shape.
func (a *AttnAttr) Guarded() *expr.Expr {
	if a.Bias == nil || a.Mask == nil {
		return a.Bias
	}
	return expr.Rewrite(a.Bias, func(e *expr.Expr) *expr.Expr {
		switch {
		case e.Op == expr.Elem && !a.Fixed:
			idx := make([]*expr.Expr, len(e.Args))
			for n, i := range e.Args {
				idx[n] = a.ifOpen(i, 0)
			}
			return expr.NewElem(e.Name, e.Type, idx...)
		case (e.Op == expr.Div || e.Op == expr.Mod) && e.Type == expr.I32:
			return expr.New(e.Op, e.Args[0], a.ifOpen(e.Args[1], 1))
		}
		return e
	})
}

// ifOpen is x, and otherwise a constant at closed cells if x differs between cells.
func (a *AttnAttr) ifOpen(x *expr.Expr, otherwise int64) *expr.Expr {
	if !OverCells(x) {
		return x
	}
	return expr.New(expr.Where, a.Mask, x, expr.Int(otherwise))
}

// OverCells reports whether an expression of a mask or a bias differs between the
// queries and keys of a head.
func OverCells(e *expr.Expr) bool {
	for _, v := range expr.Vars(e) {
		if v.Name == "i" || v.Name == "j" {
			return true
		}
	}
	return false
}

// Distance is the number, from 0, of the relative score of query i and key j.
func (a *AttnAttr) Distance() *expr.Expr {
	i, j, c := expr.NewVar("i", expr.I32), expr.NewVar("j", expr.I32), int64(a.Relative)
	d := bin(expr.Add, bin(expr.Sub, j, i), expr.Int(c))
	return bin(expr.Min, bin(expr.Max, d, expr.Int(0)), expr.Int(2*c))
}
