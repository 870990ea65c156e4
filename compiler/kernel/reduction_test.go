package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
)

// TestSumAccuracy compares two orders of sums of random rows. Four neighbours in one partial cost
// no accuracy against partials that take every 32nd element.
func TestSumAccuracy(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 5))
	sum := findReduction(expr.Add)
	for _, kind := range []struct {
		name string
		draw func() float64
	}{
		{"normal", draw.NormFloat64},
		{"squares", func() float64 { x := draw.NormFloat64(); return x * x }},
		{"exponentials", func() float64 { return math.Exp(4 * draw.NormFloat64()) }},
	} {
		for _, width := range []int{8, 17, 33, 63, 64, 128, 200, 512, 1000, 4096} {
			const rows = 4000
			var ours, others float64 // squared errors
			for range rows / (1 + width/512) {
				own, other := sum.begin(), sum.begin()
				exact, size := 0.0, 0.0
				for e := range width {
					x := float32(kind.draw())
					sum.take(&own, int64(e), x)
					other[e%Partials] += x
					exact += float64(x)
					size += math.Abs(float64(x))
				}
				ours += math.Pow((float64(sum.combine(own))-exact)/size, 2)
				others += math.Pow((float64(sum.combine(other))-exact)/size, 2)
			}
			if ratio := math.Sqrt(ours / others); ratio > 1.1 || math.IsNaN(ratio) {
				t.Errorf("%s, %d wide: the error is %.3f of that of the other order", kind.name, width, ratio)
			} else {
				t.Logf("%s, %d wide: %.3f", kind.name, width, ratio)
			}
		}
	}
}
