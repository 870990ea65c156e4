package gocode

import (
	"math"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/expr"
)

// Go's operator precedences. precPrimary binds tightest.
const (
	precOr = iota + 1
	precAnd
	precCompare
	precAdd
	precMul
	precUnary
	precPrimary
)

// operators are Go's binary operators for ops. Bool uses the second set.
var operators = map[expr.Op]struct {
	op, bool       string
	prec, boolPrec int
}{
	expr.Add: {"+", "", precAdd, 0},
	expr.Sub: {"-", "", precAdd, 0},
	expr.Mul: {"*", "", precMul, 0},
	expr.Div: {"/", "", precMul, 0},
	expr.Mod: {"%", "", precMul, 0},
	expr.Lt:  {"<", "", precCompare, 0},
	expr.Le:  {"<=", "", precCompare, 0},
	expr.Eq:  {"==", "==", precCompare, precCompare},
	expr.Ne:  {"!=", "!=", precCompare, precCompare},
	expr.And: {"&", "&&", precMul, precAnd},
	expr.Or:  {"|", "||", precAdd, precOr},
	expr.Xor: {"^", "!=", precAdd, precCompare},
	expr.Shl: {"<<", "", precMul, 0},
	expr.Shr: {">>", "", precMul, 0},
}

// functions are the functions for ops in each dialect: first in package runtime/cpu for
// float32, second in package math for float64. The latter also replace operators.
var functions = map[expr.Op][2]string{
	expr.Abs: {"Abs", "Abs"}, expr.Floor: {"Floor", "Floor"}, expr.Sqrt: {"Sqrt", "Sqrt"},
	expr.Exp: {"Exp", "Exp"}, expr.Log: {"Log", "Log"}, expr.Tanh: {"Tanh", "Tanh"}, expr.Erf: {"Erf", "Erf"},
	expr.Sin: {"Sin", "Sin"}, expr.Cos: {"Cos", "Cos"},
	expr.Mod: {"", "Mod"}, expr.ToI32: {"", "Trunc"},
	expr.Min: {"Min", ""}, expr.Max: {"Max", ""}, expr.Fma: {"Fma", ""}, expr.Where: {"Where", ""},
	expr.Sigmoid: {"Sigmoid", ""}, expr.Softplus: {"Softplus", ""},
	expr.ToBF16: {"RoundBF16", ""}, expr.ToF16: {"RoundF16", ""}, expr.ToTF32: {"RoundTF32", ""},
}

// widenings are the functions of the runtime that widen elements.
var widenings = map[expr.Type]string{expr.BF16: "WidenBF16", expr.F16: "WidenF16"}

// A Dialect determines how expressions are computed.
type Dialect struct {
	double bool                // compute in float64 for all types, with package math
	id     func(string) string // the identifier of a variable or a slice
}

// Float32 computes the bits of the kernel interpreter, with package runtime/cpu. I32 is Go's
// int. id returns the identifiers of variables and slices.
func Float32(id func(string) string) Dialect { return Dialect{id: id} }

// Float64 computes with all digits. It is for values computed once, outside all kernels.
var Float64 = Dialect{double: true, id: func(name string) string { return name }}

// Expr returns an expression in a dialect.
func Expr(e *expr.Expr, d Dialect) *jen.Statement {
	c, _ := d.prec(e)
	return c
}

// Function returns the function of the runtime that an expression calls, or "".
func Function(e *expr.Expr) string {
	switch {
	case e.Op == expr.ToF32:
		return widenings[e.Args[0].Type]
	case e.Type == expr.F32 || e.Type.Narrow():
		return functions[e.Op][0]
	}
	return ""
}

// at returns an expression for a place that needs at least precedence min.
func (d Dialect) at(e *expr.Expr, min int) *jen.Statement {
	c, prec := d.prec(e)
	if prec < min {
		return jen.Parens(c)
	}
	return c
}

// prec returns an expression and the precedence of its outermost operator.
func (d Dialect) prec(e *expr.Expr) (*jen.Statement, int) {
	if f := d.function(e); f != nil {
		return d.call(f, e.Args), precPrimary
	}
	if _, ok := operators[e.Op]; ok {
		return d.binary(e)
	}
	switch e.Op {
	case expr.Const:
		return d.constant(e)
	case expr.Var:
		return jen.Id(d.id(e.Name)), precPrimary
	case expr.Neg:
		return jen.Op("-").Add(d.at(e.Args[0], precPrimary)), precUnary
	case expr.Not:
		op := "^"
		if e.Type == expr.Bool {
			op = "!"
		}
		return jen.Op(op).Add(d.at(e.Args[0], precPrimary)), precUnary
	case expr.Min, expr.Max:
		return d.call(jen.Id(e.Op.String()), e.Args), precPrimary
	}
	if d.double {
		return d.written(e)
	}
	return d.bits(e), precPrimary
}

// function returns the function that an expression calls, or nil.
func (d Dialect) function(e *expr.Expr) *jen.Statement {
	if name := functions[e.Op][1]; d.double && name != "" {
		return jen.Qual("math", name)
	}
	if name := Function(e); !d.double && name != "" {
		return CPU.Qual(name)
	}
	return nil
}

// written returns code for ops without a float64 function.
func (d Dialect) written(e *expr.Expr) (*jen.Statement, int) {
	switch x, one := jen.Id("x"), expr.F(1); e.Op {
	case expr.ToF32:
		return d.prec(e.Args[0])
	case expr.Sigmoid:
		return d.prec(expr.New(expr.Div, one, expr.New(expr.Add, one, expr.New(expr.Exp, expr.New(expr.Neg, e.Args[0])))))
	case expr.Softplus:
		tail := jen.Qual("math", "Log1p").Call(jen.Qual("math", "Exp").Call(jen.Op("-").Qual("math", "Abs").Call(x)))
		sum := jen.Max(x, jen.Lit(0)).Op("+").Add(tail)
		return d.call(jen.Func().Params(jen.Id("x").Float64()).Float64().Block(jen.Return(sum)), e.Args), precPrimary
	case expr.Where:
		kind := "float64"
		if e.Type == expr.Bool {
			kind = "bool"
		}
		return jen.Func().Params().Id(kind).Block(
			jen.If(Expr(e.Args[0], d)).Block(jen.Return(Expr(e.Args[1], d))),
			jen.Return(Expr(e.Args[2], d)),
		).Call(), precPrimary
	}
	panic("BUG: no float64 for " + e.Op.String())
}

// bits returns conversions, and ops that only float32 and integers have.
func (d Dialect) bits(e *expr.Expr) *jen.Statement {
	switch e.Op {
	case expr.Elem:
		if e.Type == expr.I32 && len(e.Args) > 0 {
			return jen.Int().Call(d.Place(e))
		}
		return d.Place(e)
	case expr.Abs:
		return d.call(CPU.Qual("AbsInt"), e.Args)
	case expr.Where:
		return d.call(CPU.Qual("WhereOf").Index(jen.Id(Type(e.Type))), e.Args)
	case expr.ToF32, expr.ToI32, expr.AsU32:
		return d.call(jen.Id(Type(e.Type)), e.Args)
	case expr.AsBF16, expr.AsF16:
		return jen.Uint16().Call(d.at(e.Args[0], precMul).Op("&").Lit(math.MaxUint16))
	case expr.AsI32:
		return jen.Int().Call(d.call(jen.Int32(), e.Args))
	case expr.BitsF:
		return d.call(jen.Qual("math", "Float32frombits"), e.Args)
	case expr.FBits:
		return d.call(jen.Qual("math", "Float32bits"), e.Args)
	}
	panic("BUG: no Go for " + e.Op.String())
}

// binary returns an operator with its operands. Products of float32 are rounded explicitly,
// because Go may fuse x*y + z otherwise.
func (d Dialect) binary(e *expr.Expr) (*jen.Statement, int) {
	of, x, y := operators[e.Op], e.Args[0], e.Args[1]
	op, prec := of.op, of.prec
	if x.Type == expr.Bool {
		op, prec = of.bool, of.boolPrec
	}
	c := d.at(x, prec).Op(op).Add(d.at(y, prec+1))
	switch {
	case d.double:
		return c, prec
	case e.Op == expr.Mul && e.Type == expr.F32:
		return jen.Float32().Call(c), precPrimary
	case e.Op == expr.Shl && e.Type == expr.I32:
		return jen.Int().Call(jen.Int32().Call(c)), precPrimary
	}
	return c, prec
}

func (d Dialect) call(f *jen.Statement, args []*expr.Expr) *jen.Statement {
	var all []jen.Code
	for _, a := range args {
		all = append(all, Expr(a, d))
	}
	return f.Call(all...)
}

// Place returns an assignable element or variable.
func (d Dialect) Place(e *expr.Expr) *jen.Statement {
	c := jen.Id(d.id(e.Name))
	if len(e.Args) == 0 {
		return c
	}
	return c.Index(Expr(e.Args[0], d))
}

// Typed returns an expression such that := gives the variable its type.
func (d Dialect) Typed(e *expr.Expr) *jen.Statement {
	if e.Op == expr.Const && e.Type != expr.I32 && e.Type != expr.Bool {
		return jen.Id(Type(e.Type)).Call(Expr(e, d))
	}
	return Expr(e, d)
}

// constant returns a number with no more digits than the spec has. The number is text, because
// jennifer writes the types of most kinds of numbers.
func (d Dialect) constant(e *expr.Expr) (*jen.Statement, int) {
	prec := precPrimary
	if math.Signbit(e.F) || e.I < 0 {
		prec = precUnary
	}
	text := strconv.FormatFloat(e.F, 'g', -1, 32)
	whole := e.Type == expr.I32 || e.Type == expr.U32
	switch {
	case e.Type == expr.Bool:
		return jen.Lit(e.I != 0), precPrimary
	case d.double && whole:
		return jen.Lit(float64(e.I)), prec
	case d.double:
		x, _ := strconv.ParseFloat(text, 64)
		return jen.Lit(x), prec
	case whole:
		return jen.Op(strconv.FormatInt(e.I, 10)), prec
	case math.IsNaN(e.F):
		return jen.Float32().Call(jen.Qual("math", "NaN").Call()), precPrimary
	case math.IsInf(e.F, 0):
		return jen.Float32().Call(jen.Qual("math", "Inf").Call(jen.Lit(int(math.Copysign(1, e.F))))), precPrimary
	case float32(e.F) == 0 && math.Signbit(e.F):
		return jen.Float32().Call(jen.Qual("math", "Copysign").Call(jen.Lit(0), jen.Lit(-1))), precPrimary
	}
	return jen.Op(text), prec
}

// types are the types of Go variables for scalars.
var types = map[expr.Type]string{
	expr.F32: "float32", expr.I32: "int", expr.U32: "uint32", expr.Bool: "bool", expr.BF16: "uint16", expr.F16: "uint16",
}

// Type returns the type of a Go variable for a scalar.
func Type(t expr.Type) string { return types[t] }
