package num

// Convert changes the format of a value. Ftz flushes only single precision, in the operand or the
// result. A separate instruction flushes operands, which replaces every NaN by the one NaN of
// single precision (recorded on an H100).
func Convert(dst, src Format, m Mode, x uint64) uint64 {
	if src == F32 && m.Ftz {
		x = src.Flush(x)
		if src.IsNaN(x) {
			x = src.NaN()
		}
	}
	m.Ftz = m.Ftz && dst == F32
	switch {
	case src.IsNaN(x):
		return dst.finish(m, dst.nanFrom(src, x))
	case src.IsInf(x):
		return dst.finish(m, dst.signedInf(x&src.sign() != 0))
	}
	return dst.pack(m, src.unpack(x))
}

// nanFrom returns the NaN of a conversion. Conversions to and from double precision keep the sign
// and the upper bits of the payload, and make the NaN quiet. From BF16 to single precision the
// pattern stays. Every other conversion has a single NaN. All this is recorded on an H100.
func (f Format) nanFrom(src Format, x uint64) uint64 {
	switch {
	case src == BF16 && f == F32:
		return x << (formats[F32].frac - formats[BF16].frac)
	case src != F64 && f != F64:
		return f.NaN()
	}
	payload := x & (1<<formats[src].frac - 1) << (formats[F64].frac - formats[src].frac) // as in double precision
	r := f.inf() | payload>>(formats[F64].frac-formats[f].frac) | 1<<(formats[f].frac-1)
	if x&src.sign() != 0 {
		r |= f.sign()
	}
	return r
}

// FiniteMax implements cvt's .satfinite: it replaces an infinity by the largest finite number
// with the same sign.
func (f Format) FiniteMax(r uint64) uint64 {
	if f.IsInf(r) {
		return r&f.sign() | f.largest()
	}
	return r
}

// ToTF32 rounds a single to the 10 fraction bits of tf32, in the layout of f32. With relu,
// negative values become 0. A NaN becomes the NaN of tf32: all ones except for the sign and the
// low bits. Under RNA a NaN only loses its low bits, so it may become an infinity (both recorded
// on an H100).
func ToTF32(m Mode, relu bool, x uint32) uint32 {
	const drop = 13
	a := uint64(x)
	switch {
	case F32.IsNaN(a) && m.Round == RNA:
		return x &^ (1<<drop - 1)
	case F32.IsNaN(a):
		return 1<<31 - 1<<drop
	case relu && a&F32.sign() != 0:
		return 0
	case F32.IsInf(a):
		return x
	}
	q, rest := x>>drop, x&(1<<drop-1)
	half, below := rest>>(drop-1) != 0, rest&(1<<(drop-1)-1) != 0
	if roundsUp(m.Round, x>>31 != 0, q&1 != 0, half, below) {
		q++ // a carry raises the exponent, at most to infinity
	}
	return q << drop
}

// Round rounds a value to an integral one in the same format.
func (f Format) Round(m Mode, a uint64) uint64 {
	if r, ok := f.special(m, a); ok {
		return r
	}
	a = f.flushIf(m.Ftz, a)
	if f.IsInf(a) || a&f.abs() == 0 {
		return f.finish(m, a)
	}
	n := f.unpack(a)
	if n.exp >= -126+int(formats[f].frac) {
		return f.finish(m, a) // no fraction bits
	}
	q := roundShift(n, -n.exp, m.Round)
	return f.pack(m, number{neg: n.neg, lo: q})
}

// ToInt converts to an integer of the given width, clamped to its range. NaN becomes 0; with a
// 64-bit format or integer, it becomes the pattern with only the sign bit set.
func (f Format) ToInt(r Round, ftz bool, x uint64, width int, signed bool) uint64 {
	if f.IsNaN(x) {
		if width == 64 || f == F64 {
			return 1 << (width - 1)
		}
		return 0
	}
	x = f.flushIf(ftz, x)
	neg := x&f.sign() != 0
	if f.IsInf(x) {
		return limit(width, signed, neg)
	}
	n := f.unpack(x)
	q := uint64(0)
	if n.hi|n.lo != 0 {
		if n.exp+126 >= 64 {
			return limit(width, signed, neg)
		}
		q = roundShift(n, -n.exp, r)
	}
	return clampMagnitude(width, signed, neg, q)
}

func clampMagnitude(width int, signed, neg bool, q uint64) uint64 {
	switch {
	case neg && !signed:
		return 0
	case neg && q > 1<<(width-1) || signed && !neg && q > 1<<(width-1)-1, q > widthMask(width):
		return limit(width, signed, neg)
	case neg:
		return -q & widthMask(width)
	}
	return q
}

// limit returns the least or greatest integer.
func limit(width int, signed, least bool) uint64 {
	switch {
	case !signed && least:
		return 0
	case !signed:
		return widthMask(width)
	case least:
		return 1 << (width - 1)
	}
	return 1<<(width-1) - 1
}

func widthMask(width int) uint64 { return ^uint64(0) >> (64 - width) }

// FromInt converts an integer of the given width.
func (f Format) FromInt(m Mode, x uint64, width int, signed bool) uint64 {
	x &= widthMask(width)
	n := number{lo: x}
	if v := SignExtend(width, x); signed && v < 0 {
		n = number{neg: true, lo: -uint64(v)}
	}
	return f.pack(m, n)
}

// ConvertInt changes the width of an integer. It extends by the sign of the source. It truncates,
// or with sat clamps to the range of the destination.
func ConvertInt(x uint64, from int, fromSigned bool, to int, toSigned, sat bool) uint64 {
	x &= widthMask(from)
	neg := fromSigned && SignExtend(from, x) < 0
	if fromSigned {
		x = uint64(SignExtend(from, x))
	}
	if !sat {
		return x & widthMask(to)
	}
	if neg {
		return clampMagnitude(to, toSigned, true, -x)
	}
	return clampMagnitude(to, toSigned, false, x)
}

// SignExtend reads the low bits as a signed integer.
func SignExtend(width int, x uint64) int64 {
	return int64(x<<(64-width)) >> (64 - width)
}
