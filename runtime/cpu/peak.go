package cpu

// peakLanes is how many results a fused multiply-add has.
var peakLanes = [numISA]int{Go: 1, AVX2: 8, AVX512: 16, AVX512BF16: 16, NEON: 4}

// chains is how many fused multiply-adds a round of saturate has: enough to wait for none.
var chains = [numISA]int{AVX2: 12, AVX512: 12, AVX512BF16: 12, NEON: 24}

const flopsOfFMA = 2

// Saturate does n > 0 rounds of fused multiply-adds that wait for nothing, and
// returns how many floating-point operations that was. Timed, it gives the most
// that a core can do; 0 says that the instruction set has no such measure.
func (i ISA) Saturate(n int) (flops int) {
	if !saturate(i.vectors(), n) {
		return 0
	}
	return n * chains[i] * flopsOfFMA * peakLanes[i]
}

// SaturateNarrow is Saturate with products of pairs of BF16; 0 says that there are none.
func (i ISA) SaturateNarrow(n int) (flops int) {
	const pair = 2
	if !saturatePairs(i, n) {
		return 0
	}
	return n * chains[i] * pair * flopsOfFMA * peakLanes[i]
}

// mixed is how many instructions a round of begin has, of which none waits.
const mixed = 24

// Begin does n > 0 rounds of loads and additions, of vectors and of integers, and returns how
// many instructions that was. Timed, it gives the most that a core begins; 0 says that
// the instruction set has no such measure.
func (i ISA) Begin(n int) (instructions int) {
	if !begin(i.vectors(), n) {
		return 0
	}
	return n * mixed
}
