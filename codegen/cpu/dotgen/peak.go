package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// peakChains independent chains hide the latency of a fused multiply-add on every port. They
// leave registers for the factors.
const peakChains = 12

// peak writes
//
//	func peakAVX512(n int)
//
// which only runs n > 0 rounds of fused multiply-adds. Products are measured against it.
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

// mixed is how many instructions of each kind a round of start has.
const mixed = 8

// start writes
//
//	func startAVX2(n int)
//
// which only runs n > 0 rounds of short instructions: loads, vector additions and integer
// additions. Ports do not limit them, so it measures how fast a core starts instructions.
func start(v vectors) {
	TEXT("start"+v.name, NOSPLIT, "func(n int)")
	Pragma("noescape")
	Doc("start" + v.name + " does n > 0 rounds of 24 instructions of three kinds.")
	n, x := Load(Param("n"), GP64()), v.reg()
	VXORPS(x, x, x)
	var sums [mixed]reg.VecVirtual
	var counts [mixed / 2]reg.GPVirtual
	for i := range sums {
		sums[i] = v.reg()
		VMOVAPS(x, sums[i])
	}
	for i := range counts {
		counts[i] = GP64()
		XORQ(counts[i], counts[i])
	}
	loaded := GP64()
	Label("round")
	for i, s := range sums {
		VPADDD(x, s, s)
		ADDQ(operand.Imm(1), counts[i%len(counts)])
		MOVQ(operand.NewParamAddr("n", 0), loaded)
	}
	DECQ(n)
	JNZ(operand.LabelRef("round"))
	VZEROUPPER()
	RET()
}
