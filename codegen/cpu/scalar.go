package cpu

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
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
	expr.Abs: "Abs", expr.Min: "Min", expr.Max: "Max", expr.Floor: "Floor", expr.Sqrt: "Sqrt", expr.Fma: "Fma", expr.Where: "Where",
	expr.ToBF16: "RoundBF16", expr.ToF16: "RoundF16", expr.ToTF32: "RoundTF32",
	expr.Exp: "Exp", expr.Log: "Log", expr.Tanh: "Tanh", expr.Sigmoid: "Sigmoid", expr.Erf: "Erf", expr.Sin: "Sin", expr.Cos: "Cos",
	expr.Softplus: "Softplus",
}

// scalar prints an expression. I32 is Go's int.
func (p *printer) scalar(e *expr.Expr) string {
	c, _ := p.prec(e)
	return c
}

// typed prints an expression such that := gives the variable its type.
func (p *printer) typed(e *expr.Expr) string {
	if e.Op == expr.Const && e.Type != expr.I32 && e.Type != expr.Bool {
		return goType(e.Type) + "(" + p.scalar(e) + ")"
	}
	return p.scalar(e)
}

// at prints an expression for a place that needs at least a precedence.
func (p *printer) at(e *expr.Expr, min int) string {
	c, prec := p.prec(e)
	if prec < min {
		return "(" + c + ")"
	}
	return c
}

// prec prints an expression and returns the precedence of its outermost operator.
func (p *printer) prec(e *expr.Expr) (string, int) {
	if b, ok := binary[e.Op]; ok {
		return p.binary(e, b.op, b.bool, b.prec, b.boolPrec)
	}
	f, ok := calls[e.Op]
	if e.Op == expr.ToF32 {
		f, ok = widenings[e.Args[0].Type]
	}
	if ok && (e.Type == expr.F32 || e.Type.Narrow()) {
		return p.call(p.runtime+f, e.Args), precPrimary
	}
	switch e.Op {
	case expr.Const:
		return constant(e)
	case expr.Var:
		return p.id(e.Name), precPrimary
	case expr.Elem:
		return p.elem(e), precPrimary
	case expr.Neg:
		return "-" + p.at(e.Args[0], precPrimary), precUnary
	case expr.Not:
		op := "^"
		if e.Type == expr.Bool {
			op = "!"
		}
		return op + p.at(e.Args[0], precPrimary), precUnary
	case expr.Min, expr.Max:
		return p.call(e.Op.String(), e.Args), precPrimary
	case expr.Abs:
		return p.call(p.runtime+"AbsInt", e.Args), precPrimary
	case expr.Where:
		return p.call(p.runtime+"WhereOf["+goType(e.Type)+"]", e.Args), precPrimary
	case expr.ToF32, expr.ToI32, expr.AsU32:
		return p.call(goType(e.Type), e.Args), precPrimary
	case expr.AsBF16, expr.AsF16:
		return fmt.Sprintf("uint16(%s & %d)", p.at(e.Args[0], precMul), math.MaxUint16), precPrimary
	case expr.AsI32:
		return fmt.Sprintf("int(int32(%s))", p.scalar(e.Args[0])), precPrimary
	case expr.BitsF:
		return p.call("math.Float32frombits", e.Args), precPrimary
	case expr.FBits:
		return p.call("math.Float32bits", e.Args), precPrimary
	}
	panic("BUG: no Go for " + e.Op.String())
}

// binary prints an operator. Products are rounded explicitly: Go may fuse
// x*y + z otherwise.
func (p *printer) binary(e *expr.Expr, op, boolOp string, prec, boolPrec int) (string, int) {
	x, y := e.Args[0], e.Args[1]
	if x.Type == expr.Bool {
		op, prec = boolOp, boolPrec
	}
	c := p.at(x, prec) + " " + op + " " + p.at(y, prec+1)
	switch {
	case e.Op == expr.Mul && e.Type == expr.F32:
		return "float32(" + c + ")", precPrimary
	case e.Op == expr.Shl && e.Type == expr.I32:
		return "int(int32(" + c + "))", precPrimary
	}
	return c, prec
}

func (p *printer) call(f string, args []*expr.Expr) string {
	cs := make([]string, len(args))
	for i, a := range args {
		cs[i] = p.scalar(a)
	}
	return f + "(" + strings.Join(cs, ", ") + ")"
}

// elem prints a read of an element.
func (p *printer) elem(e *expr.Expr) string {
	if e.Type == expr.I32 && len(e.Args) > 0 {
		return "int(" + p.place(e) + ")"
	}
	return p.place(e)
}

// place prints an element as something that can be assigned to.
func (p *printer) place(e *expr.Expr) string {
	if len(e.Args) == 0 {
		return p.id(e.Name)
	}
	return p.id(e.Name) + "[" + p.scalar(e.Args[0]) + "]"
}

// constant prints a literal.
func constant(e *expr.Expr) (string, int) {
	prec := precPrimary
	if e.F < 0 || math.Signbit(e.F) || e.I < 0 {
		prec = precUnary
	}
	switch e.Type {
	case expr.Bool:
		return strconv.FormatBool(e.I != 0), prec
	case expr.I32, expr.U32:
		return strconv.FormatInt(e.I, 10), prec
	}
	f := float32(e.F)
	switch {
	case math.IsNaN(e.F):
		return "float32(math.NaN())", precPrimary
	case math.IsInf(e.F, 0):
		return fmt.Sprintf("float32(math.Inf(%v))", math.Copysign(1, e.F)), precPrimary
	case f == 0 && math.Signbit(e.F):
		return "float32(math.Copysign(0, -1))", precPrimary
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 32), prec
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
