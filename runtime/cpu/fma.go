package cpu

import "math"

// Fma returns a*b + c with one rounding.
//
// The product of two float32 is exact in float64. So rounding the float64 sum to float32 is
// right, with two exceptions: the sum was rounded onto a point half-way between two float32, or
// it lies where float32 has fewer bits. Only these cases take the slow way.
func Fma(a, b, c float32) float32 {
	if r, ok := fmaFast(a, b, c); ok {
		return r
	}
	return fmaSlow(a, b, c)
}

// fmaFast is Fma in an inlinable form; ok reports whether the fast way is right.
func fmaFast(a, b, c float32) (r float32, ok bool) {
	s := float64(a)*float64(b) + float64(c)
	u := math.Float64bits(s)
	return float32(s), u<<35 != 1<<63 && u<<1 >= minNormal<<1
}

// minNormal is the float64 pattern of the smallest normal float32, 2^-126.
const minNormal uint64 = (1023 - 126) << 52

// fmaSlow first rounds p + c to odd in float64, which keeps enough to round correctly to
// float32 afterwards (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums",
// 2008). Knuth's two-sum gives the error of the sum.
func fmaSlow(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	t := s - p
	e := (p - (s - t)) + (float64(c) - t)
	u := math.Float64bits(s)
	if e != 0 && u&1 == 0 {
		if (e > 0) == (s > 0) {
			u++
		} else {
			u--
		}
	}
	return float32(math.Float64frombits(u))
}
