package cpu

import (
	"math"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu/producttest"
)

func TestMinMax(t *testing.T) {
	nan, minus := float32(math.NaN()), float32(math.Copysign(0, -1))
	for _, c := range []struct{ a, b, min, max float32 }{
		{1, 2, 1, 2},
		{2, 1, 1, 2},
		{0, minus, minus, minus},
		{minus, 0, 0, 0},
		{nan, 1, 1, 1},
		{1, nan, nan, nan},
	} {
		if got := Min(c.a, c.b); !producttest.Same(got, c.min) {
			t.Errorf("Min(%v, %v) = %v, want %v", c.a, c.b, got, c.min)
		}
		if got := Max(c.a, c.b); !producttest.Same(got, c.max) {
			t.Errorf("Max(%v, %v) = %v, want %v", c.a, c.b, got, c.max)
		}
	}
}

// TestFunctions compares with package math. Full tests of codegen/cpu/mathgen measure the error
// of the expansions.
func TestFunctions(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, f := range []struct {
		name string
		got  func(float32) float32
		want func(float64) float64
	}{
		{"exp", Exp, math.Exp}, {"tanh", Tanh, math.Tanh}, {"sigmoid", Sigmoid, sigmoid},
		{"erf", Erf, math.Erf}, {"sin", Sin, math.Sin}, {"cos", Cos, math.Cos},
		{"softplus", Softplus, func(x float64) float64 { return math.Log1p(math.Exp(x)) }},
		{"log", func(x float32) float32 { return Log(Abs(x)) }, func(x float64) float64 { return math.Log(math.Abs(x)) }},
	} {
		for i := -400; i <= 400; i++ {
			x := float32(i)/50 + 0.001
			got, want := float64(f.got(x)), f.want(float64(x))
			if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
				t.Errorf("%s(%v) = %v, want %v", f.name, x, got, want)
			}
		}
	}
}
