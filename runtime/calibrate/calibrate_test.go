package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	diagonal     = Direction{1, 1}
	antidiagonal = Direction{1, -1}
	column       = Direction{1, 0}
)

func above(kappa float64) func(value, mean, std float64) bool {
	return func(value, mean, std float64) bool { return value >= mean+kappa*std }
}

// ideal returns the attention of one head. In its first six rows each line of a direction has
// its share of the weight; later rows attend to the last column. The rest of a row is spread
// evenly.
func ideal(rows, columns int, causal bool, d Direction, shares map[int]float64) Attention {
	a := Attention{Heads: 1, Rows: rows, Columns: columns}
	for i := range rows {
		open := columns
		if causal {
			open = i + 1
		}
		row := make([]float64, columns)
		left := 1.0
		for j := range open {
			switch share := shares[d.Number(i, j)]; {
			case i < 6:
				row[j] = share
			case j == open-1:
				row[j] = 0.99
			}
			left -= row[j]
		}
		for j := range open {
			row[j] += left / float64(open)
		}
		a.Values = append(a.Values, row...)
	}
	return a
}

// stack combines heads.
func stack(heads ...Attention) Attention {
	a := heads[0]
	a.Heads, a.Values = 0, nil
	for _, h := range heads {
		a.Heads++
		a.Values = append(a.Values, h.Values...)
	}
	return a
}

// kept lists the selected lines by head.
func kept(r *Result) [][]string {
	var out [][]string
	for _, h := range r.Heads {
		lines := []string{}
		for _, f := range h.Directions {
			for _, l := range f.Lines {
				if l.Kept {
					lines = append(lines, fmt.Sprintf("%s=%d", f.Formula, l.Number))
				}
			}
		}
		out = append(out, lines)
	}
	return out
}

func calibrated(t *testing.T, c Config, l Lines, a Attention) *Result {
	t.Helper()
	r, err := c.Calibrate(l, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestIdealCross calibrates addition with operands of 60 digits in 125 tokens, with 6 counted
// rows: a line of one operand, lines of both by halves, and weight on too many lines.
func TestIdealCross(t *testing.T) {
	seven := map[int]float64{}
	for k := range 7 {
		seven[60+10*k] = 1. / 7
	}
	a := stack(
		ideal(30, 125, false, antidiagonal, map[int]float64{123: 0.99}),
		ideal(30, 125, false, antidiagonal, map[int]float64{61: 0.49, 123: 0.49}),
		ideal(30, 125, false, antidiagonal, seven))
	l := Lines{Directions: [][2]int{antidiagonal}, Rows: 6, M: 62, N: 125, Keep: above(4.5)}
	r := calibrated(t, Config{}, l, a)
	if diff := cmp.Diff([][]string{{"i+j=123"}, {"i+j=61", "i+j=123"}, {}}, kept(r)); diff != "" {
		t.Error(diff)
	}
	for h, want := range []float64{2.4, 1.7} {
		f := r.Heads[h].Directions[0]
		if threshold := f.Mean + 4.5*f.Std; math.Abs(threshold-want) > 0.05 || len(f.Lines) != 130 {
			t.Errorf("head %d: threshold %g over %d lines, want %g over 130", h, threshold, len(f.Lines), want)
		}
	}
	if !r.Heads[2].Transparent || r.Heads[0].Transparent {
		t.Error("exactly the heads without selected lines should be transparent")
	}

	// With all rows and means, the lines at ^ and $ win.
	l.Rows = 30
	r = calibrated(t, Config{Mean: true}, l, a)
	if lines := kept(r)[1]; slices.Contains(lines, "i+j=61") || slices.Contains(lines, "i+j=123") || !slices.Contains(kept(r)[0], "i+j=153") {
		t.Errorf("means over all rows keep %v", kept(r))
	}
}

// TestIdealSelf selects the diagonals that a vanilla model shows. With means it also selects
// the corner, a single cell.
func TestIdealSelf(t *testing.T) {
	l := Lines{Directions: [][2]int{diagonal}, Rows: 6, M: 62, N: 62, Keep: above(0.87)}
	a := stack(
		ideal(30, 62, true, diagonal, map[int]float64{0: 0.95}),
		ideal(30, 62, true, diagonal, map[int]float64{0: 0.45, -1: 0.5}))
	corner := a.Values[5*62 : 6*62] // of head 0
	for j := range corner {
		corner[j] = 0
	}
	corner[0], corner[5] = 0.9, 0.1
	sums, means := calibrated(t, Config{}, l, a), calibrated(t, Config{Mean: true}, l, a)
	if diff := cmp.Diff([][]string{{"j-i=0"}, {"j-i=-1", "j-i=0"}}, kept(sums)); diff != "" {
		t.Error(diff)
	}
	if got := kept(means)[0]; !slices.Contains(got, "j-i=-5") {
		t.Errorf("means keep %v, want the corner too", got)
	}
	if n := len(sums.Heads[0].Directions[0].Lines); n != 6 {
		t.Errorf("%d diagonals, want 6: masked ones do not count", n)
	}
}

// TestPublishedLines gives each head attention that leads to the values of the authors' saved
// tensors, and wants their lines back.
func TestPublishedLines(t *testing.T) {
	cross := []map[int]float64{
		{123: 2.99}, {123: 3.98}, {}, {123: 3.06}, {61: 1.65, 123: 1.00}, {123: 3.99}, {61: 3.73}, {61: 2.83},
	}
	self := []map[int]float64{
		{0: 3.90}, {-1: 3.83}, {0: 2.92}, {0: 4.01}, {0: 3.52}, {0: 2.51, -1: 3.39}, {0: 2.38, -1: 2.54}, {0: 3.71},
	}
	// heads spreads the value of a line over its cells in the first six rows.
	heads := func(columns int, d Direction, values []map[int]float64) Attention {
		a := Attention{Heads: 8, Rows: 30, Columns: columns, Values: make([]float64, 8*30*columns)}
		for h, lines := range values {
			for i := range 6 {
				for j := range columns {
					line := d.Number(i, j)
					if d == diagonal && j > i {
						continue
					}
					cells := 6.
					if d == diagonal {
						cells += float64(line)
					}
					a.Values[(h*30+i)*columns+j] = max(lines[line]/cells, 1e-4)
				}
			}
		}
		return a
	}
	c := Config{}
	r := calibrated(t, c, Lines{Directions: [][2]int{antidiagonal}, Rows: 6, M: 62, N: 125, Keep: above(4.5)}, heads(125, antidiagonal, cross))
	s := calibrated(t, c, Lines{Directions: [][2]int{diagonal}, Rows: 6, M: 62, N: 62, Keep: above(0.87)}, heads(62, diagonal, self))
	for _, x := range []struct {
		r      *Result
		d      Direction
		values []map[int]float64
		n      int
	}{{r, antidiagonal, cross, 125}, {s, diagonal, self, 62}} {
		matrix := x.r.Matrix()
		for h, lines := range x.values {
			for i := range 62 {
				for j := range x.n {
					want := float32(lines[x.d.Number(i, j)])
					if want == 0 && len(lines) > 0 {
						want = Closed
					}
					if got := matrix[(h*62+i)*x.n+j]; math.Abs(float64(got-want)) > 1e-5 {
						t.Fatalf("direction %v, head %d, cell (%d, %d): %g, want %g", x.d, h, i, j, got, want)
					}
				}
			}
		}
	}
}

// TestExtension extends a matrix of 4 rows and 5 columns to 6 by 8. Lines numbered from the
// right move with the right end.
func TestExtension(t *testing.T) {
	for _, c := range []struct {
		d    Direction
		from int // the line of the small matrix
		to   int // the line of the large one
	}{
		{diagonal, -1, -1}, {diagonal, 2, 2}, {Direction{1, 2}, 1, 1}, {Direction{2, 1}, 3, 3},
		{antidiagonal, 4, 7}, {antidiagonal, 6, 9}, {column, 3, 6}, {Direction{1, -2}, 5, 8}, {Direction{2, -1}, 7, 13},
	} {
		a := Attention{Heads: 1, Rows: 4, Columns: 5}
		for i := range 4 {
			for j := range 5 {
				x := 0.01
				if c.d.Number(i, j) == c.from {
					x = 0.5
				}
				a.Values = append(a.Values, x)
			}
		}
		l := Lines{Directions: [][2]int{c.d}, Rows: 4, M: 6, N: 8, Keep: func(value, mean, _ float64) bool { return value > 2*mean }}
		r := calibrated(t, Config{Mean: true}, l, a)
		matrix := r.Matrix()
		for i := range 6 {
			for j := range 8 {
				want := float32(Closed)
				if c.d.Number(i, j) == c.to {
					want = 0.5
				}
				if got := matrix[i*8+j]; got != want {
					t.Fatalf("direction %v, line %d: cell (%d, %d) is %g, want %g", c.d, c.from, i, j, got, want)
				}
			}
		}
		values := r.Tables()[0].Values
		if len(values) != c.d.Len(6, 8)+2 || values[0] != Closed || values[len(values)-1] != Closed {
			t.Errorf("direction %v: table %v", c.d, values)
		}
	}
}

// TestLess subtracts the largest value along each direction, so that lines of both count alike.
func TestLess(t *testing.T) {
	a := Attention{Heads: 1, Rows: 3, Columns: 3, Values: []float64{
		1, 2, 8,
		1, 5, 1,
		4, 1, 1,
	}}
	l := Lines{Directions: [][2]int{diagonal, antidiagonal}, Rows: 3, M: 3, N: 3, Keep: func(value, _, _ float64) bool { return value >= 7 }}
	for _, c := range []struct {
		less bool
		want []float32
	}{
		// The diagonal has 1 + 5 + 1. The lines above and below it have 8, 3, 2, and 4. The antidiagonal has 17.
		{false, []float32{7, Closed, 17, Closed, 17, Closed, 17, Closed, 7}},
		{true, []float32{-1, Closed, 0, Closed, 0, Closed, 0, Closed, -1}},
	} {
		if got := calibrated(t, Config{Less: c.less}, l, a).Matrix(); !slices.Equal(got, c.want) {
			t.Errorf("less %v: %v, want %v", c.less, got, c.want)
		}
	}
}

// TestPaired extends ^ a + b $ between widths. A line stays with the token that it begins at,
// by the token's place from the end of its number, or from the beginning for diagonals. It
// vanishes if the number is too short.
func TestPaired(t *testing.T) {
	for _, d := range []Direction{antidiagonal, column, diagonal} {
		for _, w := range [][2]int{{3, 3}, {3, 7}, {7, 3}, {1, 20}} {
			from, to := sumColumns(w[0], d), sumColumns(w[1], d)
			for c := 1; c < len(from); c++ { // lines at ^ do not matter
				a := Attention{Heads: 1, Rows: 1, Columns: len(from), Values: make([]float64, len(from))}
				for j := range a.Values {
					a.Values[j] = 0.01
				}
				a.Values[c] = 1
				l := Lines{Directions: [][2]int{d}, Rows: 1, M: 1, N: len(to), Paired: true, Keep: func(v, mean, _ float64) bool { return v > mean }}
				var open []string
				for j, v := range calibrated(t, Config{}, l, a).Matrix() {
					if v == 1 && j > 0 {
						open = append(open, to[j])
					}
				}
				var want []string
				if slices.Contains(to, from[c]) {
					want = []string{from[c]}
				}
				if !slices.Equal(open, want) {
					t.Errorf("direction %v, widths %v: the line of %s goes to %v", d, w, from[c], open)
				}
			}
		}
	}
}

// sumColumns names the columns ^ a + b $ of numbers of a width, by the places that lines along
// a direction keep.
func sumColumns(width int, d Direction) []string {
	names := []string{"^"}
	for _, number := range []string{"a", "b"} {
		for k := range width {
			if d[1] <= 0 {
				k = width - 1 - k
			}
			names = append(names, fmt.Sprint(number, k))
		}
		names = append(names, map[string]string{"a": "+", "b": "$"}[number])
	}
	return names
}

// TestSmaller wants lines to vanish that a smaller matrix does not have, and a head without
// remaining lines to be transparent.
func TestSmaller(t *testing.T) {
	a := Attention{Heads: 1, Rows: 4, Columns: 4, Values: make([]float64, 16)}
	a.Values[3*4] = 1 // line -3
	l := Lines{Directions: [][2]int{diagonal}, Rows: 4, M: 2, N: 2, Keep: above(0)}
	r := calibrated(t, Config{}, l, a)
	if !r.Heads[0].Transparent || r.Kept() {
		t.Error("a line outside the matrix is kept")
	}
	if diff := cmp.Diff(make([]float32, 5), r.Tables()[0].Values); diff != "" {
		t.Errorf("a transparent head is 0, at both ends too:\n%s", diff)
	}
}

// TestDirections calibrates Nx1: an antidiagonal for the operand, a column for the multiplying
// digit. Where they cross, the larger value counts.
func TestDirections(t *testing.T) {
	a := ideal(30, 54, false, antidiagonal, map[int]float64{50: 0.4})
	for i := range 6 {
		a.Values[i*54+52] += 0.5
	}
	l := Lines{Directions: [][2]int{antidiagonal, column}, Rows: 6, M: 53, N: 54, Keep: above(4.5)}
	r := calibrated(t, Config{}, l, a)
	if diff := cmp.Diff([][]string{{"i+j=50", "j=52"}}, kept(r)); diff != "" {
		t.Error(diff)
	}
	matrix := r.Matrix()
	at := func(i, j int) float32 { return matrix[i*54+j] }
	if line, col := at(20, 30), at(20, 52); line < 2.4 || line > 2.6 || col < 3 || col > 3.2 || at(20, 31) != Closed {
		t.Errorf("the line is %g, the column %g, beside them %g", line, col, at(20, 31))
	}
	// Both pass through (50, 0) in a matrix whose column is the first.
	for i := range 6 {
		a.Values[i*54+52], a.Values[i*54] = a.Values[i*54], a.Values[i*54+52]
	}
	r = calibrated(t, Config{}, l, a)
	if got, want := r.Matrix()[50*54], r.Matrix()[51*54]; got != want || got < 3 {
		t.Errorf("where lines cross the bias is %g, want the larger, %g", got, want)
	}
}

// TestLogits leaves masked cells, at minus infinity, out of sums and means.
func TestLogits(t *testing.T) {
	inf := math.Inf(-1)
	a := Attention{Heads: 1, Rows: 3, Columns: 3, Values: []float64{
		-1, inf, inf,
		3, -2, inf,
		-4, 0, -3}}
	l := Lines{Directions: [][2]int{diagonal}, Rows: 3, M: 3, N: 3, Keep: above(1)}
	f := calibrated(t, Config{Logits: true, Mean: true}, l, a).Heads[0].Directions[0]
	want := []Line{{-2, -4, 1, false}, {-1, 1.5, 2, true}, {0, -2, 3, false}}
	if diff := cmp.Diff(want, f.Lines); diff != "" {
		t.Error(diff)
	}
	if mean := -1.5; f.Mean != mean || math.Abs(f.Std-math.Sqrt((6.25+9+0.25)/3)) > 1e-15 {
		t.Errorf("mean %g, std %g", f.Mean, f.Std)
	}
	f = calibrated(t, Config{Logits: true}, l, a).Heads[0].Directions[0]
	if f.Lines[2].Value != -6 || f.Lines[1].Value != 3 {
		t.Errorf("sums: %+v", f.Lines)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		a.Values[4] = bad
		if _, err := (&Config{Logits: true}).Calibrate(l, a); err == nil || !strings.Contains(err.Error(), "head 0 in row 1 to column 1") {
			t.Errorf("attention %g: %v", bad, err)
		}
	}
}

func TestText(t *testing.T) {
	for d, want := range map[Direction]string{diagonal: "j-i", antidiagonal: "i+j", column: "j", {1, 2}: "j-2i", {2, -1}: "i+2j"} {
		if got := d.Formula(); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	if got := Tensor("cross", antidiagonal); got != "cross.line.1.-1" {
		t.Error(got)
	}
	a := stack(
		ideal(8, 30, false, antidiagonal, map[int]float64{20: 0.9}),
		ideal(8, 30, false, antidiagonal, nil))
	l := Lines{Directions: [][2]int{antidiagonal}, Rows: 6, M: 8, N: 30, Keep: above(4.5)}
	r := calibrated(t, Config{}, l, a)
	if got, want := r.String(), "  head 0: i+j = 20 (5.42)\n  head 1: nothing, stays open\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := r.Strongest(); !strings.Contains(got, "head 0: i+j = 20 with 5.42, mean 0.171 + 5.8") {
		t.Error(got)
	}
}
