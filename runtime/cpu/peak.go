package cpu

// peakLanes is how many results a fused multiply-add has.
var peakLanes = [numISA]int{Go: 1, AVX2: 8, AVX512: 16, AVX512BF16: 16, NEON: 4}

// chains is how many independent fused multiply-adds a round of saturate has: enough to hide
// their latency.
var chains = [numISA]int{AVX2: 12, AVX512: 12, AVX512BF16: 12, NEON: 24}

const flopsOfFMA = 2

// Saturate does n > 0 rounds of independent fused multiply-adds, and returns how many
// floating-point operations these are. Timed, this is the peak of a core. It returns 0 if the
// instruction set has no such measure.
func (i ISA) Saturate(n int) (flops int) {
	if !saturate(i.vectors(), n) {
		return 0
	}
	return n * chains[i] * flopsOfFMA * peakLanes[i]
}

// SaturateNarrow is Saturate with products of pairs of BF16. It returns 0 without such
// products.
func (i ISA) SaturateNarrow(n int) (flops int) {
	const pair = 2
	if !saturatePairs(i, n) {
		return 0
	}
	return n * chains[i] * pair * flopsOfFMA * peakLanes[i]
}

// mixed is how many independent instructions a round of begin has.
const mixed = 24

// Begin does n > 0 rounds of loads and additions, of vectors and of integers, and returns how
// many instructions these are. Timed, this is the most that a core begins. It returns 0 if the
// instruction set has no such measure.
func (i ISA) Begin(n int) (instructions int) {
	if !begin(i.vectors(), n) {
		return 0
	}
	return n * mixed
}
