package vector

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
)

// The constants of Philox4x32-10; see package runtime/philox.
const philoxRounds = 10

var (
	philoxMul  = [2]uint32{0xD2511F53, 0xCD9E8D57}
	philoxWeyl = [2]uint32{0x9E3779B9, 0xBB67AE85}
)

// A stream makes random words in registers, two vectors from each group of
// counters. Groups are made side by side: their rounds are a long chain of
// dependent instructions. A word of the state has a 64-bit lane of its own, of which only the low
// half counts: a multiplication reads the low halves and leaves the high word of
// the product one shift away.
//
// Of the counter only the first word differs between lanes, so that half of the
// first two rounds is the same for all and computed in general registers: the words
// in early, which vectors meet.
type stream struct {
	tile    string
	groups  int // made side by side
	words   int // two registers a group
	counter int // register of the next counters
	start   int // slot of the first counter
	skip    int // slot: how many words of it come before the first
	early   [4]int
}

// The registers that a stream keeps, and those that it makes the words of a group in.
const (
	streamRegs = 3
	stateRegs  = 8
)

// key is a round key in the frame.
func (f *fn) key(round, half int) operand.Mem { return f.at(f.keys + (2*round+half)*f.wordBytes()) }

// wordBytes is the size of a word that all lanes read: AVX2 has no broadcasting operands.
func (f *fn) wordBytes() int {
	if f.isa == avx2 {
		return 32
	}
	return 8
}

// randomKeys computes the round keys, if the leaf has random words.
func (f *fn) randomKeys() {
	any := false
	each(f.leaf.Body, func(n flat.Node) {
		if _, ok := n.(*flat.Random); ok {
			any = true
		}
	})
	if !any {
		return
	}
	for _, name := range []string{"seed0", "seed1", "step"} {
		if f.vars[name].typ != expr.U32 {
			f.fail("random words need the value %s", name)
			return
		}
	}
	if p, ok := f.vars["layer"]; !ok || p.typ != expr.I32 {
		f.fail("random words need the value layer")
		return
	}
	f.keys = f.vecs
	f.vecs += (2*philoxRounds*f.wordBytes() + slotVec - 1) / slotVec * slotVec
	for half, name := range []string{"seed0", "seed1"} {
		f.op("MOVQ", f.at(f.vars[name].off), tempReg)
		for round := range philoxRounds {
			f.spread(tempReg, f.keys+(2*round+half)*f.wordBytes())
			f.op("ADDL", operand.U32(philoxWeyl[half]), tempReg)
		}
	}
}

// spread stores a word for all lanes.
func (f *fn) spread(word reg.Register, off int) {
	if f.isa == avx512 {
		f.op("MOVQ", word, f.at(off))
		return
	}
	f.op("VMOVD", word, vec(0, 4))
	f.op("VPBROADCASTD", vec(0, 4), vec(0, 8))
	f.op("VMOVUPS", vec(0, 8), f.at(off))
}

// startStream computes where a stream begins and what all its words share.
func (f *fn) startStream(s *stream, r *flat.Random) {
	s.start, s.skip = f.slot(expr.I32), f.slot(expr.I32)
	for i := range s.early {
		s.early[i] = f.vector()
	}
	d := f.integer(r.Base)
	f.op("MOVQ", d, tempReg)
	f.op("ANDQ", imm(3), tempReg)
	f.op("MOVQ", tempReg, f.at(s.skip))
	f.op("SHRQ", imm(2), d)
	f.op("MOVQ", d, f.at(s.start))
	example := f.integer(r.Example)
	multiply := func(i int) {
		f.op("MOVL", operand.U32(philoxMul[i]), reg.ECX)
		f.op("MULL", reg.ECX)
	}
	// The first round: c0 = high ^ example ^ key, c1 = low.
	f.op("MOVL", f.at(f.vars["step"].off), reg.EAX)
	multiply(1)
	f.op("XORL", f.key(0, 0), reg.EDX)
	f.op("XORL", example, reg.EDX)
	f.op("XORL", f.key(1, 0), reg.EAX)
	f.spread(reg.RAX, s.early[1])
	f.op("MOVL", f.at(f.vars["layer"].off), reg.EAX)
	f.op("ADDL", operand.U32(r.Stream<<16), reg.EAX)
	f.op("XORL", f.key(0, 1), reg.EAX)
	f.spread(reg.RAX, s.early[0])
	// The second: c2 = high ^ c3 ^ key, c3 = low.
	f.op("MOVL", reg.EDX, reg.EAX)
	multiply(0)
	f.op("XORL", f.key(1, 1), reg.EDX)
	f.spread(reg.RDX, s.early[2])
	f.op("XORL", f.key(2, 1), reg.EAX)
	f.spread(reg.RAX, s.early[3])
}

// firstCounters puts the first counters into the stream's register: the first and
// the second half of a group in turn, as words interleaves them.
func (f *fn) firstCounters(s *stream) {
	n := f.isa.lanes
	f.op("VPBROADCASTD", f.at(s.start), vec(s.counter, n))
	places := f.pool.wide([8]uint32{0, 0, 4, 0, 1, 0, 5, 0}, [8]uint32{2, 0, 6, 0, 3, 0, 7, 0})
	if f.isa == avx2 {
		places = f.pool.vector([8]uint32{0, 0, 2, 0, 1, 0, 3, 0})
	}
	f.op("VPADDD", places, vec(s.counter, n), vec(s.counter, n))
}

// all is the operand of a word that all lanes read, and its instruction's suffix.
func (f *fn) all(m operand.Mem) (operand.Mem, string) {
	if f.isa == avx512 {
		return m, ".BCST"
	}
	return m, ""
}

// constantWord is all of a constant.
func (f *fn) constantWord(bits uint32) (operand.Mem, string) {
	if f.isa == avx512 {
		return f.pool.word(bits), ".BCST"
	}
	return f.pool.all(bits), ""
}

// nextWords writes the words of the next groups of counters. Nothing else may be in
// the first eight registers for each group.
func (f *fn) nextWords(s *stream) {
	m, suffix := f.constantWord(uint32(f.isa.lanes / 2))
	ps := make([]*philox, s.groups)
	counter := s.counter
	for i := range ps {
		p := &philox{fn: f}
		for r := range stateRegs {
			p.free = append(p.free, stateRegs*i+r)
		}
		if i > 0 {
			next := p.take()
			f.op("VPADDD"+suffix, m, p.v(counter), p.v(next))
			counter = next
		}
		p.firstRounds(s, counter)
		ps[i] = p
	}
	f.op("VPADDD"+suffix, m, vec(counter, f.isa.lanes), vec(s.counter, f.isa.lanes))
	for i, p := range ps {
		if i > 0 {
			p.give(stateRegs * i)
		}
	}
	for r := 3; r < philoxRounds; r++ {
		for _, p := range ps {
			p.round(r)
		}
	}
	for i, p := range ps {
		p.interleave(s.words + 2*i)
	}
}

// A philox is the state of one group: registers of the four words, and free ones.
type philox struct {
	*fn
	c    [4]int
	free []int
}

func (p *philox) v(n int) reg.Register { return vec(n, p.isa.lanes) }

func (p *philox) take() int {
	n := p.free[0]
	p.free = p.free[1:]
	return n
}

func (p *philox) give(n int) { p.free = append(p.free, n) }

// multiply writes the 64-bit products of a constant and a word.
func (p *philox) multiply(i, word int) int {
	n := p.take()
	m := p.pool.all(philoxMul[i])
	if p.isa == avx512 {
		p.op("VPMULUDQ.BCST", m, p.v(word), p.v(n))
	} else {
		p.op("VPMULUDQ", m, p.v(word), p.v(n))
	}
	return n
}

// high writes the high words of products; shifts and shuffles use different ports.
func (p *philox) high(product int, shift bool) int {
	n := p.take()
	if shift {
		p.op("VPSRLQ", imm(32), p.v(product), p.v(n))
	} else {
		p.op("VMOVSHDUP", p.v(product), p.v(n))
	}
	return n
}

// meet writes the xor with a word that all lanes read.
func (p *philox) meet(n int, word operand.Mem) {
	m, suffix := p.all(word)
	p.op(p.isa.instruction(expr.Xor, expr.U32)+suffix, m, p.v(n), p.v(n))
}

// mix writes the xor of two registers and a word that all lanes read.
func (p *philox) mix(n, other int, word operand.Mem) {
	const xor3 = 0x96
	m, suffix := p.all(word)
	if p.isa == avx512 {
		p.op("VPTERNLOGD"+suffix, imm(xor3), m, p.v(other), p.v(n))
		return
	}
	p.op("VPXOR", p.v(other), p.v(n), p.v(n))
	p.op("VPXOR", m, p.v(n), p.v(n))
}

// firstRounds writes three rounds, of which the first two know half the state.
func (p *philox) firstRounds(s *stream, counter int) {
	c3 := p.multiply(0, counter)
	c2 := p.high(c3, false)
	p.meet(c2, p.at(s.early[0]))

	c1 := p.multiply(1, c2)
	p.give(c2)
	c0 := p.high(c1, false)
	p.meet(c0, p.at(s.early[1]))
	p.meet(c3, p.at(s.early[2]))

	even, odd := p.multiply(0, c0), p.multiply(1, c3)
	p.give(c0)
	p.give(c3)
	p.c[0] = p.high(odd, false)
	p.mix(p.c[0], c1, p.key(2, 0))
	p.give(c1)
	p.c[1] = odd
	p.c[2] = p.high(even, true)
	p.meet(p.c[2], p.at(s.early[3]))
	p.c[3] = even
}

func (p *philox) round(r int) {
	even, odd := p.multiply(0, p.c[0]), p.multiply(1, p.c[2])
	p.give(p.c[0])
	p.give(p.c[2])
	c0 := p.high(odd, false)
	p.mix(c0, p.c[1], p.key(r, 0))
	c2 := p.high(even, true)
	p.mix(c2, p.c[3], p.key(r, 1))
	p.give(p.c[1])
	p.give(p.c[3])
	p.c = [4]int{c0, odd, c2, even}
}

// interleave writes the state in the order of the stream: the four words of a
// counter side by side.
func (p *philox) interleave(words int) {
	if p.isa == avx512 {
		p.op("KMOVW", p.pool.word(0xAAAA), tempMask)
	}
	for i := 0; i < 4; i += 2 {
		lo, hi := p.v(p.c[i]), p.v(p.c[i+1])
		if p.isa == avx512 {
			p.op("VMOVSLDUP", hi, tempMask, lo)
			continue
		}
		p.op("VPSLLQ", imm(32), hi, hi)
		p.op("VPBLENDD", imm(0xAA), hi, lo, lo)
	}
	p.op("VPUNPCKLQDQ", p.v(p.c[2]), p.v(p.c[0]), p.v(words))
	p.op("VPUNPCKHQDQ", p.v(p.c[2]), p.v(p.c[0]), p.v(words+1))
}

// randomFill writes random words to a tile. Groups of counters begin before the
// first word where that is none of a counter's first.
func (f *fn) randomFill(r *flat.Random) {
	f.scope(func() {
		s := &stream{groups: 1, words: 8, counter: 10}
		if f.isa == avx512 {
			s = &stream{groups: 2, words: 16, counter: 20}
		}
		before, end := f.slot(expr.I32), f.slot(expr.I32)
		f.integerTo(r.Size, end)
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
		f.nextWords(s)
		for i := range 2 * s.groups {
			f.storeWords(s.words+i, instance{disp: i * f.isa.lanes, indexed: true}, before, end)
		}
		f.op("ADDQ", imm(2*s.groups*f.isa.lanes), indexReg)
		f.op("CMPQ", indexReg, f.at(end))
		f.jump("JLT", again)
	})
}

// storeWords stores the lanes between two places.
func (f *fn) storeWords(from int, in instance, before, end int) {
	n := f.isa.lanes
	b := f.newBlock("", n)
	b.inst = in
	b.positions(0)
	at, to := vec(0, n), mem(pointerRegs[0], indexReg, in.disp)
	if f.isa == avx512 {
		f.op("VPCMPD.BCST", imm(6), f.at(before), at, tailMask)
		f.op("VPCMPD.BCST", imm(1), f.at(end), at, tailMask, tempMask)
		f.op("VMOVUPS", vec(from, n), tempMask, to)
		return
	}
	f.op("VPBROADCASTD", f.at(before), vec(1, n))
	f.op("VPCMPGTD", vec(1, n), at, vec(1, n))
	f.op("VPBROADCASTD", f.at(end), vec(2, n))
	f.op("VPCMPGTD", at, vec(2, n), vec(2, n))
	f.op("VPAND", vec(1, n), vec(2, n), vec(1, n))
	f.op("VMASKMOVPS", vec(from, n), vec(1, n), to)
}
