package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// halver splits registers of numbers into halves of TF32.
type halver struct {
	productWriter
	one, half, kept reg.VecVirtual
}

// dropped is how many bits of a float32 TF32 lacks.
const dropped = 23 - 10

func newHalver(v vectors) *halver {
	h := &halver{productWriter: productWriter{vectors: v, cols: 1}}
	constant := func(bits uint32) reg.VecVirtual {
		word, one, all := GP32(), XMM(), h.reg()
		MOVL(operand.U32(bits), word)
		VMOVD(word, one)
		VPBROADCASTD(one, all)
		return all
	}
	h.one, h.half, h.kept = constant(1), constant(1<<(dropped-1)-1), constant(1<<32-1<<dropped)
	return h
}

// and writes a bitwise and.
func (h *halver) and(x, y, to reg.VecVirtual) {
	if h.wide() {
		VPANDD(x, y, to)
	} else {
		VPAND(x, y, to)
	}
}

// halves splits a register of numbers in memory.
func (h *halver) halves(from operand.Mem) (high, low reg.VecVirtual) {
	x := h.reg()
	high, low = h.reg(), h.reg()
	VMOVUPS(from, x)
	VPSRLD(operand.Imm(dropped), x, high)
	h.and(h.one, high, high)
	VPADDD(x, high, high)
	VPADDD(h.half, high, high)
	h.and(h.kept, high, high)
	VSUBPS(high, x, low)
	h.and(h.kept, low, low)
	return high, low
}

// halveDown writes
//
//	func halveDownAVX512(low, high, again, src *float32, registers int)
//
// which writes the low halves of whole registers of src once, and the high halves twice.
func halveDown(v vectors) {
	name := "halveDown" + v.name
	TEXT(name, NOSPLIT, "func(low, high, again, src *float32, registers int)")
	Pragma("noescape")
	Doc(name + " splits registers > 0 registers of numbers.")
	to := [3]reg.Register{Load(Param("low"), GP64()), Load(Param("high"), GP64()), Load(Param("again"), GP64())}
	src, n := Load(Param("src"), GP64()), Load(Param("registers"), GP64())
	h := newHalver(v)
	Label("loop")
	high, low := h.halves(operand.Mem{Base: src})
	for i, x := range []reg.VecVirtual{low, high, high} {
		VMOVUPS(x, operand.Mem{Base: to[i]})
		ADDQ(operand.Imm(uint64(v.bytes)), to[i])
	}
	ADDQ(operand.Imm(uint64(v.bytes)), src)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// halveAlong writes
//
//	func halveAlongAVX512(dst, src *float32, registers int, places *uint32)
//
// which writes three numbers for each number of src. Three registers of places say which: the
// number, and in the highest bit whether it is the high half.
func halveAlong(v vectors) {
	name := "halveAlong" + v.name
	TEXT(name, NOSPLIT, "func(dst, src *float32, registers int, places *uint32)")
	Pragma("noescape")
	Doc(name + " splits registers > 0 registers of numbers, side by side.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, places := Load(Param("registers"), GP64()), Load(Param("places"), GP64())
	h := newHalver(v)
	var at [3]reg.VecVirtual
	var isHigh [3]reg.Register
	for i := range at {
		at[i] = h.reg()
		VMOVUPS(operand.Mem{Base: places, Disp: i * v.bytes}, at[i])
		if v.wide() {
			isHigh[i] = K()
			VPMOVD2M(at[i], isHigh[i])
		}
	}
	Label("loop")
	high, low := h.halves(operand.Mem{Base: src})
	for i := range at {
		x := h.reg()
		VPERMPS(low, at[i], x)
		if v.wide() {
			VPERMPS(high, at[i], isHigh[i], x)
		} else {
			y := h.reg()
			VPERMPS(high, at[i], y)
			VBLENDVPS(at[i], y, x, x)
		}
		VMOVUPS(x, operand.Mem{Base: dst, Disp: i * v.bytes})
	}
	ADDQ(operand.Imm(uint64(v.bytes)), src)
	ADDQ(operand.Imm(uint64(3*v.bytes)), dst)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}
