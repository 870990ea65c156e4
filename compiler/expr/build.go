package expr

import (
	"fmt"
	"math"
	"slices"
)

// F returns the F32 constant nearest to v. All NaNs become one.
func F(v float64) *Expr {
	v = float64(float32(v))
	if v != v {
		v = math.NaN()
	}
	return &Expr{Op: Const, Type: F32, F: v}
}

// Int returns the I32 constant v.
func Int(v int64) *Expr { return constant(I32, v) }

// U returns the U32 constant v.
func U(v uint32) *Expr { return constant(U32, int64(v)) }

// B returns the Bool constant v.
func B(v bool) *Expr { return constant(Bool, truth(v)) }

func constant(t Type, v int64) *Expr {
	return must(&Expr{Op: Const, Type: t, I: v})
}

// NewVar returns a variable.
func NewVar(name string, t Type) *Expr {
	return must(&Expr{Op: Var, Type: t, Name: name})
}

// NewElem returns the element name[idx...] of type t. The indices are I32. A tile or parameter of rank 0 has none.
func NewElem(name string, t Type, idx ...*Expr) *Expr {
	return must(&Expr{Op: Elem, Type: t, Name: name, Args: slices.Clip(idx)})
}

// New returns op applied to args, with the type that the op table gives.
func New(op Op, args ...*Expr) *Expr {
	t, err := infer(op, args)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return &Expr{Op: op, Type: t, Args: args}
}

func must(e *Expr) *Expr {
	if err := checkNode(e); err != nil {
		panic("BUG: " + err.Error())
	}
	return e
}

// withArgs returns e with other operands of the same types.
func (e *Expr) withArgs(args []*Expr) *Expr {
	for i, a := range args {
		if a.Type != e.Args[i].Type {
			panic(fmt.Sprintf("BUG: an operand of %v became %v", e.Op, a.Type))
		}
	}
	c := *e
	c.Args = args
	return &c
}

// IsConst reports whether e is a constant.
func (e *Expr) IsConst() bool { return e.Op == Const }

// value returns the value of a constant.
func (e *Expr) value() Value { return Value{F: e.F, I: e.I} }

// of returns the constant of type t with value v.
func of(t Type, v Value) *Expr {
	if t == F32 {
		return F(v.F)
	}
	return constant(t, v.I)
}
