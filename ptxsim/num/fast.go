package num

import "math"

// The functions below compute .rn without ftz and sat in the processor's own arithmetic. Their
// results are equal to Format's, and they are faster.

// FmaF32 returns a*b + c. The product is exact in double precision. Rounding the sum twice
// differs from rounding it once only if the first result lies half-way between two singles, or
// below the normal singles.
func FmaF32(a, b, c uint32) uint32 {
	s := float64(math.Float32frombits(a))*float64(math.Float32frombits(b)) + float64(math.Float32frombits(c))
	u := math.Float64bits(s)
	if u<<35 == 1<<63 || u<<1 < smallestNormal || u<<1 > infinite {
		return uint32(F32.Fma(Mode{}, uint64(a), uint64(b), uint64(c)))
	}
	return math.Float32bits(float32(s))
}

// The patterns, in double precision and shifted left by one, of the smallest normal single and of
// infinity.
const (
	smallestNormal uint64 = (1023 - 126) << 53
	infinite       uint64 = 2047 << 53
)

// FmaF64 returns a*b + c.
func FmaF64(a, b, c uint64) uint64 {
	r := math.FMA(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c))
	if r != r { // Format knows the right NaN
		return F64.Fma(Mode{}, a, b, c)
	}
	return math.Float64bits(r)
}
