package vector

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

// general are the instructions of general registers. An I32 has 64 bits as in Go, a
// condition is 0 or -1.
var general = table{
	expr.Elem:  {"", "MOVLQSX", "MOVL", "", "MOVWLZX", "MOVWLZX"},
	expr.Neg:   {"", "NEGQ"},
	expr.Not:   {"", "NOTQ", "NOTL", "NOTQ"},
	expr.AsU32: {"", "MOVL", "", "", "MOVL", "MOVL"},
	expr.AsI32: {expr.U32: "MOVLQSX"},

	expr.AsBF16: {expr.U32: "MOVWLZX"},
	expr.AsF16:  {expr.U32: "MOVWLZX"},

	expr.Add: {"", "ADDQ", "ADDL"},
	expr.Sub: {"", "SUBQ", "SUBL"},
	expr.Mul: {"", "IMULQ", "IMULL"},
	expr.And: {"", "ANDQ", "ANDL", "ANDQ"},
	expr.Or:  {"", "ORQ", "ORL", "ORQ"},
	expr.Xor: {"", "XORQ", "XORL", "XORQ"},
	expr.Shl: {"", "SHLQ", "SHLL"},
	expr.Shr: {"", "SARQ", "SHRL"},
	expr.Min: {"", "CMOVQGT", "CMOVQHI"},
	expr.Max: {"", "CMOVQLT", "CMOVQCS"},
	expr.Lt:  {"", "SETLT", "SETCS"},
	expr.Le:  {"", "SETLE", "SETLS"},
	expr.Eq:  {"", "SETEQ", "SETEQ", "SETEQ"},
	expr.Ne:  {"", "SETNE", "SETNE", "SETNE"},
}

// x86Compares are the comparison instructions, by type.
var x86Compares = [...]string{expr.I32: "CMPQ", expr.U32: "CMPL", expr.Bool: "CMPQ"}

// integer writes code that puts an integer or condition into the first register of
// evalRegs.
func (f *x86) integer(e *expr.Expr) reg.GPPhysical {
	if !allGeneral(e) {
		f.fail("%s depends on F32", e)
	}
	return f.eval(e, 0)
}

// store writes code that puts an integer or condition into a slot.
func (f *x86) store(e *expr.Expr, off int) {
	f.op("MOVQ", f.integer(e), f.at(off))
}

// direct returns an operand that needs no code: a constant or a slot.
func (f *x86) direct(e *expr.Expr) (operand.Op, bool) {
	switch {
	case e.Op == expr.Var:
		return f.at(f.variable(e)), true
	case e.Op != expr.Const:
		return nil, false
	case e.Type == expr.Bool:
		return imm(-int(e.I)), true
	case e.Type == expr.U32:
		return operand.U32(e.I), true
	}
	return imm(int(e.I)), true
}

// operands leaves the first operand in evalRegs[depth] and returns where the second is.
func (f *x86) operands(x, y *expr.Expr, depth int) operand.Op {
	o, ok := f.direct(y)
	if !ok && depth+1 == len(evalRegs) {
		off := f.slot(expr.I32)
		f.op("MOVQ", f.eval(y, depth), f.at(off))
		o, ok = f.at(off), true
	}
	f.eval(x, depth)
	if !ok {
		o = f.eval(y, depth+1)
	}
	return o
}

// notConstant returns an operand that is no constant. It puts a constant into r.
func (f *x86) notConstant(o operand.Op, r reg.Register) operand.Op {
	if _, ok := o.(operand.Constant); !ok {
		return o
	}
	f.op("MOVQ", o, r)
	return r
}

// eval writes code that leaves a value in evalRegs[depth] and keeps the registers before it.
func (f *x86) eval(e *expr.Expr, depth int) reg.GPPhysical {
	d := evalRegs[depth]
	if o, ok := f.direct(e); ok {
		f.op("MOVQ", o, d)
		return d
	}
	x, y := e.Args[0], e.Args[len(e.Args)-1]
	name := general[e.Op][x.Type]
	if len(e.Args) == 1 {
		f.eval(x, depth)
	}
	switch e.Op {
	case expr.Elem:
		f.sliceBase(e.Name, tempReg)
		f.op(general[e.Op][e.Type], element(tempReg, d, bytesOf(e.Type)), d)
	case expr.Neg, expr.Not:
		f.op(name, d)
	case expr.AsU32, expr.AsI32, expr.AsBF16, expr.AsF16:
		f.op(name, d, d)
	case expr.Abs:
		f.op("MOVQ", d, tempReg)
		f.op("SARQ", imm(63), tempReg)
		f.op("XORQ", tempReg, d)
		f.op("SUBQ", tempReg, d)
	case expr.Where:
		off := f.slot(expr.Bool)
		f.op("MOVQ", f.eval(x, depth), f.at(off))
		o := f.notConstant(f.operands(e.Args[1], y, depth), tempReg)
		f.op("CMPQ", f.at(off), imm(0))
		f.op("CMOVQEQ", o, d)
	case expr.Shl, expr.Shr:
		f.shift(e, name, depth)
	case expr.Div, expr.Mod:
		f.divide(e, depth)
	case expr.Min, expr.Max:
		o := f.notConstant(f.operands(x, y, depth), tempReg)
		f.op(x86Compares[x.Type], d, o)
		f.op(name, o, d)
	case expr.Lt, expr.Le, expr.Eq, expr.Ne:
		f.op(x86Compares[x.Type], d, f.operands(x, y, depth))
		f.op(name, reg.AL)
		f.op("MOVBQZX", reg.AL, d)
		f.op("NEGQ", d)
	default:
		if k, power := log2(y); e.Op == expr.Mul && power {
			f.eval(x, depth)
			f.op(general[expr.Shl][x.Type], imm(k), d)
		} else {
			f.op(name, f.operands(x, y, depth), d)
		}
	}
	return d
}

// shift writes name. It takes lengths of I32 modulo 32; the instruction does so for U32.
func (f *x86) shift(e *expr.Expr, name string, depth int) {
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

// divide truncates as Go does.
func (f *x86) divide(e *expr.Expr, depth int) {
	d := evalRegs[depth]
	if k, power := log2(e.Args[1]); power {
		f.eval(e.Args[0], depth)
		f.dividePower(e, k, d)
		return
	}
	o := f.notConstant(f.operands(e.Args[0], e.Args[1], depth), reg.RCX)
	f.op("MOVQ", d, reg.RAX)
	extend := "MOVLQSX"
	if e.Type == expr.U32 {
		extend = "MOVL"
		f.op("XORL", reg.EDX, reg.EDX)
		f.op("DIVL", o)
	} else {
		f.op("CDQ")
		f.op("IDIVL", o)
	}
	if e.Op == expr.Div {
		f.op(extend, reg.RAX, d)
	} else {
		f.op(extend, reg.RDX, d)
	}
}

// dividePower divides by 1<<k.
func (f *x86) dividePower(e *expr.Expr, k int, d reg.Register) {
	rest := imm(1<<k - 1)
	switch {
	case e.Type == expr.U32 && e.Op == expr.Div:
		f.op("SHRL", imm(k), d)
		return
	case e.Type == expr.U32:
		f.op("ANDL", rest, d)
		return
	}
	f.op("MOVQ", d, tempReg)
	f.op("SARQ", imm(63), tempReg)
	f.op("ANDQ", rest, tempReg)
	f.op("ADDQ", tempReg, d)
	if e.Op == expr.Div {
		f.op("SARQ", imm(k), d)
		return
	}
	f.op("ANDQ", rest, d)
	f.op("SUBQ", tempReg, d)
}
