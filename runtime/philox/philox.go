// Package philox is the counter-based random generator of the runtime: a word is a pure
// function of key and counter, so no random state has to be saved. All code above it draws from
// here, including CPU kernels.
package philox

import "math/bits"

// A Key selects a generator: the low and the high half of a seed.
type Key [2]uint32

// KeyOf splits a seed.
func KeyOf(seed uint64) Key { return Key{uint32(seed), uint32(seed >> 32)} }

const (
	rounds = 10
	mul0   = 0xD2511F53
	mul1   = 0xCD9E8D57
	weyl0  = 0x9E3779B9
	weyl1  = 0xBB67AE85
)

// Block is Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011): four random words for each counter.
func Block(key Key, ctr [4]uint32) [4]uint32 {
	a, b, c, d := ctr[0], ctr[1], ctr[2], ctr[3] // in registers, unlike an array
	k0, k1 := key[0], key[1]
	for range rounds {
		hi0, lo0 := bits.Mul32(mul0, a)
		hi1, lo1 := bits.Mul32(mul1, c)
		a, b, c, d = hi1^b^k0, lo1, hi0^d^k1, lo0
		k0 += weyl0
		k1 += weyl1
	}
	return [4]uint32{a, b, c, d}
}

// A Stream keeps the uses of one seed apart: it is the upper half of the counter's last word.
// Kernels number their streams from 0, the host from 0xFF00.
type Stream uint16

// The streams of the host.
const (
	Init     Stream = 0xFF00 + iota // parameter initialisation
	Values                          // the order of [0, Below): which numbers are held out
	Epochs                          // the order of the training numbers in an epoch
	Sampled                         // training problems that are drawn one by one
	Held                            // held-out problems that are drawn one by one
	Split                           // which of those problems are held out
	Test                            // test problems
	Runs                            // runs of a loop in a step of training
	Cells                           // the order of the cells of a grid in a sweep of training
	Shuffled                        // the order of a set of examples
	Listed                          // numbers from lists of operands
	Probed                          // inputs of probes of instructions
	Asked                           // problems that a model answers to be trained on its answers
	Mixed                           // which training examples are such answers
)

// A Source is a sequence of words from its beginning.
type Source struct {
	key  Key
	ctr  [4]uint32
	word [4]uint32
	next int
}

// NewSource returns sequence a, b of a stream: a and b may number problems and their lengths,
// for example.
func NewSource(seed uint64, stream Stream, a uint64, b uint16) *Source {
	ctr := [4]uint32{0, uint32(a), uint32(a >> 32), uint32(stream)<<16 | uint32(b)}
	return &Source{key: KeyOf(seed), ctr: ctr, next: 4}
}

// Uint32 returns the next word.
func (s *Source) Uint32() uint32 {
	if s.next == 4 {
		s.word = Block(s.key, s.ctr)
		s.ctr[0]++
		s.next = 0
	}
	s.next++
	return s.word[s.next-1]
}

// Skip skips the first words of a Source that has returned no word yet.
func (s *Source) Skip(words uint64) {
	s.ctr[0] += uint32(words / 4)
	for range words % 4 {
		s.Uint32()
	}
}

// Intn returns a uniformly distributed number in [0, n), for n > 0.
func (s *Source) Intn(n int) int {
	limit := uint32(n)
	reject := -limit % limit
	for {
		hi, lo := bits.Mul32(s.Uint32(), limit)
		if lo >= reject {
			return int(hi)
		}
	}
}

// Float64 returns a number in [0, 1), a multiple of 2^-53.
func (s *Source) Float64() float64 {
	hi, lo := s.Uint32(), s.Uint32()
	return float64(uint64(hi)<<21|uint64(lo)>>11) / (1 << 53)
}
