package cpu

import "unsafe"

// A microkernel computes tiles blocks of C from packed rows of A and a panel of B. Strides are
// in bytes. See codegen/cpu/dotgen/arm/product.go.
type microkernel func(a, b *float32, brs int, c *float32, ldc, k, tiles, lanes, add int)

// A stripCopier cuts rows into strips. See codegen/cpu/dotgen/arm/pack.go.
type stripCopier func(dst *float32, ds int, src *float32, sn, ss, rows, strips, lanes int)

const (
	neonLanes = 4 // of a register
	// The most rows of a tile, and the most registers of a panel of B.
	tileRows, panelRegisters = 8, 3
	panelWidth               = panelRegisters * neonLanes

	// kBlock bounds the k that a panel of B covers, so that the panel stays in the first-level
	// cache.
	kBlock = 256
	// rowBlock is how many rows are multiplied by all of B before the next ones, so that they
	// stay packed in the second-level cache.
	rowBlock = 128
	// groupSize is how many elements of B are packed at a time: they also stay in the
	// second-level cache.
	groupSize = 1 << 16
)

// A rightOperand is B, as it lies in memory or packed. If packed, it consists of blocks of k; a
// block consists of panels with consecutive rows of whole registers. The view of a packed
// operand is a vector.
type rightOperand struct {
	view
	k, n   int
	packed bool
}

// neonDot is Dot and Product on operands in memory.
func neonDot(w *Worker, m, n, k int, a, b, c matrix, add bool) {
	x, y, z := viewOf(a), viewOf(b), viewOf(c)
	if b.cs == 1 && m < fewRows {
		neonTimes(w, m, x, rightOperand{y, k, n, false}, z, add)
		return
	}
	group := max(kBlock, groupSize/n/kBlock*kBlock)
	for k0 := 0; k0 < k; k0 += group {
		kn := min(group, k-k0)
		packed := packInto(w.packed.b.only(packedSize(kn, n)), kn, n, y.from(k0, 0))
		neonTimes(w, m, x.from(0, k0), packed, z, add || k0 > 0)
	}
}

// neonPack packs a k x n matrix.
func neonPack(to []float32, k, n int, b matrix) { packInto(to, k, n, viewOf(b)) }

// neonDotPacked is DotPacked and ProductPacked.
func neonDotPacked(w *Worker, m int, a matrix, b Packed, c matrix, add bool) {
	y := rightOperand{k: b.k, n: b.n, packed: b.panels != nil}
	if y.packed {
		y.view = view{&b.panels[0], size, size}
	} else {
		y.view = viewOf(b.b)
	}
	neonTimes(w, m, viewOf(a), y, viewOf(c), add)
}

// neonTimes multiplies by all of B, one block of rows after another.
func neonTimes(w *Worker, m int, a view, b rightOperand, c view, add bool) {
	rows := 0
	for first := 0; first < m; first += rows {
		rows = min(rowBlock, m-first)
		for k0 := 0; k0 < b.k; k0 += kBlock {
			kn := min(kBlock, b.k-k0)
			x := packRows(w, rows, kn, a.from(first, k0))
			width := 0
			for j := 0; j < b.n; j += width {
				width = widthOf(b.n - j)
				x.times(width, kn, panelOf(w, b, k0, kn, j), c.from(first, j), add || k0 > 0)
			}
		}
	}
}

// A leftOperand is rows of A, packed in tiles: larger tiles of height+1 rows, then smaller ones
// of height rows. Nearly equal tiles keep the last one from being much smaller than the
// registers allow.
type leftOperand struct {
	p                       *float32
	height, larger, smaller int
}

// packRows packs k columns of rows: for each k, whole registers with the rows of a tile.
func packRows(w *Worker, rows, k int, a view) leftOperand {
	tiles := (rows + tileRows - 1) / tileRows
	height := rows / tiles
	larger := rows - height*tiles
	x := leftOperand{height: height, larger: larger, smaller: tiles - larger}
	first, rest := larger*k*registersOf(height+1), x.smaller*k*registersOf(height)
	to := w.packed.a.only(first + rest)
	x.p = &to[0]
	columns := view{a.p, a.cs, a.rs}
	if larger > 0 {
		packStrips(to, k, larger, height+1, columns)
	}
	packStrips(to[first:], k, x.smaller, height, columns.from(0, larger*(height+1)))
	return x
}

// times multiplies the rows by one panel of n columns.
func (a *leftOperand) times(n, k int, b, c view, add bool) {
	cols := (n + neonLanes - 1) / neonLanes
	lanes := n - (cols-1)*neonLanes
	adds := 0
	if add {
		adds = 1
	}
	x := a.p
	if a.larger > 0 {
		neonKernels[a.height][cols-1](x, b.p, b.rs, c.p, c.rs, k, a.larger, lanes, adds)
		x = (*float32)(unsafe.Add(unsafe.Pointer(x), a.larger*k*registersOf(a.height+1)*size))
		c = c.from(a.larger*(a.height+1), 0)
	}
	neonKernels[a.height-1][cols-1](x, b.p, b.rs, c.p, c.rs, k, a.smaller, lanes, adds)
}

// registersOf rounds n up to whole registers.
func registersOf(n int) int { return (n + neonLanes - 1) &^ (neonLanes - 1) }

// packedSize is the number of elements of a packed matrix.
func packedSize(k, n int) int { return k * registersOf(n) }

// widthOf returns how many of n columns the next panel takes: as many as fit. It leaves more to
// the last panel if that would have a single register.
func widthOf(n int) int {
	if n > panelWidth && n <= panelWidth+neonLanes {
		return panelWidth - neonLanes
	}
	return min(n, panelWidth)
}

// panelOf returns the panel of b at row k0 and column j. It packs rows that end within a
// register, since kernels read whole registers.
func panelOf(w *Worker, b rightOperand, k0, kn, j int) view {
	width := widthOf(b.n - j)
	row := registersOf(width) * size
	switch {
	case b.packed:
		return view{b.from(k0*registersOf(b.n)+j*kn, 0).p, row, size}
	case width%neonLanes == 0:
		return b.from(k0, j)
	}
	to := w.packed.b.only(kn * registersOf(width))
	packStrips(to, kn, 1, width, b.from(k0, j))
	return view{&to[0], row, size}
}

// packInto packs a k x n matrix.
func packInto(to []float32, k, n int, x view) rightOperand {
	rest := to
	for k0 := 0; k0 < k; k0 += kBlock {
		kn, width := min(kBlock, k-k0), 0
		for j := 0; j < n; j += width {
			width = widthOf(n - j)
			packStrips(rest, kn, 1, width, x.from(k0, j))
			rest = rest[kn*registersOf(width):]
		}
	}
	return rightOperand{view{&to[0], size, size}, k, n, true}
}

// packStrips packs consecutive strips of width columns of a matrix with k rows. A row of a
// strip takes whole registers.
func packStrips(to []float32, k, strips, width int, x view) {
	row := registersOf(width)
	strip := k * row
	_ = to[strips*strip-1] // assembly does not check its writes
	switch {
	case x.cs == size:
		cols := row / neonLanes
		copyStripsNEON[cols-1](&to[0], strip*size, x.p, width*size, x.rs, k, strips, width-(cols-1)*neonLanes)
	case x.rs == size:
		for s := range strips {
			for j := 0; j < width; j += neonLanes {
				transposeNEON(&to[s*strip+j], row*size, x.from(0, s*width+j).p, x.cs, min(neonLanes, width-j), k)
			}
		}
	default:
		for s := range strips {
			for l := range k {
				for j := range width {
					to[s*strip+l*row+j] = *x.from(l, s*width+j).p
				}
			}
		}
	}
}
