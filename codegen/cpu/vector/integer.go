package vector

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

// integer writes code that puts an integer or condition into the first register of
// evalRegs. An I32 has 64 bits as in Go, a condition is 0 or -1.
func (f *fn) integer(e *expr.Expr) reg.GPPhysical {
	return f.eval(f.bridged(e), 0)
}

// integerTo writes code that puts an integer or condition into a slot.
func (f *fn) integerTo(e *expr.Expr, off int) {
	f.op("MOVQ", f.integer(e), f.at(off))
}

// general says whether an expression is computed in general registers, its
// operands left out.
func general(e *expr.Expr) bool {
	if e.Type == expr.F32 {
		return false
	}
	for _, a := range e.Args {
		if a.Type == expr.F32 {
			return false
		}
	}
	return e.Op != expr.ToI32 && e.Op != expr.FBits
}

// allGeneral says whether an expression is computed in general registers altogether.
func allGeneral(e *expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x *expr.Expr) { ok = ok && general(x) })
	return ok
}

// bridged computes the parts of an integer that need vector registers, and puts
// variables in their place.
func (f *fn) bridged(e *expr.Expr) *expr.Expr {
	if !general(e) {
		p := place{e.Type, f.slot(e.Type)}
		f.scalarTo(e, p)
		name := fmt.Sprintf("bridge.%d", p.off)
		f.vars[name] = p
		return expr.NewVar(name, e.Type)
	}
	var args []*expr.Expr
	for i, a := range e.Args {
		x := f.bridged(a)
		if x != a && args == nil {
			args = append(args, e.Args...)
		}
		if args != nil {
			args[i] = x
		}
	}
	if args == nil {
		return e
	}
	if e.Op == expr.Elem {
		return expr.NewElem(e.Name, e.Type, args...)
	}
	return expr.New(e.Op, args...)
}

// width is the suffix of instructions on a type.
func width(t expr.Type) string {
	if t == expr.U32 {
		return "L"
	}
	return "Q"
}

// direct returns an operand that needs no code: a constant or a slot.
func (f *fn) direct(e *expr.Expr) (operand.Op, bool) {
	switch e.Op {
	case expr.Const:
		switch e.Type {
		case expr.Bool:
			return imm(-int(e.I)), true
		case expr.U32:
			return operand.U32(e.I), true
		}
		return imm(int(e.I)), true
	case expr.Var:
		p, ok := f.vars[e.Name]
		if !ok || p.typ != e.Type {
			f.fail("%s has no value in the leaf", e.Name)
		}
		return f.at(p.off), true
	}
	return nil, false
}

// eval writes code that leaves a value in evalRegs[depth] and the registers before
// that alone.
func (f *fn) eval(e *expr.Expr, depth int) reg.GPPhysical {
	d := evalRegs[depth]
	if o, ok := f.direct(e); ok {
		f.op("MOVQ", o, d)
		return d
	}
	if w := width(e.Type); len(e.Args) == 1 {
		f.eval(e.Args[0], depth)
		f.unary(e, d, w)
		return d
	}
	switch e.Op {
	case expr.Where:
		f.choose(e, depth)
	case expr.Shl, expr.Shr:
		f.shift(e, depth)
	case expr.Div, expr.Mod:
		f.divide(e, depth)
	default:
		f.binary(e, depth)
	}
	return d
}

func (f *fn) unary(e *expr.Expr, d reg.Register, w string) {
	switch e.Op {
	case expr.Elem:
		f.sliceBase(e.Name, tempReg)
		load := "MOVLQSX"
		if e.Type == expr.U32 {
			load = "MOVL"
		}
		f.op(load, operand.Mem{Base: tempReg, Index: d, Scale: 4}, d)
	case expr.Neg:
		f.op("NEG"+w, d)
	case expr.Not:
		f.op("NOT"+w, d)
	case expr.Abs:
		f.op("MOVQ", d, tempReg)
		f.op("SARQ", imm(63), tempReg)
		f.op("XORQ", tempReg, d)
		f.op("SUBQ", tempReg, d)
	case expr.AsU32:
		f.op("MOVL", d, d)
	case expr.AsI32:
		f.op("MOVLQSX", d, d)
	default:
		f.fail("no integer code for %v", e.Op)
	}
}

// operands leaves the first operand in evalRegs[depth] and returns where the second is.
func (f *fn) operands(x, y *expr.Expr, depth int) operand.Op {
	o, ok := f.direct(y)
	switch {
	case ok:
		f.eval(x, depth)
	case depth+1 < len(evalRegs):
		f.eval(x, depth)
		o = f.eval(y, depth+1)
	default:
		off := f.slot(expr.I32)
		f.op("MOVQ", f.eval(y, depth), f.at(off))
		f.eval(x, depth)
		o = f.at(off)
	}
	return o
}

// noImmediate puts a constant into the temporary register.
func (f *fn) noImmediate(o operand.Op) operand.Op {
	if _, ok := o.(operand.Constant); !ok {
		return o
	}
	f.op("MOVQ", o, tempReg)
	return tempReg
}

var integerOps = map[expr.Op]string{
	expr.Add: "ADD", expr.Sub: "SUB", expr.Mul: "IMUL", expr.And: "AND", expr.Or: "OR", expr.Xor: "XOR",
}

// conditions are the suffixes of jumps and moves: signed, unsigned.
var conditions = map[expr.Op][2]string{
	expr.Lt: {"LT", "CS"}, expr.Le: {"LE", "LS"}, expr.Eq: {"EQ", "EQ"}, expr.Ne: {"NE", "NE"},
	expr.Min: {"GT", "HI"}, expr.Max: {"LT", "CS"},
}

func condition(op expr.Op, t expr.Type) string {
	if t == expr.U32 {
		return conditions[op][1]
	}
	return conditions[op][0]
}

func (f *fn) binary(e *expr.Expr, depth int) {
	d, t := evalRegs[depth], e.Args[0].Type
	w := width(t)
	if c := e.Args[1]; e.Op == expr.Mul && c.IsConst() && c.I > 0 && c.I&(c.I-1) == 0 {
		f.eval(e.Args[0], depth)
		f.op("SHL"+w, imm(bits.TrailingZeros64(uint64(c.I))), d)
		return
	}
	o := f.operands(e.Args[0], e.Args[1], depth)
	if name, ok := integerOps[e.Op]; ok {
		f.op(name+w, o, d)
		return
	}
	switch e.Op {
	case expr.Min, expr.Max:
		o = f.noImmediate(o)
		f.op("CMP"+w, d, o)
		f.op("CMOVQ"+condition(e.Op, t), o, d)
	case expr.Lt, expr.Le, expr.Eq, expr.Ne:
		f.op("CMP"+w, d, o)
		f.op("SET"+condition(e.Op, t), reg.AL)
		f.op("MOVBQZX", reg.AL, d)
		f.op("NEGQ", d)
	default:
		f.fail("no integer code for %v", e.Op)
	}
}

func (f *fn) choose(e *expr.Expr, depth int) {
	off := f.slot(expr.Bool)
	f.op("MOVQ", f.eval(e.Args[0], depth), f.at(off))
	o := f.noImmediate(f.operands(e.Args[1], e.Args[2], depth))
	f.op("CMPQ", f.at(off), imm(0))
	f.op("CMOVQEQ", o, evalRegs[depth])
}

func (f *fn) shift(e *expr.Expr, depth int) {
	name := "SHL" + width(e.Type)
	if e.Op == expr.Shr {
		name = map[expr.Type]string{expr.I32: "SARQ", expr.U32: "SHRL"}[e.Type]
	}
	d := evalRegs[depth]
	o := f.operands(e.Args[0], e.Args[1], depth)
	if e.Args[1].IsConst() {
		o = imm(int(e.Args[1].I & 31))
	} else {
		f.op("MOVQ", o, reg.RCX)
		o = reg.CL
		if name != "SHRL" {
			f.op("ANDL", imm(31), reg.ECX)
		}
	}
	f.op(name, o, d)
	if e.Type == expr.I32 && e.Op == expr.Shl {
		f.op("MOVLQSX", d, d)
	}
}

// divide truncates as Go does; a power of two needs no division.
func (f *fn) divide(e *expr.Expr, depth int) {
	d, by := evalRegs[depth], e.Args[1]
	if by.IsConst() && by.I > 0 && by.I&(by.I-1) == 0 {
		f.eval(e.Args[0], depth)
		f.dividePower(e, d)
		return
	}
	o := f.operands(e.Args[0], by, depth)
	if _, ok := o.(operand.Constant); ok {
		f.op("MOVQ", o, reg.RCX)
		o = reg.RCX
	}
	f.op("MOVQ", d, reg.RAX)
	if e.Type == expr.U32 {
		f.op("XORL", reg.EDX, reg.EDX)
		f.op("DIVL", o)
	} else {
		f.op("CDQ")
		f.op("IDIVL", o)
	}
	result := reg.RAX
	if e.Op == expr.Mod {
		result = reg.RDX
	}
	if e.Type == expr.U32 {
		f.op("MOVL", result, d)
	} else {
		f.op("MOVLQSX", result, d)
	}
}

func (f *fn) dividePower(e *expr.Expr, d reg.Register) {
	by := e.Args[1].I
	k := imm(bits.TrailingZeros64(uint64(by)))
	switch {
	case e.Type == expr.U32 && e.Op == expr.Div:
		f.op("SHRL", k, d)
		return
	case e.Type == expr.U32:
		f.op("ANDL", imm(int(by-1)), d)
		return
	}
	f.op("MOVQ", d, tempReg)
	f.op("SARQ", imm(63), tempReg)
	f.op("ANDQ", imm(int(by-1)), tempReg)
	f.op("ADDQ", tempReg, d)
	if e.Op == expr.Div {
		f.op("SARQ", k, d)
		return
	}
	f.op("ANDQ", imm(int(by-1)), d)
	f.op("SUBQ", tempReg, d)
}
