package emit

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
)

// Own returns the one node for all equal expressions. It expands functions to operations that
// round the same everywhere.
func (p *Builder) Own(e *expr.Expr) *expr.Expr {
	return p.In.Intern(expr.ExpandBut(e, func(e *expr.Expr) bool {
		_, ok := simple[key{e.Op, e.Args[0].Type}]
		return ok
	}))
}

// Known has the values of parts of an expression, which may occur in it several times.
type Known map[*expr.Expr]asm.Value

// Value computes an expression.
func (p *Builder) Value(e *expr.Expr) asm.Value { return p.Eval(p.Own(e), Known{}) }

func (p *Builder) Eval(e *expr.Expr, so Known) asm.Value {
	if !so[e].Valid() {
		so[e] = p.compute(e, so)
	}
	return so[e]
}

func (p *Builder) variable(name string) asm.Value {
	v, ok := p.Vars[name]
	switch {
	case !ok:
		panic("BUG: nothing is called " + name)
	case p.Mutable[name]:
		return p.F.Copy(v) // as it is now
	}
	return v
}

func (p *Builder) constant(e *expr.Expr) asm.Value {
	switch e.Type {
	case expr.F32:
		return asm.F32(float32(e.F))
	case expr.Bool:
		return asm.Bool(e.I != 0)
	}
	return asm.Int(e.I)
}

// compute computes an operation on operands.
func (p *Builder) compute(e *expr.Expr, so Known) asm.Value {
	switch e.Op {
	case expr.Const:
		return p.constant(e)
	case expr.Var:
		return p.variable(e.Name)
	case expr.Elem:
		return p.Load(p.At(e, so), 1)[0]
	}
	args := make([]asm.Value, len(e.Args))
	for i, a := range e.Args {
		args[i] = p.Eval(a, so)
	}
	t := e.Args[len(e.Args)-1].Type
	if e.Op == expr.Shl || e.Op == expr.Shr {
		t = e.Type
		args[1] = p.amount(e.Args[1], args[1])
	}
	if op, ok := simple[key{e.Op, t}]; ok {
		return p.F.Do(op, args...)
	}
	return p.composed(e, t, args)
}

// amount returns the low 5 bits of a shift's amount.
func (p *Builder) amount(e *expr.Expr, v asm.Value) asm.Value {
	if e.IsConst() {
		return asm.Int(e.I & 31)
	}
	return p.F.Do("and.b32", v, asm.Int(31))
}

// A key is an op on operands of a type.
type key struct {
	op  expr.Op
	typ expr.Type
}

// simple are the operations that one instruction computes.
var simple = map[key]string{
	{expr.Add, expr.F32}: "add.rn.f32", {expr.Add, expr.I32}: "add.s32", {expr.Add, expr.U32}: "add.s32",
	{expr.Sub, expr.F32}: "sub.rn.f32", {expr.Sub, expr.I32}: "sub.s32", {expr.Sub, expr.U32}: "sub.s32",
	{expr.Mul, expr.F32}: "mul.rn.f32", {expr.Mul, expr.I32}: "mul.lo.s32", {expr.Mul, expr.U32}: "mul.lo.s32",
	{expr.Div, expr.F32}: "div.rn.f32", {expr.Div, expr.I32}: "div.s32", {expr.Div, expr.U32}: "div.u32",
	{expr.Mod, expr.I32}: "rem.s32", {expr.Mod, expr.U32}: "rem.u32",
	{expr.Neg, expr.F32}: "neg.f32", {expr.Neg, expr.I32}: "neg.s32",
	{expr.Abs, expr.F32}: "abs.f32", {expr.Abs, expr.I32}: "abs.s32",
	{expr.Min, expr.I32}: "min.s32", {expr.Min, expr.U32}: "min.u32",
	{expr.Max, expr.I32}: "max.s32", {expr.Max, expr.U32}: "max.u32",
	{expr.Floor, expr.F32}: "cvt.rmi.f32.f32", {expr.Sqrt, expr.F32}: "sqrt.rn.f32", {expr.Fma, expr.F32}: "fma.rn.f32",
	{expr.Lt, expr.F32}: "setp.lt.f32", {expr.Lt, expr.I32}: "setp.lt.s32", {expr.Lt, expr.U32}: "setp.lt.u32",
	{expr.Le, expr.F32}: "setp.le.f32", {expr.Le, expr.I32}: "setp.le.s32", {expr.Le, expr.U32}: "setp.le.u32",
	{expr.Eq, expr.F32}: "setp.eq.f32", {expr.Eq, expr.I32}: "setp.eq.s32", {expr.Eq, expr.U32}: "setp.eq.s32",
	{expr.Ne, expr.F32}: "setp.neu.f32", {expr.Ne, expr.I32}: "setp.ne.s32", {expr.Ne, expr.U32}: "setp.ne.s32", {expr.Ne, expr.Bool}: "xor.pred",
	{expr.And, expr.I32}: "and.b32", {expr.And, expr.U32}: "and.b32", {expr.And, expr.Bool}: "and.pred",
	{expr.Or, expr.I32}: "or.b32", {expr.Or, expr.U32}: "or.b32", {expr.Or, expr.Bool}: "or.pred",
	{expr.Xor, expr.I32}: "xor.b32", {expr.Xor, expr.U32}: "xor.b32", {expr.Xor, expr.Bool}: "xor.pred",
	{expr.Not, expr.I32}: "not.b32", {expr.Not, expr.U32}: "not.b32", {expr.Not, expr.Bool}: "not.pred",
	{expr.Shl, expr.I32}: "shl.b32", {expr.Shl, expr.U32}: "shl.b32",
	{expr.Shr, expr.I32}: "shr.s32", {expr.Shr, expr.U32}: "shr.u32",
	{expr.ToF32, expr.I32}: "cvt.rn.f32.s32", {expr.ToF32, expr.U32}: "cvt.rn.f32.u32", {expr.ToI32, expr.F32}: "cvt.rzi.s32.f32",
	{expr.ToBF16, expr.F32}: "cvt.rn.bf16.f32", {expr.ToF16, expr.F32}: "cvt.rn.f16.f32", {expr.ToF32, expr.F16}: "cvt.f32.f16",
	{expr.AsU32, expr.BF16}: "cvt.u32.u16", {expr.AsU32, expr.F16}: "cvt.u32.u16",
	{expr.AsBF16, expr.U32}: "cvt.u16.u32", {expr.AsF16, expr.U32}: "cvt.u16.u32",
}

// composed computes an operation that takes several instructions, or none.
func (p *Builder) composed(e *expr.Expr, t expr.Type, args []asm.Value) asm.Value {
	f := p.F
	switch e.Op {
	case expr.Min:
		return p.Choose(f.Do("setp.lt.f32", args[0], args[1]), args[0], args[1])
	case expr.Max:
		return p.Choose(f.Do("setp.gt.f32", args[0], args[1]), args[0], args[1])
	case expr.Where:
		return p.Choose(args[0], args[1], args[2])
	case expr.Eq: // of Bool
		return f.Do("not.pred", f.Do("xor.pred", args[0], args[1]))
	case expr.BitsF:
		return f.As(asm.Float, args[0])
	case expr.FBits:
		return f.As(asm.Word, args[0])
	case expr.AsU32, expr.AsI32:
		return args[0]
	}
	panic("BUG: no PTX for " + e.Op.String() + " of " + t.String())
}

// Choose returns a if c holds, else b.
func (p *Builder) Choose(c, a, b asm.Value) asm.Value {
	f := p.F
	switch a.Class() {
	case asm.Float:
		return f.Do("selp.f32", a, b, c)
	case asm.Word:
		return f.Do("selp.b32", a, b, c)
	}
	return f.Do("or.pred", f.Do("and.pred", c, a), f.Do("and.pred", f.Do("not.pred", c), b))
}
