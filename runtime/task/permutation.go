package task

import (
	"math/bits"

	"github.com/arithlang/mlc/runtime/philox"
)

// maxDomain is the largest domain of a permutation.
const maxDomain = 1 << 62

const (
	feistelRounds = 8
	maxTabled     = 13 // the most bits of a side with a table, then of 128 KiB
)

// A permutation is a keyed bijection of [0, n): a balanced Feistel network over the next even
// number of bits, with Philox as its round function. A result of n or more goes through it
// again (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002), fewer than four
// times on average.
type permutation struct {
	key    philox.Key
	n      uint64
	half   int // bits of one side
	turn   uint32
	stream uint32
	table  []uint16 // of the round function, [feistelRounds, 1<<half]; nil: compute it
}

// newPermutation returns a permutation of [0, n), 0 < n <= maxDomain. Turn and stream select
// it.
func newPermutation(key philox.Key, n uint64, turn, stream uint32) permutation {
	return permutation{key: key, n: n, half: (bits.Len64(n-1) + 1) / 2, turn: turn, stream: stream}
}

// tabulate speeds up a frequently used permutation, unless its table is too large for a cache.
func (p *permutation) tabulate() {
	if p.half > maxTabled {
		return
	}
	table := make([]uint16, feistelRounds<<p.half)
	for i := range table {
		table[i] = uint16(p.word(uint32(i>>p.half), uint32(i)&p.mask()))
	}
	p.table = table
}

func (p *permutation) at(i int64) int64 {
	x := p.once(uint64(i))
	for x >= p.n {
		x = p.once(x)
	}
	return int64(x)
}

func (p *permutation) once(x uint64) uint64 {
	left, right := uint32(x>>p.half), uint32(x)&p.mask()
	for round := range uint32(feistelRounds) {
		left, right = right, left^p.word(round, right)
	}
	return uint64(left)<<p.half | uint64(right)
}

// word is the round function.
func (p *permutation) word(round, right uint32) uint32 {
	if p.table != nil {
		return uint32(p.table[round<<p.half|right])
	}
	return philox.Block(p.key, [4]uint32{right, round, p.turn, p.stream})[0] & p.mask()
}

func (p *permutation) mask() uint32 { return 1<<p.half - 1 }
