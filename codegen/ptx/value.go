package ptx

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
)

// A layer remembers what has been computed within one stretch of code, which is
// there until it ends.
type layer struct {
	values    map[*expr.Expr]asm.Value
	addresses map[place]address
}

// A place is an element of a slice: its index without a constant that is added.
type place struct {
	slice string
	index *expr.Expr // nil: 0
}

type address struct {
	base asm.Value
}

func (p *printer) push() {
	p.layers = append(p.layers, layer{map[*expr.Expr]asm.Value{}, map[place]address{}})
}

func (p *printer) pop() { p.layers = p.layers[:len(p.layers)-1] }

// forget drops what may have changed: values that were read from memory or from
// variables that statements set.
func (p *printer) forget() {
	for _, l := range p.layers {
		for e := range l.values {
			if p.changes(e) {
				delete(l.values, e)
			}
		}
		for at := range l.addresses {
			if at.index != nil && p.changes(at.index) {
				delete(l.addresses, at)
			}
		}
	}
}

// changes says whether an expression reads memory or a variable that statements set.
func (p *printer) changes(e *expr.Expr) bool {
	c, known := p.impure[e]
	if !known {
		c = e.Op == expr.Elem || e.Op == expr.Var && p.mutable[e.Name]
		for _, a := range e.Args {
			c = c || p.changes(a)
		}
		p.impure[e] = c
	}
	return c
}

// own is the one node for an expression and those equal to it, with functions
// expanded to operations that round the same everywhere.
func (p *printer) own(e *expr.Expr) *expr.Expr { return p.in.Intern(expr.Expand(e)) }

// value computes an expression.
func (p *printer) value(e *expr.Expr) asm.Value { return p.eval(p.own(e)) }

func (p *printer) eval(e *expr.Expr) asm.Value {
	switch e.Op {
	case expr.Const:
		return p.constant(e)
	case expr.Var:
		v, ok := p.vars[e.Name]
		if !ok {
			panic("BUG: nothing is called " + e.Name)
		}
		return v
	}
	for _, l := range p.layers {
		if v, ok := l.values[e]; ok {
			return v
		}
	}
	v := p.compute(e)
	p.layers[len(p.layers)-1].values[e] = v
	return v
}

func (p *printer) constant(e *expr.Expr) asm.Value {
	switch e.Type {
	case expr.F32:
		return asm.F32(float32(e.F))
	case expr.Bool:
		return asm.Bool(e.I != 0)
	}
	return asm.Int(e.I)
}

// compute computes an operation on operands.
func (p *printer) compute(e *expr.Expr) asm.Value {
	if e.Op == expr.Elem {
		return p.load(e)
	}
	args := make([]asm.Value, len(e.Args))
	for i, a := range e.Args {
		args[i] = p.eval(a)
	}
	t := e.Args[len(e.Args)-1].Type
	if e.Op == expr.Shl || e.Op == expr.Shr {
		t = e.Type
		args[1] = p.amount(e.Args[1], args[1])
	}
	if op, ok := simple[key{e.Op, t}]; ok {
		return p.f.Do(op, args...)
	}
	return p.composed(e, t, args)
}

// amount is the amount of a shift, of which 5 bits count.
func (p *printer) amount(e *expr.Expr, v asm.Value) asm.Value {
	if e.IsConst() {
		return asm.Int(e.I & 31)
	}
	return p.f.Do("and.b32", v, asm.Int(31))
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
	{expr.Floor, expr.F32}: "cvt.rmi.f32.f32", {expr.Sqrt, expr.F32}: "sqrt.rn.f32",
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
}

// composed computes an operation that takes more than one instruction, or none.
func (p *printer) composed(e *expr.Expr, t expr.Type, args []asm.Value) asm.Value {
	f := p.f
	switch e.Op {
	case expr.Min:
		return p.choose(f.Do("setp.lt.f32", args[0], args[1]), args[0], args[1])
	case expr.Max:
		return p.choose(f.Do("setp.gt.f32", args[0], args[1]), args[0], args[1])
	case expr.Where:
		return p.choose(args[0], args[1], args[2])
	case expr.Eq: // of Bool
		return f.Do("not.pred", f.Do("xor.pred", args[0], args[1]))
	case expr.BitsF:
		return f.FloatOf(args[0])
	case expr.FBits:
		return f.Bits(args[0])
	case expr.AsU32, expr.AsI32:
		return args[0]
	}
	panic("BUG: no PTX for " + e.Op.String() + " of " + t.String())
}

// choose is a where c holds, else b.
func (p *printer) choose(c, a, b asm.Value) asm.Value {
	f := p.f
	switch a.Class() {
	case asm.Float:
		return f.Do("selp.f32", a, b, c)
	case asm.Word:
		return f.Do("selp.b32", a, b, c)
	}
	return f.Do("or.pred", f.Do("and.pred", c, a), f.Do("and.pred", f.Do("not.pred", c), b))
}

// load reads an element.
func (p *printer) load(e *expr.Expr) asm.Value {
	m, at, bytes := p.at(e)
	return p.f.Load(m, classOf(e.Type), at, bytes)
}

// at is where an own element is: an address and a number of bytes after it.
func (p *printer) at(e *expr.Expr) (m asm.Memory, base asm.Value, bytes int) {
	sl, ok := p.slices[e.Name]
	if !ok {
		panic("BUG: no slice " + e.Name)
	}
	index, offset := splitConst(e.Args[0])
	if index != nil && sl.Space == asm.Shared && !p.natural(index) {
		index, offset = e.Args[0], 0 // an address below 0 would wrap
	}
	if index == nil {
		return sl.Memory, sl.base, 4 * offset
	}
	at := place{e.Name, index}
	for _, l := range p.layers {
		if a, ok := l.addresses[at]; ok {
			return sl.Memory, a.base, 4 * offset
		}
	}
	a := p.offset(sl, p.eval(index))
	p.layers[len(p.layers)-1].addresses[at] = address{a}
	return sl.Memory, a, 4 * offset
}

// natural says whether an index is sure not to be negative.
func (p *printer) natural(e *expr.Expr) bool {
	switch e.Op {
	case expr.Const:
		return e.I >= 0
	case expr.Var:
		return p.counted[e.Name]
	case expr.Add, expr.Mul:
		return p.natural(e.Args[0]) && p.natural(e.Args[1])
	}
	return false
}

// offset is the address of an element of a slice by its index.
func (p *printer) offset(s slice, index asm.Value) asm.Value {
	if s.Space == asm.Shared {
		return p.f.Do("mad.lo.s32", index, asm.Int(4), s.base)
	}
	return p.f.Do("mad.wide.s32", index, asm.Int(4), s.base)
}

// maxOffset keeps what an address is moved by within the room of an instruction.
const maxOffset = 1 << 16

// splitConst splits an index into a part that varies, nil if there is none, and a
// constant.
func splitConst(e *expr.Expr) (rest *expr.Expr, n int) {
	small := func(e *expr.Expr) bool { return e.IsConst() && -maxOffset < e.I && e.I < maxOffset }
	switch {
	case small(e):
		return nil, int(e.I)
	case e.Op == expr.Add && small(e.Args[1]):
		return e.Args[0], int(e.Args[1].I)
	case e.Op == expr.Add && small(e.Args[0]):
		return e.Args[1], int(e.Args[0].I)
	case e.Op == expr.Sub && small(e.Args[1]):
		return e.Args[0], -int(e.Args[1].I)
	}
	return e, 0
}
