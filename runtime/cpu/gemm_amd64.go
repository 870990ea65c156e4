package cpu

import "unsafe"

// A microkernel computes tiles blocks of C from tiles of A and a panel of B. Strides are in
// bytes. See codegen/cpu/dotgen/product.go.
type microkernel func(a *float32, next, ars, acs int, b *float32, brs, ahead, as int, c *float32, ldc, k, tiles, lanes, add int)

// A rowCopier packs rows that are consecutive in memory, and a transposer packs rows that are
// columns in memory. A stripCopier cuts long rows into strips. See codegen/cpu/dotgen/pack.go.
type (
	rowCopier   func(dst, src *float32, ss, rows, lanes int)
	transposer  func(dst *float32, ds int, src *float32, ss, rows, columns int)
	stripCopier func(dst *float32, ds int, src *float32, sn, ss, rows, strips, lanes int)
)

// A gemm is the matrix product on one instruction set. Its microkernels are for blocks of 1, 2,
// … rows and a panel of up to two registers. The fields say how wide the panel is: full is two
// whole registers, two has some lanes of the second, and some has some lanes of a single one.
type gemm struct {
	lanes           int // of a register
	full, two, some []microkernel
	copyRows        [2]rowCopier // of one and two registers
	copyStrips      stripCopier
	transpose       transposer
}

const (
	// kBlock bounds the k that a panel of B covers, so that the panel stays in the first-level
	// cache.
	kBlock = 256
	// rowsSize bounds the elements of a block of rows, which is multiplied by all of B before
	// the next one, so that the rows and their C stay in the second-level cache. If B has more
	// than rowBlockSize elements, blocks have largeRowBlock rows, so that B is read less often.
	rowsSize, largeRowBlock, rowBlockSize = 1 << 14, 1024, 1 << 18
	// groupSize is how many elements of B are packed at a time: they also stay in the
	// second-level cache.
	groupSize = 1 << 16
	// manyRows make it worthwhile to pack all of B in advance.
	manyRows = 400
	// manyColumns of B make it worthwhile to pack rows of A that are columns in memory. If
	// these columns are longPitch bytes apart, someColumns do.
	manyColumns, someColumns, longPitch = 256, 64, 1024
)

// A rightOperand is B, as it lies in memory or packed. If packed, it consists of blocks of k; a
// block consists of panels of two registers (the last may have one) with consecutive rows. The
// view of a packed operand is a vector.
type rightOperand struct {
	view
	k, n   int
	packed bool
}

// dot is Dot and Product on operands in memory. With many rows it packs all of B in advance,
// with fewer a panel at a time, and with few nothing.
func (g *gemm) dot(w *Worker, m, n, k int, a, b, c matrix, add bool) {
	x, y, z := viewOf(a), viewOf(b), viewOf(c)
	switch {
	case b.cs == 1 && m < fewRows:
		g.times(w, m, x, rightOperand{y, k, n, false}, z, add)
	case m < manyRows:
		g.byPanel(w, m, n, k, x, y, z, add)
	default:
		group := max(kBlock, groupSize/n/kBlock*kBlock)
		for k0 := 0; k0 < k; k0 += group {
			kn := min(group, k-k0)
			g.times(w, m, x.from(0, k0), g.packInto(w.packed.b.only(g.packedSize(kn, n)), kn, n, y.from(k0, 0)), z, add || k0 > 0)
		}
	}
}

// byPanel packs and multiplies one panel after another, so that each stays in the first-level
// cache.
func (g *gemm) byPanel(w *Worker, m, n, k int, a, b, c view, add bool) {
	packed := w.packed.b.only(2 * g.lanes * kBlock)
	for k0 := 0; k0 < k; k0 += kBlock {
		kn := min(kBlock, k-k0)
		x := g.tiled(a.from(0, k0), m, n)
		if x.pay(n) {
			g.packRows(w, &x, kn)
		}
		for j := 0; j < n; j += 2 * g.lanes {
			jn := min(2*g.lanes, n-j)
			source := b.from(k0, j)
			y := panel{view: view{&packed[0], g.registers(jn) * size, size}}
			g.packPanel(y.view, kn, jn, source)
			if b.cs == size {
				y.ahead, y.as = y.bytesTo(source)+jn*size, source.rs
			}
			g.panel(&x, jn, kn, y, c.from(0, j), add || k0 > 0)
		}
	}
}

// pack packs a k x n matrix.
func (g *gemm) pack(to []float32, k, n int, b matrix) { g.packInto(to, k, n, viewOf(b)) }

// dotPacked is DotPacked and ProductPacked.
func (g *gemm) dotPacked(w *Worker, m int, a matrix, b Packed, c matrix, add bool) {
	y := rightOperand{k: b.k, n: b.n, packed: b.panels != nil}
	if y.packed {
		y.view = view{&b.panels[0], size, size}
	} else {
		y.view = viewOf(b.b)
	}
	g.times(w, m, viewOf(a), y, viewOf(c), add)
}

// times multiplies by all of B, one block of rows after another.
func (g *gemm) times(w *Worker, m int, a view, b rightOperand, c view, add bool) {
	block := rowsSize / min(b.k, kBlock)
	if b.k*b.n > rowBlockSize {
		block = largeRowBlock
	}
	rows := 0
	for first := 0; first < m; first += rows {
		rows = m - first
		if rows >= 2*block {
			rows = max(block/len(g.full), 1) * len(g.full)
		}
		for k0 := 0; k0 < b.k; k0 += kBlock {
			kn := min(kBlock, b.k-k0)
			x := g.tiled(a.from(first, k0), rows, b.n)
			if x.pay(b.n) {
				g.packRows(w, &x, kn)
			}
			for j := 0; j < b.n; j += 2 * g.lanes {
				g.panel(&x, min(2*g.lanes, b.n-j), kn, g.panelOf(b, k0, kn, j), c.from(first, j), add || k0 > 0)
			}
		}
	}
}

// A leftOperand is rows of A in tiles: larger tiles of height+1 rows, then smaller ones of
// height rows. Nearly equal tiles keep the last one from being much smaller than the registers
// allow.
type leftOperand struct {
	view
	height, larger, smaller int
	afterLarger, after      int // bytes between consecutive tiles
}

// tiled divides m rows into tiles, for n columns of B.
func (g *gemm) tiled(a view, m, n int) leftOperand {
	most := len(g.full)
	if n <= g.lanes {
		most = len(g.some)
	}
	tiles := uint32(m+most-1) / uint32(most)
	height := int(uint32(m) / tiles)
	larger := m - height*int(tiles)
	return leftOperand{a, height, larger, int(tiles) - larger, (height + 1) * a.rs, height * a.rs}
}

// pay reports whether rows of A that are columns in memory are worth packing for n columns of
// B.
func (a *leftOperand) pay(n int) bool {
	return a.rs == size && a.cs > size && (n >= manyColumns || n >= someColumns && a.cs >= longPitch)
}

// packRows packs k columns of rows that are columns in memory: for each k, a register with the
// rows of a tile.
func (g *gemm) packRows(w *Worker, a *leftOperand, k int) {
	// An additional register keeps tiles apart in the cache.
	tile := (k + 1) * g.lanes
	x := a.view
	a.view = view{unsafe.SliceData(w.packed.a.only(tile * (a.larger + a.smaller))), size, g.lanes * size}
	a.after, a.afterLarger = tile*size, tile*size
	to := a.view
	if a.larger > 0 {
		height := a.height + 1
		g.copyStrips(to.p, a.after, x.p, height*size, x.cs, k, a.larger, height)
		to, x = to.from(a.larger*tile, 0), x.from(a.larger*height, 0)
	}
	g.copyStrips(to.p, a.after, x.p, a.height*size, x.cs, k, a.smaller, a.height)
}

// A panel is a panel of B. The next one to prefetch has as many rows, as bytes apart, and
// begins ahead bytes after this one.
type panel struct {
	view
	ahead, as int
}

// bytesTo returns the distance from x to y in bytes.
func (x view) bytesTo(y view) int {
	return int(uintptr(unsafe.Pointer(y.p)) - uintptr(unsafe.Pointer(x.p)))
}

// panel multiplies rows by one panel of n columns.
func (g *gemm) panel(a *leftOperand, n, k int, b panel, c view, add bool) {
	kernels, lanes := g.full, n-g.lanes
	switch {
	case lanes <= 0:
		kernels, lanes = g.some, n
	case lanes < g.lanes:
		kernels = g.two
	}
	adds := 0
	if add {
		adds = 1
	}
	x := a.p
	if a.larger > 0 {
		kernels[a.height](x, a.afterLarger, a.rs, a.cs, b.p, b.rs, b.ahead, b.as, c.p, c.rs, k, a.larger, lanes, adds)
		x = (*float32)(unsafe.Add(unsafe.Pointer(x), a.larger*a.afterLarger))
		c = c.from(a.larger*(a.height+1), 0)
	}
	kernels[a.height-1](x, a.after, a.rs, a.cs, b.p, b.rs, b.ahead, b.as, c.p, c.rs, k, a.smaller, lanes, adds)
}

// packedSize is the number of elements of a packed matrix.
func (g *gemm) packedSize(k, n int) int { return k * g.registers(n) }

// registers rounds n up to whole registers.
func (g *gemm) registers(n int) int { return (n + g.lanes - 1) &^ (g.lanes - 1) }

// panelOf returns the panel of b at row k0 and column j.
func (g *gemm) panelOf(b rightOperand, k0, kn, j int) panel {
	if !b.packed {
		return panel{b.from(k0, j), 2 * g.lanes * size, b.rs}
	}
	n := g.registers(b.n)
	row := min(2*g.lanes, n-j) * size
	return panel{view{b.from(k0*n+j*kn, 0).p, row, size}, kn * row, row}
}

// packInto packs a k x n matrix.
func (g *gemm) packInto(to []float32, k, n int, x view) rightOperand {
	y := rightOperand{view{&to[0], size, size}, k, n, true}
	for k0 := 0; k0 < k; k0 += kBlock {
		kn := min(kBlock, k-k0)
		for j := 0; j < n; j += 2 * g.lanes {
			g.packPanel(g.panelOf(y, k0, kn, j).view, kn, min(2*g.lanes, n-j), x.from(k0, j))
		}
	}
	return y
}

// packPanel packs k x n elements of x, at most two registers wide.
func (g *gemm) packPanel(to view, k, n int, x view) {
	switch {
	case x.cs == size && n <= g.lanes:
		g.copyRows[0](to.p, x.p, x.rs, k, n)
	case x.cs == size:
		g.copyRows[1](to.p, x.p, x.rs, k, n-g.lanes)
	case x.rs == size:
		for j := 0; j < n; j += g.lanes {
			g.transpose(to.from(0, j).p, to.rs, x.from(0, j).p, x.cs, min(g.lanes, n-j), k)
		}
	default:
		for l := range k {
			for j := range n {
				*to.from(l, j).p = *x.from(l, j).p
			}
		}
	}
}
