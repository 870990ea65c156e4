package host

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/codegen/gotext"
	"github.com/arithlang/mlc/compiler/expr"
)

// operators are the ops that Go has one for, with their binding strength there.
var operators = map[expr.Op]struct {
	text string
	prec int
}{
	expr.Add: {"+", 4}, expr.Sub: {"-", 4}, expr.Mul: {"*", 5}, expr.Div: {"/", 5},
	expr.Lt: {"<", 3}, expr.Le: {"<=", 3}, expr.Eq: {"==", 3}, expr.Ne: {"!=", 3},
	expr.And: {"&&", 2}, expr.Or: {"||", 1}, expr.Xor: {"!=", 3},
}

// calls are the ops that Go has a function for.
var calls = map[expr.Op]string{
	expr.Abs: "math.Abs", expr.Floor: "math.Floor", expr.Sqrt: "math.Sqrt", expr.ToI32: "math.Trunc", expr.Mod: "math.Mod",
	expr.Exp: "math.Exp", expr.Log: "math.Log", expr.Tanh: "math.Tanh", expr.Erf: "math.Erf", expr.Sin: "math.Sin", expr.Cos: "math.Cos",
	expr.Min: "min", expr.Max: "max",
}

// statistic prints a condition on a line of attention in float64. It is decided once
// a line, outside of all kernels.
func statistic(e *expr.Expr) string { return operand(e, 0) }

// operand is an expression as an operand of an operator of that binding strength.
func operand(e *expr.Expr, prec int) string {
	if op, ok := operators[e.Op]; ok {
		s := operand(e.Args[0], op.prec) + op.text + operand(e.Args[1], op.prec+1)
		if op.prec < prec {
			return "(" + s + ")"
		}
		return s
	}
	if name, ok := calls[e.Op]; ok {
		var args []string
		for _, a := range e.Args {
			args = append(args, operand(a, 0))
		}
		return name + "(" + strings.Join(args, ", ") + ")"
	}
	switch e.Op {
	case expr.Const:
		return constant(e)
	case expr.Var:
		return e.Name
	case expr.ToF32:
		return operand(e.Args[0], prec)
	case expr.Neg:
		return "-" + operand(e.Args[0], 6)
	case expr.Not:
		return "!" + operand(e.Args[0], 6)
	case expr.Sigmoid:
		return "(1 / (1 + math.Exp(-" + operand(e.Args[0], 6) + ")))"
	case expr.Softplus:
		return "func(x float64) float64 {\nreturn max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))\n}(" + operand(e.Args[0], 0) + ")"
	case expr.Where:
		kind := "float64"
		if e.Type == expr.Bool {
			kind = "bool"
		}
		return fmt.Sprintf("func() %s {\nif %s {\nreturn %s\n}\nreturn %s\n}()", kind, operand(e.Args[0], 0), operand(e.Args[1], 0), operand(e.Args[2], 0))
	}
	panic("BUG: no condition on lines has " + e.Op.String())
}

// constant prints a number with no more digits than the spec has.
func constant(e *expr.Expr) string {
	switch {
	case e.Type == expr.Bool:
		return strconv.FormatBool(e.I != 0)
	case e.Type == expr.F32:
		x, _ := strconv.ParseFloat(strconv.FormatFloat(e.F, 'g', -1, 32), 64)
		if math.Signbit(x) {
			return "(" + gotext.Literal(x) + ")"
		}
		return gotext.Literal(x)
	}
	return gotext.Literal(float64(e.I))
}
