package vector

import (
	"go/token"
	"go/types"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

// An x86 is the machine for AVX-512 or AVX2.
type x86 struct {
	*fn
	isa    *x86isa
	pool   pool
	out    *ir.Function
	slices map[string]operand.Mem // parameters
	keys   int                    // place of the round keys of random words
}

func newX86(f *fn, s *x86isa, p pool, name, doc string) *x86 {
	x := &x86{fn: f, isa: s, pool: p, out: ir.NewFunction(name + s.name), slices: map[string]operand.Mem{}}
	x.out.Attributes = attr.NOSPLIT
	x.out.Doc = []string{x.out.Name + " " + doc}
	x.out.AddPragma("noescape")
	return x
}

func (f *x86) describe() *isa { return &f.isa.isa }

// goTypes are the types of parameters, and the instruction that loads a value.
var goTypes = map[expr.Type]struct {
	value, elem types.BasicKind
	bytes       int
	load        string
}{
	expr.F32:  {types.Float32, types.Float32, 4, "VBROADCASTSS"},
	expr.I32:  {types.Int, types.Int32, 8, "MOVQ"},
	expr.U32:  {types.Uint32, types.Uint32, 4, "MOVL"},
	expr.BF16: {elem: types.Uint16},
	expr.F16:  {elem: types.Uint16},
}

func (f *x86) begin(params []parameter) {
	var vars []*types.Var
	at := 0
	add := func(name string, t types.Type, bytes int) operand.Mem {
		vars = append(vars, types.NewParam(token.NoPos, nil, name, t))
		at = (at + bytes - 1) &^ (bytes - 1)
		at += bytes
		return operand.NewParamAddr(name, at-bytes)
	}
	f.op("MOVQ", add("frame", types.NewPointer(types.Typ[types.Byte]), 8), frameReg)
	for _, p := range params {
		t := goTypes[p.elem]
		if !p.isValue() {
			f.slices[p.slice] = add(p.name, types.NewPointer(types.Typ[t.elem]), 8)
			continue
		}
		r, store := reg.Register(tempReg), "MOVQ"
		if p.elem == expr.F32 {
			r, store = f.full(0), "VMOVUPS"
		}
		f.op(t.load, add(p.name, types.Typ[t.value], t.bytes), r)
		f.op(store, r, f.at(p.slot))
	}
	f.out.SetSignature(gotypes.NewSignature(nil, types.NewSignatureType(nil, nil, nil, types.NewTuple(vars...), nil, false)))
}

func (f *x86) end() {
	f.op("VZEROUPPER")
	f.op("RET")
}

// op writes an instruction, the destination last.
func (f *x86) op(name string, operands ...operand.Op) {
	f.wrote()
	f.out.AddInstruction(&ir.Instruction{Opcode: name, Operands: operands})
}

func (f *x86) mark(label string) { f.out.AddLabel(ir.Label(label)) }

func (f *x86) jump(label string) { f.jumpIf("JMP", label) }

// jumpIf writes a jump that depends on the last comparison.
func (f *x86) jumpIf(name, label string) { f.op(name, operand.LabelRef(label)) }

func (f *x86) jumpIfZero(slot int, label string) {
	f.op("CMPQ", f.at(slot), imm(0))
	f.jumpIf("JEQ", label)
}

func (f *x86) jumpUnlessLess(slot, than int, label string) {
	f.op("MOVQ", f.at(slot), tempReg)
	f.op("CMPQ", tempReg, f.at(than))
	f.jumpIf("JGE", label)
}

func (f *x86) next(slot, end int, label string) {
	f.op("MOVQ", f.at(slot), tempReg)
	f.op("INCQ", tempReg)
	f.op("MOVQ", tempReg, f.at(slot))
	f.op("CMPQ", tempReg, f.at(end))
	f.jumpIf("JLT", label)
}

// at is a place in the frame.
func (f *x86) at(off int) operand.Mem { return operand.Mem{Base: frameReg, Disp: off} }

// full is the widest vector register n.
func (f *x86) full(n int) reg.Register { return vec(n, f.isa.lanes) }

// constant returns the operand of a constant: a word that AVX-512 broadcasts, or a vector.
func (f *x86) constant(bits uint32) operand.Mem {
	if f.isa == avx512 {
		return f.pool.constant(bits)
	}
	return f.pool.all(bits)
}

// sliceBase loads the address of a slice.
func (f *x86) sliceBase(name string, to reg.Register) {
	m, ok := f.slices[name]
	if !ok {
		f.fail("%s is no slice of the vector kernel", name)
	}
	f.op("MOVQ", m, to)
}

// pointerReg is register n for pointers. Registers from len(pointerRegs) on are free only if
// no integers are computed.
func pointerReg(n int) reg.GPPhysical {
	if n < len(pointerRegs) {
		return pointerRegs[n]
	}
	return evalRegs[n-len(pointerRegs)]
}

// pointers keeps the first pointers in registers and the others in slots. In the end it loads
// the first of the others into evalRegs.
func (f *x86) pointers(ps []*pointer) {
	for i, p := range ps {
		if i < len(pointerRegs) && p.rest.IsConst() && p.rest.I < 1<<28 {
			p.reg = i
			f.sliceBase(p.slice, pointerReg(i))
			if p.rest.I != 0 {
				f.op("ADDQ", imm(p.bytes*int(p.rest.I)), pointerReg(i))
			}
			continue
		}
		d := f.integer(p.rest)
		f.sliceBase(p.slice, tempReg)
		if i < len(pointerRegs) {
			p.reg = i
			f.op("LEAQ", element(tempReg, d, p.bytes), pointerReg(i))
			continue
		}
		p.off = f.slot(expr.I32)
		f.op("LEAQ", element(tempReg, d, p.bytes), d)
		f.op("MOVQ", d, f.at(p.off))
	}
	for i := len(pointerRegs); i < min(len(ps), len(pointerRegs)+len(evalRegs)); i++ {
		ps[i].reg = i
		f.op("MOVQ", f.at(ps[i].off), pointerReg(i))
	}
}
