package num

import (
	"math"
	"math/bits"
)

// MulWide returns the product, twice as wide as the operands.
func MulWide(width int, signed bool, a, b uint64) uint64 {
	if signed {
		return uint64(SignExtend(width, a)*SignExtend(width, b)) & widthMask(2*width)
	}
	return (a & widthMask(width)) * (b & widthMask(width))
}

// MulHi returns the upper half of the product.
func MulHi(width int, signed bool, a, b uint64) uint64 {
	if width < 64 {
		return MulWide(width, signed, a, b) >> width
	}
	hi, _ := bits.Mul64(a, b)
	if signed && int64(a) < 0 {
		hi -= b
	}
	if signed && int64(b) < 0 {
		hi -= a
	}
	return hi
}

// mul24 returns the 48-bit product of the low 24 bits.
func mul24(signed bool, a, b uint32) uint64 {
	if signed {
		return uint64(SignExtend(24, uint64(a)) * SignExtend(24, uint64(b)))
	}
	return uint64(a&0xffffff) * uint64(b&0xffffff)
}

// Mul24Lo returns bits 0 to 31 of the product of 24-bit integers.
func Mul24Lo(signed bool, a, b uint32) uint32 { return uint32(mul24(signed, a, b)) }

// Mul24Hi returns bits 16 to 47 of the product of 24-bit integers.
func Mul24Hi(signed bool, a, b uint32) uint32 { return uint32(mul24(signed, a, b) >> 16) }

// AddSat returns a + b, clamped to the range of a signed word.
func AddSat(a, b uint32) uint32 { return clampWord(int64(int32(a)) + int64(int32(b))) }

// SubSat returns a - b, clamped to the range of a signed word.
func SubSat(a, b uint32) uint32 { return clampWord(int64(int32(a)) - int64(int32(b))) }

// MadHiSat returns the upper half of a * b, plus c, clamped to a signed word.
func MadHiSat(a, b, c uint32) uint32 {
	return clampWord(int64(int32(a))*int64(int32(b))>>32 + int64(int32(c)))
}

func clampWord(x int64) uint32 { return uint32(max(-1<<31, min(1<<31-1, x))) }

// Div returns the quotient, rounded towards zero. ok is false for b = 0, where PTX does not
// specify the result.
func Div(width int, signed bool, a, b uint64) (q uint64, ok bool) {
	q, _, ok = divide(width, signed, a, b)
	return q, ok
}

// Rem returns the remainder, with the sign of a; ok is false for b = 0.
func Rem(width int, signed bool, a, b uint64) (r uint64, ok bool) {
	_, r, ok = divide(width, signed, a, b)
	return r, ok
}

func divide(width int, signed bool, a, b uint64) (q, r uint64, ok bool) {
	mask := widthMask(width)
	if b&mask == 0 {
		return 0, 0, false
	}
	if !signed {
		a, b = a&mask, b&mask
		return a / b, a % b, true
	}
	x, y := SignExtend(width, a), SignExtend(width, b)
	return uint64(x/y) & mask, uint64(x%y) & mask, true
}

// lessInt compares integers of a width.
func lessInt(width int, signed bool, a, b uint64) bool {
	if signed {
		return SignExtend(width, a) < SignExtend(width, b)
	}
	return a&widthMask(width) < b&widthMask(width)
}

// MinInt returns the smaller integer.
func MinInt(width int, signed bool, a, b uint64) uint64 {
	if lessInt(width, signed, b, a) {
		return b
	}
	return a
}

// MaxInt returns the greater integer.
func MaxInt(width int, signed bool, a, b uint64) uint64 {
	if lessInt(width, signed, a, b) {
		return b
	}
	return a
}

// Sad returns c + |a - b|.
func Sad(width int, signed bool, a, b, c uint64) uint64 {
	if lessInt(width, signed, a, b) {
		a, b = b, a
	}
	return (c + a - b) & widthMask(width)
}

// Shl shifts left; an amount of at least the width gives 0.
func Shl(width int, a uint64, n uint32) uint64 {
	return a << n & widthMask(width)
}

// Shr shifts right, arithmetically if signed. Amounts are clamped to the width.
func Shr(width int, signed bool, a uint64, n uint32) uint64 {
	if signed {
		return uint64(SignExtend(width, a)>>n) & widthMask(width)
	}
	return a & widthMask(width) >> n
}

// Shf returns the upper word of b:a shifted left, or with right the lower word shifted right. The
// amount c wraps at 32 or is clamped to it.
func Shf(right, wrap bool, a, b, c uint32) uint32 {
	n := min(c, 32)
	if wrap {
		n = c & 31
	}
	x := uint64(b)<<32 | uint64(a)
	if right {
		return uint32(x >> n)
	}
	return uint32(x << n >> 32)
}

// fieldOf returns a position and a length. The manual specifies results only up to 255. For
// greater values, 32-bit words use only the low byte, and 64-bit words use all bits (recorded on
// an H100).
func fieldOf(width int, pos, n uint32) (p, l int) {
	if width == 32 {
		return int(pos & 0xff), int(n & 0xff)
	}
	return int(min(pos, 0xff)), int(min(n, 0xff))
}

// Bfe extracts the field of length n at pos. If signed, it extends the field by its top bit;
// beyond the top of a, it uses the top bit of a.
func Bfe(width int, signed bool, a uint64, pos, n uint32) uint64 {
	p, l := fieldOf(width, pos, n)
	mask := widthMask(width)
	a &= mask
	if l == 0 {
		return 0
	}
	top := min(p+l-1, width-1)
	fill := signed && a>>top&1 != 0
	r := a >> p
	if l < 64 {
		r &= 1<<l - 1
	}
	if fill {
		r |= ^uint64(0) << min(l, max(width-p, 0))
	}
	return r & mask
}

// Bfi inserts the low n bits of a into b at pos.
func Bfi(width int, a, b uint64, pos, n uint32) uint64 {
	p, l := fieldOf(width, pos, n)
	field := (uint64(1)<<l - 1) << p & widthMask(width)
	return b&^field | a<<p&field
}

// Bfind returns the index of the highest bit that differs from the sign (if unsigned, from 0), or
// with shift its distance from the top. If no bit differs, it returns all ones.
func Bfind(width int, signed, shift bool, a uint64) uint32 {
	a &= widthMask(width)
	if signed && SignExtend(width, a) < 0 {
		a = ^a & widthMask(width)
	}
	at := bits.Len64(a) - 1
	if shift && at >= 0 {
		at = width - 1 - at
	}
	return uint32(at)
}

// Clz counts leading zeros.
func Clz(width int, a uint64) uint32 {
	return uint32(width - bits.Len64(a&widthMask(width)))
}

// Popc counts ones.
func Popc(width int, a uint64) uint32 {
	return uint32(bits.OnesCount64(a & widthMask(width)))
}

// Brev reverses the bits.
func Brev(width int, a uint64) uint64 { return bits.Reverse64(a) >> (64 - width) }

// Fns returns the position of the n-th set bit from base on, upwards for a positive n and
// downwards for a negative n. n = 0 tests bit base. If there is no such bit, it returns all ones.
// For the least integer n it returns 0 (recorded on an H100).
func Fns(mask, base uint32, n int32) uint32 {
	const none = ^uint32(0)
	if base > 31 {
		return none
	}
	step, left := 1, int64(n)
	switch {
	case n == 0:
		if mask>>base&1 != 0 {
			return base
		}
		return none
	case n == math.MinInt32:
		return 0
	case n < 0:
		step, left = -1, -left
	}
	for at := int(base); at >= 0 && at < 32; at += step {
		if mask>>at&1 == 0 {
			continue
		}
		if left--; left == 0 {
			return uint32(at)
		}
	}
	return none
}

// Bmsk returns a mask of b ones from bit a on. Both wrap at 32 or are clamped to it.
func Bmsk(clamp bool, a, b uint32) uint32 {
	if clamp {
		a, b = min(a, 32), min(b, 32)
	} else {
		a, b = a&31, b&31
	}
	return uint32((uint64(1)<<b - 1) << a)
}

// Szext extends the low b bits by their sign, or by zero. b wraps at 32 or is clamped to it.
func Szext(signed, clamp bool, a, b uint32) uint32 {
	if clamp {
		b = min(b, 32)
	} else {
		b &= 31
	}
	switch {
	case b == 0:
		return 0
	case signed:
		return uint32(SignExtend(int(b), uint64(a)))
	}
	return a & uint32(widthMask(int(b)))
}

// Lop3 applies the truth table lut to three words, bit by bit. The bits of a, b and c select a
// bit of lut; the bit of a is the highest.
func Lop3(a, b, c uint32, lut uint8) uint32 {
	var r uint32
	for row := range 8 {
		if lut>>row&1 == 0 {
			continue
		}
		r |= invertUnless(row&4 != 0, a) & invertUnless(row&2 != 0, b) & invertUnless(row&1 != 0, c)
	}
	return r
}

func invertUnless(keep bool, x uint32) uint32 {
	if keep {
		return x
	}
	return ^x
}

// permutes lists the byte selectors of prmt's special modes, by the low two bits of the control
// word.
var permutes = map[string][4]uint32{
	"f4e":  {0x3210, 0x4321, 0x5432, 0x6543},
	"b4e":  {0x5670, 0x6701, 0x7012, 0x0123},
	"rc8":  {0x0000, 0x1111, 0x2222, 0x3333},
	"ecl":  {0x3210, 0x3211, 0x3222, 0x3333},
	"ecr":  {0x0000, 0x1110, 0x2210, 0x3210},
	"rc16": {0x1010, 0x3232, 0x1010, 0x3232},
}

// Prmt selects four bytes of b:a by the selectors in c, or by a mode's selectors. Mode "" is the
// general one, where bit 3 of a selector spreads the sign.
func Prmt(mode string, a, b, c uint32) uint32 {
	sel := c
	if mode != "" {
		rows, ok := permutes[mode]
		if !ok {
			panic("BUG: prmt has no mode " + mode)
		}
		sel = rows[c&3]
	}
	bytes := uint64(b)<<32 | uint64(a)
	var r uint32
	for i := range 4 {
		s := sel >> (4 * i) & 0xf
		x := uint8(bytes >> (8 * (s & 7)))
		if s&8 != 0 {
			x = uint8(int8(x) >> 7)
		}
		r |= uint32(x) << (8 * i)
	}
	return r
}

// Dp4a returns c plus the dot product of four pairs of bytes.
func Dp4a(aSigned, bSigned bool, a, b, c uint32) uint32 {
	for i := range 4 {
		x, y := a>>(8*i), b>>(8*i)
		c += uint32(extend(aSigned, 8, x) * extend(bSigned, 8, y))
	}
	return c
}

// Dp2a returns c plus the dot product of the two halves of a and the two lower bytes of b, or
// with hi the two upper bytes.
func Dp2a(hi, aSigned, bSigned bool, a, b, c uint32) uint32 {
	if hi {
		b >>= 16
	}
	for i := range 2 {
		x, y := a>>(16*i), b>>(8*i)
		c += uint32(extend(aSigned, 16, x) * extend(bSigned, 8, y))
	}
	return c
}

func extend(signed bool, width int, x uint32) int64 {
	if signed {
		return SignExtend(width, uint64(x))
	}
	return int64(uint64(x) & widthMask(width))
}
