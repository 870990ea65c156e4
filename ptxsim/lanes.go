package ptxsim

import "math/bits"

// The functions below turn functions on one lane into closures. Where speed matters, they also
// take a function on whole columns, for when all lanes run.

func (d *decoder) map1(f func(a uint64) uint64) exec { return d.fast1(nil, f) }

func (d *decoder) map2(f func(a, b uint64) uint64) exec { return d.fast2(nil, f) }

func (d *decoder) map3(f func(a, b, c uint64) uint64) exec { return d.fast3(nil, f) }

func (d *decoder) fast1(whole func(o, a *column), f func(a uint64) uint64) exec {
	o, a := d.dst(0), d.src(1)
	return func(w *warp, m uint32) {
		do, da := &w.cols[o], &w.cols[a]
		if m == fullMask && whole != nil {
			whole(do, da)
			return
		}
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			do[i] = f(da[i])
		}
	}
}

func (d *decoder) fast2(whole func(o, a, b *column), f func(a, b uint64) uint64) exec {
	o, a, b := d.dst(0), d.src(1), d.src(2)
	return func(w *warp, m uint32) {
		do, da, db := &w.cols[o], &w.cols[a], &w.cols[b]
		if m == fullMask && whole != nil {
			whole(do, da, db)
			return
		}
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			do[i] = f(da[i], db[i])
		}
	}
}

func (d *decoder) fast3(whole func(o, a, b, c *column), f func(a, b, c uint64) uint64) exec {
	o, a, b, c := d.dst(0), d.src(1), d.src(2), d.src(3)
	return func(w *warp, m uint32) {
		do, da, db, dc := &w.cols[o], &w.cols[a], &w.cols[b], &w.cols[c]
		if m == fullMask && whole != nil {
			whole(do, da, db, dc)
			return
		}
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			do[i] = f(da[i], db[i], dc[i])
		}
	}
}

func (d *decoder) map4(f func(a, b, c, e uint64) uint64) exec {
	o, a, b, c, e := d.dst(0), d.src(1), d.src(2), d.src(3), d.src(4)
	return func(w *warp, m uint32) {
		do, da, db, dc, de := &w.cols[o], &w.cols[a], &w.cols[b], &w.cols[c], &w.cols[e]
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			do[i] = f(da[i], db[i], dc[i], de[i])
		}
	}
}

// halves1 applies a function of 16-bit operands to both halves of a packed pair.
func halves1(f func(a uint64) uint64) func(a uint64) uint64 {
	return func(a uint64) uint64 { return f(a>>16)<<16 | f(a&0xffff) }
}

func halves2(f func(a, b uint64) uint64) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 { return f(a>>16&0xffff, b>>16&0xffff)<<16 | f(a&0xffff, b&0xffff) }
}

func halves3(f func(a, b, c uint64) uint64) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 {
		return f(a>>16&0xffff, b>>16&0xffff, c>>16&0xffff)<<16 | f(a&0xffff, b&0xffff, c&0xffff)
	}
}

// mask returns all ones in the width of a type.
func mask(width int) uint64 { return ^uint64(0) >> (64 - width) }
