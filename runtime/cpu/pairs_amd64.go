package cpu

import "math"

// pairLanes is the number of pairs in a register.
const pairLanes = 16

// pair packs two numbers in a word.
func pair(first, second uint16) float32 {
	return math.Float32frombits(uint32(first)<<16 | uint32(second))
}

// pairsAsDefined reports whether the processor adds products of pairs in the defined order and
// rounding.
func pairsAsDefined() bool {
	return asDefined(func(c *[pairLanes]float32, a float32, b *[pairLanes]float32) {
		dotAVX512BF16x1x1tail(&a, 0, size, size, &b[0], 0, 0, 0, &c[0], 0, 1, 1, pairLanes, 1)
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

// pairProducts returns the products of pairs of BF16, as words. Only programs that multiply BF16
// link them.
func pairProducts() products {
	return products{dot: avx512BF16.dot, dotPacked: avx512BF16.dotPacked, packedSize: avx512BF16.packedSize, pack: avx512BF16.pack}
}
