package vector

import (
	"github.com/arithlang/mlc/codegen/cpu/arm64"
	"github.com/arithlang/mlc/compiler/expr"
)

// neon is the instruction set of ARM64 processors.
var neon = &isa{"NEON", 4, 31, 0, 0, randomness{2, 4, neonState}, table{
	expr.Add:   {"fadd.4s", "add.4s", "add.4s"},
	expr.Sub:   {"fsub.4s", "sub.4s", "sub.4s"},
	expr.Mul:   {"fmul.4s", "mul.4s", "mul.4s"},
	expr.Div:   {"fdiv.4s", "fdiv.2d"},
	expr.Min:   {"", "smin.4s", "umin.4s"},
	expr.Max:   {"", "smax.4s", "umax.4s"},
	expr.And:   {"", "and.16b", "and.16b", "and.16b"},
	expr.Or:    {"", "orr.16b", "orr.16b", "orr.16b"},
	expr.Xor:   {"", "eor.16b", "eor.16b", "eor.16b"},
	expr.Not:   {expr.Bool: "mvn.16b"},
	expr.Shl:   {"", "ushl.4s", "ushl.4s"}, // by constants shl
	expr.Shr:   {"", "sshl.4s", "ushl.4s"}, // shifts by the negative number; by constants sshr, ushr
	expr.Sqrt:  {"fsqrt.4s"},
	expr.Fma:   {"fmla.4s"},
	expr.Floor: {"frintm.4s"},
	expr.Abs:   {"", "abs.4s"},
	expr.ToF32: {"", "scvtf.4s", "ucvtf.4s"},
	expr.ToI32: {"fcvtzs.4s"},
	expr.Lt:    {"fcmgt.4s", "cmgt.4s", "cmhi.4s"}, // exchanged
	expr.Le:    {"fcmge.4s", "cmge.4s", "cmhs.4s"}, // exchanged
	expr.Eq:    {"fcmeq.4s", "cmeq.4s", "cmeq.4s"},
	expr.Where: {"bsl.16b", "bsl.16b", "bsl.16b", "", "bsl.16b", "bsl.16b"},
}, nil}

// Registers. Pointers live as long as a loop, neonEval within one expression.
const (
	neonFrame     = arm64.R0
	neonIndex     = arm64.R1 // element of the loop
	neonLimit     = arm64.R2 // its last value with whole vectors
	neonCount     = arm64.R3 // elements that are left
	neonTemp      = arm64.R4
	neonOther     = arm64.R5
	neonConstants = arm64.R12
	neonScratch   = arm64.V31 // within one instruction of a block
)

var (
	neonEval     = []arm64.Reg{arm64.R6, arm64.R7, arm64.R8, arm64.R9, arm64.R10, arm64.R11}
	neonPointers = []arm64.Reg{
		arm64.R13, arm64.R14, arm64.R15, arm64.R16, arm64.R17, arm64.R19, arm64.R20, arm64.R21,
		arm64.R22, arm64.R23, arm64.R24, arm64.R25, arm64.R26,
	}
)

// A neonMachine is the machine for NEON.
type neonMachine struct {
	*fn
	out    *arm64.Func
	name   string
	doc    string
	pool   *neonPool
	params map[string]arm64.Param // of slices
	keys   int                    // place of the round keys of random words
	moving []*pointer             // pointers that the current loop counts up
	known  int                    // elements that are left, if known at compile time, or 0
}

func (f *neonMachine) describe() *isa { return neon }

// neonTypes are the types of parameters in Go, and the instruction that loads a value.
var neonTypes = map[expr.Type]struct {
	value, elem string
	bytes       int
	load        string
}{
	expr.F32:  {"float32", "float32", 4, "ldr.s"},
	expr.I32:  {"int", "int32", 8, "ldr"},
	expr.U32:  {"uint32", "uint32", 4, "ldr.w"},
	expr.BF16: {elem: "uint16"},
	expr.F16:  {elem: "uint16"},
}

func (f *neonMachine) begin(params []parameter) {
	for i, p := range params {
		if len(p.name) == 1 && 'A' <= p.name[0] && p.name[0] <= 'Z' { // Go's assembler takes some for registers
			params[i].name += "_"
		}
	}
	of := []arm64.Parameter{{Name: "frame", GoType: "*byte", Bytes: 8}}
	for _, p := range params {
		t := neonTypes[p.elem]
		if p.isValue() {
			of = append(of, arm64.Parameter{Name: p.name, GoType: t.value, Bytes: t.bytes})
		} else {
			of = append(of, arm64.Parameter{Name: p.name, GoType: "*" + t.elem, Bytes: 8})
			f.params[p.slice] = arm64.Param(p.name)
		}
	}
	f.out = arm64.NewFunc(f.name+neon.name, f.name+neon.name+" "+f.doc, of, nil)
	f.op("ldr", neonFrame, arm64.Param("frame"))
	f.op("adr", neonConstants, arm64.Sym{Name: neonData})
	for _, p := range params {
		switch {
		case !p.isValue():
		case p.elem == expr.F32:
			f.op("ldr.s", arm64.V0, arm64.Param(p.name))
			f.op("dup.4s", arm64.V0, arm64.Elem{V: arm64.V0})
			f.op("str.q", arm64.V0, f.at(p.slot))
		default:
			f.op(neonTypes[p.elem].load, neonTemp, arm64.Param(p.name))
			f.op("str", neonTemp, f.at(p.slot))
		}
	}
}

func (f *neonMachine) end() { f.op("ret") }

// op writes an instruction, the destination first, unless there was an error.
func (f *neonMachine) op(name string, operands ...arm64.Operand) {
	f.wrote()
	if f.err == nil {
		f.out.Op(name, operands...)
	}
}

func (f *neonMachine) mark(label string) { f.out.Mark(arm64.Label(label)) }
func (f *neonMachine) jump(label string) { f.jumpIf("b", label) }

// jumpIf writes a jump that depends on the last comparison.
func (f *neonMachine) jumpIf(name, label string) { f.op(name, arm64.Label(label)) }

func (f *neonMachine) jumpIfZero(slot int, label string) {
	f.op("ldr", neonTemp, f.at(slot))
	f.op("cbz", neonTemp, arm64.Label(label))
}

func (f *neonMachine) jumpUnlessLess(slot, than int, label string) {
	f.op("ldr", neonTemp, f.at(slot))
	f.compareSlot(neonTemp, than)
	f.jumpIf("b.ge", label)
}

func (f *neonMachine) next(slot, end int, label string) {
	f.op("ldr", neonTemp, f.at(slot))
	f.op("add", neonTemp, neonTemp, arm64.Imm(1))
	f.op("str", neonTemp, f.at(slot))
	f.compareSlot(neonTemp, end)
	f.jumpIf("b.lt", label)
}

// compareSlot compares a register with a slot.
func (f *neonMachine) compareSlot(r arm64.Reg, slot int) {
	f.op("ldr", neonOther, f.at(slot))
	f.op("cmp", r, neonOther)
}

// at is a place in the frame.
func (f *neonMachine) at(off int) arm64.Mem { return arm64.At(neonFrame, off) }

// maxAddend is the largest constant that instructions add.
const maxAddend = 1<<12 - 1

// add adds a constant to a register. It may change neonOther.
func (f *neonMachine) add(to, from arm64.Reg, n int) {
	switch {
	case n == 0 && to == from:
	case n == 0:
		f.op("mov", to, from)
	case 0 < n && n <= maxAddend:
		f.op("add", to, from, arm64.Imm(n))
	case -maxAddend <= n && n < 0:
		f.op("sub", to, from, arm64.Imm(-n))
	default:
		f.op("mov", neonOther, arm64.Imm(n))
		f.op("add", to, from, neonOther)
	}
}

// compare compares a register with a constant. It may change neonOther.
func (f *neonMachine) compare(r arm64.Reg, n int) {
	if 0 <= n && n <= maxAddend {
		f.op("cmp", r, arm64.Imm(n))
		return
	}
	f.op("mov", neonOther, arm64.Imm(n))
	f.op("cmp", r, neonOther)
}

// sliceBase loads the address of a slice.
func (f *neonMachine) sliceBase(name string, to arm64.Reg) {
	p, ok := f.params[name]
	if !ok {
		f.fail("%s is no slice of the vector kernel", name)
		return
	}
	f.op("ldr", to, p)
}

// shiftOf returns the logarithm of the bytes of an element.
func shiftOf(bytes int) arm64.Imm {
	if bytes == narrow {
		return 1
	}
	return 2
}

// pointers keeps the first pointers in registers and the others in slots.
func (f *neonMachine) pointers(ps []*pointer) {
	f.moving = nil
	for i, p := range ps {
		to := neonTemp
		if i < len(neonPointers) {
			p.reg, to = i, neonPointers[i]
			if !p.fixed {
				f.moving = append(f.moving, p)
			}
		}
		if p.rest.IsConst() {
			f.sliceBase(p.slice, to)
			f.add(to, to, p.bytes*int(p.rest.I))
		} else {
			d := f.eval(p.rest, 0)
			f.sliceBase(p.slice, to)
			f.op("add", to, to, d, shiftOf(p.bytes))
		}
		if p.reg == none {
			p.off = f.slot(expr.I32)
			f.op("str", to, f.at(p.off))
		}
	}
}
