package vector

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// x86State is how many registers compute the words of a group.
const x86State = 5

// key returns the place of a round key in the frame.
func (f *x86) key(round, half int) int { return f.keys + (2*round+half)*f.isa.shared }

// randomKeys computes the round keys.
func (f *x86) randomKeys() {
	f.keys = f.vecs
	f.vecs += (2*philoxRounds*f.isa.shared + slotVec - 1) / slotVec * slotVec
	for half, seed := range []string{"seed0", "seed1"} {
		f.op("MOVQ", f.at(f.launch(seed)), tempReg)
		for round := range philoxRounds {
			f.spread(tempReg, f.key(round, half))
			f.op("ADDL", operand.U32(philoxWeyl[half]), tempReg)
		}
	}
}

// spread stores a word for all lanes.
func (f *x86) spread(word reg.Register, off int) {
	if f.isa == avx512 {
		f.op("MOVQ", word, f.at(off))
		return
	}
	f.op("VMOVD", word, vec(0, 4))
	f.op("VPBROADCASTD", vec(0, 4), vec(0, 8))
	f.op("VMOVUPS", vec(0, 8), f.at(off))
}

// startStream computes where a stream begins, and the values that all its words share.
func (f *x86) startStream(s *stream, r *kernel.Random) {
	s.start, s.skip = f.slot(expr.I32), f.slot(expr.I32)
	for i := range s.early {
		s.early[i] = f.slot(expr.F32)
	}
	base := f.integer(r.Base)
	f.op("MOVQ", base, tempReg)
	f.op("ANDQ", imm(3), tempReg)
	f.op("MOVQ", tempReg, f.at(s.skip))
	f.op("SHRQ", imm(2), base)
	f.op("MOVQ", base, f.at(s.start))
	example := f.integer(r.Example)
	multiply := func(i int) {
		f.op("MOVL", operand.U32(philoxMul[i]), reg.ECX)
		f.op("MULL", reg.ECX)
	}
	key := func(round, half int) operand.Mem { return f.at(f.key(round, half)) }
	// The first round: c0 = high ^ example ^ key, c1 = low.
	f.op("MOVL", f.at(f.launch("step")), reg.EAX)
	multiply(1)
	f.op("XORL", key(0, 0), reg.EDX)
	f.op("XORL", example, reg.EDX)
	f.op("XORL", key(1, 0), reg.EAX)
	f.spread(reg.RAX, s.early[1])
	f.op("MOVL", f.at(f.launch("layer")), reg.EAX)
	f.op("ADDL", operand.U32(r.Stream<<16), reg.EAX)
	f.op("XORL", key(0, 1), reg.EAX)
	f.spread(reg.RAX, s.early[0])
	// The second: c2 = high ^ c3 ^ key, c3 = low.
	f.op("MOVL", reg.EDX, reg.EAX)
	multiply(0)
	f.op("XORL", key(1, 1), reg.EDX)
	f.spread(reg.RDX, s.early[2])
	f.op("XORL", key(2, 1), reg.EAX)
	f.spread(reg.RAX, s.early[3])
}

// firstCounters puts the first counters into the stream's register. The halves of a group
// alternate, as interleave expects.
func (f *x86) firstCounters(s *stream) {
	r := f.full(s.counter)
	places := f.pool.constant(0, 0, 4, 0, 1, 0, 5, 0, 2, 0, 6, 0, 3, 0, 7, 0)
	if f.isa == avx2 {
		places = f.pool.constant(0, 0, 2, 0, 1, 0, 3, 0)
	}
	f.op("VPBROADCASTD", f.at(s.start), r)
	f.op("VPADDD", places, r, r)
}

// nextWords writes the words of the next groups of counters. It overwrites the first
// registers, x86State for each group.
func (f *x86) nextWords(s *stream) {
	step := f.constant(uint32(f.isa.lanes / 2))
	add := "VPADDD" + f.isa.broadcast
	groups := make([]*philox, s.groups)
	counter := s.counter
	for i := range groups {
		p := &philox{x86: f}
		for r := range x86State {
			p.free = append(p.free, x86State*i+r)
		}
		if i > 0 {
			counter = p.to(add, step, f.full(counter))
		}
		p.firstRounds(s, counter)
		groups[i] = p
	}
	f.op(add, step, f.full(counter), f.full(s.counter))
	for i, p := range groups[1:] {
		p.give(x86State * (i + 1)) // the counter
	}
	for r := 3; r < philoxRounds; r++ {
		for _, p := range groups {
			p.round(r, s)
		}
	}
	for i, p := range groups {
		p.interleave(s.words + 2*i)
	}
}

// A philox is the state of one group: registers of the four words, and free ones. A word is
// the low half of a 64-bit lane. A multiplication reads the low halves and leaves the high
// word of the product one shift away.
//
// Only the first word of the counter differs between lanes. Half of the first two rounds is
// therefore the same for all lanes. It is computed in general registers, into stream.early.
type philox struct {
	*x86
	c    [4]int
	free []int
}

// to writes an instruction whose result goes to a free register.
func (p *philox) to(name string, operands ...operand.Op) int {
	n := p.free[0]
	p.free = p.free[1:]
	p.op(name, append(operands, p.full(n))...)
	return n
}

func (p *philox) give(registers ...int) { p.free = append(p.free, registers...) }

// multiply writes the 64-bit products of a constant and a word.
func (p *philox) multiply(i, word int) int {
	return p.to("VPMULUDQ"+p.isa.broadcast, p.pool.all(philoxMul[i]), p.full(word))
}

// multiplyLast does the same and overwrites the word.
func (p *philox) multiplyLast(i, word int) int {
	p.op("VPMULUDQ"+p.isa.broadcast, p.pool.all(philoxMul[i]), p.full(word), p.full(word))
	return word
}

// high writes the high words of products with a shuffle. round shifts half of them instead,
// because shifts and shuffles use different ports.
func (p *philox) high(product int) int { return p.to("VMOVSHDUP", p.full(product)) }

// meet writes the xor with a word that all lanes read.
func (p *philox) meet(n, word int) {
	p.op(p.isa.instruction(expr.Xor, expr.U32)+p.isa.broadcast, p.at(word), p.full(n), p.full(n))
}

// mix writes the xor of two registers and a word that all lanes read.
func (p *philox) mix(n, other, word int) {
	const xor3 = 0x96
	if p.isa == avx512 {
		p.op("VPTERNLOGD"+p.isa.broadcast, imm(xor3), p.at(word), p.full(other), p.full(n))
		return
	}
	p.op("VPXOR", p.full(other), p.full(n), p.full(n))
	p.meet(n, word)
}

// firstRounds writes three rounds. Half the state of the first two is known.
func (p *philox) firstRounds(s *stream, counter int) {
	c3 := p.multiply(0, counter)
	c2 := p.high(c3)
	p.meet(c2, s.early[0])
	c1 := p.multiply(1, c2)
	p.give(c2)
	c0 := p.high(c1)
	p.meet(c0, s.early[1])
	p.meet(c3, s.early[2])
	p.c = [4]int{c0, c1, c3, none}
	p.round(2, s)
}

// round writes a round. A last word of the state without a register is the same for all lanes.
// The stream has its xor with the key.
func (p *philox) round(r int, s *stream) {
	even, odd := p.multiplyLast(0, p.c[0]), p.multiplyLast(1, p.c[2])
	c0 := p.high(odd)
	p.mix(c0, p.c[1], p.key(r, 0))
	p.give(p.c[1])
	c2 := p.to("VPSRLQ", imm(32), p.full(even))
	if p.c[3] == none {
		p.meet(c2, s.early[3])
	} else {
		p.mix(c2, p.c[3], p.key(r, 1))
		p.give(p.c[3])
	}
	p.c = [4]int{c0, odd, c2, even}
}

// interleave writes the state in the order of the stream: the four words of a counter are
// adjacent.
func (p *philox) interleave(words int) {
	if p.isa == avx512 {
		p.op("KMOVW", p.pool.constant(0xAAAA), tempMask)
	}
	for i := 0; i < 4; i += 2 {
		lo, hi := p.full(p.c[i]), p.full(p.c[i+1])
		if p.isa == avx512 {
			p.op("VMOVSLDUP", hi, tempMask, lo)
		} else {
			p.op("VPSLLQ", imm(32), hi, hi)
			p.op("VPBLENDD", imm(0xAA), hi, lo, lo)
		}
	}
	p.op("VPUNPCKLQDQ", p.full(p.c[2]), p.full(p.c[0]), p.full(words))
	p.op("VPUNPCKHQDQ", p.full(p.c[2]), p.full(p.c[0]), p.full(words+1))
}

// randomFill writes random words to a tile. If the first word is not the first of its counter,
// the groups begin before the tile.
func (f *x86) randomFill(r *kernel.Random) {
	f.scope(func() {
		s := &stream{groups: 1, vectors: 2, words: x86State, counter: x86State + 2}
		if f.isa == avx512 {
			s = &stream{groups: 2, vectors: 4, words: 2 * x86State, counter: 2*x86State + 4}
		}
		before, end := f.slot(expr.I32), f.slot(expr.I32)
		f.store(r.Size, end)
		f.startStream(s, r)
		f.firstCounters(s)
		f.op("MOVQ", f.at(s.skip), tempReg)
		f.op("ADDQ", tempReg, f.at(end))
		f.sliceBase(r.Dst, pointerRegs[0])
		f.op("NEGQ", tempReg)
		f.op("LEAQ", mem(pointerRegs[0], tempReg, 0), pointerRegs[0])
		f.op("NOTQ", tempReg)
		f.op("MOVQ", tempReg, f.at(before))
		f.op("XORL", indexReg.As32(), indexReg.As32())
		again := f.label("words")
		f.mark(again)
		f.times(ratioUp(r.Size, s.vectors*f.isa.lanes), func() {
			f.nextWords(s)
			for i := range s.vectors {
				f.storeWords(s.words+i, instance{disp: i * f.isa.lanes, indexed: true}, before, end)
			}
			f.op("ADDQ", imm(s.vectors*f.isa.lanes), indexReg)
			f.op("CMPQ", indexReg, f.at(end))
			f.jumpIf("JLT", again)
		})
	})
}

// storeWords stores the lanes between two places.
func (f *x86) storeWords(from int, in instance, before, end int) {
	f.positions(in, 0)
	at, lo, hi := f.full(0), f.full(1), f.full(2)
	to := mem(pointerRegs[0], indexReg, in.disp)
	if f.isa == avx512 {
		f.op("VPCMPD.BCST", imm(6), f.at(before), at, f.isa.tail)
		f.op("VPCMPD.BCST", imm(1), f.at(end), at, f.isa.tail, tempMask)
		f.op("VMOVUPS", f.full(from), tempMask, to)
		return
	}
	f.op("VPBROADCASTD", f.at(before), lo)
	f.op("VPCMPGTD", lo, at, lo)
	f.op("VPBROADCASTD", f.at(end), hi)
	f.op("VPCMPGTD", at, hi, hi)
	f.op("VPAND", lo, hi, lo)
	f.op("VMASKMOVPS", f.full(from), lo, to)
}
