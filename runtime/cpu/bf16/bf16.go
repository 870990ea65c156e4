// Package bf16 multiplies matrices of BF16 on the processor. Factors become matrices of 32-bit
// words, which package cpu multiplies like float32. A word is one widened number or, if the
// processor multiplies pairs, two numbers, the first term of the sum in the upper half. Only
// programs of specs with bf16 link the package.
package bf16

import "github.com/arithlang/mlc/runtime/cpu"

// A matrix is a view: element (i, j) is data[i*rs+j*cs].
type matrix[T float32 | uint16] struct {
	data   []T
	rs, cs int
}

func (x matrix[T]) at(i, j int) T { return x.data[i*x.rs+j*x.cs] }

func (x matrix[T]) transposed() matrix[T] { return matrix[T]{x.data, x.cs, x.rs} }

// check panics unless an m x n matrix lies within its data. Assembly does not check its
// accesses.
func (x matrix[T]) check(m, n int) {
	if x.rs < 0 || x.cs < 0 {
		panic("BUG: a matrix with a negative stride")
	}
	_ = x.data[(m-1)*x.rs+(n-1)*x.cs]
}

// A form is how factors become words on one instruction set.
type form struct {
	perWord int
	// lay writes the words of an m x k matrix. It fills up the last word of a row with rest.
	lay func(to []float32, x matrix[uint16], m, k int, rest uint16) matrix[float32]
}

var plain = form{1, layWide(widenGo)}

// The padding of words: its product is -0, which does not change a sum.
const leftRest, rightRest = 0x8000, 0

// words returns the words of a row of k elements.
func (f *form) words(k int) int { return (k + f.perWord - 1) / f.perWord }

// left returns the words of an m x k left factor, and right of a k x n right factor, in a tile.
func (f *form) left(w *cpu.Worker, a matrix[uint16], m, k int) matrix[float32] {
	a.check(m, k)
	return f.lay(w.Tile(m*f.words(k)), a, m, k, leftRest)
}

func (f *form) right(w *cpu.Worker, b matrix[uint16], k, n int) matrix[float32] {
	b.check(k, n)
	return f.lay(w.Tile(n*f.words(k)), b.transposed(), n, k, rightRest).transposed()
}

// Dot is Worker.Dot for factors of BF16.
func Dot(w *cpu.Worker, m, n, k int, a []uint16, ars, acs int, b []uint16, brs, bcs int, c []float32, ldc int) {
	if m > 0 && n > 0 && k > 0 {
		times(w, m, n, k, matrix[uint16]{a, ars, acs}, matrix[uint16]{b, brs, bcs}, c, ldc, true)
	}
}

// Product is Worker.Product for factors of BF16.
func Product(w *cpu.Worker, m, n, k int, a []uint16, ars, acs int, b []uint16, brs, bcs int, c []float32, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 {
		w.Product(m, n, k, nil, 0, 0, nil, 0, 0, c, ldc)
		return
	}
	times(w, m, n, k, matrix[uint16]{a, ars, acs}, matrix[uint16]{b, brs, bcs}, c, ldc, false)
}

func times(w *cpu.Worker, m, n, k int, a, b matrix[uint16], c []float32, ldc int, add bool) {
	f, mark := formOf(w), w.Mark()
	x, y := f.left(w, a, m, k), f.right(w, b, k, n)
	w.Pairs(f.perWord == 2)
	if add {
		w.Dot(m, n, f.words(k), x.data, x.rs, x.cs, y.data, y.rs, y.cs, c, ldc)
	} else {
		w.Product(m, n, f.words(k), x.data, x.rs, x.cs, y.data, y.rs, y.cs, c, ldc)
	}
	w.Pairs(false)
	w.Release(mark)
}

// Packed is cpu.Packed for BF16.
type Packed struct {
	k, n  int // elements
	words cpu.Packed
}

// Pack is Worker.Pack for BF16.
func Pack(w *cpu.Worker, rows, k, n int, b []uint16, brs, bcs int) Packed {
	if k <= 0 || n <= 0 {
		return Packed{k, n, w.Pack(rows, k, n, nil, 0, 0)}
	}
	f := formOf(w)
	y := f.right(w, matrix[uint16]{b, brs, bcs}, k, n)
	w.Pairs(f.perWord == 2)
	words := w.Pack(rows, f.words(k), n, y.data, y.rs, y.cs)
	w.Pairs(false)
	return Packed{k, n, words}
}

// ProductPacked is Worker.ProductPacked for BF16.
func ProductPacked(w *cpu.Worker, m int, a []uint16, ars, acs int, b Packed, c []float32, ldc int) {
	if m <= 0 || b.n <= 0 || b.k <= 0 {
		w.ProductPacked(m, nil, 0, 0, b.words, c, ldc)
		return
	}
	timesPacked(w, m, matrix[uint16]{a, ars, acs}, b, c, ldc, false)
}

// DotPacked is Worker.DotPacked for BF16.
func DotPacked(w *cpu.Worker, m int, a []uint16, ars, acs int, b Packed, c []float32, ldc int) {
	if m > 0 && b.n > 0 && b.k > 0 {
		timesPacked(w, m, matrix[uint16]{a, ars, acs}, b, c, ldc, true)
	}
}

func timesPacked(w *cpu.Worker, m int, a matrix[uint16], b Packed, c []float32, ldc int, add bool) {
	f, mark := formOf(w), w.Mark()
	x := f.left(w, a, m, b.k)
	w.Pairs(f.perWord == 2)
	if add {
		w.DotPacked(m, x.data, x.rs, x.cs, b.words, c, ldc)
	} else {
		w.ProductPacked(m, x.data, x.rs, x.cs, b.words, c, ldc)
	}
	w.Pairs(false)
	w.Release(mark)
}

// DotVec is Worker.DotVec for BF16.
func DotVec(w *cpu.Worker, k int, a []uint16, as int, b []uint16, bs int, c float32) float32 {
	mark := w.Mark()
	sum := w.Tile(1)
	sum[0] = c
	Dot(w, 1, 1, k, a, 0, as, b, bs, 0, sum, 1)
	w.Release(mark)
	return sum[0]
}

// layWide lays one number in a word. The widen function widens consecutive numbers.
func layWide(widen func(dst []float32, src []uint16)) func(to []float32, x matrix[uint16], m, k int, rest uint16) matrix[float32] {
	return func(to []float32, x matrix[uint16], m, k int, _ uint16) matrix[float32] {
		switch {
		case x.cs == 1 && x.rs == k:
			widen(to[:m*k], x.data)
		case x.rs == 1 && x.cs == m:
			widen(to[:m*k], x.data)
			return matrix[float32]{to, 1, m}
		case x.cs == 1:
			for i := range m {
				widen(to[i*k:][:k], x.data[i*x.rs:])
			}
		case x.rs == 1:
			for l := range k {
				widen(to[l*m:][:m], x.data[l*x.cs:])
			}
			return matrix[float32]{to, 1, m}
		default:
			for i := range m {
				for l := range k {
					to[i*k+l] = cpu.WidenBF16(x.at(i, l))
				}
			}
		}
		return matrix[float32]{to, k, 1}
	}
}

// widenGo widens as many numbers as dst has.
func widenGo(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i, x := range src {
		dst[i] = cpu.WidenBF16(x)
	}
}
