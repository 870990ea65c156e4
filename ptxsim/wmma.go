package ptxsim

import (
	"strings"

	"github.com/arithlang/mlc/ptxsim/num"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// The manual does not specify how wmma fragments are spread over the lanes. Here the elements of
// a matrix, row by row, fill the slots of lane 0, then lane 1 and so on. If there are more slots
// than elements, the elements repeat.

// wmmaShapes are the rows, columns and depths of the products.
var wmmaShapes = map[string][3]int{
	"m16n16k16": {16, 16, 16}, "m8n32k16": {8, 32, 16}, "m32n8k16": {32, 8, 16}, "m16n16k8": {16, 16, 8}, "m8n8k4": {8, 8, 4},
}

func (d *decoder) wmmaShape() [3]int {
	for _, m := range d.in.Mods {
		if s, ok := wmmaShapes[m]; ok {
			return s
		}
	}
	d.fail("the simulator does not know the shape")
	return [3]int{}
}

// tile is a matrix in registers.
type tile struct {
	rows, cols int
	width      int // bits of an element
	regs       []int
	names      []int32
}

func (d *decoder) tile(o *ptx.Operand, cols []int, rows, columns int, t ptx.Type) tile {
	return tile{rows, columns, t.Bits(), cols, registers(o)}
}

// each returns how many elements are in a register.
func (t *tile) each() int {
	if t.width < 32 {
		return 32 / t.width
	}
	return 1
}

// slots returns how many elements a lane holds.
func (t *tile) slots() int { return len(t.regs) * t.each() }

// at returns the row and column of the element in a lane's slot.
func (t *tile) at(lane, slot int) (row, col int) {
	e := (lane*t.slots() + slot) % (t.rows * t.cols)
	return e / t.cols, e % t.cols
}

// get returns an element, given its number row by row.
func (t *tile) get(w *warp, e int) uint64 {
	lane, slot := e/t.slots(), e%t.slots()
	return w.cols[t.regs[slot/t.each()]][lane] >> (slot % t.each() * t.width) & mask(t.width)
}

// put sets the element in a lane's slot.
func (t *tile) put(w *warp, lane, slot int, v uint64) {
	r := &w.cols[t.regs[slot/t.each()]][lane]
	shift := slot % t.each() * t.width
	*r = *r&^(mask(t.width)<<shift) | v<<shift
}

// wmmaMove is a load or store of a tile.
type wmmaMove struct {
	tile
	addr   address
	stride int // column, or noColumn
	byCol  bool
	places int // column with the addresses of one slot
}

func (d *decoder) wmmaMove(mem, frag int, letter byte, cols []int) *wmmaMove {
	s := d.wmmaShape()
	shape := map[byte][2]int{'a': {s[0], s[2]}, 'b': {s[2], s[1]}, 'c': {s[0], s[1]}, 'd': {s[0], s[1]}}[letter]
	x := &wmmaMove{tile: d.tile(&d.in.Args[frag], cols, shape[0], shape[1], d.typ(0)), stride: noColumn, byCol: d.in.Has("col")}
	d.forget()
	x.addr = d.address(&d.in.Args[mem])
	if len(d.in.Args) > 2 {
		x.stride = d.src(2)
	}
	d.require()
	x.places = d.constant(new(int), func(*warp, *column) {})
	return x
}

// step returns how many elements lie between the starts of two rows, or columns.
func (x *wmmaMove) step(w *warp) uint64 {
	switch {
	case x.stride != noColumn:
		return uint64(uint32(w.cols[x.stride][0]))
	case x.byCol:
		return uint64(x.rows)
	}
	return uint64(x.cols)
}

// eachSlot calls f with the address of every lane for a slot.
func (x *wmmaMove) eachSlot(w *warp, f func(slot int, a *address)) {
	base, stride := x.addr.of(w, 0), x.step(w)
	for lane := range 32 {
		if x.addr.of(w, lane) != base || x.stride != noColumn && w.cols[x.stride][lane] != stride {
			w.fail(DivergentWarp, 1|1<<lane, "the lanes give different addresses or strides")
			return
		}
	}
	a := address{space: x.addr.space, base: x.places}
	for slot := range x.slots() {
		for lane := range 32 {
			row, col := x.at(lane, slot)
			if x.byCol {
				row, col = col, row
			}
			w.cols[x.places][lane] = base + (uint64(row)*stride+uint64(col))*uint64(x.width/8)
		}
		if f(slot, &a); w.err != nil {
			return
		}
	}
}

func (d *decoder) wmmaLoad(out *instr) {
	head := lastWord(strings.TrimSuffix(d.in.Op, ".sync"))
	x := d.wmmaMove(1, 0, head[0], d.writes(&d.in.Args[0]))
	d.defs = nil
	d.note = x.note(loads)
	d.together(out, -1, func(w *warp, _ uint32) {
		w.lock()
		defer w.unlock()
		size := x.width / 8
		for _, r := range x.names {
			w.define(r, fullMask, fullMask)
		}
		x.eachSlot(w, func(slot int, a *address) {
			for m := uint32(fullMask); m != 0; {
				buf, in := w.reading(a, size, m, order{})
				if buf == nil {
					return
				}
				forLanes(in, func(lane int) { x.put(w, lane, slot, loadBits(buf.data, w.offs[lane], size)) })
				if buf.vague != nil {
					r := x.names[slot/x.each()]
					w.define(r, w.vagueLanes(buf, 0, size, in), 0)
				}
				m &^= in
			}
		})
	})
}

func (d *decoder) wmmaStore(out *instr) {
	x := d.wmmaMove(0, 1, 'd', d.reads(&d.in.Args[1]))
	d.note = x.note(stores)
	d.together(out, -1, func(w *warp, _ uint32) {
		w.lock()
		defer w.unlock()
		size := x.width / 8
		x.eachSlot(w, func(slot int, a *address) {
			t := transfer{addr: *a, elem: size, cols: []int{x.regs[slot/x.each()]}, regs: x.names[slot/x.each() : slot/x.each()+1]}
			for m := uint32(fullMask); m != 0; {
				buf, in := w.writing(a, size, m, order{})
				if buf == nil || !t.pass(w, buf, in) {
					return
				}
				shift := slot % x.each() * x.width
				forLanes(in, func(lane int) {
					storeBits(buf.data, w.offs[lane], size, w.cols[t.cols[0]][lane]>>shift)
				})
				m &^= in
			}
		})
	})
}

// wmmaProduct is D = A B + C for whole tiles.
type wmmaProduct struct {
	m, n, k    int
	a, b, c, d tile
	multiply   func(f *fragments)
}

func (d *decoder) wmma(out *instr) {
	s := d.wmmaShape()
	x := &wmmaProduct{m: s[0], n: s[1], k: s[2]}
	types := d.in.Types // D, A, B, C; only D and C if A and B are f16
	if len(types) == 2 {
		types = []ptx.Type{types[0], ptx.F16, ptx.F16, types[1]}
	}
	if d.err != nil || len(types) != 4 {
		return
	}
	args := d.in.Args
	x.a = d.tile(&args[1], d.reads(&args[1]), x.m, x.k, types[1])
	x.b = d.tile(&args[2], d.reads(&args[2]), x.k, x.n, types[2])
	x.c = d.tile(&args[3], d.reads(&args[3]), x.m, x.n, types[3])
	x.d = d.tile(&args[0], d.writes(&args[0]), x.m, x.n, types[0])
	d.forget()
	switch from := types[1]; {
	case from == ptx.F64:
		x.dots(num.DotF64)
	case isFloat(from):
		x.floats(d.k.m.d.opt.Arch, from, types[0], types[3])
	default:
		x.dots(integerDots(d.in.Has("satfinite"), from.Bits(), isSigned(from), isSigned(from)))
	}
	d.together(out, -1, x.run)
}

// floats multiplies floats. The accumulators are singles if C or D is single precision. D is
// rounded at the end (recorded on an H100).
func (x *wmmaProduct) floats(arch int, from, last, first ptx.Type) {
	in, _ := formatOf(from)
	end, _ := formatOf(last)
	start, _ := formatOf(first)
	acc := num.F32
	if start == num.F16 && end == num.F16 {
		acc = num.F16
	}
	x.multiply = func(f *fragments) {
		c := f.c[:x.m*x.n]
		for i, v := range c {
			c[i] = num.Convert(acc, start, num.Mode{}, v)
		}
		num.Wmma(arch, in, acc, x.k, f.a[:x.m*x.k], f.b[:x.n*x.k], c)
		for i, v := range c {
			c[i] = num.Convert(end, acc, num.Mode{}, v)
		}
	}
}

func (x *wmmaProduct) dots(dot dotProduct) {
	x.multiply = func(f *fragments) { f.dots(x.m, x.n, x.k, dot) }
}

func (x *wmmaProduct) run(w *warp, _ uint32) {
	f := &w.frag
	for e := range x.m * x.k {
		f.a[e] = x.a.get(w, e)
	}
	for e := range x.k * x.n {
		f.b[e%x.n*x.k+e/x.n] = x.b.get(w, e)
	}
	for e := range x.m * x.n {
		f.c[e] = x.c.get(w, e)
	}
	known := uint32(fullMask)
	for _, t := range []*tile{&x.a, &x.b, &x.c} {
		for _, r := range t.names {
			known &= w.defined(r)
		}
	}
	x.multiply(f)
	for lane := range 32 {
		for slot := range x.d.slots() {
			row, col := x.d.at(lane, slot)
			x.d.put(w, lane, slot, f.c[row*x.n+col])
		}
	}
	for _, r := range x.d.names {
		w.define(r, fullMask, spread(known == fullMask)) // any element may depend on any other
	}
}
