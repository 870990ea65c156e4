package num

// Compare compares two values. less and equal are false if unordered is true.
func (f Format) Compare(ftz bool, a, b uint64) (less, equal, unordered bool) {
	if f.IsNaN(a) || f.IsNaN(b) {
		return false, false, true
	}
	x, y := f.order(f.flushIf(ftz, a)), f.order(f.flushIf(ftz, b))
	return x < y, x == y, false
}

// order maps patterns to integers in the same order, both zeros to zero.
func (f Format) order(a uint64) int64 {
	if a&f.sign() != 0 {
		return -int64(a & f.abs())
	}
	return int64(a)
}

// Min returns the smaller value, with -0 below +0. Of a NaN and a number it returns the number,
// or with nan the NaN. Of two NaNs in double precision it returns b (recorded on an H100).
func (f Format) Min(ftz, nan bool, a, b uint64) uint64 {
	return f.choose(ftz, nan, a, b, true)
}

// Max returns the greater value, by the rules of Min.
func (f Format) Max(ftz, nan bool, a, b uint64) uint64 {
	return f.choose(ftz, nan, a, b, false)
}

func (f Format) choose(ftz, nan bool, a, b uint64, least bool) uint64 {
	aNaN, bNaN := f.IsNaN(a), f.IsNaN(b)
	a, b = f.flushIf(ftz, a), f.flushIf(ftz, b)
	switch {
	case aNaN && bNaN && f == F64:
		r, _ := f.special(Mode{}, b)
		return r
	case aNaN && bNaN || nan && (aNaN || bNaN):
		return f.NaN()
	case aNaN:
		return b
	case bNaN:
		return a
	}
	x, y := f.order(a), f.order(b)
	aFirst := x < y || x == y && a&f.sign() != 0
	if aFirst == least {
		return a
	}
	return b
}

// XorSign gives r the sign a ^ b, as min.xorsign.abs does after computing with magnitudes. A NaN
// stays the format's own (recorded on an H100).
func (f Format) XorSign(r, a, b uint64) uint64 {
	if f.IsNaN(r) {
		return f.NaN()
	}
	return r&f.abs() | (a^b)&f.sign()
}

// CopySign returns the magnitude of b with the sign of a, in PTX's order.
func (f Format) CopySign(a, b uint64) uint64 {
	return b&f.abs() | a&f.sign()
}

// Relu replaces a negative value by +0, and a NaN by the format's own.
func (f Format) Relu(a uint64) uint64 {
	switch {
	case f.IsNaN(a):
		return f.NaN()
	case a&f.sign() != 0:
		return 0
	}
	return a
}

// TestP reports whether a value is in a class, named as in testp.
func (f Format) TestP(class string, a uint64) bool {
	nan, inf := f.IsNaN(a), f.IsInf(a)
	switch class {
	case "finite":
		return !nan && !inf
	case "infinite":
		return inf
	case "number":
		return !nan
	case "notanumber":
		return nan
	case "subnormal":
		return f.IsSubnormal(a)
	case "normal": // in the manual, zero is normal
		return !nan && !inf && !f.IsSubnormal(a)
	}
	panic("BUG: testp has no class " + class)
}
