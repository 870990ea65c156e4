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

// TestPairsFlush wants products of pairs to flush exactly the subnormal factors and sums to 0,
// as documented.
func TestPairsFlush(t *testing.T) {
	if !AVX512BF16.supported() {
		t.Skipf("this processor does not have %s", AVX512BF16)
	}
	w := NewWorker(nil, AVX512BF16, Memory{})
	tiny := math.Float32frombits(1 << 22) // 2^-127
	for _, c := range []struct {
		name          string
		x, y, c, want float32
	}{
		{"a factor below", tiny, 0x1p10, 1, 1},
		{"a factor below, of a normal product", tiny, 0x1p30, 0, 0},
		{"a sum below", 0x1p-60, 0x1p-67, 0, 0},
		{"a sum below before", 1, 0, tiny, 0},
		{"a product below of a normal sum", 0x1p-74, 0x1p-74, 0x1p-125, 0x1p-125 + 0x1p-148},
		{"the smallest sum", 0x1p-60, 0x1p-66, 0, 0x1p-126},
	} {
		got := []float32{c.c}
		w.DotBF16(1, 1, 1, []uint16{RoundBF16(c.x)}, 1, 1, []uint16{RoundBF16(c.y)}, 1, 1, got, 1)
		if got[0] != c.want {
			t.Errorf("%s: %g, want %g", c.name, got[0], c.want)
		}
	}
}
