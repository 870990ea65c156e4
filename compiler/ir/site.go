package ir

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// ReadsLength reports whether mask or bias depends on the number of rows or keys.
func (a *AttnAttr) ReadsLength() bool {
	return slices.ContainsFunc([]*expr.Expr{a.Mask, a.Bias}, func(e *expr.Expr) bool {
		return e != nil && (expr.Depends(e, "I") || expr.Depends(e, "J"))
	})
}

// CountedBy returns the numbers of rows and keys that index dropout's random words, in a
// launch with the given numbers.
func (a *AttnAttr) CountedBy(rows, keys *expr.Expr) (*expr.Expr, *expr.Expr) {
	if len(a.Words) == 0 {
		return rows, keys
	}
	return expr.Int(int64(a.Words[0])), expr.Int(int64(a.Words[1]))
}

// Guarded returns the bias in a form that is safe at closed cells. There the bias may
// divide integers by zero or, if the parameters are not Fixed, index out of their shapes.
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

// ifOpen returns x. If x differs between cells, it returns a constant at closed ones.
func (a *AttnAttr) ifOpen(x *expr.Expr, otherwise int64) *expr.Expr {
	if !OverCells(x) {
		return x
	}
	return expr.New(expr.Where, a.Mask, x, expr.Int(otherwise))
}

// OverCells reports whether an expression of a mask or bias differs between the queries
// and keys of a head.
func OverCells(e *expr.Expr) bool {
	for _, v := range expr.Vars(e) {
		if v.Name == "i" || v.Name == "j" {
			return true
		}
	}
	return false
}

// LineIndex returns the place in a line of query i and key j: their distance j - i plus I. No cell
// has place 0.
func LineIndex() *expr.Expr {
	i, j, rows := expr.NewVar("i", expr.I32), expr.NewVar("j", expr.I32), expr.NewVar("I", expr.I32)
	return bin(expr.Add, bin(expr.Sub, j, i), rows)
}

// Distance returns the index, from 0, of the relative score for query i and key j.
func (a *AttnAttr) Distance() *expr.Expr {
	i, j, c := expr.NewVar("i", expr.I32), expr.NewVar("j", expr.I32), int64(a.Relative)
	d := bin(expr.Add, bin(expr.Sub, j, i), expr.Int(c))
	return bin(expr.Min, bin(expr.Max, d, expr.Int(0)), expr.Int(2*c))
}
