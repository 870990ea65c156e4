package cpu

import "math"

// pairLanes is the number of pairs in a register.
const pairLanes = 16

// layPairs lays two numbers in a word.
func layPairs(to []float32, x strided[uint16], m, k int, rest uint16) matrix {
	const half = size / 2
	words, whole := (k+1)/2, k/2
	y := matrix{to, words, 1}
	switch {
	case x.cs == 1 && whole > 0:
		pairAlongAVX512(&to[0], words*size, &x.data[0], x.rs*half, m, (whole+pairLanes-1)/pairLanes, (whole-1)%pairLanes+1)
	case x.rs == 1 && whole > 0:
		y.rs, y.cs = 1, m
		pairDownAVX512(&to[0], m*size, &x.data[0], x.cs*half, whole, (m+pairLanes-1)/pairLanes, (m-1)%pairLanes+1)
	default:
		for i := range m {
			for l := range whole {
				to[i*words+l] = pair(x.at(i, 2*l), x.at(i, 2*l+1))
			}
		}
	}
	if whole < words {
		for i := range m {
			to[i*y.rs+whole*y.cs] = pair(x.at(i, k-1), rest)
		}
	}
	return y
}

// pair packs two numbers in a word.
func pair(first, second uint16) float32 {
	return math.Float32frombits(uint32(first)<<16 | uint32(second))
}

// pairsAsDefined reports whether the processor adds products of pairs in the defined order and
// rounding.
func pairsAsDefined() bool {
	return asDefined(func(c *[pairLanes]float32, a float32, b *[pairLanes]float32) {
		avx512BF16.some[0](&a, 0, size, size, &b[0], 0, 0, 0, &c[0], 0, 1, 1, pairLanes, 1)
	})
}

// asDefined reports whether a function adds the two products of a pair to c one after the
// other, each rounded once. The random numbers have similar magnitudes, so that differences
// show.
func asDefined(multiply func(c *[pairLanes]float32, a float32, b *[pairLanes]float32)) bool {
	const rounds = 16
	word := uint32(1)
	random := func() uint32 { // Lehmer's generator
		word = uint32(uint64(word) * 48271 % math.MaxInt32)
		return word
	}
	near := func() uint16 { return uint16(random()&0x8000 | (124+random()%6)<<7 | random()>>9&0x7f) }
	var b, c, want [pairLanes]float32
	for range rounds {
		x, y := near(), near()
		for i := range b {
			u, v := near(), near()
			b[i], c[i] = pair(u, v), math.Float32frombits(uint32(near())<<16|random()>>15)
			want[i] = Fma(WidenBF16(y), WidenBF16(v), Fma(WidenBF16(x), WidenBF16(u), c[i]))
		}
		multiply(&c, pair(x, y), &b)
		if c != want {
			return false
		}
	}
	return true
}
