package ptxsim

import (
	"math/bits"

	"github.com/arithlang/mlc/ptxsim/num"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// atomicOp is an atom or red instruction.
type atomicOp struct {
	addr  address
	size  int
	b, c  int // columns; c only for cas, else noColumn
	dst   int // column, noColumn for red
	f     func(old, b, c uint64) uint64
	order order
}

// atom decodes atom and red.
func (d *decoder) atom() exec {
	in := d.in
	args := in.Args
	a := atomicOp{size: int(d.typ(0).Bytes()), dst: noColumn, c: noColumn, order: d.order()}
	a.order.strong, a.order.update = true, true
	if in.Op == "atom" {
		a.dst = d.write(&args[0])
		args = args[1:]
	}
	a.addr = d.address(&args[0])
	a.b = d.read(&args[1])
	d.notes(updates, a.addr, a.size)
	name := in.Pick("and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max")
	if name == "cas" {
		a.c = d.read(&args[2])
	}
	d.require()
	if a.f = update(name, d.typ(0)); a.f == nil {
		return nil
	}
	if f := globalAdd(d.typ(0)); name == "add" && f != nil {
		global := a
		global.f = f
		return func(w *warp, m uint32) {
			first := a.addr.of(w, bits.TrailingZeros32(m))
			if a.addr.space == ptx.Global || a.addr.space == ptx.Generic && first >= globalBase {
				global.run(w, m)
			} else {
				a.run(w, m)
			}
		}
	}
	return a.run
}

// globalAdd returns the additions that global memory does differently from arithmetic: in single
// precision it flushes, and in double precision it keeps a NaN unchanged, even a signalling one.
// Shared memory adds like arithmetic (both recorded on an H100).
func globalAdd(t ptx.Type) func(old, b, c uint64) uint64 {
	switch t {
	case ptx.F32:
		return func(old, b, _ uint64) uint64 { return num.F32.Add(num.Mode{Ftz: true}, old, b) }
	case ptx.F64:
		return func(old, b, _ uint64) uint64 {
			switch {
			case num.F64.IsNaN(b):
				return b
			case num.F64.IsNaN(old):
				return old
			}
			return num.F64.Add(num.Mode{}, old, b)
		}
	}
	return nil
}

// order returns the ordering in a memory instruction's modifiers.
func (d *decoder) order() order {
	in := d.in
	return order{
		strong:  in.Pick("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio") != "",
		acquire: in.Pick("acquire", "acq_rel") != "",
		release: in.Pick("release", "acq_rel") != "",
	}
}

// update returns the function that computes the new value of an atomic operation.
func update(name string, t ptx.Type) func(old, b, c uint64) uint64 {
	n, signed, all := t.Bits(), isSigned(t), mask(t.Bits())
	f, pair := formatOf(t)
	switch name {
	case "and":
		return func(old, b, _ uint64) uint64 { return old & b }
	case "or":
		return func(old, b, _ uint64) uint64 { return old | b }
	case "xor":
		return func(old, b, _ uint64) uint64 { return old ^ b }
	case "exch":
		return func(_, b, _ uint64) uint64 { return b }
	case "cas":
		return func(old, b, c uint64) uint64 {
			if old == b&all {
				return c
			}
			return old
		}
	case "inc":
		return func(old, b, _ uint64) uint64 {
			if old >= b {
				return 0
			}
			return old + 1
		}
	case "dec":
		return func(old, b, _ uint64) uint64 {
			if old == 0 || old > b {
				return b
			}
			return old - 1
		}
	case "add":
		if !isFloat(t) {
			return func(old, b, _ uint64) uint64 { return (old + b) & all }
		}
		return floatUpdate(pair, func(a, b uint64) uint64 { return f.Add(num.Mode{}, a, b) })
	case "min":
		if isFloat(t) {
			return floatUpdate(pair, func(a, b uint64) uint64 { return f.Min(false, false, a, b) })
		}
		return func(old, b, _ uint64) uint64 { return num.MinInt(n, signed, old, b) }
	case "max":
		if isFloat(t) {
			return floatUpdate(pair, func(a, b uint64) uint64 { return f.Max(false, false, a, b) })
		}
		return func(old, b, _ uint64) uint64 { return num.MaxInt(n, signed, old, b) }
	}
	return nil
}

func floatUpdate(pair bool, g func(a, b uint64) uint64) func(old, b, c uint64) uint64 {
	if pair {
		g = halves2(g)
	}
	return func(old, b, _ uint64) uint64 { return g(old, b) }
}

func (a *atomicOp) run(w *warp, m uint32) {
	w.lock()
	defer w.unlock()
	for m != 0 {
		buf, in := w.updating(&a.addr, a.size, m, a.order)
		if buf == nil {
			return
		}
		if a.order.acquire || w.fences.released != nil || len(w.flagsOf(buf)) > 0 {
			w.observeAll(buf, in, a.order)
		}
		if a.apply(w, buf, in) {
			w.written(buf)
		}
		w.publishAll(buf, in, a.order, true)
		m &^= in
	}
}

// updating combines reading and writing.
func (w *warp) updating(a *address, size int, m uint32, o order) (*buffer, uint32) {
	buf, in := w.resolve(a, size, m)
	switch {
	case buf == nil:
		return nil, 0
	case buf.readOnly:
		w.failAt(ReadOnly, in, a.space, a.of(w, bits.TrailingZeros32(in)), "%s cannot be written", buf.name)
		return nil, 0
	case buf.shadow != nil && !w.recordWrite(a, buf, size, in, o):
		return nil, 0
	case buf.init != nil && !w.initialised(a, buf, size, in):
		return nil, 0
	}
	if buf.global {
		w.bytes += int64(2 * size * bits.OnesCount32(in))
	}
	return buf, in
}

// apply updates lane after lane and reports whether anything changed.
func (a *atomicOp) apply(w *warp, buf *buffer, m uint32) (changed bool) {
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		old := loadBits(buf.data, w.offs[i], a.size)
		c := uint64(0)
		if a.c != noColumn {
			c = w.cols[a.c][i]
		}
		r := a.f(old, w.cols[a.b][i]&mask(8*a.size), c)
		storeBits(buf.data, w.offs[i], a.size, r)
		changed = changed || r != old
		if a.dst != noColumn {
			w.cols[a.dst][i] = old
		}
	}
	return changed
}
