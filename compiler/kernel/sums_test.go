package kernel

import (
	"math"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
)

// TestFlushed wants numbers below the smallest normal one to be 0 in products of BF16 alone.
func TestFlushed(t *testing.T) {
	const least = 0x1p-126
	add := &Sums{Flushed: true}
	for _, c := range []struct{ sum, a, b, want float32 }{
		{1, 2, 3, 7},
		{0, least / 2, 2, 0},
		{0, 2, -least / 2, float32(math.Copysign(0, 1))},
		{least / 2, 0, 1, 0},
		{least, 0x1p-74, 0x1p-74, least + 0x1p-148},
		{0, least, 0.5, 0},
	} {
		if got := add.Add(c.sum, []float32{c.a}, []float32{c.b}); math.Float32bits(got) != math.Float32bits(c.want) {
			t.Errorf("%g + %g * %g is %g, want %g", c.sum, c.a, c.b, got, c.want)
		}
	}
	for typ, want := range map[expr.Type]bool{expr.F32: false, expr.F16: false, expr.BF16: true} {
		if add.takes(&Dot{}, typ) != want {
			t.Errorf("factors of %v: %t", typ, !want)
		}
	}
}
