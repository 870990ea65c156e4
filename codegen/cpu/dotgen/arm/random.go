package main

import "github.com/arithlang/mlc/codegen/cpu/arm64"

// The constants of Philox4x32-10; see package runtime/philox.
const philoxRounds = 10

var (
	philoxMul  = [2]uint32{0xD2511F53, 0xCD9E8D57}
	philoxWeyl = [2]uint32{0x9E3779B9, 0xBB67AE85}
)

// philox writes random words of 4 counters. Register i has word i of their states.
type philox struct {
	*writer
	state          [4]arm64.Vec // consecutive registers
	key, mul, weyl [2]arm64.Vec
}

// random writes
//
//	func philoxNEON(dst *uint32, key *[2]uint32, ctr *[4]uint32, n int)
//
// which writes the random words of n > 0 groups of 4 counters from ctr on.
func random() *arm64.Func {
	w := start("philoxNEON", "writes the random words of n > 0 groups of 4 counters from ctr on.",
		"dst *uint32, key *[2]uint32, ctr *[4]uint32, n int", nil)
	p := &philox{w, [4]arm64.Vec{arm64.V0, arm64.V1, arm64.V2, arm64.V3}, [2]arm64.Vec{arm64.V4, arm64.V5}, [2]arm64.Vec{arm64.V6, arm64.V7}, [2]arm64.Vec{arm64.V16, arm64.V17}}
	temporary := w.reg()
	for i := range p.mul {
		w.constant(p.mul[i], philoxMul[i], temporary)
		w.constant(p.weyl[i], philoxWeyl[i], temporary)
	}
	counter, four := arm64.V18, arm64.V19
	w.constant(four, lanes, temporary)
	w.Op("ld1r.4s", arm64.List{First: counter, N: 1}, arm64.At(w.regs["ctr"], 0))
	for i := range lanes { // counters from the first on
		w.Op("mov", temporary, arm64.Imm(i))
		w.Op("ins.s", arm64.Elem{V: arm64.V20, I: i}, temporary)
	}
	w.Op("add.4s", counter, counter, arm64.V20)
	w.times("group", w.regs["n"], func() {
		w.Op("mov.16b", p.state[0], counter)
		w.Op("add.4s", counter, counter, four)
		w.spread(p.state[1:], w.regs["ctr"], 4, temporary)
		w.spread(p.key[:], w.regs["key"], 0, temporary)
		for r := range philoxRounds {
			p.round()
			for i := range p.key {
				if r+1 < philoxRounds {
					w.Op("add.4s", p.key[i], p.key[i], p.weyl[i])
				}
			}
		}
		w.Op("st4.4s", arm64.List{First: p.state[0], N: 4}, arm64.Post(w.regs["dst"], 4*registerBytes))
	})
	w.Op("ret")
	return w.Func
}

// spread fills registers with consecutive words, each word in all lanes.
func (w *writer) spread(to []arm64.Vec, from arm64.Reg, off int, at arm64.Reg) {
	w.Op("add", at, from, arm64.Imm(off))
	for _, v := range to {
		w.Op("ld1r.4s", arm64.List{First: v, N: 1}, arm64.Post(at, 4))
	}
}

// round writes one round of all counters.
func (p *philox) round() {
	products := [2][2]arm64.Vec{{arm64.V21, arm64.V22}, {arm64.V23, arm64.V24}} // words 0 and 2; counters 0 and 1, then 2 and 3
	for i, v := range products {
		x := p.state[2*i]
		p.Op("umull.2d", v[0], x, p.mul[i])
		p.Op("umull2.2d", v[1], x, p.mul[i])
	}
	for i, v := range products {
		// The high halves are mixed with a word, and the low halves replace it.
		mixed, word := p.state[2-2*i], p.state[3-2*i]
		p.Op("uzp2.4s", mixed, v[0], v[1])
		p.Op("eor.16b", mixed, mixed, word)
		p.Op("eor.16b", mixed, mixed, p.key[1-i])
		p.Op("uzp1.4s", word, v[0], v[1])
	}
}
