package vector

import (
	"github.com/arithlang/mlc/codegen/cpu/arm64"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// neonState is how many registers compute the words of a group: the four words of the state,
// both products, and the constants.
const neonState = 10

// neonShared is the size of a vector in the frame, in bytes.
const neonShared = 16

// key returns the place of a round key in the frame.
func (f *neonMachine) key(round, half int) int { return f.keys + (2*round+half)*neonShared }

// spread stores a word for all lanes.
func (f *neonMachine) spread(word arm64.Reg, off int) {
	f.op("dup.4s", neonScratch, word)
	f.op("str.q", neonScratch, f.at(off))
}

func (f *neonMachine) randomKeys() {
	f.keys = f.vecs
	f.vecs += (2*philoxRounds*neonShared + slotVec - 1) / slotVec * slotVec
	for half, seed := range []string{"seed0", "seed1"} {
		f.op("ldr", neonTemp, f.at(f.launch(seed)))
		f.op("mov", neonOther, arm64.Imm(philoxWeyl[half]))
		for round := range philoxRounds {
			f.spread(neonTemp, f.key(round, half))
			f.op("add.w", neonTemp, neonTemp, neonOther)
		}
	}
}

// startStream stores where a stream begins. It also stores the words of the counter that all
// lanes share: example, step, and layer with the number of the stream.
func (f *neonMachine) startStream(s *stream, r *kernel.Random) {
	s.start, s.skip = f.slot(expr.I32), f.slot(expr.I32)
	for i := range s.early {
		s.early[i] = f.slot(expr.F32)
	}
	base := f.integer(r.Base)
	f.op("and", neonTemp, base, arm64.Imm(3))
	f.op("str", neonTemp, f.at(s.skip))
	f.op("lsr", base, base, arm64.Imm(2))
	f.op("str", base, f.at(s.start))
	f.spread(f.integer(r.Example), s.early[0])
	f.op("ldr", neonTemp, f.at(f.launch("step")))
	f.spread(neonTemp, s.early[1])
	f.op("ldr", neonTemp, f.at(f.launch("layer")))
	f.op("mov", neonOther, arm64.Imm(uint32(r.Stream)<<16))
	f.op("add.w", neonTemp, neonTemp, neonOther)
	f.spread(neonTemp, s.early[2])
}

// firstCounters puts the first counters into the stream's register, one in each lane.
func (f *neonMachine) firstCounters(s *stream) {
	r := arm64.Vec(s.counter)
	f.op("ldr", neonTemp, f.at(s.start))
	f.op("dup.4s", r, neonTemp)
	f.op("ldr.q", neonScratch, f.constant(0, 1, 2, 3))
	f.op("add.4s", r, r, neonScratch)
}

// nextWords writes the words of the next groups of counters. It overwrites the first
// registers, neonState for each group.
func (f *neonMachine) nextWords(s *stream) {
	counter := arm64.Vec(s.counter)
	groups := make([]*neonPhilox, s.groups)
	f.op("ldr.q", neonScratch, f.constant(uint32(neon.lanes)))
	for i := range groups {
		p := &neonPhilox{f: f}
		for j := range p.c {
			p.c[j], p.product[j] = arm64.Vec(neonState*i+j), arm64.Vec(neonState*i+4+j)
		}
		for j := range p.mul {
			p.mul[j] = arm64.Vec(neonState*i + 8 + j)
			f.op("ldr.q", p.mul[j], f.constant(philoxMul[j]))
		}
		f.op("mov.16b", p.c[0], counter)
		f.op("add.4s", counter, counter, neonScratch)
		for j := range 3 {
			f.op("ldr.q", p.c[j+1], f.at(s.early[j]))
		}
		groups[i] = p
	}
	for r := range philoxRounds {
		for _, p := range groups {
			p.round(r)
		}
	}
	for i, p := range groups {
		p.interleave(arm64.Vec(s.words + neon.random.words*i))
	}
}

// A neonPhilox is the state of four counters: a register for each of the four words.
type neonPhilox struct {
	f       *neonMachine
	c       [4]arm64.Vec
	product [4]arm64.Vec
	mul     [2]arm64.Vec
}

// round writes a round. It multiplies the first and the third word by constants. The high half
// of each product is xored with a key and the word after the other factor.
func (p *neonPhilox) round(r int) {
	f, c, t := p.f, &p.c, p.product
	for i := range 2 {
		f.op("umull.2d", t[2*i], c[2*i], p.mul[i])
		f.op("umull2.2d", t[2*i+1], c[2*i], p.mul[i])
	}
	for i := range 2 {
		other := 2 - 2*i // the products of the other word
		f.op("ldr.q", neonScratch, f.at(f.key(r, i)))
		f.op("uzp2.4s", c[2*i], t[other], t[other+1])
		f.op("eor.16b", c[2*i], c[2*i], c[2*i+1])
		f.op("eor.16b", c[2*i], c[2*i], neonScratch)
		f.op("uzp1.4s", c[2*i+1], t[other], t[other+1])
	}
}

// interleave writes the state in the order of the stream: the four words of a counter are
// adjacent.
func (p *neonPhilox) interleave(words arm64.Vec) {
	f, t := p.f, p.product
	for i, half := range []string{"zip1", "zip2"} {
		f.op(half+".4s", t[2*i], p.c[0], p.c[1])
		f.op(half+".4s", t[2*i+1], p.c[2], p.c[3])
	}
	for i := range 2 {
		f.op("zip1.2d", words+arm64.Vec(2*i), t[2*i], t[2*i+1])
		f.op("zip2.2d", words+arm64.Vec(2*i+1), t[2*i], t[2*i+1])
	}
}

// randomFill writes random words to a tile. If the first word is not the first of its counter,
// the groups begin before the tile.
func (f *neonMachine) randomFill(r *kernel.Random) {
	f.scope(func() {
		words := neon.random.words
		s := &stream{groups: 1, vectors: words, words: 16, counter: 24}
		end := f.slot(expr.I32)
		f.store(r.Size, end)
		f.startStream(s, r)
		f.firstCounters(s)
		f.op("ldr", neonCount, f.at(s.skip))
		f.op("ldr", neonLimit, f.at(end))
		f.op("add", neonLimit, neonLimit, neonCount)
		to := neonPointers[0]
		f.sliceBase(r.Dst, to)
		f.op("sub", to, to, neonCount, arm64.Imm(2))
		f.startIndex()
		again := f.label("words")
		f.mark(again)
		f.times(ratioUp(r.Size, words*neon.lanes), func() {
			f.nextWords(s)
			for i := range words {
				f.storeWords(arm64.Vec(s.words+i), to)
			}
			f.op("cmp", neonIndex, neonLimit)
			f.jumpIf("b.lt", again)
		})
	})
}

// storeWords stores the lanes whose words lie between neonCount and neonLimit, and steps to
// the next vector.
func (f *neonMachine) storeWords(from arm64.Vec, to arm64.Reg) {
	some, end := f.label("some"), f.label("end")
	f.op("cmp", neonIndex, neonCount)
	f.jumpIf("b.lt", some)
	f.op("add", neonTemp, neonIndex, arm64.Imm(neon.lanes))
	f.op("cmp", neonTemp, neonLimit)
	f.jumpIf("b.gt", some)
	f.op("str.q", from, arm64.At(to, 0))
	f.jump(end)
	f.mark(some)
	f.rarely(func() { f.storeSome(from, to) })
	f.mark(end)
	f.op("add", to, to, arm64.Imm(4*neon.lanes))
	f.op("add", neonIndex, neonIndex, arm64.Imm(neon.lanes))
}

// storeSome stores the lanes one by one.
func (f *neonMachine) storeSome(from arm64.Vec, to arm64.Reg) {
	for i := range neon.lanes {
		next := f.label("next")
		f.op("add", neonTemp, neonIndex, arm64.Imm(i))
		f.op("cmp", neonTemp, neonCount)
		f.jumpIf("b.lt", next)
		f.op("cmp", neonTemp, neonLimit)
		f.jumpIf("b.ge", next)
		f.op("add", neonTemp, to, arm64.Imm(4*i))
		f.op("st1.s", arm64.Elem{V: from, I: i}, arm64.At(neonTemp, 0))
		f.mark(next)
	}
}
