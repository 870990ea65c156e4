package cpu

import "github.com/arithlang/mlc/runtime/philox"

// randomGroup is how many words randomWords makes at a time.
var randomGroup = [numISA]int{Go: 4, AVX2: 16, AVX512: 32}

// randomWords fills dst, whole groups of words, with the words of counters from ctr. It uses a
// switch so that its arguments do not escape to the heap.
func randomWords(isa ISA, dst []uint32, key *philox.Key, ctr *[4]uint32) {
	switch isa {
	case AVX512:
		philoxAVX512(&dst[0], (*[2]uint32)(key), ctr, len(dst)/32)
	case AVX2:
		philoxAVX2(&dst[0], (*[2]uint32)(key), ctr, len(dst)/16)
	default:
		randomWordsGo(dst, key, ctr)
	}
}

var productsOf = [numISA]products{
	Go:     goProducts,
	AVX2:   {avx2.dot, avx2.dotPacked, avx2.packedSize, avx2.pack, vecFMA},
	AVX512: {avx512.dot, avx512.dotPacked, avx512.packedSize, avx512.pack, vecFMA},
}

// vecFMA is DotVec.
func vecFMA(k int, a []float32, as int, b []float32, bs int, c float32) float32 {
	return dotVecFMA(k, &a[0], as*size, &b[0], bs*size, c)
}

var avx2 = &gemm{
	lanes:      8,
	copyRows:   [2]rowCopier{copyRowsAVX2x1, copyRowsAVX2x2},
	copyStrips: copyStripsAVX2,
	transpose:  transposeAVX2,
	full: []microkernel{
		dotAVX2x1x2, dotAVX2x2x2, dotAVX2x3x2, dotAVX2x4x2, dotAVX2x5x2, dotAVX2x6x2,
	},
	two: []microkernel{
		dotAVX2x1x2tail, dotAVX2x2x2tail, dotAVX2x3x2tail, dotAVX2x4x2tail, dotAVX2x5x2tail, dotAVX2x6x2tail,
	},
	some: []microkernel{
		dotAVX2x1x1tail, dotAVX2x2x1tail, dotAVX2x3x1tail, dotAVX2x4x1tail, dotAVX2x5x1tail, dotAVX2x6x1tail, dotAVX2x7x1tail, dotAVX2x8x1tail,
		dotAVX2x9x1tail, dotAVX2x10x1tail, dotAVX2x11x1tail, dotAVX2x12x1tail,
	},
}

var avx512 = &gemm{
	lanes:      16,
	copyRows:   [2]rowCopier{copyRowsAVX512x1, copyRowsAVX512x2},
	copyStrips: copyStripsAVX512,
	transpose:  transposeAVX512,
	full: []microkernel{
		dotAVX512x1x2, dotAVX512x2x2, dotAVX512x3x2, dotAVX512x4x2, dotAVX512x5x2, dotAVX512x6x2, dotAVX512x7x2, dotAVX512x8x2, dotAVX512x9x2,
		dotAVX512x10x2, dotAVX512x11x2, dotAVX512x12x2, dotAVX512x13x2, dotAVX512x14x2,
	},
	two: []microkernel{
		dotAVX512x1x2tail, dotAVX512x2x2tail, dotAVX512x3x2tail, dotAVX512x4x2tail, dotAVX512x5x2tail, dotAVX512x6x2tail, dotAVX512x7x2tail,
		dotAVX512x8x2tail, dotAVX512x9x2tail, dotAVX512x10x2tail, dotAVX512x11x2tail, dotAVX512x12x2tail, dotAVX512x13x2tail, dotAVX512x14x2tail,
	},
	some: []microkernel{
		dotAVX512x1x1tail, dotAVX512x2x1tail, dotAVX512x3x1tail, dotAVX512x4x1tail, dotAVX512x5x1tail, dotAVX512x6x1tail, dotAVX512x7x1tail,
		dotAVX512x8x1tail, dotAVX512x9x1tail, dotAVX512x10x1tail, dotAVX512x11x1tail, dotAVX512x12x1tail, dotAVX512x13x1tail, dotAVX512x14x1tail,
		dotAVX512x15x1tail, dotAVX512x16x1tail, dotAVX512x17x1tail, dotAVX512x18x1tail, dotAVX512x19x1tail, dotAVX512x20x1tail, dotAVX512x21x1tail,
		dotAVX512x22x1tail, dotAVX512x23x1tail, dotAVX512x24x1tail,
	},
}

// avx512BF16 multiplies pairs of BF16, as words.
var avx512BF16 = &gemm{
	lanes:      16,
	copyRows:   [2]rowCopier{copyRowsAVX512x1, copyRowsAVX512x2},
	copyStrips: copyStripsAVX512,
	transpose:  transposeAVX512,
	full: []microkernel{
		dotAVX512BF16x1x2, dotAVX512BF16x2x2, dotAVX512BF16x3x2, dotAVX512BF16x4x2, dotAVX512BF16x5x2, dotAVX512BF16x6x2, dotAVX512BF16x7x2,
		dotAVX512BF16x8x2, dotAVX512BF16x9x2, dotAVX512BF16x10x2, dotAVX512BF16x11x2, dotAVX512BF16x12x2, dotAVX512BF16x13x2, dotAVX512BF16x14x2,
	},
	two: []microkernel{
		dotAVX512BF16x1x2tail, dotAVX512BF16x2x2tail, dotAVX512BF16x3x2tail, dotAVX512BF16x4x2tail, dotAVX512BF16x5x2tail, dotAVX512BF16x6x2tail,
		dotAVX512BF16x7x2tail, dotAVX512BF16x8x2tail, dotAVX512BF16x9x2tail, dotAVX512BF16x10x2tail, dotAVX512BF16x11x2tail, dotAVX512BF16x12x2tail,
		dotAVX512BF16x13x2tail, dotAVX512BF16x14x2tail,
	},
	some: []microkernel{
		dotAVX512BF16x1x1tail, dotAVX512BF16x2x1tail, dotAVX512BF16x3x1tail, dotAVX512BF16x4x1tail, dotAVX512BF16x5x1tail, dotAVX512BF16x6x1tail,
		dotAVX512BF16x7x1tail, dotAVX512BF16x8x1tail, dotAVX512BF16x9x1tail, dotAVX512BF16x10x1tail, dotAVX512BF16x11x1tail, dotAVX512BF16x12x1tail,
		dotAVX512BF16x13x1tail, dotAVX512BF16x14x1tail, dotAVX512BF16x15x1tail, dotAVX512BF16x16x1tail, dotAVX512BF16x17x1tail, dotAVX512BF16x18x1tail,
		dotAVX512BF16x19x1tail, dotAVX512BF16x20x1tail, dotAVX512BF16x21x1tail, dotAVX512BF16x22x1tail, dotAVX512BF16x23x1tail, dotAVX512BF16x24x1tail,
	},
}

// saturate does n rounds of fused multiply-adds. It returns false if the ISA has no such
// measure.
func saturate(isa ISA, n int) bool {
	switch isa {
	case AVX512:
		peakAVX512(n)
	case AVX2:
		peakAVX2(n)
	default:
		return false
	}
	return true
}

// begin does n rounds of independent instructions. It returns false if the ISA has no such
// measure.
func begin(isa ISA, n int) bool {
	switch isa {
	case AVX512:
		startAVX512(n)
	case AVX2:
		startAVX2(n)
	default:
		return false
	}
	return true
}

// saturatePairs is saturate with products of pairs.
func saturatePairs(isa ISA, n int) bool {
	if isa != AVX512BF16 {
		return false
	}
	peakAVX512BF16(n)
	return true
}

// addBlocks adds the first elements of src to dst, and returns how many.
func addBlocks(dst, src []float32) int {
	const block = 32
	blocks := len(dst) / block
	if blocks == 0 || !AVX2.supported() {
		return 0
	}
	addAVX2(&dst[0], &src[0], blocks)
	return blocks * block
}
