package export

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A scalarRow prints an operation of expressions. In Python it is an operator with a
// precedence, or a function of the prelude. In ONNX it is the type of an operator.
type scalarRow struct {
	python string
	binds  int // 0: a call
	onnx   string
}

// The precedence of Python's operators.
const (
	bindsCompare = 1 + iota
	bindsOr
	bindsXor
	bindsAnd
	bindsAdd
	bindsMul
	bindsUnary
	bindsAtom
)

// scalars is the table of operations. Missing ones occur in no forward pass in F32.
var scalars = map[expr.Op]scalarRow{
	expr.Add: {"+", bindsAdd, "Add"},
	expr.Sub: {"-", bindsAdd, "Sub"},
	expr.Mul: {"*", bindsMul, "Mul"},
	expr.Div: {"/", bindsMul, "Div"},
	expr.Mod: {"mod", 0, "Mod"},
	expr.Neg: {"-", bindsUnary, "Neg"},
	expr.Abs: {"abs", 0, "Abs"},
	expr.Min: {"minimum", 0, "Min"},
	expr.Max: {"maximum", 0, "Max"},

	expr.Floor: {"floor", 0, "Floor"},
	expr.Sqrt:  {"sqrt", 0, "Sqrt"},

	expr.Lt:  {"<", bindsCompare, "Less"},
	expr.Le:  {"<=", bindsCompare, "LessOrEqual"},
	expr.Eq:  {"==", bindsCompare, "Equal"},
	expr.Ne:  {"!=", bindsCompare, "Equal"}, // and Not
	expr.And: {"&", bindsAnd, "And"},
	expr.Or:  {"|", bindsOr, "Or"},
	expr.Xor: {"^", bindsXor, "Xor"},
	expr.Not: {"not_", 0, "Not"},

	expr.Where: {"where", 0, "Where"},
	expr.ToF32: {"f32", 0, "Cast"},
	expr.ToI32: {"i32", 0, "Cast"},

	expr.Exp:     {"exp", 0, "Exp"},
	expr.Log:     {"log", 0, "Log"},
	expr.Tanh:    {"tanh", 0, "Tanh"},
	expr.Sigmoid: {"sigmoid", 0, "Sigmoid"},
	expr.Erf:     {"erf", 0, "Erf"},
	expr.Sin:     {"sin", 0, "Sin"},
	expr.Cos:     {"cos", 0, "Cos"},

	expr.Softplus: {"softplus", 0, "Softplus"},
}

// printable returns the first node of an expression that no row prints, or nil. Bitwise
// operations on integers are not printable.
func printable(e *expr.Expr) (bad *expr.Expr) {
	expr.Walk(e, func(x *expr.Expr) {
		_, row := scalars[x.Op]
		leaf := x.Op == expr.Const || x.Op == expr.Var || x.Op == expr.Elem
		bitwise := (x.Op == expr.And || x.Op == expr.Or || x.Op == expr.Xor || x.Op == expr.Not) && x.Type != expr.Bool
		if bad == nil && (!row && !leaf || bitwise || x.Type != expr.F32 && x.Type != expr.I32 && x.Type != expr.Bool) {
			bad = x
		}
	})
	return bad
}

// natural reports whether an integer is clearly not negative. Then all conventions give the
// same quotients and remainders.
func natural(e *expr.Expr) bool {
	switch e.Op {
	case expr.Const:
		return e.I >= 0
	case expr.Var:
		return e.Name[0] == 'd' || e.Name == "layer" || e.Name == "T" || e.Name == "S"
	case expr.Add, expr.Mul, expr.Div, expr.Mod, expr.Min:
		return natural(e.Args[0]) && natural(e.Args[1])
	case expr.Max:
		return natural(e.Args[0]) || natural(e.Args[1])
	}
	return false
}

// covered reports, for each axis of a Map's result, whether its expression has that extent
// already: through an element of an argument, or through the index.
func covered(e *expr.Expr, shape []ir.Dim, args []*ir.Value) []bool {
	has := make([]bool, len(shape))
	for axis := range shape {
		has[axis] = expr.Depends(e, ir.D(axis).Name)
		for k, a := range args {
			element, _ := ir.Reads(e, k)
			at := axis - (len(shape) - a.Type.Rank())
			has[axis] = has[axis] || element && at >= 0 && a.Type.Shape[at] == shape[axis]
		}
	}
	return has
}

// whole reports whether all axes are covered.
func whole(has []bool) bool { return !slices.Contains(has, false) }
