package ptxsim

import (
	"encoding/binary"
	"slices"

	"github.com/arithlang/mlc/ptxsim/num"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// ldmatrix loads 8x8 matrices of 16-bit elements. Each row may lie anywhere in shared memory.
// Lane 8j+r gives the address of row r of matrix j. Lane 4g+t gets two neighbouring elements of
// row g, or of column g if transposed.
func (d *decoder) ldmatrix(out *instr) {
	cols := d.writes(&d.in.Args[0])
	regs := registers(&d.in.Args[0])
	d.forget()
	addr := d.address(&d.in.Args[1])
	trans := d.in.Has("trans")
	rows := uint32(1)<<(8*len(cols)) - 1
	if len(cols) == 4 {
		rows = fullMask
	}
	d.note = noteRows(addr, rows)
	d.together(out, -1, func(w *warp, _ uint32) {
		if addr.space == ptx.Generic && !w.allShared(&addr, rows) {
			return
		}
		buf, in := w.reading(&addr, 16, rows, order{})
		if buf != nil && in != rows {
			buf, _ = w.reading(&addr, 16, rows&^in, order{})
		}
		if buf == nil {
			return
		}
		var vague uint32
		if buf.vague != nil {
			vague = w.vagueLanes(buf, 0, 16, rows)
		}
		for j, c := range cols {
			row := w.offs[8*j : 8*j+8]
			w.define(regs[j], fullMask, spread(vague>>(8*j)&0xff == 0))
			for lane := range 32 {
				g, t := lane>>2, lane&3
				v := uint64(0)
				if trans {
					lo := binary.LittleEndian.Uint16(buf.data[row[2*t]+2*g:])
					hi := binary.LittleEndian.Uint16(buf.data[row[2*t+1]+2*g:])
					v = uint64(hi)<<16 | uint64(lo)
				} else {
					v = uint64(binary.LittleEndian.Uint32(buf.data[row[g]+4*t:]))
				}
				w.cols[c][lane] = v
			}
		}
	})
}

// allShared requires generic addresses to point into shared memory.
func (w *warp) allShared(a *address, m uint32) bool {
	forLanes(m, func(lane int) {
		if of, _ := spaceOf(a.of(w, lane)); of != ptx.Shared {
			w.failAt(OutOfBounds, 1<<lane, a.space, a.of(w, lane), "matrices are loaded from shared memory, and this is an address of .%s", of)
		}
	})
	return w.err == nil
}

// movmatrix transposes an 8x8 matrix held in registers.
func (d *decoder) movmatrix(out *instr) {
	o, a := d.dst(0), d.src(1)
	d.together(out, -1, func(w *warp, _ uint32) {
		from := w.cols[a]
		at := func(row, col int) uint64 { return from[4*row+col/2] >> (16 * (col & 1)) & 0xffff }
		for lane := range 32 {
			g, t := lane>>2, lane&3
			w.cols[o][lane] = at(2*t+1, g)<<16 | at(2*t, g)
		}
	})
}

// product is an mma instruction: D = A B + C. The operands are spread over the lanes. With g =
// lane/4, t = lane%4 and e elements in a register, register r of A has row g+8(r%2) and columns
// et.. of the r/2-th group of 4e; register r of B has column g and rows et.. of the r-th group;
// register i of C has row g+8(i/2) and column 2t+i%2.
type product struct {
	m, k       int
	each       int // elements in a register of A and B
	a, b, c, d []int
	regs       [4][]int32 // of a, b, c, d
	half       bool       // accumulators are pairs of f16
	load       func(x uint64, e int) uint64
	multiply   func(f *fragments, m, k int)
}

// fragments are the operands as matrices: A by rows of length k, B by columns of length k, C by
// rows of 8, or of all columns for wmma.
type fragments struct {
	a [16 * 64]uint64
	b [8 * 64]uint64
	c [16 * 16]uint64
}

func (p *product) run(w *warp, _ uint32) {
	f := &w.frag
	for r, col := range p.a {
		row, group := 8*(r&1), r>>1
		p.spread(&w.cols[col], f.a[row*p.k:], group)
	}
	for r, col := range p.b {
		p.spread(&w.cols[col], f.b[:], r)
	}
	for i, col := range p.c {
		from := &w.cols[col]
		p.eachAccumulator(i, func(lane, at int) {
			if p.half {
				f.c[at], f.c[at+1] = from[lane]&0xffff, from[lane]>>16&0xffff
			} else {
				f.c[at] = from[lane]
			}
		})
	}
	p.multiply(f, p.m, p.k)
	p.define(w)
	for i, col := range p.d {
		to := &w.cols[col]
		p.eachAccumulator(i, func(lane, at int) {
			if to[lane] = f.c[at]; p.half {
				to[lane] |= f.c[at+1] << 16
			}
		})
	}
}

// spread puts a register's elements of A or B into a matrix.
func (p *product) spread(c *column, to []uint64, group int) {
	for lane := range 32 {
		g, t := lane>>2, lane&3
		at := g*p.k + p.each*(t+4*group)
		for e := range p.each {
			to[at+e] = p.load(c[lane], e)
		}
	}
}

// eachAccumulator calls f for each lane, with the place in C of its i-th register.
func (p *product) eachAccumulator(i int, f func(lane, at int)) {
	for lane := range 32 {
		g, t := lane>>2, lane&3
		if p.half {
			f(lane, 8*(g+8*i)+2*t)
		} else {
			f(lane, 8*(g+8*(i>>1))+2*t+i&1)
		}
	}
}

// define makes an element of D undefined if its row of A, its column of B or its element of C has
// an undefined value.
func (p *product) define(w *warp) {
	var rows [16]bool
	var cols [8]bool
	for r, reg := range p.regs[0] {
		forLanes(^w.defined(reg), func(lane int) { rows[lane>>2+8*(r&1)] = true })
	}
	for _, reg := range p.regs[1] {
		forLanes(^w.defined(reg), func(lane int) { cols[lane>>2] = true })
	}
	var known [4]uint32
	for i, reg := range p.regs[2] {
		known[i] = w.defined(reg)
		p.eachAccumulator(i, func(lane, at int) {
			if rows[at/8] || cols[at%8] || p.half && cols[at%8+1] {
				known[i] &^= 1 << lane
			}
		})
	}
	for i, reg := range p.regs[3] {
		w.define(reg, fullMask, known[i])
	}
}

// shapes are the rows and the depth of products, by name. All have 8 columns.
var shapes = map[string][2]int{
	"m8n8k4": {8, 4}, "m8n8k16": {8, 16}, "m8n8k32": {8, 32}, "m8n8k128": {8, 128},
	"m16n8k4": {16, 4}, "m16n8k8": {16, 8}, "m16n8k16": {16, 16}, "m16n8k32": {16, 32},
	"m16n8k64": {16, 64}, "m16n8k128": {16, 128}, "m16n8k256": {16, 256},
}

func (d *decoder) mma(out *instr) {
	in := d.in
	// .aligned, shape, .row, .col, perhaps .satfinite, and the types of D, A, B, C.
	shape, ok := shapes[in.Mods[1]]
	types := slices.DeleteFunc(slices.Clone(in.Mods[4:]), func(m string) bool { return m == "satfinite" })
	if !ok || len(types) < 4 {
		return
	}
	p := &product{m: shape[0], k: shape[1], half: types[0] == "f16"}
	p.a, p.b, p.c = d.reads(&in.Args[1]), d.reads(&in.Args[2]), d.reads(&in.Args[3])
	p.d = d.writes(&in.Args[0])
	for i, at := range [4]int{1, 2, 3, 0} {
		p.regs[i] = registers(&in.Args[at])
	}
	d.forget()
	if !p.element(d, types[1], types[2]) {
		return
	}
	if rows := p.m / 8; len(p.a)*p.each*4 != rows*p.k || len(p.b)*p.each*4 != p.k || len(p.c) != len(p.d) {
		return
	}
	d.together(out, -1, p.run)
}

// element sets how elements of A and B are taken from registers and multiplied.
func (p *product) element(d *decoder, ta, tb string) bool {
	arch := d.k.m.d.opt.Arch
	p.each, p.load = 1, func(x uint64, _ int) uint64 { return x }
	switch ta {
	case "f16", "bf16":
		p.each, p.load = 2, func(x uint64, e int) uint64 { return x >> (16 * e) & 0xffff }
		p.floats(arch, map[string]num.Format{"f16": num.F16, "bf16": num.BF16}[ta])
	case "tf32":
		p.floats(arch, num.F32)
	case "f64":
		p.dots(num.DotF64)
	case "s8", "u8":
		p.integers(d, 8, ta == "s8", tb == "s8")
	case "s4", "u4":
		p.integers(d, 4, ta == "s4", tb == "s4")
	case "b1":
		p.bits(d.in.Has("and"))
	default:
		return false
	}
	return true
}

// dots computes each of the m by n elements of C as a dot product.
func (f *fragments) dots(m, n, k int, dot dotProduct) {
	for i := range m {
		for j := range n {
			f.c[n*i+j] = dot(f.c[n*i+j], f.a[i*k:i*k+k], f.b[j*k:j*k+k])
		}
	}
}

// dotProduct returns c plus the products of a row of A and a column of B.
type dotProduct func(c uint64, a, b []uint64) uint64

// integerDots returns the dot product for integers of a width.
func integerDots(sat bool, width int, aSigned, bSigned bool) dotProduct {
	extend := func(to []int32, from []uint64, signed bool) []int32 {
		for i, x := range from {
			if to[i] = int32(x); signed {
				to[i] = int32(num.SignExtend(width, x))
			}
		}
		return to[:len(from)]
	}
	return func(c uint64, a, b []uint64) uint64 {
		var x, y [64]int32
		return uint64(num.DotInt(sat, uint32(c), extend(x[:], a, aSigned), extend(y[:], b, bSigned)))
	}
}

func (p *product) dots(dot dotProduct) {
	p.multiply = func(f *fragments, m, k int) { f.dots(m, 8, k, dot) }
}

func (p *product) floats(arch int, f num.Format) {
	sum := num.F32
	if p.half {
		sum = num.F16
	}
	p.multiply = func(x *fragments, m, k int) {
		num.Mma(arch, f, sum, k, x.a[:m*k], x.b[:8*k], x.c[:m*8])
	}
}

func (p *product) integers(d *decoder, width int, aSigned, bSigned bool) {
	p.each = 32 / width
	p.load = func(x uint64, e int) uint64 { return x >> (width * e) & mask(width) }
	p.dots(integerDots(d.in.Has("satfinite"), width, aSigned, bSigned))
}

// bits multiplies single bits: a register is one element of 32 bits.
func (p *product) bits(and bool) {
	p.k /= 32
	p.dots(func(c uint64, a, b []uint64) uint64 {
		var x, y [8]uint32
		for i := range a {
			x[i], y[i] = uint32(a[i]), uint32(b[i])
		}
		return uint64(num.DotB1(and, uint32(c), x[:len(a)], y[:len(b)]))
	})
}
