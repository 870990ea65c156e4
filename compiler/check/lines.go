package check

import "github.com/arithlang/mlc/compiler/expr"

// A lineValue writes the value of the line through cell (i, j).
type lineValue struct {
	*Lines
	number  *expr.Expr                         // of the line, from the left
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
// are a fixed parameter with an element per head and line. The cell's line has the number j - b i.
// Lines with b > 0 are counted from the first key, all others from the last, so
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
	through := expr.New(expr.Add, lineJ, slope(-d[1]))
	if d[1] > 0 {
		through = expr.New(expr.Sub, lineJ, slope(d[1]))
	}
	v := lineValue{l, expr.Simplify(through), down, func(number *expr.Expr) *expr.Expr {
		return element(expr.New(expr.Min, expr.New(expr.Max, number, expr.Int(0)), expr.Int(int64(last))))
	}, element(expr.Int(0))}
	if d[1] > 0 {
		return v.fromLeft()
	}
	return v.fromRight()
}

// slope returns n i.
func slope(n int) *expr.Expr {
	return expr.Simplify(expr.New(expr.Mul, expr.Int(int64(n)), lineI))
}

// fromLeft returns the value of a line that is counted from the first key.
func (v lineValue) fromLeft() *expr.Expr {
	number := v.number
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

// fromRight returns the value of a line that is counted from the last key.
func (v lineValue) fromRight() *expr.Expr {
	number := v.number
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
