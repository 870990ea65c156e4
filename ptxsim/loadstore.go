package ptxsim

import (
	"encoding/binary"
	"math/bits"
)

// transfer is a load or store of one element or a vector per lane.
type transfer struct {
	addr  address
	elem  int     // bytes of an element
	cols  []int   // one column per element
	regs  []int32 // the registers; -1 for operands without one
	sign  int     // loads: width to sign-extend from; 0: zero-extend
	width int     // of the register, in bits
	order order
}

func (t *transfer) size() int { return t.elem * len(t.cols) }

func (t *transfer) load(w *warp, m uint32) {
	w.lock()
	defer w.unlock()
	for m != 0 {
		buf, in := w.reading(&t.addr, t.size(), m, t.order)
		if buf == nil {
			return
		}
		if t.order.strong {
			w.observeAll(buf, in, t.order)
		}
		for k, c := range t.cols {
			gather(&w.cols[c], buf.data, &w.offs, k*t.elem, t.elem, in)
			known := in
			if buf.vague != nil {
				known &^= w.vagueLanes(buf, k*t.elem, t.elem, in)
			}
			w.define(t.regs[k], in, known)
		}
		m &^= in
		if t.sign > 0 {
			t.extend(w, in)
		}
	}
}

// extend sign-extends loaded values to the width of the registers.
func (t *transfer) extend(w *warp, m uint32) {
	up, mask := 64-t.sign, ^uint64(0)>>(64-t.width)
	for _, c := range t.cols {
		col := &w.cols[c]
		forLanes(m, func(i int) { col[i] = uint64(int64(col[i]<<up)>>up) & mask })
	}
}

// gather loads one element per lane.
func gather(dst *column, data []byte, offs *[32]int, shift, elem int, m uint32) {
	if m != fullMask {
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			dst[i] = loadBits(data, offs[i]+shift, elem)
		}
		return
	}
	switch elem {
	case 4:
		for i, o := range offs {
			dst[i] = uint64(binary.LittleEndian.Uint32(data[o+shift:]))
		}
	case 8:
		for i, o := range offs {
			dst[i] = binary.LittleEndian.Uint64(data[o+shift:])
		}
	default:
		for i, o := range offs {
			dst[i] = loadBits(data, o+shift, elem)
		}
	}
}

// scatter stores one element per lane.
func scatter(src *column, data []byte, offs *[32]int, shift, elem int, m uint32) {
	if m == fullMask && elem == 4 {
		for i, o := range offs {
			binary.LittleEndian.PutUint32(data[o+shift:], uint32(src[i]))
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		storeBits(data, offs[i]+shift, elem, src[i])
	}
}

func (t *transfer) store(w *warp, m uint32) {
	w.lock()
	defer w.unlock()
	for m != 0 {
		if w.b.opt.SameValue {
			w.storing = t
		}
		buf, in := w.writing(&t.addr, t.size(), m, t.order)
		w.storing = nil
		if buf == nil {
			return
		}
		if !t.pass(w, buf, in) {
			return
		}
		for k, c := range t.cols {
			scatter(&w.cols[c], buf.data, &w.offs, k*t.elem, t.elem, in)
		}
		if t.order.strong {
			w.publishAll(buf, in, t.order, false)
		}
		m &^= in
	}
}

// pass allows undefined values in memory that other threads cannot see, and marks them there.
func (t *transfer) pass(w *warp, buf *buffer, m uint32) bool {
	for k, reg := range t.regs {
		known := w.defined(reg)
		if buf.vague == nil && known&m == m {
			continue
		}
		if buf.global && known&m != m && !w.undefined(w.pc, reg, m) {
			return false
		}
		if buf.vague == nil {
			buf.vague = newBitmap(int64(len(buf.data)))
		}
		forLanes(m, func(i int) {
			off := w.offs[i] + k*t.elem
			if known>>i&1 != 0 {
				buf.vague.unset(off, t.elem)
			} else {
				buf.vague.set(off, t.elem)
			}
		})
	}
	return true
}

// vagueLanes returns the lanes that access undefined bytes.
func (w *warp) vagueLanes(buf *buffer, shift, size int, m uint32) uint32 {
	return lanesOf(m, func(i int) bool { return buf.vague.any(w.offs[i]+shift, size) })
}

// same reports whether a store that clashes with another one writes the value that is already
// there. The first lanes of m have done their stores.
func (t *transfer) same(w *warp, buf *buffer, c *clash, m uint32) bool {
	if c.verb != "write" || c.who&atomicWho != 0 {
		return false
	}
	off, other := w.offs[c.lane], int(c.who&laneWho)
	if d := w.offs[other] - off; other < c.lane && m>>other&1 != 0 && -t.size() < d && d < t.size() {
		// The other store is by a lane of the same instruction: its value is not stored yet.
		equal := d == 0
		for _, col := range t.cols {
			equal = equal && w.cols[col][other] == w.cols[col][c.lane]
		}
		return equal
	}
	if buf.init != nil && !buf.init.has(off, t.size()) {
		return false
	}
	for k, col := range t.cols {
		if loadBits(buf.data, off+k*t.elem, t.elem) != w.cols[col][c.lane]&mask(8*t.elem) {
			return false
		}
	}
	return true
}

// flagsOf returns the releases in a buffer's memory.
func (w *warp) flagsOf(buf *buffer) flags {
	if buf.global {
		return w.b.l.flags
	}
	return w.b.flags
}

func (w *warp) observeAll(buf *buffer, m uint32, o order) {
	if f := w.flagsOf(buf); len(f) > 0 && w.ordering(buf) {
		forLanes(m, func(lane int) { w.observe(f, buf.start+uint64(w.offs[lane]), o) })
	}
}

func (w *warp) publishAll(buf *buffer, m uint32, o order, add bool) {
	f := w.flagsOf(buf)
	if !w.ordering(buf) || !o.release && w.fences.released == nil && len(f) == 0 {
		return
	}
	forLanes(m, func(lane int) { w.publish(f, buf.start+uint64(w.offs[lane]), o, add) })
	if o.release {
		w.tick()
	}
}

// ordering reports whether releases in a buffer matter.
func (w *warp) ordering(buf *buffer) bool { return buf.shadow != nil }
