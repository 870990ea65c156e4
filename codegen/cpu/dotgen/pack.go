package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vecProduct writes dotVecFMA, the product of two strided vectors added to c.
func vecProduct() {
	TEXT("dotVecFMA", NOSPLIT, "func(k int, a *float32, as int, b *float32, bs int, c float32) float32")
	Pragma("noescape")
	Doc("dotVecFMA returns c plus the sum of k > 0 products; strides are in bytes.")
	k, a, as := Load(Param("k"), GP64()), Load(Param("a"), GP64()), Load(Param("as"), GP64())
	b, bs := Load(Param("b"), GP64()), Load(Param("bs"), GP64())
	c, x := Load(Param("c"), XMM()), XMM()
	Label("loop")
	VMOVSS(operand.Mem{Base: a}, x)
	VFMADD231SS(operand.Mem{Base: b}, x, c)
	ADDQ(as, a)
	ADDQ(bs, b)
	DECQ(k)
	JNZ(operand.LabelRef("loop"))
	Store(c, ReturnIndex(0))
	RET()
}

// copyRows writes
//
//	func copyRowsAVX512x2(dst, src *float32, ss, rows, lanes int)
//
// which copies rows to consecutive whole registers. Only the first lanes elements of the last
// register are read; the rest become 0. Strides are in bytes.
func copyRows(v vectors, cols int) {
	name := fmt.Sprintf("copyRows%sx%d", v.name, cols)
	TEXT(name, NOSPLIT, "func(dst, src *float32, ss, rows, lanes int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s copies rows > 0 rows of %d registers.", name, cols))
	p := productWriter{vectors: v, cols: cols}
	dst, src, ss := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("ss"), GP64())
	rows := Load(Param("rows"), GP64())
	p.loadMask()
	Label("row")
	for j := range cols {
		r := p.reg()
		p.load(operand.Mem{Base: src, Disp: j * p.bytes}, j, r)
		VMOVUPS(r, operand.Mem{Base: dst, Disp: j * p.bytes})
	}
	ADDQ(ss, src)
	ADDQ(operand.U32(uint32(cols*p.bytes)), dst)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}

// copyStrips writes
//
//	func copyStripsAVX512(dst *float32, ds int, src *float32, sn, ss, rows, strips, lanes int)
//
// which copies rows. It cuts each row into strips of lanes elements, sn apart, and writes a
// register to each strip's part of dst, ds apart. It reads in the order of memory, which is
// fastest if the rows are in no near cache. Strides are in bytes.
func copyStrips(v vectors) {
	name := "copyStrips" + v.name
	TEXT(name, NOSPLIT, "func(dst *float32, ds int, src *float32, sn, ss, rows, strips, lanes int)")
	Pragma("noescape")
	Doc(name + " copies strips > 0 strips of rows > 0 rows.")
	p := productWriter{vectors: v, cols: 1}
	dst, src, strips := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("strips"), GP64())
	ds, sn, ss := Load(Param("ds"), GP64()), Load(Param("sn"), GP64()), Load(Param("ss"), GP64())
	rows := Load(Param("rows"), GP64())
	p.loadMask()
	to, from, n, r := GP64(), GP64(), GP64(), p.reg()
	Label("row")
	MOVQ(dst, to)
	MOVQ(src, from)
	MOVQ(strips, n)
	Label("strip")
	p.load(operand.Mem{Base: from}, 0, r)
	VMOVUPS(r, operand.Mem{Base: to})
	ADDQ(sn, from)
	ADDQ(ds, to)
	DECQ(n)
	JNZ(operand.LabelRef("strip"))
	ADDQ(ss, src)
	ADDQ(operand.Imm(uint64(v.bytes)), dst)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}

// transpose writes
//
//	func transposeAVX512(dst *float32, ds int, src *float32, ss, rows, columns int)
//
// which writes the transpose of 1 to 16 (AVX2: 8) rows and columns > 0 columns. Each column
// takes a register; missing rows repeat the last one. Strides are in bytes.
func transpose(v vectors) {
	name := "transpose" + v.name
	TEXT(name, NOSPLIT, "func(dst *float32, ds int, src *float32, ss, rows, columns int)")
	Pragma("noescape")
	Doc(name + " transposes a few rows of columns > 0 columns.")
	p := productWriter{vectors: v, cols: 1}
	n := v.bytes / 4
	dst, ds, src := Load(Param("dst"), GP64()), Load(Param("ds"), GP64()), Load(Param("src"), GP64())
	rows, columns := Load(Param("rows"), GP64()), Load(Param("columns"), GP64())
	Label("block")
	lanes := GP64()
	MOVQ(operand.U32(uint32(n)), lanes)
	CMPQ(columns, lanes)
	CMOVQLT(columns, lanes)
	p.maskLanes(lanes)

	from, step, none := GP64(), GP64(), GP64()
	MOVQ(src, from)
	Load(Param("ss"), step)
	XORQ(none, none)
	block := make([]reg.VecVirtual, n)
	for i := range block {
		if i > 0 {
			CMPQ(rows, operand.Imm(uint64(i)))
			CMOVQLE(none, step)
			ADDQ(step, from)
		}
		block[i] = p.reg()
		p.load(operand.Mem{Base: from}, 0, block[i])
	}
	for i, r := range p.transposed(block) {
		if i > 0 {
			CMPQ(columns, operand.Imm(uint64(i)))
			JLE(operand.LabelRef("done"))
		}
		VMOVUPS(r, operand.Mem{Base: dst})
		ADDQ(ds, dst)
	}
	ADDQ(operand.Imm(uint64(v.bytes)), src)
	SUBQ(operand.Imm(uint64(n)), columns)
	JG(operand.LabelRef("block"))
	Label("done")
	VZEROUPPER()
	RET()
}

// transposed writes the transposition of a square block in registers. Within 128-bit lanes, it
// interleaves pairs of rows by words, then by pairs of words. Then it transposes the matrix of
// 128-bit lanes.
func (p *productWriter) transposed(r []reg.VecVirtual) []reg.VecVirtual {
	n := len(r)
	pairs, quads := make([]reg.VecVirtual, n), make([]reg.VecVirtual, n)
	for i := 0; i < n; i += 2 {
		pairs[i], pairs[i+1] = p.reg(), p.reg()
		VUNPCKLPS(r[i+1], r[i], pairs[i])
		VUNPCKHPS(r[i+1], r[i], pairs[i+1])
	}
	for i := 0; i < n; i += 4 {
		for h := range 2 {
			lo, hi := pairs[i+h], pairs[i+h+2]
			quads[i+2*h], quads[i+2*h+1] = p.reg(), p.reg()
			VSHUFPS(operand.Imm(0x44), hi, lo, quads[i+2*h])
			VSHUFPS(operand.Imm(0xEE), hi, lo, quads[i+2*h+1])
		}
	}
	out := make([]reg.VecVirtual, n)
	for i := range 4 {
		if p.wide() {
			p.lanes4(quads[i], quads[i+4], quads[i+8], quads[i+12], out[i:])
		} else {
			out[i], out[i+4] = p.reg(), p.reg()
			VPERM2F128(operand.Imm(0x20), quads[i+4], quads[i], out[i])
			VPERM2F128(operand.Imm(0x31), quads[i+4], quads[i], out[i+4])
		}
	}
	return out
}

// lanes4 writes the transposition of a 4 x 4 matrix of 128-bit lanes to every
// fourth register of out.
func (p *productWriter) lanes4(a, b, c, d reg.VecVirtual, out []reg.VecVirtual) {
	const evens, odds = 0x88, 0xDD
	for h, lanes := range []uint64{evens, odds} {
		ab, cd := p.reg(), p.reg()
		VSHUFF32X4(operand.Imm(lanes), b, a, ab)
		VSHUFF32X4(operand.Imm(lanes), d, c, cd)
		out[4*h], out[4*h+8] = p.reg(), p.reg()
		VSHUFF32X4(operand.Imm(evens), cd, ab, out[4*h])
		VSHUFF32X4(operand.Imm(odds), cd, ab, out[4*h+8])
	}
}
