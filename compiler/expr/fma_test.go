package expr

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactFMA computes a*b + c exactly in 600 bits, and rounds once.
func exactFMA(a, b, c float32) float32 {
	wide := func(v float32) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(float64(v)) }
	sum := wide(a)
	sum.Mul(sum, wide(b)).Add(sum, wide(c))
	r, _ := sum.Float32()
	return r
}

func checkFMA(t *testing.T, a, b, c, want float32) {
	t.Helper()
	got := FMA32(a, b, c)
	if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
		t.Errorf("FMA32(%x, %x, %x) = %x, want %x", a, b, c, got, want)
	}
}

// TestFMA32Halfway builds operands whose exact result lies on or next to a half-way point
// between two float32. c is one of them, and the product is half a unit in its last
// place, times 1 or nearly 1.
func TestFMA32Halfway(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		c := math.Float32frombits(r.Uint32N(0x7f000000))
		next := math.Nextafter32(c, float32(math.Inf(1)))
		half := (float64(next) - float64(c)) / 2
		// The factors are exact. half is a power of two, so a and b share its exponent,
		// and both mantissas differ from 1 only in the last places.
		frac, exp := math.Frexp(half)
		a := float32(math.Ldexp(frac, exp/2)) * nearOne(r)
		b := float32(math.Ldexp(1, exp-exp/2)) * nearOne(r)
		if r.IntN(2) == 0 {
			a = -a
		}
		if r.IntN(2) == 0 {
			c = -c
		}
		checkFMA(t, a, b, c, exactFMA(a, b, c))
		if t.Failed() {
			return
		}
	}
}

func nearOne(r *rand.Rand) float32 { return 1 + float32(r.IntN(5)-2)*0x1p-23 }

// TestFMA32Subnormal checks results below the smallest normal number, where float32 has
// fewer bits.
func TestFMA32Subnormal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		a := math.Float32frombits(r.Uint32N(0x800000) | uint32(20+r.IntN(80))<<23)
		exp := 1 - 127 + r.IntN(25) - 24 // of the product: from tiny to about normal
		_, ea := math.Frexp(float64(a))
		b := float32(math.Ldexp(1+float64(r.IntN(1<<23))*0x1p-23, exp-ea))
		c := math.Float32frombits(r.Uint32N(0x1000000))
		if r.IntN(2) == 0 {
			b = -b
		}
		checkFMA(t, a, b, c, exactFMA(a, b, c))
		if t.Failed() {
			return
		}
	}
}

// TestFMA32Anywhere checks operands of all magnitudes, close enough to affect each other.
func TestFMA32Anywhere(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	number := func(exp int) float32 {
		v := float32(math.Ldexp(1+float64(r.IntN(1<<23))*0x1p-23, exp))
		if r.IntN(2) == 0 {
			return -v
		}
		return v
	}
	for range 100_000 {
		ea, eb := r.IntN(150)-75, r.IntN(150)-75
		a, b := number(ea), number(eb)
		c := number(max(-149, min(127, ea+eb+r.IntN(60)-30)))
		checkFMA(t, a, b, c, exactFMA(a, b, c))
		if t.Failed() {
			return
		}
	}
}

func TestFMA32Special(t *testing.T) {
	inf, nan, zero := float32(math.Inf(1)), float32(math.NaN()), float32(0)
	negZero := float32(math.Copysign(0, -1))
	for _, c := range []struct{ a, b, c, want float32 }{
		{inf, 1, 1, inf},
		{inf, 0, 1, nan},
		{inf, 1, -inf, nan},
		{1, 1, -inf, -inf},
		{nan, 1, 1, nan},
		{1, 1, nan, nan},
		{1, -1, 1, zero},
		{zero, 1, negZero, zero},
		{negZero, 1, negZero, negZero},
		{negZero, 1, zero, zero},
		{math.MaxFloat32, 2, -inf, -inf},
		{math.MaxFloat32, 1, math.MaxFloat32, inf},
		{math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32},
		{0x1p-149, 0x1p-149, 0, 0},
		{0x1p-149, -0x1p-149, 0, negZero},
		{0x1p-149, 0x1p-149, 0x1p-149, 0x1p-149},
		{0x1p-75, 0x1p-75, 0, 0},                     // half of the smallest, to even
		{0x1p-75, 0x1.000002p-75, 0, 0x1p-149},       // a little more
		{0x1p-75, 0x1p-75, 0x1p-149, 0x1p-148},       // half-way, to even
		{0x1p-24, 0x1p-60, 1 + 0x1p-23, 1 + 0x1p-23}, // far below
		{0x1p-12, 0x1p-12, 1, 1},                     // half-way, to even
		{0x1p-12, 0x1.000002p-12, 1, 1 + 0x1p-23},    // narrowing twice would give 1, too
		{0x1.000002p-12, 0x1.fffffcp-13, 1, 1},       // just below half-way
		{0x1.000002p-12, 0x1.000002p-12, -1, -1 + 0x1p-24},
		// Just below half-way, where the float64 sum is odd and its error positive.
		{(1 - 5*0x1p-17) * 0x1p-75, (1 + 5*0x1p-17) * 0x1p-75, 0x1p-127 + 0x1p-149, 0x1p-127 + 0x1p-149},
	} {
		checkFMA(t, c.a, c.b, c.c, c.want)
	}
}

func BenchmarkFMA32(b *testing.B) {
	x, y, sum := float32(1.0000001), float32(0.9999999), float32(0)
	for b.Loop() {
		sum = FMA32(x, y, sum)
	}
}
