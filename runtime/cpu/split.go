package cpu

import "math"

// Split factors become matrices with three times the k, so that all else is like Dot. Each
// element of a left factor becomes low, high, high, and each element of a right factor high,
// low, high. High is the factor rounded to 10 fraction bits of its significand, ties to even;
// low is the rest, truncated to as many.

// DotSplit is Dot with split factors: each product is added as three.
func (w *Worker) DotSplit(m, n, k int, a []float32, ars, acs int, b []float32, brs, bcs int, c []float32, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 {
		return
	}
	w.split(m, n, k, matrix{a, ars, acs}, matrix{b, brs, bcs}, matrix{c, ldc, 1}, true)
}

// ProductSplit is Product with split factors.
func (w *Worker) ProductSplit(m, n, k int, a []float32, ars, acs int, b []float32, brs, bcs int, c []float32, ldc int) {
	z := matrix{c, ldc, 1}
	if z.emptyProduct(m, n, k) {
		return
	}
	w.split(m, n, k, matrix{a, ars, acs}, matrix{b, brs, bcs}, z, false)
}

func (w *Worker) split(m, n, k int, a, b, c matrix, add bool) {
	a.check(m, k)
	b.check(k, n)
	c.check(m, n)
	x := w.halve(&w.factors.a, a, m, k, 0)
	y := w.halve(&w.factors.b, b.transposed(), n, k, 1)
	w.products.dot(w, m, n, parts*k, x, y.transposed(), c, add)
}

// parts is how many products replace one.
const parts = 3

// halve turns an m x k matrix into one of m x 3k: for each element three times its high half,
// with the low half at place low instead. Elements that are consecutive in memory stay so.
func (w *Worker) halve(memory *scratch[float32], x matrix, m, k, low int) matrix {
	to := memory.only(m * parts * k)
	switch {
	case x.rs == 1:
		for l := range k {
			all := to[l*parts*m:][:parts*m]
			rows := [parts][]float32{all[:m], all[m : 2*m], all[2*m:]}
			w.products.halveDown(rows[low], rows[1-low], rows[2], x.data[l*x.cs:][:m])
		}
		return matrix{to, 1, m}
	case x.cs == 1:
		for i := range m {
			w.products.halveAlong(to[i*parts*k:][:parts*k], x.data[i*x.rs:][:k], low)
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
