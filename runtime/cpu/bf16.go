package cpu

// Factors of BF16 become matrices of 32-bit words, which products multiply like float32. A word
// is one widened number or, if the processor multiplies pairs, two numbers, the first term of
// the sum in the upper half.

// narrowProducts are the products of BF16 on one instruction set.
type narrowProducts struct {
	perWord int
	// lay writes the words of an m x k matrix. It fills up the last word of a row with rest.
	lay func(to []float32, x strided[uint16], m, k int, rest uint16) matrix
	// by multiplies words.
	by *products
}

var goNarrow = narrowProducts{1, layWide(widenGo), &goProducts}

// The padding of words: its product is -0, which does not change a sum.
const leftRest, rightRest = 0x8000, 0

// words returns the words of a row of k elements.
func (p *narrowProducts) words(k int) int { return (k + p.perWord - 1) / p.perWord }

// left returns the words of an m x k left factor, in the Worker's memory. right returns the
// words of a k x n right factor.
func (p *narrowProducts) left(w *Worker, a strided[uint16], m, k int) matrix {
	a.check(m, k)
	return p.lay(w.factors.a.only(m*p.words(k)), a, m, k, leftRest)
}

func (p *narrowProducts) right(to []float32, b strided[uint16], k, n int) matrix {
	b.check(k, n)
	return p.lay(to, b.transposed(), n, k, rightRest).transposed()
}

// DotBF16 is Dot for factors of BF16.
func (w *Worker) DotBF16(m, n, k int, a []uint16, ars, acs int, b []uint16, brs, bcs int, c []float32, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 {
		return
	}
	w.timesBF16(m, n, k, strided[uint16]{a, ars, acs}, strided[uint16]{b, brs, bcs}, matrix{c, ldc, 1}, true)
}

// ProductBF16 is Product for factors of BF16.
func (w *Worker) ProductBF16(m, n, k int, a []uint16, ars, acs int, b []uint16, brs, bcs int, c []float32, ldc int) {
	z := matrix{c, ldc, 1}
	if z.emptyProduct(m, n, k) {
		return
	}
	w.timesBF16(m, n, k, strided[uint16]{a, ars, acs}, strided[uint16]{b, brs, bcs}, z, false)
}

func (w *Worker) timesBF16(m, n, k int, a, b strided[uint16], c matrix, add bool) {
	c.check(m, n)
	p := &w.narrow
	x := p.left(w, a, m, k)
	y := p.right(w.factors.b.only(n*p.words(k)), b, k, n)
	p.by.dot(w, m, n, p.words(k), x, y, c, add)
}

// PackedBF16 is Packed for BF16.
type PackedBF16 struct {
	k     int // elements
	words Packed
}

// PackBF16 is Pack for BF16.
func (w *Worker) PackBF16(rows, k, n int, b []uint16, brs, bcs int) PackedBF16 {
	if k <= 0 || n <= 0 {
		return PackedBF16{k, Packed{n: n}}
	}
	p := &w.narrow
	y := p.right(w.Tile(n*p.words(k)), strided[uint16]{b, brs, bcs}, k, n)
	return PackedBF16{k, p.by.packed(w, rows, p.words(k), n, y)}
}

// ProductPackedBF16 is ProductPacked for BF16.
func (w *Worker) ProductPackedBF16(m int, a []uint16, ars, acs int, b PackedBF16, c []float32, ldc int) {
	z := matrix{c, ldc, 1}
	if z.emptyProduct(m, b.words.n, b.k) {
		return
	}
	w.narrow.by.dotPacked(w, m, w.narrow.left(w, strided[uint16]{a, ars, acs}, m, b.k), b.words, z, false)
}

// DotPackedBF16 is DotPacked for BF16.
func (w *Worker) DotPackedBF16(m int, a []uint16, ars, acs int, b PackedBF16, c []float32, ldc int) {
	n := b.words.n
	if m <= 0 || n <= 0 || b.k <= 0 {
		return
	}
	z := matrix{c, ldc, 1}
	z.check(m, n)
	w.narrow.by.dotPacked(w, m, w.narrow.left(w, strided[uint16]{a, ars, acs}, m, b.k), b.words, z, true)
}

// DotVecBF16 is DotVec for BF16.
func (w *Worker) DotVecBF16(k int, a []uint16, as int, b []uint16, bs int, c float32) float32 {
	w.sum[0] = c
	w.DotBF16(1, 1, k, a, 0, as, b, bs, 0, w.sum[:], 1)
	return w.sum[0]
}

// layWide lays one number in a word. The widen function widens consecutive numbers.
func layWide(widen func(dst []float32, src []uint16)) func(to []float32, x strided[uint16], m, k int, rest uint16) matrix {
	return func(to []float32, x strided[uint16], m, k int, _ uint16) matrix {
		switch {
		case x.cs == 1 && x.rs == k:
			widen(to[:m*k], x.data)
		case x.rs == 1 && x.cs == m:
			widen(to[:m*k], x.data)
			return matrix{to, 1, m}
		case x.cs == 1:
			for i := range m {
				widen(to[i*k:][:k], x.data[i*x.rs:])
			}
		case x.rs == 1:
			for l := range k {
				widen(to[l*m:][:m], x.data[l*x.cs:])
			}
			return matrix{to, 1, m}
		default:
			for i := range m {
				for l := range k {
					to[i*k+l] = WidenBF16(x.at(i, l))
				}
			}
		}
		return matrix{to, k, 1}
	}
}

// widenGo widens as many numbers as dst has.
func widenGo(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i, x := range src {
		dst[i] = WidenBF16(x)
	}
}
