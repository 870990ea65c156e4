package cpu

// A matrix is a view: element (i, j) is data[i*rs+j*cs].
type matrix struct {
	data   []float32
	rs, cs int
}

func (x matrix) at(i, j int) float32 { return x.data[i*x.rs+j*x.cs] }

// check panics unless an m x n matrix lies within its data. Assembly does not check its
// accesses.
func (x matrix) check(m, n int) {
	if x.rs < 0 || x.cs < 0 {
		panic("BUG: a matrix with a negative stride")
	}
	_ = x.data[(m-1)*x.rs+(n-1)*x.cs]
}

// clear makes the first n elements of m rows 0.
func (x matrix) clear(m, n int) {
	for i := range m {
		clear(x.data[i*x.rs:][:n])
	}
}

// emptyProduct reports whether an m x n product has no terms, and then clears x, its result.
func (x matrix) emptyProduct(m, n, k int) bool {
	if m <= 0 || n <= 0 {
		return true
	}
	x.check(m, n)
	if k <= 0 {
		x.clear(m, n)
	}
	return k <= 0
}

// products are the matrix products on one instruction set. Extents are positive and checked
// against the slices. Without add, results overwrite c.
type products struct {
	// dot computes the m x n product of a (m x k) and b (k x n) in c.
	dot func(w *Worker, m, n, k int, a, b, c matrix, add bool)
	// dotPacked is dot with b packed. pack writes packedSize elements. Both are nil if packing
	// does not pay.
	dotPacked  func(w *Worker, m int, a matrix, b Packed, c matrix, add bool)
	packedSize func(k, n int) int
	pack       func(to []float32, k, n int, b matrix)
	// vec adds the product of two vectors to c.
	vec func(k int, a []float32, as int, b []float32, bs int, c float32) float32
}

var goProducts = products{dotGo, dotPackedGo, nil, nil, dotVecGo}

// HasPairs reports whether the Worker multiplies pairs of BF16.
func (w *Worker) HasPairs() bool { return w.all == AVX512BF16 }

// Pairs makes products multiply words, each a pair of BF16, or numbers again. Only a Worker that
// HasPairs may be asked for pairs. Package bf16 calls it around each product.
func (w *Worker) Pairs(on bool) {
	switch {
	case !on:
		w.products = productsOf[w.isa]
	case w.pairs.dot == nil:
		w.pairs = pairProducts()
		fallthrough
	default:
		w.products = w.pairs
	}
}

// workspace is the memory of a running product, for A and B or blocks of them.
type workspace struct{ a, b scratch[float32] }

// Dot adds a matrix product: C[i, j] += sum over k of A[i, k]*B[k, j], where A[i, k] is
// a[i*ars+k*acs], B[k, j] is b[k*brs+j*bcs] and C[i, j] is c[i*ldc+j]; i < m, j < n. Each
// output adds its products in ascending k with Fma. The operands must not overlap c.
func (w *Worker) Dot(m, n, k int, a []float32, ars, acs int, b []float32, brs, bcs int, c []float32, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 {
		return
	}
	x, y, z := matrix{a, ars, acs}, matrix{b, brs, bcs}, matrix{c, ldc, 1}
	x.check(m, k)
	y.check(k, n)
	z.check(m, n)
	w.products.dot(w, m, n, k, x, y, z, true)
}

// Product is Dot with sums that start at 0: it writes C[i, j] and does not read it.
func (w *Worker) Product(m, n, k int, a []float32, ars, acs int, b []float32, brs, bcs int, c []float32, ldc int) {
	x, y, z := matrix{a, ars, acs}, matrix{b, brs, bcs}, matrix{c, ldc, 1}
	if z.emptyProduct(m, n, k) {
		return
	}
	x.check(m, k)
	y.check(k, n)
	w.products.dot(w, m, n, k, x, y, z, false)
}

// Packed is the right operand of several products, laid out for the Worker that packed it.
type Packed struct {
	k, n   int
	b      matrix    // the original matrix
	panels []float32 // the layout of a gemm; nil if b is used directly
}

// Pack prepares a k x n matrix for ProductPacked and DotPacked. Rows is about how many rows
// will be multiplied by it in total: the more, the more packing pays. The result lives as long
// as a Tile taken now, and b must not change meanwhile. A matrix of parameters is packed once
// for all Workers that share Weights.
func (w *Worker) Pack(rows, k, n int, b []float32, brs, bcs int) Packed {
	if k <= 0 || n <= 0 {
		return Packed{k: k, n: n}
	}
	x := matrix{b, brs, bcs}
	x.check(k, n)
	if p := &w.products; p.packs(rows, x) {
		if panels := w.Weights.packed(w, k, n, x); panels != nil {
			return Packed{k: k, n: n, panels: panels}
		}
	}
	return w.products.packed(w, rows, k, n, x)
}

// fewRows are too few to pack rows of B that are already consecutive.
const fewRows = 64

// packs reports whether b is worth packing for the given number of rows.
func (p *products) packs(rows int, b matrix) bool {
	return p.pack != nil && (b.cs != 1 || rows >= fewRows)
}

// packed packs a matrix in scratch if it pays.
func (p *products) packed(w *Worker, rows, k, n int, b matrix) Packed {
	if !p.packs(rows, b) {
		return Packed{k: k, n: n, b: b}
	}
	panels := w.Tile(p.packedSize(k, n))
	p.pack(panels, k, n, b)
	return Packed{k: k, n: n, panels: panels}
}

// ProductPacked is Product with a packed right operand, which gives n and k.
func (w *Worker) ProductPacked(m int, a []float32, ars, acs int, b Packed, c []float32, ldc int) {
	x, z := matrix{a, ars, acs}, matrix{c, ldc, 1}
	if z.emptyProduct(m, b.n, b.k) {
		return
	}
	x.check(m, b.k)
	w.products.dotPacked(w, m, x, b, z, false)
}

// DotPacked is Dot with a packed right operand, which gives n and k.
func (w *Worker) DotPacked(m int, a []float32, ars, acs int, b Packed, c []float32, ldc int) {
	if m <= 0 || b.n <= 0 || b.k <= 0 {
		return
	}
	x, z := matrix{a, ars, acs}, matrix{c, ldc, 1}
	x.check(m, b.k)
	z.check(m, b.n)
	w.products.dotPacked(w, m, x, b, z, true)
}

// DotVec returns c plus the sum over i < k of a[i*as]*b[i*bs], added in ascending i with Fma.
func (w *Worker) DotVec(k int, a []float32, as int, b []float32, bs int, c float32) float32 {
	if k <= 0 {
		return c
	}
	matrix{a, as, 0}.check(k, 1)
	matrix{b, bs, 0}.check(k, 1)
	return w.products.vec(k, a, as, b, bs, c)
}

// dotGo is Dot and Product in plain Go.
func dotGo(_ *Worker, m, n, k int, a, b, c matrix, add bool) {
	if !add {
		c.clear(m, n)
	}
	for i := range m {
		row := c.data[i*c.rs:][:n]
		for l := range k {
			if x := a.at(i, l); b.cs == 1 {
				axpy(row, x, b.data[l*b.rs:])
			} else {
				for j := range row {
					row[j] = Fma(x, b.at(l, j), row[j])
				}
			}
		}
	}
}

func dotPackedGo(w *Worker, m int, a matrix, b Packed, c matrix, add bool) {
	dotGo(w, m, b.n, b.k, a, b.b, c, add)
}

// axpy adds a*x to y, element by element.
func axpy(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	for j, v := range x {
		r, ok := fmaFast(a, v, y[j])
		if !ok {
			r = fmaSlow(a, v, y[j])
		}
		y[j] = r
	}
}

// dotVecGo is DotVec in plain Go.
func dotVecGo(k int, a []float32, as int, b []float32, bs int, c float32) float32 {
	for i := range k {
		c = Fma(a[i*as], b[i*bs], c)
	}
	return c
}
