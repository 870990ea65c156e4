package host

import (
	"math"
	"strconv"

	"github.com/dave/jennifer/jen"

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

// mathCalls are the ops that package math has a function for.
var mathCalls = map[expr.Op]string{
	expr.Abs: "Abs", expr.Floor: "Floor", expr.Sqrt: "Sqrt", expr.ToI32: "Trunc", expr.Mod: "Mod",
	expr.Exp: "Exp", expr.Log: "Log", expr.Tanh: "Tanh", expr.Erf: "Erf", expr.Sin: "Sin", expr.Cos: "Cos",
}

// statistic prints a condition on a line of attention in float64. It is decided once
// a line, outside of all kernels.
func statistic(e *expr.Expr) *jen.Statement { return operand(e, 0) }

// operand is an expression as an operand of an operator of that binding strength.
func operand(e *expr.Expr, prec int) *jen.Statement {
	if op, ok := operators[e.Op]; ok {
		s := operand(e.Args[0], op.prec).Op(op.text).Add(operand(e.Args[1], op.prec+1))
		if op.prec < prec {
			return jen.Parens(s)
		}
		return s
	}
	if name, ok := mathCalls[e.Op]; ok {
		return jen.Qual("math", name).Call(operands(e)...)
	}
	switch e.Op {
	case expr.Const:
		return constant(e)
	case expr.Var:
		return jen.Id(e.Name)
	case expr.ToF32:
		return operand(e.Args[0], prec)
	case expr.Neg:
		return jen.Op("-").Add(operand(e.Args[0], 6))
	case expr.Not:
		return jen.Op("!").Add(operand(e.Args[0], 6))
	case expr.Min:
		return jen.Id("min").Call(operands(e)...)
	case expr.Max:
		return jen.Id("max").Call(operands(e)...)
	case expr.Sigmoid:
		return jen.Parens(jen.Lit(1).Op("/").Parens(jen.Lit(1).Op("+").Qual("math", "Exp").Call(jen.Op("-").Add(operand(e.Args[0], 6)))))
	case expr.Where:
		kind := jen.Float64()
		if e.Type == expr.Bool {
			kind = jen.Bool()
		}
		return jen.Func().Params().Add(kind).Block(
			jen.If(operand(e.Args[0], 0)).Block(jen.Return(operand(e.Args[1], 0))),
			jen.Return(operand(e.Args[2], 0)),
		).Call()
	}
	panic("BUG: no condition on lines has " + e.Op.String())
}

func operands(e *expr.Expr) []jen.Code {
	out := make([]jen.Code, len(e.Args))
	for n, a := range e.Args {
		out[n] = operand(a, 0)
	}
	return out
}

// constant prints a number with no more digits than the spec has.
func constant(e *expr.Expr) *jen.Statement {
	switch {
	case e.Type == expr.Bool:
		return jen.Lit(e.I != 0)
	case e.Type == expr.F32:
		x, _ := strconv.ParseFloat(strconv.FormatFloat(e.F, 'g', -1, 32), 64)
		if x < 0 || math.Signbit(x) {
			return jen.Parens(jen.Lit(x))
		}
		return jen.Lit(x)
	}
	return jen.Lit(float64(e.I))
}
