package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// peakChains is enough independent chains to hide the latency of a fused
// multiply-add on every port; it leaves registers for the factors.
const peakChains = 12

// peak writes
//
//	func peakAVX512(n int)
//
// which does nothing but n > 0 rounds of fused multiply-adds: what products are
// measured against.
func peak(v vectors) {
	TEXT("peak"+v.name, NOSPLIT, "func(n int)")
	Pragma("noescape")
	Doc("peak" + v.name + " does n > 0 rounds of 12 fused multiply-adds.")
	n, x := Load(Param("n"), GP64()), v.reg()
	VXORPS(x, x, x)
	sums := make([]reg.VecVirtual, peakChains)
	for i := range sums {
		sums[i] = v.reg()
		VMOVAPS(x, sums[i])
	}
	Label("round")
	for _, s := range sums {
		v.multiply(x, x, s)
	}
	DECQ(n)
	JNZ(operand.LabelRef("round"))
	VZEROUPPER()
	RET()
}
