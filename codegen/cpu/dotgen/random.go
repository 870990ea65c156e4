package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of Philox4x32-10; see package runtime/philox.
const philoxRounds = 10

var (
	philoxMul  = [2]uint32{0xD2511F53, 0xCD9E8D57}
	philoxWeyl = [2]uint32{0x9E3779B9, 0xBB67AE85}
)

// random writes
//
//	func philoxAVX512(dst *uint32, key *[2]uint32, ctr *[4]uint32, n int)
//
// which writes the random words of n > 0 groups of 8 (AVX2: 4) counters from ctr on.
//
// A word of the state is the low half of a 64-bit lane. A multiplication reads the low halves
// and leaves the high word of the product one shift away.
func random(v vectors) {
	TEXT("philox"+v.name, NOSPLIT, "func(dst *uint32, key *[2]uint32, ctr *[4]uint32, n int)")
	Pragma("noescape")
	Doc("philox" + v.name + " writes the random words of n > 0 groups of counters from ctr on.")
	dst, n := Load(Param("dst"), GP64()), Load(Param("n"), GP64())
	keys, ctrs := operand.Mem{Base: Load(Param("key"), GP64())}, operand.Mem{Base: Load(Param("ctr"), GP64())}
	p := &philoxWriter{vectors: v}
	counters := v.bytes / 8
	step := p.broadcast(uint32(counters))
	for i := range p.mul {
		p.mul[i], p.weyl[i] = p.broadcast(philoxMul[i]), p.broadcast(philoxWeyl[i])
	}
	if v.wide() {
		odd := GP32()
		MOVL(operand.U32(0xAAAA), odd)
		p.odd = K()
		KMOVW(odd, p.odd)
	}
	first := p.reg()
	VPBROADCASTD(ctrs, first)
	VPADDD(p.positions(counters), first, first)

	Label("group")
	p.c[0] = p.reg()
	VMOVAPS(first, p.c[0])
	VPADDD(step, first, first)
	for i := 1; i < 4; i++ {
		p.c[i] = p.reg()
		VPBROADCASTD(ctrs.Offset(4*i), p.c[i])
	}
	for i := range p.key {
		p.key[i] = p.reg()
		VPBROADCASTD(keys.Offset(4*i), p.key[i])
	}
	for r := range philoxRounds {
		p.round(r+1 == philoxRounds)
	}
	for i, r := range p.words() {
		VMOVUPS(r, operand.Mem{Base: dst, Disp: i * v.bytes})
	}
	ADDQ(operand.Imm(uint64(2*v.bytes)), dst)
	DECQ(n)
	JNZ(operand.LabelRef("group"))
	VZEROUPPER()
	RET()
}

// philoxWriter writes the parts of one generator.
type philoxWriter struct {
	vectors
	c              [4]reg.VecVirtual
	key, mul, weyl [2]reg.VecVirtual
	odd            reg.Register // AVX-512: opmask of the high halves
}

// broadcast makes a register with a constant in all words.
func (p *philoxWriter) broadcast(x uint32) reg.VecVirtual {
	r, g, w := p.reg(), GP32(), XMM()
	MOVL(operand.U32(x), g)
	VMOVD(g, w)
	VPBROADCASTD(w, r)
	return r
}

// round writes one round of all counters, and the step to the next round's keys.
func (p *philoxWriter) round(last bool) {
	even, odd := p.reg(), p.reg()
	VPMULUDQ(p.mul[0], p.c[0], even)
	VPMULUDQ(p.mul[1], p.c[2], odd)
	p.c = [4]reg.VecVirtual{p.mixed(odd, p.c[1], p.key[0]), odd, p.mixed(even, p.c[3], p.key[1]), even}
	for i := range p.key {
		if !last {
			VPADDD(p.weyl[i], p.key[i], p.key[i])
		}
	}
}

// mixed writes the xor of the high word of a product, a word and a key.
func (p *philoxWriter) mixed(product, word, key reg.VecVirtual) reg.VecVirtual {
	const xor3 = 0x96
	x := p.reg()
	VPSRLQ(operand.Imm(32), product, x)
	if p.wide() {
		VPTERNLOGD(operand.Imm(xor3), key, word, x)
		return x
	}
	VPXOR(word, x, x)
	VPXOR(key, x, x)
	return x
}

// words writes the state in the order of the stream: the four words of a counter are adjacent.
// Interleaving stays within 128-bit lanes; positions compensates for that.
func (p *philoxWriter) words() [2]reg.VecVirtual {
	for i := 0; i < 4; i += 2 {
		if p.wide() {
			VMOVSLDUP(p.c[i+1], p.odd, p.c[i])
			continue
		}
		VPSLLQ(operand.Imm(32), p.c[i+1], p.c[i+1])
		VPBLENDD(operand.Imm(0xAA), p.c[i+1], p.c[i], p.c[i])
	}
	lo, hi := p.reg(), p.reg()
	VPUNPCKLQDQ(p.c[2], p.c[0], lo)
	VPUNPCKHQDQ(p.c[2], p.c[0], hi)
	return [2]reg.VecVirtual{lo, hi}
}

// positions are the counters in the 64-bit lanes. Their first and second half alternate.
func (p *philoxWriter) positions(n int) operand.Mem {
	m := GLOBL("positions"+p.name, RODATA|NOPTR)
	for i := range n {
		DATA(8*i, operand.U64(uint64(i%2*n/2+i/2)))
	}
	return m
}
