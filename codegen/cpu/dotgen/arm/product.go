package main

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/codegen/cpu/arm64"
)

// The largest tile has maxRows rows and maxCols registers of columns. Its sums are in the
// registers from firstSum on. The registers before them have a column of A and a row of B.
const (
	maxRows, maxCols         = 8, 3
	firstA, firstB, firstSum = arm64.V0, arm64.V2, arm64.V8
)

// unrolled is how many steps of k a round of the main loop has, a power of two.
const (
	unrolledBits = 2
	unrolled     = 1 << unrolledBits
)

// product writes a microkernel
//
//	func dotNEONx8x3(a *float32, b *float32, brs int, c *float32, ldc, k, tiles, lanes, add int)
//
// which writes tiles consecutive blocks of C, each of rows x cols registers. They are the
// product of rows of A and a panel of B, added to C if add is not 0. Strides are in bytes. A
// is packed: tiles are consecutive, and a tile has 4 elements at each k, or 8 if it has more
// than 4 rows. The last register of a row has lanes lanes in C, and all lanes in B.
//
// The k loop keeps one chain of fused multiply-adds for each output, in ascending k. It does
// not broadcast elements of A: the instruction takes an element of a register.
func product(rows, cols int) (*arm64.Func, loop) {
	w := start(fmt.Sprintf("dotNEONx%dx%d", rows, cols), fmt.Sprintf("computes blocks of %d rows and %d registers.", rows, cols),
		"a *float32, b *float32, brs int, c *float32, ldc, k, tiles, lanes, add int", nil)
	p := &productWriter{writer: w, rows: rows, cols: cols, at: w.reg(), temporary: w.reg()}
	n, b, k := w.reg(), w.reg(), w.regs["k"]
	w.Mark("tile")
	p.startSums()
	w.Op("mov", b, w.regs["b"])
	w.Op("lsr", n, k, arm64.Imm(unrolledBits))
	w.Op("cbz", n, arm64.Label("rest"))
	before := len(slices.Collect(w.Insts()))
	w.times("four", n, func() {
		for range unrolled {
			p.step(b)
		}
	})
	main := slices.Collect(w.Insts())[before:]
	w.Mark("rest")
	w.Op("and", n, k, arm64.Imm(unrolled-1))
	w.Op("cbz", n, arm64.Label("sums"))
	w.times("one", n, func() { p.step(b) })
	w.Mark("sums")
	p.eachRow("store", store)
	w.Op("mov", w.regs["c"], p.at)
	w.Op("sub", w.regs["tiles"], w.regs["tiles"], arm64.Imm(1))
	w.Op("cbnz", w.regs["tiles"], arm64.Label("tile"))
	w.Op("ret")
	return w.Func, loopOf(rows, cols, main)
}

type productWriter struct {
	*writer
	rows, cols    int
	at, temporary arm64.Reg
}

// startSums sets the sums to 0 or to the block of C.
func (p *productWriter) startSums() {
	p.Op("cbnz", p.regs["add"], arm64.Label("add"))
	for i := range p.rows * p.cols {
		p.Op("movi.2d", firstSum+arm64.Vec(i), arm64.Imm(0))
	}
	p.Op("b", arm64.Label("loop"))
	p.Mark("add")
	p.eachRow("load", load)
	p.Mark("loop")
}

// eachRow reads or writes the block of C.
func (p *productWriter) eachRow(prefix string, a access) {
	p.Op("mov", p.at, p.regs["c"])
	p.byLanes(prefix, p.regs["lanes"], func(n int) {
		for i := range p.rows {
			p.row(a, firstSum+arm64.Vec(i*p.cols), p.cols, n, p.at, p.regs["ldc"], p.temporary)
		}
	})
}

// step adds the products of one k.
func (p *productWriter) step(b arm64.Reg) {
	if p.rows > lanes {
		p.Op("ldp.q", firstA, firstA+1, arm64.Post(p.regs["a"], 2*registerBytes))
	} else {
		p.Op("ldr.q", firstA, arm64.Post(p.regs["a"], registerBytes))
	}
	p.Op("ld1.4s", arm64.List{First: firstB, N: p.cols}, arm64.PostIndex(b, p.regs["brs"]))
	for i := range p.rows {
		for j := range p.cols {
			p.Op("fmla.4s", firstSum+arm64.Vec(i*p.cols+j), firstB+arm64.Vec(j), arm64.Elem{V: firstA + arm64.Vec(i/lanes), I: i % lanes})
		}
	}
}

// vecProduct writes
//
//	func dotVecNEON(k int, a *float32, as int, b *float32, bs int, c float32) float32
//
// the product of two strided vectors added to c. Strides are in bytes.
func vecProduct() *arm64.Func {
	w := start("dotVecNEON", "returns c plus the sum of k > 0 products; strides are in bytes.",
		"k int, a *float32, as int, b *float32, bs int, c float32", &arm64.Parameter{Name: "ret", GoType: "float32", Bytes: 4})
	sum, x, y := arm64.V0, arm64.V1, arm64.V2
	w.Op("ldr.s", sum, arm64.Param("c"))
	w.times("loop", w.regs["k"], func() {
		w.Op("ldr.s", x, arm64.At(w.regs["a"], 0))
		w.Op("ldr.s", y, arm64.At(w.regs["b"], 0))
		w.Op("fmadd.s", sum, x, y, sum)
		w.Op("add", w.regs["a"], w.regs["a"], w.regs["as"])
		w.Op("add", w.regs["b"], w.regs["b"], w.regs["bs"])
	})
	w.Op("str.s", sum, arm64.Param("ret"))
	w.Op("ret")
	return w.Func
}
