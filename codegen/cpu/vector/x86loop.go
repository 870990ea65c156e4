package vector

import "github.com/mmcloughlin/avo/operand"

func (f *x86) startIndex() { f.op("XORL", indexReg.As32(), indexReg.As32()) }

func (f *x86) again(elements, end int, label string) {
	f.op("ADDQ", imm(elements), indexReg)
	f.op("CMPQ", indexReg, imm(end))
	f.jumpIf("JLT", label)
}

func (f *x86) againWhole(elements int, label string) {
	f.op("ADDQ", imm(elements), indexReg)
	f.op("CMPQ", indexReg, limitReg)
	f.jumpIf("JLE", label)
}

func (f *x86) whole(end, elements int, label string) {
	f.op("MOVQ", f.at(end), limitReg)
	f.op("SUBQ", imm(elements), limitReg)
	f.jumpIf("JLT", label)
}

func (f *x86) rest(end int, label string) {
	f.op("MOVQ", f.at(end), countReg)
	f.op("SUBQ", indexReg, countReg)
	f.jumpIf("JLE", label)
}

func (f *x86) fewer(elements int, label string) {
	f.op("SUBQ", imm(elements), countReg)
	f.jumpIf("JLE", label)
}

// ones is a constant of the pool. A vector that begins at word 8-n has n lanes set.
func (p pool) ones() operand.Mem {
	const one = 1<<32 - 1
	return p.constant(one, one, one, one, one, one, one, one, 0, 0, 0, 0, 0, 0, 0, 0)
}

func (f *x86) firstLanes(n int) {
	f.op("MOVL", imm(n), countReg)
	if f.isa == avx512 {
		f.op("MOVL", imm(1<<n-1), tempReg)
		f.op("KMOVW", tempReg, f.isa.tail)
		return
	}
	f.op("VMOVUPS", f.pool.ones().Offset(4*(8-n)), f.isa.tail)
}

func (f *x86) someLanes() {
	if f.isa == avx512 {
		f.op("MOVL", imm(-1), tempReg)
		f.op("BZHIL", countReg, tempReg, tempReg)
		f.op("KMOVW", tempReg, f.isa.tail)
		return
	}
	f.op("MOVL", imm(f.isa.lanes), limitReg)
	f.op("CMPQ", countReg, limitReg)
	f.op("CMOVQLT", countReg, limitReg)
	f.op("NEGQ", limitReg)
	f.op("LEAQ", f.pool.ones(), tempReg)
	f.op("VMOVUPS", mem(tempReg, limitReg, 8), f.isa.tail)
}
