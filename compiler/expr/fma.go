package expr

import "math"

// FMA32 returns a*b + c rounded once to float32.
//
// The product of two float32 is exact in float64. Narrowing the float64 sum is correct, unless the sum lies half-way
// between two float32 or the result is subnormal. In these cases the sum is first rounded to odd, which preserves the
// side of every narrower half-way point on which the exact value lies (Boldo and Melquiond, "Emulation of FMA and
// correctly rounded sums: proved algorithms using rounding to odd", 2008).
func FMA32(a, b, c float32) float32 {
	const lost, half = 1<<29 - 1, 1 << 28 // the bits that narrowing drops
	const minNormal = 0x1p-126
	p, d := float64(a)*float64(b), float64(c)
	s := p + d
	bits := math.Float64bits(s)
	if bits&lost != half && !(math.Abs(s) < minNormal) {
		return float32(s)
	}
	t := s - p
	e := (p - (s - t)) + (d - t) // s + e = p + d exactly (Knuth's TwoSum)
	if e != 0 && bits&1 == 0 {
		if (e > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
	}
	return float32(math.Float64frombits(bits))
}
