// Package elementary has the functions that initial parameters and schedules need,
// bit-identical on every processor. Package math differs between processors: some functions are
// assembly, and Go may fuse products with sums. Here an explicit conversion rounds each product
// before it is added.
package elementary

import "math"

// Log returns the natural logarithm of a finite x > 0, to within two units in the last place.
// It splits x = m 2^e, with m between √½ and √2. The logarithm of m is 2 artanh((m-1)/(m+1)), a
// series whose terms fall by a factor of 34.
func Log(x float64) float64 {
	const ln2High, ln2Low = 0x1.62e42fee00000p-1, 0x1.a39ef35793c76p-33
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	f := m - 1
	s := f / (f + 2)
	square := float64(s * s)
	tail := 0.0
	for n := 25.0; n > 1; n -= 2 {
		tail = float64((tail + 1/n) * square)
	}
	// f - s·f is 2s, and f has no error.
	low := float64(2*s*tail) + float64(float64(e)*ln2Low)
	return float64(float64(e)*ln2High) + (f - (float64(s*f) - low))
}

// Cos returns the cosine of x radians, for |x| of at most a few turns, with an error of less
// than 2^-52.
func Cos(x float64) float64 {
	// π/2 in three parts. The first two end in zeros, so that their products with a few
	// quarters are exact.
	const high, middle, low = 0x1.921fb54400000p0, 0x1.0b4611a600000p-34, 0x1.3198a2e037073p-69
	quarters := math.Round(x / (math.Pi / 2))
	r := x - float64(quarters*high) - float64(quarters*middle) - float64(quarters*low)
	switch square := float64(r * r); int(quarters) & 3 {
	case 0:
		return cosine(square)
	case 1:
		return -sine(r, square)
	case 2:
		return -cosine(square)
	default:
		return sine(r, square)
	}
}

// cosine sums the series of the cosine, by the square of an angle of at most π/4.
func cosine(square float64) float64 {
	sum := 0.0
	for n := 20.0; n > 2; n -= 2 {
		sum = float64((1 - sum) * square / (n * (n - 1)))
	}
	return 1 - float64((1-sum)*square/2)
}

// sine is r times the series of sin(r)/r, by the square of r.
func sine(r, square float64) float64 {
	sum := 0.0
	for n := 21.0; n > 2; n -= 2 {
		sum = float64((1 - sum) * square / (n * (n - 1)))
	}
	return r - float64(r*sum)
}
