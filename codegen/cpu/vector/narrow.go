package vector

import (
	"math"

	"github.com/mmcloughlin/avo/operand"

	"github.com/arithlang/mlc/compiler/expr"
)

// narrow is the size of a BF16 or F16 in bytes. In registers it is the lower half of a
// word, whose upper half is 0.
const narrow = 2

// bytesOf is the size of an element.
func bytesOf(t expr.Type) int {
	if t.Narrow() {
		return narrow
	}
	return 4
}

// lowerHalf is the lower half of a word.
func (b *block) lowerHalf(v *value) *value {
	if v.lower() {
		return v
	}
	return b.compute(expr.And, expr.U32, v, b.constant(math.MaxUint16))
}

// lower says whether the upper half of a word is known to be 0.
func (v *value) lower() bool {
	switch {
	case v.kind == constant:
		return v.bits <= math.MaxUint16
	case v.kind == load:
		return v.ptr.bytes == narrow
	case v.kind != compute:
		return false
	}
	switch v.op {
	case expr.Where:
		return v.args[1].lower() && v.args[2].lower()
	case expr.Shr:
		return v.typ == expr.U32 && v.args[1].kind == constant && v.args[1].bits&31 >= 16
	case expr.And:
		return v.typ == expr.U32 && (v.args[0].lower() || v.args[1].lower())
	}
	return false
}

// loadNarrow loads the elements in a row into register n.
func (b *block) loadNarrow(p *pointer, n int) {
	const widen = "VPMOVZXWD"
	f, m := b.f, b.row(p)
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
func (b *block) saveNarrow(s *step, n int) {
	f, m := b.f, b.row(s.value.ptr)
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

// eachLane writes code for each element of a masked vector from m on, as many as countReg
// says: AVX2 has masks for words of 32 bits only.
func (b *block) eachLane(m operand.Mem, code func(lane operand.Op, m operand.Mem)) {
	f, end := b.f, b.f.label("end")
	for i := range b.lanes {
		if i > 0 {
			f.op("CMPQ", countReg, imm(i))
			f.jump("JLE", end)
		}
		code(imm(i), m.Offset(narrow*i))
	}
	f.mark(end)
}
