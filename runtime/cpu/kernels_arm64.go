package cpu

import "github.com/arithlang/mlc/runtime/philox"

// randomGroup is how many words randomWords makes at a time.
var randomGroup = [numISA]int{Go: 4, NEON: 16}

// randomWords fills dst, whole groups of words, with the words of counters from ctr. It uses a
// switch so that its arguments do not escape to the heap.
func randomWords(isa ISA, dst []uint32, key *philox.Key, ctr *[4]uint32) {
	if isa == NEON {
		philoxNEON(&dst[0], (*[2]uint32)(key), ctr, len(dst)/16)
	} else {
		randomWordsGo(dst, key, ctr)
	}
}

var productsOf = [numISA]products{
	Go:   goProducts,
	NEON: {neonDot, neonDotPacked, packedSize, neonPack, neonVec},
}

// neonVec is DotVec.
func neonVec(k int, a []float32, as int, b []float32, bs int, c float32) float32 {
	return dotVecNEON(k, &a[0], as*size, &b[0], bs*size, c)
}

// neonKernels are for blocks of 1, 2, … rows and 1, 2 and 3 registers.
var neonKernels = [tileRows][panelRegisters]microkernel{
	{dotNEONx1x1, dotNEONx1x2, dotNEONx1x3},
	{dotNEONx2x1, dotNEONx2x2, dotNEONx2x3},
	{dotNEONx3x1, dotNEONx3x2, dotNEONx3x3},
	{dotNEONx4x1, dotNEONx4x2, dotNEONx4x3},
	{dotNEONx5x1, dotNEONx5x2, dotNEONx5x3},
	{dotNEONx6x1, dotNEONx6x2, dotNEONx6x3},
	{dotNEONx7x1, dotNEONx7x2, dotNEONx7x3},
	{dotNEONx8x1, dotNEONx8x2, dotNEONx8x3},
}

var copyStripsNEON = [panelRegisters]stripCopier{copyStripsNEONx1, copyStripsNEONx2, copyStripsNEONx3}

func pairsAsDefined() bool { return false }

func pairProducts() products { return products{} }

// saturate does n rounds of fused multiply-adds. It returns false if the ISA has no such
// measure.
func saturate(isa ISA, n int) bool {
	if isa != NEON {
		return false
	}
	peakNEON(n)
	return true
}

// begin does n rounds of independent instructions. It returns false if the ISA has no such
// measure.
func begin(isa ISA, n int) bool {
	if isa != NEON {
		return false
	}
	startNEON(n)
	return true
}

func saturatePairs(ISA, int) bool { return false }

// addBlocks adds the first elements of src to dst, and returns how many.
func addBlocks(dst, src []float32) int {
	const block = 16
	blocks := len(dst) / block
	if blocks > 0 {
		addNEON(&dst[0], &src[0], blocks)
	}
	return blocks * block
}
