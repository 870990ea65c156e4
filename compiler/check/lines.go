package check

import "github.com/arithlang/mlc/compiler/expr"

// A lineValue writes the value of the line through cell (i, j).
type lineValue struct {
	*Lines
	down    int                                // number of lines that begin in rows below the first
	value   func(number *expr.Expr) *expr.Expr // of the line with this number in the extended matrix
	outside *expr.Expr                         // the value of lines outside the extended matrix
}

var (
	lineI, lineJ = expr.NewVar("i", expr.I32), expr.NewVar("j", expr.I32)
	columns      = expr.NewVar("J", expr.I32)
	// operand is the width of a and b if columns are ^ a + b $.
	operand = expr.New(expr.Div, expr.New(expr.Sub, columns, expr.Int(3)), expr.Int(2))
)

// line returns the value of the line along direction (1, b) through a cell. The values
// are a fixed parameter with an element per head and line. Line numbers ascend with j.
// Diagonals are counted from the first key, antidiagonals and columns from the last, so
// that they keep their place when the source grows at the front. Each of two paired
// operands has its own ends: a line belongs to the operand in which it begins, as in
// runtime/calibrate. The first and the last element stand for all lines outside of the
// extended matrix.
func (s *scope) line(in *instance, name string, l *Lines, d [2]int, param BiasParam) *expr.Expr {
	down := max(d[1], -d[1]) * (l.Queries - 1)
	last := l.Keys - 1 + down + 2
	if in.params[name] == nil {
		param.Shape, param.Init = []int{s.heads(), last + 1}, Init{Kind: "stage"}
		s.fixed(in, name, param)
	}
	element := func(at *expr.Expr) *expr.Expr {
		return expr.NewElem(in.params[name].Name, expr.F32, expr.NewVar("h", expr.I32), at)
	}
	v := lineValue{l, down, func(number *expr.Expr) *expr.Expr {
		return element(expr.New(expr.Min, expr.New(expr.Max, number, expr.Int(0)), expr.Int(int64(last))))
	}, element(expr.Int(0))}
	switch {
	case d[1] > 0:
		return v.diagonal()
	case d[1] < 0:
		return v.fromRight(expr.New(expr.Add, lineJ, lineI))
	}
	return v.fromRight(lineJ)
}

// diagonal returns the value along (1, 1).
func (v lineValue) diagonal() *expr.Expr {
	number := expr.New(expr.Sub, lineJ, lineI)
	first := v.value(plus(number, v.down+1))
	if !v.Paired {
		return first
	}
	extended := (v.Keys - 3) / 2
	second, last := expr.New(expr.Sub, number, operand), expr.New(expr.Sub, number, columns)
	inFirst, inSecond := expr.New(expr.Le, number, operand), expr.New(expr.Le, last, expr.Int(-2))
	return expr.New(expr.Where, inFirst, v.upTo(number, extended, first),
		expr.New(expr.Where, inSecond, v.upTo(second, extended+1, v.value(plus(second, extended+v.down+1))),
			v.value(plus(last, v.Keys+v.down+1))))
}

// upTo returns value if number is at most most, and otherwise the value outside.
func (v lineValue) upTo(number *expr.Expr, most int, value *expr.Expr) *expr.Expr {
	return expr.New(expr.Where, expr.New(expr.Le, number, expr.Int(int64(most))), value, v.outside)
}

// fromRight returns the value along (1, 0) and (1, -1). number is the line's number from
// the left.
func (v lineValue) fromRight(number *expr.Expr) *expr.Expr {
	right := plus(expr.New(expr.Sub, number, columns), v.Keys+1)
	if !v.Paired {
		return v.value(right)
	}
	extended := (v.Keys - 3) / 2
	left := v.value(plus(expr.New(expr.Sub, number, operand), extended+1))
	beyond := expr.New(expr.Le, right, expr.Int(int64(extended+2)))
	return expr.New(expr.Where, expr.New(expr.Le, number, plus(operand, 1)),
		left, expr.New(expr.Where, beyond, v.outside, v.value(right)))
}

func plus(x *expr.Expr, n int) *expr.Expr { return expr.New(expr.Add, x, expr.Int(int64(n))) }
