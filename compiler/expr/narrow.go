package expr

import "math"

// nan16 is the NaN of BF16 and F16 for every F32 NaN.
const nan16 = 0x7fff

// widenings expand ToF32 of BF16 and F16. An F16 has a smaller exponent bias. Multiplying
// by a power of two corrects it exactly, also for subnormal numbers.
var widenings = map[Type]func(x *Expr) *Expr{
	BF16: func(x *Expr) *Expr { return New(BitsF, New(Shl, lowHalf(x), U(16))) },
	F16: func(x *Expr) *Expr {
		bits := lowHalf(x)
		moved := New(Shl, New(And, bits, U(0x7fff)), U(23-10))
		finite := New(FBits, times(New(BitsF, moved), F(0x1p112)))
		magnitude := New(Where, New(Lt, moved, U(0x7c00<<13)), finite, New(Or, moved, U(0x7f800000)))
		sign := New(Shl, New(And, bits, U(0x8000)), U(16))
		return New(BitsF, New(Or, magnitude, sign))
	},
}

// lowHalf returns a word whose lower half is x. If x was just made from a word, it
// returns that word, so that a value that is rounded but not stored needs no 16-bit type.
func lowHalf(x *Expr) *Expr {
	if x.Op == AsBF16 || x.Op == AsF16 {
		return x.Args[0]
	}
	return New(AsU32, x)
}

// Widen returns ToF32 of the bits of a BF16 or F16.
func Widen(t Type, bits uint16) float32 {
	if t == BF16 {
		return math.Float32frombits(uint32(bits) << 16)
	}
	moved := uint32(bits&0x7fff) << 13
	magnitude := float64(math.Float32frombits(moved)) * 0x1p112
	switch {
	case moved > 0x7c00<<13:
		return float32(math.NaN())
	case moved == 0x7c00<<13:
		magnitude = math.Inf(1)
	}
	return float32(math.Copysign(magnitude, float64(int16(bits))))
}

// nearest adds to a bit pattern so that dropping its lowest bits rounds to nearest even.
// A carry correctly increments the exponent.
func nearest(bits *Expr, dropped uint32) *Expr {
	odd := New(And, New(Shr, bits, U(dropped)), U(1))
	return New(Add, New(Add, bits, odd), U(1<<(dropped-1)-1))
}

// orNaN returns bits, or the bits of a NaN if x is NaN.
func orNaN(x, bits *Expr) *Expr { return New(Where, New(Eq, x, x), bits, U(nan16)) }

func expandToBF16(x *Expr) *Expr {
	return New(AsBF16, orNaN(x, New(Shr, nearest(New(FBits, x), 16), U(16))))
}

// expandToF16 rounds subnormal results by an addition, because 0.5 has the same last place as the smallest F16.
func expandToF16(x *Expr) *Expr {
	const (
		least    = 0x38800000 // 2^-14, the least normal F16
		overflow = 0x47800000 // 2^16
		bias     = (127 - 15) << 23
	)
	bits := New(FBits, x)
	magnitude := New(And, bits, U(0x7fffffff))
	half := F(0.5)
	subnormal := New(Sub, New(FBits, plus(New(BitsF, magnitude), half)), New(FBits, half))
	normal := New(Shr, New(Sub, nearest(magnitude, 23-10), U(bias)), U(23-10))
	finite := New(Where, New(Lt, magnitude, U(least)), subnormal, normal)
	rounded := New(Where, New(Lt, magnitude, U(overflow)), finite, U(0x7c00))
	sign := New(And, New(Shr, bits, U(16)), U(0x8000))
	return New(AsF16, orNaN(x, New(Or, rounded, sign)))
}

func expandToTF32(x *Expr) *Expr {
	rounded := New(BitsF, New(And, nearest(New(FBits, x), 23-10), U(math.MaxUint32<<(23-10)&math.MaxUint32)))
	return New(Where, New(Eq, x, x), rounded, x)
}
