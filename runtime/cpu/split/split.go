// Package split multiplies matrices with split factors on the processor: each product is added
// as three, of halves with 10 fraction bits. Split factors become matrices with three times the
// k, which package cpu multiplies. Each element of a left factor becomes low, high, high, and
// each element of a right factor high, low, high. High is the factor rounded to 10 fraction bits
// of its significand, ties to even; low is the rest, truncated to as many. Only programs of specs
// with tf32x3 link the package.
package split

import (
	"math"

	"github.com/arithlang/mlc/runtime/cpu"
)

// A matrix is a view: element (i, j) is data[i*rs+j*cs].
type matrix struct {
	data   []float32
	rs, cs int
}

// Dot is Worker.Dot with split factors.
func Dot(w *cpu.Worker, m, n, k int, a []float32, ars, acs int, b []float32, brs, bcs int, c []float32, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 {
		return
	}
	mark := w.Mark()
	x, y := halves(w, m, n, k, matrix{a, ars, acs}, matrix{b, brs, bcs})
	w.Dot(m, n, parts*k, x.data, x.rs, x.cs, y.data, y.cs, y.rs, c, ldc)
	w.Release(mark)
}

// Product is Worker.Product with split factors.
func Product(w *cpu.Worker, m, n, k int, a []float32, ars, acs int, b []float32, brs, bcs int, c []float32, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 {
		w.Product(m, n, k, nil, 0, 0, nil, 0, 0, c, ldc)
		return
	}
	mark := w.Mark()
	x, y := halves(w, m, n, k, matrix{a, ars, acs}, matrix{b, brs, bcs})
	w.Product(m, n, parts*k, x.data, x.rs, x.cs, y.data, y.cs, y.rs, c, ldc)
	w.Release(mark)
}

// parts is how many products replace one.
const parts = 3

// halves splits both factors. It returns the right one transposed.
func halves(w *cpu.Worker, m, n, k int, a, b matrix) (x, y matrix) {
	h := halverOf(w.ISA())
	return h.halve(w.Tile(m*parts*k), a, m, k, 0), h.halve(w.Tile(n*parts*k), matrix{b.data, b.cs, b.rs}, n, k, 1)
}

// A halver splits factors on one instruction set: see halveDownGo and halveAlongGo.
type halver struct {
	down  func(low, high, again, src []float32)
	along func(dst, src []float32, low int)
}

var plain = halver{halveDownGo, halveAlongGo}

// halve turns an m x k matrix into one of m x 3k: for each element three times its high half,
// with the low half at place low instead. Elements that are consecutive in memory stay so.
func (h *halver) halve(to []float32, x matrix, m, k, low int) matrix {
	switch {
	case x.rs == 1:
		for l := range k {
			all := to[l*parts*m:][:parts*m]
			rows := [parts][]float32{all[:m], all[m : 2*m], all[2*m:]}
			h.down(rows[low], rows[1-low], rows[2], x.data[l*x.cs:][:m])
		}
		return matrix{to, 1, m}
	case x.cs == 1:
		for i := range m {
			h.along(to[i*parts*k:][:parts*k], x.data[i*x.rs:][:k], low)
		}
	default:
		for i := range m {
			for l := range k {
				halveAlongGo(to[(i*k+l)*parts:][:parts], x.data[i*x.rs+l*x.cs:][:1], low)
			}
		}
	}
	return matrix{to, parts * k, 1}
}

// halvesOf returns the halves of a number.
func halvesOf(x float32) (high, low float32) {
	const dropped = 23 - 10
	bits := math.Float32bits(x)
	high = math.Float32frombits((bits + bits>>dropped&1 + 1<<(dropped-1) - 1) >> dropped << dropped)
	return high, math.Float32frombits(math.Float32bits(x-high) >> dropped << dropped)
}

// halveDownGo writes the low halves of numbers once, and the high halves twice.
func halveDownGo(low, high, again, src []float32) {
	for i, x := range src {
		high[i], low[i] = halvesOf(x)
		again[i] = high[i]
	}
}

// halveAlongGo writes three numbers for each of src: the low half at place at, and the high
// half at the others.
func halveAlongGo(dst, src []float32, at int) {
	for i, x := range src {
		three := dst[i*parts:][:parts]
		high, low := halvesOf(x)
		three[0], three[1], three[2] = high, high, high
		three[at] = low
	}
}
