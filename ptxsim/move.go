package ptxsim

import (
	"github.com/arithlang/mlc/ptxsim/num"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// mov copies, packs and unpacks.
func (d *decoder) mov() exec {
	args := d.in.Args
	switch {
	case d.typ(0) == ptx.B128:
		return nil
	case d.typ(0) == ptx.Pred:
		o, a := d.predDst(&args[0]), d.pred(&args[1])
		return func(w *warp, m uint32) { w.setPred(o, m, a.of(w)) }
	case args[0].Kind == ptx.VecArg:
		return d.unpack()
	case args[1].Kind == ptx.VecArg:
		return d.pack()
	case args[1].Kind == ptx.SpecialArg && isClock(args[1].Special):
		return d.clock()
	}
	o, a := d.dst(0), d.src(1)
	return func(w *warp, m uint32) {
		do, da := &w.cols[o], &w.cols[a]
		if m == fullMask {
			*do = *da
			return
		}
		forLanes(m, func(i int) { do[i] = da[i] })
	}
}

func isClock(s ptx.Special) bool { return s >= ptx.Clock && s <= ptx.GlobalTimerHi }

// clock reads a clock: the number of instructions that the block has executed.
func (d *decoder) clock() exec {
	o, s := d.dst(0), d.in.Args[1].Special
	return func(w *warp, m uint32) {
		v := uint64(w.b.ticks) + uint64(w.b.l.steps.Load()) + uint64(w.steps)
		switch s {
		case ptx.Clock, ptx.GlobalTimerLo:
			v &= mask(32)
		case ptx.ClockHi, ptx.GlobalTimerHi:
			v >>= 32
		}
		forLanes(m, func(i int) { w.cols[o][i] = v })
	}
}

func (d *decoder) unpack() exec {
	cols, a := d.writes(&d.in.Args[0]), d.src(1)
	n := d.typ(0).Bits() / len(cols)
	return func(w *warp, m uint32) {
		from := w.cols[a]
		for k, c := range cols {
			o := &w.cols[c]
			forLanes(m, func(i int) { o[i] = from[i] >> (k * n) & mask(n) })
		}
	}
}

func (d *decoder) pack() exec {
	o, cols := d.dst(0), d.reads(&d.in.Args[1])
	n := d.typ(0).Bits() / len(cols)
	return func(w *warp, m uint32) {
		forLanes(m, func(i int) {
			v := uint64(0)
			for k, c := range cols {
				v |= w.cols[c][i] & mask(n) << (k * n)
			}
			w.cols[o][i] = v
		})
	}
}

// width returns the width of the register that an operand names.
func (d *decoder) width(o *ptx.Operand) int {
	if o.Kind == ptx.RegArg {
		return d.k.src.Regs[o.Reg].Type.Bits()
	}
	return 64
}

// cvt converts between types. A result narrower than its register is extended.
func (d *decoder) cvt() exec {
	in := d.in
	to, from := d.typ(0), d.typ(1)
	if to == ptx.F16x2 || to == ptx.BF16x2 {
		return d.cvtPair(to)
	}
	f := d.conversion(to, from)
	if f == nil {
		return nil
	}
	width := d.width(&in.Args[0])
	switch {
	case to == ptx.S64 && from == ptx.S32:
		return d.fast1(func(o, a *column) {
			for i := range o {
				o[i] = uint64(int64(int32(a[i])))
			}
		}, func(a uint64) uint64 { return uint64(int64(int32(a))) })
	case to.Class() != ptx.Float && from.Class() != ptx.Float && to.Bits() >= from.Bits() && !isSigned(from) && width == to.Bits():
		keep := mask(from.Bits())
		return d.fast1(func(o, a *column) {
			for i := range o {
				o[i] = a[i] & keep
			}
		}, func(a uint64) uint64 { return a & keep })
	case isSigned(to) && width > to.Bits():
		return d.map1(func(a uint64) uint64 { return uint64(num.SignExtend(to.Bits(), f(a))) & mask(width) })
	}
	return d.map1(f)
}

// conversion returns the function on one value.
func (d *decoder) conversion(to, from ptx.Type) func(a uint64) uint64 {
	m, keep := d.mode(), mask(from.Bits())
	fs, _ := formatOf(from)
	ft, _ := formatOf(to)
	n, signed := to.Bits(), isSigned(to)
	switch {
	case to == ptx.TF32:
		relu := d.in.Has("relu")
		return func(a uint64) uint64 { return uint64(num.ToTF32(m, relu, uint32(a))) }
	case isFloat(to) && isFloat(from):
		return d.cvtFloat(ft, fs, m, keep)
	case isFloat(to):
		return func(a uint64) uint64 { return ft.FromInt(m, a&keep, from.Bits(), isSigned(from)) }
	case isFloat(from):
		return func(a uint64) uint64 { return fs.ToInt(m.Round, m.Ftz, a&keep, n, signed) & mask(n) }
	}
	return func(a uint64) uint64 {
		return num.ConvertInt(a&keep, from.Bits(), isSigned(from), n, signed, m.Sat) & mask(n)
	}
}

func (d *decoder) cvtFloat(to, from num.Format, m num.Mode, keep uint64) func(a uint64) uint64 {
	relu, finite := d.in.Has("relu"), d.in.Has("satfinite")
	integral := to == from && d.in.Pick("rni", "rzi", "rmi", "rpi") != ""
	return func(a uint64) uint64 {
		if a &= keep; integral {
			return to.Round(m, a)
		}
		r := num.Convert(to, from, m, a)
		if relu {
			r = to.Relu(r)
		}
		if finite {
			r = to.FiniteMax(r)
		}
		return r
	}
}

// cvtPair converts two singles. The first one becomes the upper half.
func (d *decoder) cvtPair(to ptx.Type) exec {
	f, _ := formatOf(to)
	g := d.cvtFloat(f, num.F32, d.mode(), mask(32))
	return d.map2(func(a, b uint64) uint64 { return g(a)<<16 | g(b) })
}

// cvta converts an address in a state space to a generic one, or back.
func (d *decoder) cvta() exec {
	delta := uint64(0)
	if s := int(d.in.Space); s < len(windows) {
		delta = windows[s]
	}
	if d.in.Has("to") {
		delta = -delta
	}
	return d.fast1(func(o, a *column) {
		for i := range o {
			o[i] = a[i] + delta
		}
	}, func(a uint64) uint64 { return a + delta })
}

func (d *decoder) isspacep() exec {
	base := uint64(globalBase)
	if s := int(d.in.Space); s < len(windows) && windows[s] != 0 {
		base = windows[s]
	}
	p, a := d.predDst(&d.in.Args[0]), d.src(1)
	return func(w *warp, m uint32) {
		w.setPred(p, m, lanesOf(m, func(i int) bool {
			addr := w.cols[a][i]
			return addr >= base && addr-base < windowSize
		}))
	}
}

// selp chooses by a predicate.
func (d *decoder) selp() exec {
	args := d.in.Args
	o, a, b, p := d.dst(0), d.src(1), d.src(2), d.pred(&args[3])
	ro, ra, rb := register(&args[0]), register(&args[1]), register(&args[2])
	d.forget()
	return func(w *warp, m uint32) {
		do, da, db, v := &w.cols[o], &w.cols[a], &w.cols[b], p.of(w)
		w.define(ro, m, (w.defined(ra)&v|w.defined(rb)&^v)&w.defined(p.reg))
		forLanes(m&v, func(i int) { do[i] = da[i] })
		forLanes(m&^v, func(i int) { do[i] = db[i] })
	}
}

// slct chooses by the sign of its third operand.
func (d *decoder) slct() exec {
	t, ftz := d.typ(1), d.in.Has("ftz")
	return d.map3(func(a, b, c uint64) uint64 {
		yes := int32(c) >= 0
		if t == ptx.F32 {
			less, _, nan := num.F32.Compare(ftz, c, 0)
			yes = !less && !nan
		}
		if yes {
			return a
		}
		return b
	})
}
