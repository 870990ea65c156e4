package track

import "testing"

// TestPercent rounds to the nearest, and neither up to 100 nor down to 0.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		right, of float64
		want      string
	}{
		{1, 53, "1.89"}, {1, 3, "33.33"}, {2, 3, "66.67"}, {29, 100, "29.00"}, {1, 800, "0.13"}, {57979, 200000, "28.99"}, {57990, 200000, "29.00"},
		{1999, 2000, "99.95"}, {99999, 100000, "99.99"}, {1, 1, "100.00"}, {1, 100000, "0.01"}, {0, 7, "0.00"},
	} {
		if got := Percent(c.right / c.of); got != c.want {
			t.Errorf("%g of %g are %s %%, want %s", c.right, c.of, got, c.want)
		}
	}
}
