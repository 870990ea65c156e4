package vector

import (
	"github.com/arithlang/mlc/codegen/cpu/arm64"
	"github.com/arithlang/mlc/compiler/expr"
)

// neonGeneral are the instructions of general registers. An I32 has 64 bits as in Go, a
// condition is 0 or -1. Comparisons, minima and maxima have condition codes.
var neonGeneral = table{
	expr.Elem:  {"", "ldrsw", "ldr.w", "", "ldrh", "ldrh"},
	expr.Neg:   {"", "neg"},
	expr.Not:   {"", "mvn", "mvn.w", "mvn"},
	expr.AsU32: {"", "mov.w", "", "", "mov.w", "mov.w"},
	expr.AsI32: {expr.U32: "sxtw"},

	expr.AsBF16: {expr.U32: "uxth"},
	expr.AsF16:  {expr.U32: "uxth"},

	expr.Add: {"", "add", "add.w"},
	expr.Sub: {"", "sub", "sub.w"},
	expr.Mul: {"", "mul", "mul.w"},
	expr.Div: {"", "sdiv", "udiv.w"},
	expr.And: {"", "and", "and.w", "and"},
	expr.Or:  {"", "orr", "orr.w", "orr"},
	expr.Xor: {"", "eor", "eor.w", "eor"},
	expr.Shl: {"", "lsl", "lsl.w"},
	expr.Shr: {"", "asr", "lsr.w"},
	expr.Min: {"", "lt", "lo"},
	expr.Max: {"", "gt", "hi"},
	expr.Lt:  {"", "lt", "lo"},
	expr.Le:  {"", "le", "ls"},
	expr.Eq:  {"", "eq", "eq", "eq"},
	expr.Ne:  {"", "ne", "ne", "ne"},
}

func (f *neonMachine) store(e *expr.Expr, slot int) {
	f.op("str", f.integer(e), f.at(slot))
}

// integer writes code that puts an integer or condition into the first register of neonEval.
func (f *neonMachine) integer(e *expr.Expr) arm64.Reg {
	if !allGeneral(e) {
		f.fail("%s depends on F32", e)
	}
	return f.eval(e, 0)
}

// operands leaves two operands in registers, the first in neonEval[depth].
func (f *neonMachine) operands(x, y *expr.Expr, depth int) (a, b arm64.Reg) {
	if depth+1 < len(neonEval) {
		return f.eval(x, depth), f.eval(y, depth+1)
	}
	off := f.slot(expr.I32)
	f.op("str", f.eval(y, depth), f.at(off))
	a = f.eval(x, depth)
	f.op("ldr", neonTemp, f.at(off))
	return a, neonTemp
}

// eval writes code that leaves a value in neonEval[depth] and keeps the registers before it.
func (f *neonMachine) eval(e *expr.Expr, depth int) arm64.Reg {
	d := neonEval[depth]
	switch {
	case e.Op == expr.Var:
		f.op("ldr", d, f.at(f.variable(e)))
		return d
	case e.Op == expr.Const && e.Type == expr.Bool:
		f.op("mov", d, arm64.Imm(-e.I))
		return d
	case e.Op == expr.Const:
		f.op("mov", d, arm64.Imm(e.I))
		return d
	case len(e.Args) == 1:
		f.unary(e, depth)
		return d
	case e.Op == expr.Where:
		f.where(e, depth)
		return d
	}
	f.binary(e, depth)
	return d
}

func (f *neonMachine) unary(e *expr.Expr, depth int) {
	d, name := f.eval(e.Args[0], depth), neonGeneral[e.Op][e.Args[0].Type]
	switch e.Op {
	case expr.Elem:
		f.sliceBase(e.Name, neonTemp)
		f.op(neonGeneral[e.Op][e.Type], d, arm64.AtScaled(neonTemp, d))
	case expr.Abs:
		f.op("neg", neonTemp, d)
		f.op("cmp", d, arm64.Imm(0))
		f.op("csel.lt", d, neonTemp, d)
	default:
		f.op(name, d, d)
	}
}

func (f *neonMachine) where(e *expr.Expr, depth int) {
	off := f.slot(expr.Bool)
	f.op("str", f.eval(e.Args[0], depth), f.at(off))
	x, y := f.operands(e.Args[1], e.Args[2], depth)
	f.op("ldr", neonOther, f.at(off))
	f.op("cmp", neonOther, arm64.Imm(0))
	f.op("csel.ne", x, x, y)
}

// neonCompares are the comparisons by type.
var neonCompares = map[expr.Type]string{expr.I32: "cmp", expr.U32: "cmp.w", expr.Bool: "cmp"}

func (f *neonMachine) binary(e *expr.Expr, depth int) {
	x, y := e.Args[0], e.Args[1]
	name := neonGeneral[e.Op][x.Type]
	if k, power := log2(y); power && (e.Op == expr.Mul || x.Type == expr.U32 && (e.Op == expr.Div || e.Op == expr.Mod)) {
		f.byPower(e, k, f.eval(x, depth))
		return
	}
	a, b := f.operands(x, y, depth)
	switch e.Op {
	case expr.Min, expr.Max:
		f.op(neonCompares[x.Type], a, b)
		f.op("csel."+name, a, a, b)
	case expr.Lt, expr.Le, expr.Eq, expr.Ne:
		f.op(neonCompares[x.Type], a, b)
		f.op("csetm."+name, a)
	case expr.Mod:
		divide, subtract := neonGeneral[expr.Div][x.Type], "msub"
		if x.Type == expr.U32 {
			subtract = "msub.w"
		}
		f.op(divide, neonOther, a, b)
		f.op(subtract, a, neonOther, b, a)
	case expr.Shl, expr.Shr: // lengths are modulo 32
		if e.Type == expr.I32 {
			f.op("and", neonOther, b, arm64.Imm(31))
			b = neonOther
		}
		f.op(name, a, a, b)
		if e.Type == expr.I32 && e.Op == expr.Shl {
			f.op("sxtw", a, a)
		}
	default:
		f.op(name, a, a, b)
	}
}

// byPower multiplies or divides by 1<<k. Only unsigned numbers are divided.
func (f *neonMachine) byPower(e *expr.Expr, k int, d arm64.Reg) {
	switch {
	case e.Op == expr.Mul && e.Type == expr.I32:
		f.op("lsl", d, d, arm64.Imm(k))
	case e.Op == expr.Mul:
		f.op("lsl.w", d, d, arm64.Imm(k))
	case e.Op == expr.Div:
		f.op("lsr.w", d, d, arm64.Imm(k))
	case k == 0:
		f.op("mov", d, arm64.Imm(0))
	default:
		f.op("and.w", d, d, arm64.Imm(1<<k-1))
	}
}
