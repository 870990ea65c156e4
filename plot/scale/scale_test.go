package scale

import (
	"strings"
	"testing"
)

// TestTicks reads the numbers of axes.
func TestTicks(t *testing.T) {
	number := func(x float64) string { return Number(x, 1e4) }
	texts := func(all []Tick) (out []string) {
		for _, k := range all {
			if k.Text != "" {
				out = append(out, k.Text)
			}
		}
		return out
	}
	for _, c := range []struct {
		got  []Tick
		want string
	}{
		{Evenly(0, 100, 5, number), "0 20 40 60 80 100"},
		{Evenly(0, 6000, 5, number), "0 2000 4000 6000"},
		{Evenly(-0.3, 0.3, 5, number), "−0.2 0 0.2"},
		{Evenly(0, 768000, 5, number), "0 200k 400k 600k"},
		{Decades(-3, 0.3, 6, number), "0.001 0.01 0.1 1"},
		{Decades(0, 1, 6, number), "1 2 5 10"},
		{Whole(1, 20, 1), "1 4 6 8 10 12 14 16 18 20"},
		{Whole(1, 8, 1), "1 2 3 4 5 6 7 8"},
		{Whole(10, 100, 10), "10 20 30 40 50 60 70 80 90 100"},
	} {
		if got := strings.Join(texts(c.got), " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
