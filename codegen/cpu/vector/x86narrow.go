package vector

import "github.com/mmcloughlin/avo/operand"

// loadNarrow loads the elements in a row into register n.
func (b x86block) loadNarrow(v *value, n int) {
	const widen = "VPMOVZXWD"
	f, m := b.x, b.row(v)
	switch {
	case !b.inst.masked:
		f.op(widen, m, b.v(n))
	case f.isa == avx512:
		f.op(widen+".Z", m, f.isa.tail, b.v(n))
	default:
		words := vec(n, 4)
		f.op("VPXOR", words, words, words)
		b.eachLane(m, func(lane operand.Op, m operand.Mem) { f.op("VPINSRW", lane, m, words, words) })
		f.op(widen, words, b.v(n))
	}
}

// saveNarrow stores register n in a row.
func (b x86block) saveNarrow(s *step, n int) {
	f, m := b.x, b.row(s.value)
	switch {
	case f.isa == avx512 && b.inst.masked:
		f.op("VPMOVDW", b.v(n), f.isa.tail, m)
		return
	case f.isa == avx512:
		f.op("VPMOVDW", b.v(n), m)
		return
	}
	words := vec(s.temps[0], 4)
	f.op("VEXTRACTI128", imm(1), b.v(n), words)
	f.op("VPACKUSDW", words, vec(n, 4), words)
	if !b.inst.masked {
		f.op("VMOVUPS", words, m)
		return
	}
	b.eachLane(m, func(lane operand.Op, m operand.Mem) { f.op("VPEXTRW", lane, words, m) })
}

// eachLane writes code for countReg elements of a masked vector from m on. AVX2 has masks only
// for words of 32 bits.
func (b x86block) eachLane(m operand.Mem, code func(lane operand.Op, m operand.Mem)) {
	f, end := b.x, b.x.label("end")
	for i := range b.lanes {
		if i > 0 {
			f.op("CMPQ", countReg, imm(i))
			f.jumpIf("JLE", end)
		}
		code(imm(i), m.Offset(narrow*i))
	}
	f.mark(end)
}
