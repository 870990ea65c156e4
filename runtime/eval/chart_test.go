package eval

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// byLengths makes a result with the given number of right answers of 100 for each length.
func byLengths(trained int, lengths []int, right ...int) *Result {
	r := &Result{Trained: &[2]int{trained, 0}}
	for i, n := range lengths {
		r.ByCell = append(r.ByCell, Cell{Pair: Pair{I: n}, Samples: 100, Correct: right[i%len(right)]})
	}
	return r
}

func TestChart(t *testing.T) {
	for _, c := range []struct {
		r     *Result
		width int
		want  string
	}{
		{byLengths(7, []int{6, 10, 15, 60}, 100, 99, 50, 0), 80, `
100 │█████ ▇▇▇▇▇
    │█████ █████
 50 │█████ █████ █████
    │█████ █████ █████
  0 └━━━━━━──────────────────
     6     10    15    60
     ━ lengths of training
`},
		{byLengths(1, []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 100, 1, 25), 15, `
100 │█  █  █  █
    │█  █  █  █
 50 │█  █  █  █
    │█▁██▁██▁██
  0 └──────────
     2 4 6   11
`},
	} {
		if got := c.r.Chart(c.width); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%d columns:\n%s\nwant\n%s", c.width, got, c.want)
		}
	}
	if got := byLengths(1, []int{3}, 5).Chart(80); got != "" {
		t.Errorf("of one length:\n%s", got)
	}
	grid := byLengths(1, []int{3, 4}, 5)
	grid.ByCell[0].J = 9
	if got := grid.Chart(80); got != "" {
		t.Errorf("of a grid:\n%s", got)
	}
}

// TestChartFits draws few and many lengths in few and many columns.
func TestChartFits(t *testing.T) {
	for _, n := range []int{2, 5, 30, 160, 900} {
		var lengths []int
		for i := range n {
			lengths = append(lengths, i+1)
		}
		r := byLengths(20, lengths, 100, 60, 0)
		for width := range 201 {
			chart := r.Chart(width)
			for l := range strings.Lines(chart) {
				if got := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); got > max(width, 26) {
					t.Fatalf("%d lengths in %d columns: a line of %d:\n%s", n, width, got, chart)
				}
			}
			if width > 20 && !strings.Contains(chart, lastWord(n)) {
				t.Fatalf("%d lengths in %d columns: the last is not named:\n%s", n, width, chart)
			}
		}
	}
}

func lastWord(n int) string { return Pair{I: n}.String()[len("length "):] + "\n" }
