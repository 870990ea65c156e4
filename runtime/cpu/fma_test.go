package cpu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu/producttest"
)

// exactFma rounds a*b + c once, by arithmetic of sufficient precision.
func exactFma(a, b, c float32) float32 {
	const enough = 1000
	x := new(big.Float).SetPrec(enough).SetFloat64(float64(a))
	x.Mul(x, new(big.Float).SetFloat64(float64(b)))
	x.Add(x, new(big.Float).SetFloat64(float64(c)))
	f, _ := x.Float32()
	return f
}

// nearHalfway returns operands whose sum lies close to the middle between two float32, normal
// or not. Rounding it to float64 first would move it onto the middle: the product is half a
// unit of c times 1 - i*i/2^46.
func nearHalfway(r *rand.Rand) (a, b, c float32) {
	i := float32(1+r.IntN(100)) * 0x1p-23
	sign := func() float32 { return float32(r.IntN(2)*2 - 1) }
	if r.IntN(2) == 0 {
		scale := float32(math.Ldexp(1, r.IntN(40)-20))
		return sign() * (1 + i) * 0x1p-24, (1 - i) * scale, sign() * (1 + float32(r.IntN(1<<23))*0x1p-23) * scale
	}
	return sign() * (1 + i) * 0x1p-75, (1 - i) * 0x1p-75, sign() * math.Float32frombits(r.Uint32N(1<<23))
}

func TestFma(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	finite := func() float32 {
		for {
			if x := producttest.Special(r); !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) {
				return x
			}
		}
	}
	for range 200_000 {
		a, b, c := finite(), finite(), finite()
		if r.IntN(2) == 0 {
			a, b, c = nearHalfway(r)
		}
		got, want := Fma(a, b, c), exactFma(a, b, c)
		if got != want || got != 0 && math.Signbit(float64(got)) != math.Signbit(float64(want)) {
			t.Fatalf("Fma(%x, %x, %x) = %x, want %x", a, b, c, got, want)
		}
	}
}

func TestFmaOfZerosAndInfinities(t *testing.T) {
	inf, minus := float32(math.Inf(1)), float32(math.Copysign(0, -1))
	for _, c := range []struct{ a, b, c, want float32 }{
		{inf, 2, -1, inf},
		{inf, 2, -inf, float32(math.NaN())},
		{inf, 0, 1, float32(math.NaN())},
		{3e38, 3e38, 0, inf},
		{1, 1, -1, 0},
		{minus, 1, minus, minus},
		{minus, 1, 0, 0},
		{0x1p-149, 0x1p-149, minus, 0},
		{-0x1p-149, 0x1p-149, 0, minus},
	} {
		if got := Fma(c.a, c.b, c.c); !producttest.Same(got, c.want) {
			t.Errorf("Fma(%v, %v, %v) = %v, want %v", c.a, c.b, c.c, got, c.want)
		}
	}
}
