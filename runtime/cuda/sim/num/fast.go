package num

import "math"

// The functions below are the commonest operations, .rn without ftz and sat, by
// the processor's own arithmetic: equal to those of Format, and faster. Flushing
// the operands and the result of one gives its .ftz form.

func canonF32(r float32) uint32 {
	if r != r {
		return 0x7fffffff
	}
	return math.Float32bits(r)
}

// AddF32 returns a + b.
func AddF32(a, b uint32) uint32 {
	return canonF32(math.Float32frombits(a) + math.Float32frombits(b))
}

// SubF32 returns a - b.
func SubF32(a, b uint32) uint32 {
	return canonF32(math.Float32frombits(a) - math.Float32frombits(b))
}

// MulF32 returns a * b.
func MulF32(a, b uint32) uint32 {
	return canonF32(math.Float32frombits(a) * math.Float32frombits(b))
}

// DivF32 returns a / b.
func DivF32(a, b uint32) uint32 {
	return canonF32(math.Float32frombits(a) / math.Float32frombits(b))
}

// SqrtF32 returns the square root: the one in double precision has bits enough
// to be rounded again.
func SqrtF32(a uint32) uint32 {
	return canonF32(float32(math.Sqrt(float64(math.Float32frombits(a)))))
}

// FmaF32 returns a*b + c. The product is exact in double precision; rounding the
// sum twice can only differ from rounding it once where the first result lies
// half-way between two singles, or below the normal ones.
func FmaF32(a, b, c uint32) uint32 {
	s := float64(math.Float32frombits(a))*float64(math.Float32frombits(b)) + float64(math.Float32frombits(c))
	u := math.Float64bits(s)
	if u<<35 == 1<<63 || u<<1 < smallestNormal || u<<1 > infinite {
		return fmaSlow(a, b, c)
	}
	return math.Float32bits(float32(s))
}

// The doubled patterns, in double precision, of the smallest normal single and of
// infinity.
const (
	smallestNormal uint64 = (1023 - 126) << 53
	infinite       uint64 = 2047 << 53
)

func fmaSlow(a, b, c uint32) uint32 {
	return uint32(F32.Fma(Mode{}, uint64(a), uint64(b), uint64(c)))
}

// FlushF32 replaces a subnormal number by zero of its sign.
func FlushF32(a uint32) uint32 {
	if a&0x7f800000 == 0 {
		return a & (1 << 31)
	}
	return a
}

// SaturateF32 clamps to [0, 1]; NaN becomes +0.
func SaturateF32(a uint32) uint32 { return uint32(F32.Saturate(uint64(a))) }

// canonF64 chooses the NaN where an operation made or passed one on.
func canonF64(r float64, slow func() uint64) uint64 {
	if r != r {
		return slow()
	}
	return math.Float64bits(r)
}

// AddF64 returns a + b.
func AddF64(a, b uint64) uint64 {
	r := math.Float64frombits(a) + math.Float64frombits(b)
	return canonF64(r, func() uint64 { return F64.Add(Mode{}, a, b) })
}

// SubF64 returns a - b.
func SubF64(a, b uint64) uint64 {
	r := math.Float64frombits(a) - math.Float64frombits(b)
	return canonF64(r, func() uint64 { return F64.Sub(Mode{}, a, b) })
}

// MulF64 returns a * b.
func MulF64(a, b uint64) uint64 {
	r := math.Float64frombits(a) * math.Float64frombits(b)
	return canonF64(r, func() uint64 { return F64.Mul(Mode{}, a, b) })
}

// DivF64 returns a / b.
func DivF64(a, b uint64) uint64 {
	r := math.Float64frombits(a) / math.Float64frombits(b)
	return canonF64(r, func() uint64 { return F64.Div(Mode{}, a, b) })
}

// SqrtF64 returns the square root.
func SqrtF64(a uint64) uint64 {
	r := math.Sqrt(math.Float64frombits(a))
	return canonF64(r, func() uint64 { return F64.Sqrt(Mode{}, a) })
}

// FmaF64 returns a*b + c.
func FmaF64(a, b, c uint64) uint64 {
	r := math.FMA(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c))
	return canonF64(r, func() uint64 { return F64.Fma(Mode{}, a, b, c) })
}
