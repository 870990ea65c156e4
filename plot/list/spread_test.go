package list

import (
	"math"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		x               []float64
		mean, deviation float64
	}{
		{[]float64{2, 4, 4, 4, 5, 5, 7, 9}, 5, math.Sqrt(32. / 7)},
		{[]float64{1, 3}, 2, math.Sqrt2},
		{[]float64{1, 1, 1}, 1, 0},
		{[]float64{0.5}, 0.5, 0},
	} {
		if mean, deviation := Spread(c.x); mean != c.mean || math.Abs(deviation-c.deviation) > 1e-12 {
			t.Errorf("%v: %g ± %g, want %g ± %g", c.x, mean, deviation, c.mean, c.deviation)
		}
	}
}
