package main

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/cpu/arm64"
)

// copyStrips writes
//
//	func copyStripsNEONx2(dst *float32, ds int, src *float32, sn, ss, rows, strips, lanes int)
//
// which copies rows. It cuts each row into strips of some registers, sn apart, and writes the
// registers to each strip's part of dst, ds apart. Only the first lanes elements of a strip's
// last register are read; the rest become 0. It reads in the order of memory, which is fastest
// if the rows are in no near cache. Strides are in bytes.
func copyStrips(cols int) *arm64.Func {
	w := start(fmt.Sprintf("copyStripsNEONx%d", cols), fmt.Sprintf("copies strips > 0 strips of %d registers of rows > 0 rows.", cols),
		"dst *float32, ds int, src *float32, sn, ss, rows, strips, lanes int", nil)
	to, from, n, temporary := w.reg(), w.reg(), w.reg(), w.reg()
	dst, src := w.regs["dst"], w.regs["src"]
	w.Mark("row")
	w.Op("mov", to, dst)
	w.Op("mov", from, src)
	w.Op("mov", n, w.regs["strips"])
	w.byLanes("copy", w.regs["lanes"], func(lanes int) {
		w.times(arm64.Label(fmt.Sprintf("strip%d", lanes)), n, func() {
			w.row(load, arm64.V0, cols, lanes, from, w.regs["sn"], temporary)
			w.Op("st1.4s", arm64.List{First: arm64.V0, N: cols}, arm64.PostIndex(to, w.regs["ds"]))
		})
	})
	w.Op("add", src, src, w.regs["ss"])
	w.Op("add", dst, dst, arm64.Imm(cols*registerBytes))
	w.Op("sub", w.regs["rows"], w.regs["rows"], arm64.Imm(1))
	w.Op("cbnz", w.regs["rows"], arm64.Label("row"))
	w.Op("ret")
	return w.Func
}

// transpose writes
//
//	func transposeNEON(dst *float32, ds int, src *float32, ss, rows, columns int)
//
// which writes the transpose of 1 to 4 rows and columns > 0 columns. Each column takes a
// register; missing rows repeat the last one. Strides are in bytes.
func transpose() *arm64.Func {
	w := start("transposeNEON", "transposes a few rows of columns > 0 columns.", "dst *float32, ds int, src *float32, ss, rows, columns int", nil)
	var from [lanes]arm64.Reg
	from[0] = w.regs["src"]
	step, n := w.reg(), w.reg()
	for i := 1; i < lanes; i++ {
		from[i] = w.reg()
		w.Op("cmp", w.regs["rows"], arm64.Imm(i))
		w.Op("csel.gt", step, w.regs["ss"], arm64.ZR)
		w.Op("add", from[i], from[i-1], step)
	}
	put := func(v arm64.Vec) {
		w.Op("st1.4s", arm64.List{First: v, N: 1}, arm64.PostIndex(w.regs["dst"], w.regs["ds"]))
	}
	w.Op("lsr", n, w.regs["columns"], arm64.Imm(2))
	w.Op("cbz", n, arm64.Label("rest"))
	w.times("four", n, func() {
		for i, r := range from {
			w.Op("ldr.q", arm64.V0+arm64.Vec(i), arm64.Post(r, registerBytes))
		}
		// Interleave pairs of rows, then pairs of pairs.
		w.Op("trn1.4s", arm64.V4, arm64.V0, arm64.V1)
		w.Op("trn2.4s", arm64.V5, arm64.V0, arm64.V1)
		w.Op("trn1.4s", arm64.V6, arm64.V2, arm64.V3)
		w.Op("trn2.4s", arm64.V7, arm64.V2, arm64.V3)
		w.Op("zip1.2d", arm64.V0, arm64.V4, arm64.V6)
		w.Op("zip1.2d", arm64.V1, arm64.V5, arm64.V7)
		w.Op("zip2.2d", arm64.V2, arm64.V4, arm64.V6)
		w.Op("zip2.2d", arm64.V3, arm64.V5, arm64.V7)
		for i := range from {
			put(arm64.V0 + arm64.Vec(i))
		}
	})
	w.Mark("rest")
	w.Op("and", n, w.regs["columns"], arm64.Imm(lanes-1))
	w.Op("cbz", n, arm64.Label("done"))
	w.times("one", n, func() {
		for i, r := range from {
			w.Op("ld1.s", arm64.Elem{V: arm64.V0, I: i}, arm64.Post(r, 4))
		}
		put(arm64.V0)
	})
	w.Mark("done")
	w.Op("ret")
	return w.Func
}

// widen writes
//
//	func widenNEON(dst *float32, src *uint16, registers int)
//
// which widens BF16 to float32: each is the upper half of a word.
func widen() *arm64.Func {
	w := start("widenNEON", "widens registers > 0 registers of 8 BF16.", "dst *float32, src *uint16, registers int", nil)
	x, zero, low, high := arm64.V0, arm64.V1, arm64.V2, arm64.V3
	w.Op("movi.2d", zero, arm64.Imm(0))
	w.times("loop", w.regs["registers"], func() {
		w.Op("ldr.q", x, arm64.Post(w.regs["src"], registerBytes))
		w.Op("zip1.8h", low, zero, x)
		w.Op("zip2.8h", high, zero, x)
		w.Op("stp.q", low, high, arm64.Post(w.regs["dst"], 2*registerBytes))
	})
	w.Op("ret")
	return w.Func
}

// add writes addNEON.
func add() *arm64.Func {
	const registers = 4
	w := start("addNEON", "adds n > 0 blocks of 16 elements of src to dst.", "dst, src *float32, n int", nil)
	dst, sums, addends := w.regs["dst"], arm64.List{First: arm64.V0, N: registers}, arm64.List{First: arm64.V4, N: registers}
	w.times("block", w.regs["n"], func() {
		w.Op("ld1.4s", sums, arm64.At(dst, 0))
		w.Op("ld1.4s", addends, arm64.Post(w.regs["src"], registers*registerBytes))
		for i := range arm64.Vec(registers) {
			w.Op("fadd.4s", arm64.V0+i, arm64.V0+i, arm64.V4+i)
		}
		w.Op("st1.4s", sums, arm64.Post(dst, registers*registerBytes))
	})
	w.Op("ret")
	return w.Func
}

// peakChains independent chains hide the latency of a fused multiply-add on every port.
const peakChains = maxRows * maxCols

// peak writes
//
//	func peakNEON(n int)
//
// which only runs n > 0 rounds of fused multiply-adds. Products are measured against it.
func peak() *arm64.Func {
	w := start("peakNEON", fmt.Sprintf("does n > 0 rounds of %d fused multiply-adds.", peakChains), "n int", nil)
	w.Op("movi.2d", arm64.V0, arm64.Imm(0))
	for i := range arm64.Vec(peakChains) {
		w.Op("movi.2d", firstSum+i, arm64.Imm(0))
	}
	w.times("round", w.regs["n"], func() {
		for i := range arm64.Vec(peakChains) {
			w.Op("fmla.4s", firstSum+i, arm64.V0, arm64.Elem{V: arm64.V0, I: int(i) % lanes})
		}
	})
	w.Op("ret")
	return w.Func
}

// mixed is how many instructions of each kind a round of begin has.
const mixed = 8

// begin writes
//
//	func startNEON(n int)
//
// which only runs n > 0 rounds of short instructions: loads, vector additions and integer
// additions. It measures how fast a core starts instructions.
func begin() *arm64.Func {
	w := start("startNEON", fmt.Sprintf("does n > 0 rounds of %d instructions of three kinds.", 3*mixed), "n int", nil)
	n := w.regs["n"]
	w.Op("movi.2d", arm64.V0, arm64.Imm(0))
	for i := range arm64.Vec(mixed) {
		w.Op("movi.2d", firstSum+i, arm64.Imm(0))
	}
	counts := []arm64.Reg{w.reg(), w.reg(), w.reg(), w.reg()}
	loaded := w.reg()
	for _, c := range counts {
		w.Op("mov", c, arm64.Imm(0))
	}
	w.times("round", n, func() {
		for i := range mixed {
			v := firstSum + arm64.Vec(i)
			w.Op("add.4s", v, v, arm64.V0)
			w.Op("add", counts[i%len(counts)], counts[i%len(counts)], arm64.Imm(1))
			w.Op("ldr", loaded, arm64.Param("n"))
		}
	})
	w.Op("ret")
	return w.Func
}
