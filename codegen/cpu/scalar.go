package cpu

import (
	"math"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/expr"
)

const (
	runtimePath = "github.com/arithlang/mlc/runtime/cpu"
	devicePath  = "github.com/arithlang/mlc/runtime/device"
)

// Go's operator precedences, and what binds tighter than all of them.
const (
	precOr = iota + 1
	precAnd
	precCompare
	precAdd
	precMul
	precUnary
	precPrimary
)

// binary are the ops that Go writes with an operator between two operands.
// Bool has operators of its own.
var binary = map[expr.Op]struct {
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

// widenings are the functions of the runtime that widen elements.
var widenings = map[expr.Type]string{expr.BF16: "WidenBF16", expr.F16: "WidenF16"}

// calls are the other functions of the runtime on F32.
var calls = map[expr.Op]string{
	expr.Abs: "Abs", expr.Min: "Min", expr.Max: "Max", expr.Floor: "Floor", expr.Sqrt: "Sqrt", expr.Where: "Where",
	expr.ToBF16: "RoundBF16", expr.ToF16: "RoundF16", expr.ToTF32: "RoundTF32",
	expr.Exp: "Exp", expr.Log: "Log", expr.Tanh: "Tanh", expr.Sigmoid: "Sigmoid", expr.Erf: "Erf", expr.Sin: "Sin", expr.Cos: "Cos",
}

// scalar prints an expression. I32 is Go's int.
func (p *printer) scalar(e *expr.Expr) *jen.Statement {
	c, _ := p.prec(e)
	return c
}

// typed prints an expression such that := gives the variable its type.
func (p *printer) typed(e *expr.Expr) *jen.Statement {
	if e.Op == expr.Const && e.Type != expr.I32 && e.Type != expr.Bool {
		return jen.Id(goType(e.Type)).Parens(p.scalar(e))
	}
	return p.scalar(e)
}

// at prints an expression for a place that needs at least a precedence.
func (p *printer) at(e *expr.Expr, min int) *jen.Statement {
	c, prec := p.prec(e)
	if prec < min {
		return jen.Parens(c)
	}
	return c
}

// prec prints an expression and returns the precedence of its outermost operator.
func (p *printer) prec(e *expr.Expr) (*jen.Statement, int) {
	if b, ok := binary[e.Op]; ok {
		return p.binary(e, b.op, b.bool, b.prec, b.boolPrec)
	}
	f, ok := calls[e.Op]
	if e.Op == expr.ToF32 {
		f, ok = widenings[e.Args[0].Type]
	}
	if ok && (e.Type == expr.F32 || e.Type.Narrow()) {
		return p.call(jen.Qual(runtimePath, f), e.Args), precPrimary
	}
	switch e.Op {
	case expr.Const:
		return constant(e)
	case expr.Var:
		return jen.Id(p.id(e.Name)), precPrimary
	case expr.Elem:
		return p.elem(e), precPrimary
	case expr.Neg:
		return jen.Op("-").Add(p.at(e.Args[0], precPrimary)), precUnary
	case expr.Not:
		op := "^"
		if e.Type == expr.Bool {
			op = "!"
		}
		return jen.Op(op).Add(p.at(e.Args[0], precPrimary)), precUnary
	case expr.Min, expr.Max:
		return p.call(jen.Id(e.Op.String()), e.Args), precPrimary
	case expr.Abs:
		return p.call(jen.Qual(runtimePath, "AbsInt"), e.Args), precPrimary
	case expr.Where:
		return p.call(jen.Qual(runtimePath, "WhereOf").Types(jen.Id(goType(e.Type))), e.Args), precPrimary
	case expr.ToF32:
		return p.call(jen.Float32(), e.Args), precPrimary
	case expr.ToI32:
		return p.call(jen.Int(), e.Args), precPrimary
	case expr.AsU32:
		return p.call(jen.Uint32(), e.Args), precPrimary
	case expr.AsBF16, expr.AsF16:
		return jen.Uint16().Call(p.at(e.Args[0], precMul).Op("&").Lit(math.MaxUint16)), precPrimary
	case expr.AsI32:
		return jen.Int().Parens(jen.Int32().Parens(p.scalar(e.Args[0]))), precPrimary
	case expr.BitsF:
		return p.call(jen.Qual("math", "Float32frombits"), e.Args), precPrimary
	case expr.FBits:
		return p.call(jen.Qual("math", "Float32bits"), e.Args), precPrimary
	}
	panic("BUG: no Go for " + e.Op.String())
}

// binary prints an operator. Products are rounded explicitly: Go may fuse
// x*y + z otherwise.
func (p *printer) binary(e *expr.Expr, op, boolOp string, prec, boolPrec int) (*jen.Statement, int) {
	x, y := e.Args[0], e.Args[1]
	if x.Type == expr.Bool {
		op, prec = boolOp, boolPrec
	}
	c := p.at(x, prec).Op(op).Add(p.at(y, prec+1))
	switch {
	case e.Op == expr.Mul && e.Type == expr.F32:
		return jen.Float32().Parens(c), precPrimary
	case e.Op == expr.Shl && e.Type == expr.I32:
		return jen.Int().Parens(jen.Int32().Parens(c)), precPrimary
	}
	return c, prec
}

func (p *printer) call(f *jen.Statement, args []*expr.Expr) *jen.Statement {
	cs := make([]jen.Code, len(args))
	for i, a := range args {
		cs[i] = p.scalar(a)
	}
	return f.Call(cs...)
}

// elem prints a read of an element.
func (p *printer) elem(e *expr.Expr) *jen.Statement {
	c := p.place(e)
	if e.Type == expr.I32 && len(e.Args) > 0 {
		return jen.Int().Parens(c)
	}
	return c
}

// place prints an element as something that can be assigned to.
func (p *printer) place(e *expr.Expr) *jen.Statement {
	c := jen.Id(p.id(e.Name))
	if len(e.Args) > 0 {
		c.Index(p.scalar(e.Args[0]))
	}
	return c
}

// constant prints a literal.
func constant(e *expr.Expr) (*jen.Statement, int) {
	prec := precPrimary
	if e.F < 0 || math.Signbit(e.F) || e.I < 0 {
		prec = precUnary
	}
	switch e.Type {
	case expr.Bool:
		return jen.Lit(e.I != 0), prec
	case expr.I32, expr.U32:
		return jen.Op(strconv.FormatInt(e.I, 10)), prec
	}
	f := float32(e.F)
	switch {
	case math.IsNaN(e.F):
		return jen.Float32().Call(jen.Qual("math", "NaN").Call()), precPrimary
	case math.IsInf(e.F, 0):
		sign := int(math.Copysign(1, e.F))
		return jen.Float32().Call(jen.Qual("math", "Inf").Call(jen.Lit(sign))), precPrimary
	case f == 0 && math.Signbit(e.F):
		return jen.Float32().Call(jen.Qual("math", "Copysign").Call(jen.Lit(0), jen.Lit(-1))), precPrimary
	}
	return jen.Op(strconv.FormatFloat(float64(f), 'g', -1, 32)), prec
}

// goType is the type of a Go variable for a scalar.
func goType(t expr.Type) string {
	return map[expr.Type]string{
		expr.F32: "float32", expr.I32: "int", expr.U32: "uint32", expr.Bool: "bool", expr.BF16: "uint16", expr.F16: "uint16",
	}[t]
}

// elemType is the element type of a Go slice for a buffer or tile.
func elemType(t expr.Type) string {
	if t == expr.I32 {
		return "int32"
	}
	return goType(t)
}
