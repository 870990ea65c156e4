package num

import "math/bits"

// Where the manual leaves a NaN open, this package follows an H100 (driver 580.159.04, CUDA
// 13.0), as recorded in prove/records.

// special returns the result of an operation if one of its operands is a NaN. The operands come
// in the order of preference. Double precision passes on the first NaN, made quiet; the other
// formats have only one NaN.
func (f Format) special(m Mode, operands ...uint64) (r uint64, ok bool) {
	for _, a := range operands {
		if !f.IsNaN(a) {
			continue
		}
		if f == F64 {
			return f.finish(m, a|1<<(formats[f].frac-1)), true
		}
		return f.finish(m, f.NaN()), true
	}
	return 0, false
}

func (f Format) invalid(m Mode) uint64 { return f.finish(m, f.NaN()) }

// Neg changes the sign, also of a NaN, except in formats with only one NaN.
func (f Format) Neg(ftz bool, a uint64) uint64 {
	if r, ok := f.special(Mode{}, a); ok {
		return r
	}
	return f.flushIf(ftz, a) ^ f.sign()
}

// Abs clears the sign.
func (f Format) Abs(ftz bool, a uint64) uint64 {
	if r, ok := f.special(Mode{}, a); ok {
		return r & f.abs()
	}
	return f.flushIf(ftz, a) & f.abs()
}

// Sub returns a - b.
func (f Format) Sub(m Mode, a, b uint64) uint64 {
	if r, ok := f.special(m, b, a); ok {
		return r
	}
	return f.Add(m, a, b^f.sign())
}

// Add returns a + b. Of two NaNs in double precision, Add, Sub, Mul and Fma pass on b (recorded
// on an H100).
func (f Format) Add(m Mode, a, b uint64) uint64 {
	if r, ok := f.special(m, b, a); ok {
		return r
	}
	a, b = f.flushIf(m.Ftz, a), f.flushIf(m.Ftz, b)
	switch {
	case f.IsInf(a) && f.IsInf(b) && a != b:
		return f.invalid(m)
	case f.IsInf(a):
		return f.finish(m, a)
	case f.IsInf(b):
		return f.finish(m, b)
	}
	return f.pack(m, addNumbers(f.unpack(a), f.unpack(b), m.Round))
}

// addNumbers adds two numbers, each zero or normalised. It shifts the smaller one right.
// Shifted-out bits set the sticky bit only if the exponents differ so much that at most one
// leading bit can cancel. The sticky bit then stays far below the bits that rounding uses.
func addNumbers(a, b number, r Round) number {
	aZero, bZero := a.hi|a.lo == 0, b.hi|b.lo == 0
	switch {
	case aZero && bZero:
		a.neg = a.neg && b.neg || (a.neg || b.neg) && r == RM
		return a
	case aZero:
		return b
	case bZero:
		return a
	}
	if a.exp < b.exp || a.exp == b.exp && less128(a.hi, a.lo, b.hi, b.lo) {
		a, b = b, a
	}
	b.shiftRight(a.exp - b.exp)
	var carry uint64
	if a.neg == b.neg {
		a.lo, carry = bits.Add64(a.lo, b.lo, 0)
		a.hi, _ = bits.Add64(a.hi, b.hi, carry)
		return a
	}
	a.lo, carry = bits.Sub64(a.lo, b.lo, 0)
	a.hi, _ = bits.Sub64(a.hi, b.hi, carry)
	if a.hi|a.lo == 0 {
		a.neg = r == RM
	}
	return a
}

func less128(ahi, alo, bhi, blo uint64) bool { return ahi < bhi || ahi == bhi && alo < blo }

// mulNumbers multiplies two numbers of at most 64 significant bits exactly.
func mulNumbers(a, b number) number {
	// The leading bit is at 126, so that the low 63 bits are zero.
	x, y := a.hi<<1|a.lo>>63, b.hi<<1|b.lo>>63
	p := number{neg: a.neg != b.neg, exp: a.exp + b.exp + 126}
	p.hi, p.lo = bits.Mul64(x, y)
	if p.hi|p.lo != 0 {
		p.normalise()
	}
	return p
}

// Mul returns a * b.
func (f Format) Mul(m Mode, a, b uint64) uint64 {
	if r, ok := f.special(m, b, a); ok {
		return r
	}
	p, inf, ok := f.product(m, a, b)
	switch {
	case !ok:
		return f.invalid(m)
	case inf:
		return f.finish(m, f.signedInf(p.neg))
	}
	return f.pack(m, p)
}

func (f Format) signedInf(neg bool) uint64 {
	if neg {
		return f.inf() | f.sign()
	}
	return f.inf()
}

// product returns a * b for operands that are not NaN. ok is false for 0 * infinity.
func (f Format) product(m Mode, a, b uint64) (p number, inf, ok bool) {
	a, b = f.flushIf(m.Ftz, a), f.flushIf(m.Ftz, b)
	if f.IsInf(a) || f.IsInf(b) {
		zero := a&f.abs() == 0 || b&f.abs() == 0
		return number{neg: (a^b)&f.sign() != 0}, true, !zero
	}
	return mulNumbers(f.unpack(a), f.unpack(b)), false, true
}

// Fma returns a*b + c with one rounding.
func (f Format) Fma(m Mode, a, b, c uint64) uint64 {
	if r, ok := f.special(m, b, a, c); ok {
		return r
	}
	p, inf, ok := f.product(m, a, b)
	c = f.flushIf(m.Ftz, c)
	switch {
	case !ok || inf && f.IsInf(c) && c != f.signedInf(p.neg):
		return f.invalid(m)
	case inf:
		return f.finish(m, f.signedInf(p.neg))
	case f.IsInf(c):
		return f.finish(m, c)
	}
	return f.pack(m, addNumbers(p, f.unpack(c), m.Round))
}

// Div returns a / b. On a GPU it is a routine; of two NaNs it passes on a.
func (f Format) Div(m Mode, a, b uint64) uint64 {
	if r, ok := f.special(m, a, b); ok {
		return r
	}
	a, b = f.flushIf(m.Ftz, a), f.flushIf(m.Ftz, b)
	neg := (a^b)&f.sign() != 0
	aZero, bZero := a&f.abs() == 0, b&f.abs() == 0
	switch {
	case f.IsInf(a) && f.IsInf(b) || aZero && bZero:
		return f.invalid(m)
	case f.IsInf(a) || bZero:
		return f.finish(m, f.signedInf(neg))
	case aZero || f.IsInf(b):
		return f.pack(m, number{neg: neg})
	}
	x, y := f.unpack(a), f.unpack(b)
	// x.hi is below 2^63 and the divisor has bit 63 set, so the quotient fits.
	q, rest := bits.Div64(x.hi, x.lo, y.hi<<1|y.lo>>63)
	r := number{neg: neg, exp: x.exp - y.exp - 63 - 64, hi: q}
	if rest != 0 {
		r.lo = 1
	}
	return f.pack(m, r)
}

// Rcp returns 1 / a. With ftz, a reciprocal below the normal numbers is zero in every rounding,
// even if it would round up to a normal number (recorded on an H100).
func (f Format) Rcp(m Mode, a uint64) uint64 {
	largest := uint64(2*f.bias()-1) << formats[f].frac // its reciprocal is normal
	if m.Ftz && a&f.abs() > largest && !f.IsNaN(a) {
		return f.finish(m, a&f.sign())
	}
	return f.Div(m, f.one(), a)
}

// Sqrt returns the square root.
func (f Format) Sqrt(m Mode, a uint64) uint64 {
	if r, ok := f.special(m, a); ok {
		return r
	}
	a = f.flushIf(m.Ftz, a)
	switch {
	case a&f.abs() == 0 || a == f.inf():
		return f.finish(m, a)
	case a&f.sign() != 0:
		return f.invalid(m)
	}
	n := f.unpack(a)
	if n.exp&1 != 0 {
		n.hi, n.lo = shiftLeft(n.hi, n.lo, 1)
		n.exp--
	}
	root := sqrt128(n.hi, n.lo)
	r := number{exp: n.exp/2 - 64, hi: root}
	if h, l := bits.Mul64(root, root); h != n.hi || l != n.lo {
		r.lo = 1
	}
	return f.pack(m, r)
}

// sqrt128 returns the integer square root, computed bit by bit.
func sqrt128(hi, lo uint64) uint64 {
	var root uint64
	for bit := uint64(1) << 63; bit != 0; bit >>= 1 {
		try := root | bit
		if h, l := bits.Mul64(try, try); !less128(hi, lo, h, l) {
			root = try
		}
	}
	return root
}
