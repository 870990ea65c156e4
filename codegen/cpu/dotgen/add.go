package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// addBlock is how many registers a round of addAVX2 adds.
const addBlock = 4

// add writes addAVX2. Wider registers would not add faster: memory limits it.
func add() {
	TEXT("addAVX2", NOSPLIT, "func(dst *float32, src *float32, n int)")
	Pragma("noescape")
	Doc("addAVX2 adds n > 0 blocks of 32 elements of src to dst.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	Label("block")
	var sums [addBlock]reg.VecVirtual
	for i := range sums {
		sums[i] = YMM()
		VMOVUPS(operand.Mem{Base: dst, Disp: i * avx2.bytes}, sums[i])
		VADDPS(operand.Mem{Base: src, Disp: i * avx2.bytes}, sums[i], sums[i])
	}
	for i, s := range sums {
		VMOVUPS(s, operand.Mem{Base: dst, Disp: i * avx2.bytes})
	}
	ADDQ(operand.U32(uint32(addBlock*avx2.bytes)), dst)
	ADDQ(operand.U32(uint32(addBlock*avx2.bytes)), src)
	DECQ(n)
	JNZ(operand.LabelRef("block"))
	VZEROUPPER()
	RET()
}
