package cpu

import (
	"math"
	"testing"
)

// TestAsDefined accepts the definition and rejects other orders and roundings of other
// processors.
func TestAsDefined(t *testing.T) {
	exact := func(x, y float32) float64 { return float64(x) * float64(y) }
	for _, c := range []struct {
		name string
		want bool
		sum  func(c, x, u, y, v float32) float32
	}{
		{"as defined", true, func(c, x, u, y, v float32) float32 { return Fma(y, v, Fma(x, u, c)) }},
		{"lower halves first", false, func(c, x, u, y, v float32) float32 { return Fma(x, u, Fma(y, v, c)) }},
		{"one rounding", false, func(c, x, u, y, v float32) float32 {
			return float32(exact(x, u) + exact(y, v) + float64(c))
		}},
		{"the products added first", false, func(c, x, u, y, v float32) float32 { return c + Fma(y, v, x*u) }},
		{"to odd", false, func(c, x, u, y, v float32) float32 {
			return toOdd(exact(y, v) + float64(toOdd(exact(x, u)+float64(c))))
		}},
	} {
		got := asDefined(func(sums *[pairLanes]float32, a float32, b *[pairLanes]float32) {
			x, y := halvesOfPair(a)
			for i, p := range b {
				u, v := halvesOfPair(p)
				sums[i] = c.sum(sums[i], x, u, y, v)
			}
		})
		if got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func halvesOfPair(p float32) (first, second float32) {
	bits := math.Float32bits(p)
	return WidenBF16(uint16(bits >> 16)), WidenBF16(uint16(bits))
}

// toOdd rounds x to odd as a float32: the last bit says whether x was cut.
func toOdd(x float64) float32 {
	const cut = 52 - 23
	bits := math.Float64bits(x)
	if bits&(1<<cut-1) != 0 {
		bits |= 1 << cut
	}
	return float32(math.Float64frombits(bits >> cut << cut))
}
