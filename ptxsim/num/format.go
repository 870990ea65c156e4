// Package num has the arithmetic of a GPU as pure functions on bit patterns. They compute PTX's
// instructions, lane by lane, with their roundings, flushing, saturation and special values. The
// simulator decodes instructions into calls of these functions.
//
// A floating-point pattern of any format lies in the low bits of a uint64.
package num

import "math/bits"

// Round is a rounding mode.
type Round uint8

// The rounding modes: nearest even, towards zero, down, up, nearest away from zero.
const (
	RN Round = iota
	RZ
	RM
	RP
	RNA
)

// Mode is how an instruction treats its result and, with Ftz, its operands.
type Mode struct {
	Round Round
	Ftz   bool // subnormal operands and results become zero of the same sign
	Sat   bool // the result is clamped to [0, 1], NaN to 0
}

// Format is a binary floating-point format.
type Format uint8

// The formats.
const (
	F16 Format = iota
	BF16
	F32
	F64
)

var formats = [...]struct {
	frac, exp uint // widths of the fields
	nan       uint64
}{
	F16:  {10, 5, 0x7fff},
	BF16: {7, 8, 0x7fff},
	F32:  {23, 8, 0x7fffffff},
	F64:  {52, 11, 0xfff8 << 48},
}

// NaN returns the pattern of an operation's NaN result if no operand is a NaN.
func (f Format) NaN() uint64 { return formats[f].nan }

func (f Format) sign() uint64    { return 1 << (formats[f].frac + formats[f].exp) }
func (f Format) inf() uint64     { return (1<<formats[f].exp - 1) << formats[f].frac }
func (f Format) bias() int       { return 1<<(formats[f].exp-1) - 1 }
func (f Format) one() uint64     { return uint64(f.bias()) << formats[f].frac }
func (f Format) normal() int     { return 1 - f.bias() } // the exponent of the smallest normal number
func (f Format) abs() uint64     { return f.sign() - 1 } // mask of all bits except the sign
func (f Format) largest() uint64 { return f.inf() - 1 }

// IsNaN reports whether the pattern is a NaN.
func (f Format) IsNaN(a uint64) bool { return a&f.abs() > f.inf() }

// IsInf reports whether the pattern is an infinity.
func (f Format) IsInf(a uint64) bool { return a&f.abs() == f.inf() }

// IsSubnormal reports whether the pattern is a subnormal number. Zero is not subnormal.
func (f Format) IsSubnormal(a uint64) bool {
	m := a & f.abs()
	return m != 0 && m < 1<<formats[f].frac
}

// Flush replaces a subnormal number by zero of its sign.
func (f Format) Flush(a uint64) uint64 {
	if f.IsSubnormal(a) {
		return a & f.sign()
	}
	return a
}

func (f Format) flushIf(ftz bool, a uint64) uint64 {
	if ftz {
		return f.Flush(a)
	}
	return a
}

// Saturate clamps to [0, 1]; NaN and -0 become +0.
func (f Format) Saturate(a uint64) uint64 {
	switch {
	case f.IsNaN(a) || a&f.sign() != 0:
		return 0
	case a > f.one():
		return f.one()
	}
	return a
}

// number is (hi*2^64 + lo) * 2^exp. It is zero if both words are zero. The lowest bit may be
// sticky: set if the remainder is not zero.
type number struct {
	neg    bool
	exp    int
	hi, lo uint64
}

// unpack returns the number in a finite pattern, with its leading bit at bit 126.
func (f Format) unpack(a uint64) number {
	frac := formats[f].frac
	m := a & (1<<frac - 1)
	e := int(a & f.inf() >> frac)
	if e > 0 {
		m |= 1 << frac
	} else {
		e = 1
	}
	n := number{neg: a&f.sign() != 0, exp: e - f.bias() - int(frac), lo: m}
	n.normalise()
	return n
}

// normalise puts the leading bit at bit 126, which leaves room for a carry.
func (n *number) normalise() {
	zeros := bits.LeadingZeros64(n.hi)
	if n.hi == 0 {
		zeros = 64 + bits.LeadingZeros64(n.lo)
	}
	switch zeros {
	case 128:
	case 0:
		n.shiftRight(1)
	default:
		n.hi, n.lo = shiftLeft(n.hi, n.lo, zeros-1)
		n.exp -= zeros - 1
	}
}

func shiftLeft(hi, lo uint64, by int) (uint64, uint64) {
	if by >= 64 {
		return lo << (by - 64), 0
	}
	return hi<<by | lo>>(64-by), lo << by
}

func truncate(hi, lo uint64, by int) (uint64, uint64) {
	if by >= 64 {
		return 0, hi >> (by - 64)
	}
	return hi >> by, lo>>by | hi<<(64-by)
}

// shiftRight raises the exponent. Shifted-out bits set the last bit (sticky).
func (n *number) shiftRight(by int) {
	n.exp += by
	by = min(by, 128)
	hi, lo := truncate(n.hi, n.lo, by)
	if h, l := shiftLeft(hi, lo, by); h != n.hi || l != n.lo {
		lo |= 1
	}
	n.hi, n.lo = hi, lo
}

// pack rounds a number to the format. No other function rounds to a format.
func (f Format) pack(m Mode, n number) uint64 {
	sign := uint64(0)
	if n.neg {
		sign = f.sign()
	}
	if n.hi == 0 && n.lo == 0 {
		return f.finish(m, sign)
	}
	n.normalise()
	frac := int(formats[f].frac)
	e := n.exp + 126 // of the leading bit
	drop := 126 - frac
	if e < f.normal() {
		drop += f.normal() - e
	}
	sig := roundShift(n, drop, m.Round)
	if e > f.bias() {
		return f.overflow(m, n.neg)
	}
	// If rounding carries a significand to the next power of two, the exponent rises without
	// further code: the leading bit is added to its field.
	below := uint64(max(e, f.normal()) + f.bias() - 1)
	r := below<<frac + sig
	if r >= f.inf() {
		return f.overflow(m, n.neg)
	}
	return f.finish(m, sign|r)
}

// finish applies ftz and sat to a result.
func (f Format) finish(m Mode, r uint64) uint64 {
	if m.Sat {
		r = f.Saturate(r)
	}
	return f.flushIf(m.Ftz, r)
}

func (f Format) overflow(m Mode, neg bool) uint64 {
	r := f.inf()
	if m.Round == RZ || m.Round == RM && !neg || m.Round == RP && neg {
		r = f.largest()
	}
	if neg {
		r |= f.sign()
	}
	return f.finish(m, r)
}

// roundShift divides the magnitude, which is below 2^127, by 2^by and rounds it to an integer of
// at most 64 bits.
func roundShift(n number, by int, r Round) uint64 {
	by = min(by, 128)
	_, sig := truncate(n.hi, n.lo, by)
	hi, lo := truncate(n.hi, n.lo, by-1)
	half := lo&1 != 0
	hi, lo = shiftLeft(hi, lo, by-1)
	rest := hi != n.hi || lo != n.lo
	if roundsUp(r, n.neg, sig&1 != 0, half, rest) {
		sig++
	}
	return sig
}

func roundsUp(r Round, neg, odd, half, rest bool) bool {
	switch r {
	case RN:
		return half && (rest || odd)
	case RNA:
		return half
	case RM:
		return neg && (half || rest)
	case RP:
		return !neg && (half || rest)
	}
	return false
}
