package chart

import (
	"encoding/xml"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
	"testing"
)

// wellFormed wants SVG that any XML parser accepts.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); err != nil {
			if err.Error() != "EOF" {
				t.Errorf("%v in %.300s", err, svg)
			}
			return
		}
	}
}

// TestLinesPlace reads the places of points in the path. The axes go from 0 to 100.
func TestLinesPlace(t *testing.T) {
	c := &Lines{Label: `a "label" <b>`, X: Axis{Label: "x"}, Y: Axis{Percent: true}, Mark: 5, Series: []Series{
		{Name: "<one>", Points: []Point{{0, 0}, {5, 50}, {10, 100}}},
		{Name: "short", Points: []Point{{0, 0}}},
		{Name: "band", Style: 8, Points: []Point{{0, 40}, {10, math.NaN()}, {10, 60}}, Low: []float64{30, 0, -20}, High: []float64{50, 0, 140}},
	}}
	svg := string(c.SVG())
	wellFormed(t, svg)
	if !strings.Contains(svg, `class="line s0" d="M26.9 200L206.5 112L386 24"`) {
		t.Errorf("the line is not where it should be: %s", svg)
	}
	if !strings.Contains(svg, `<path class="upright" d="M206.5 24L206.5 200"/>`) {
		t.Error("the mark is not where it should be")
	}
	if !strings.Contains(svg, `class="band s1 dashed" d="M26.9 112L386 24L386 200L26.9 147.2Z"`) {
		t.Errorf("the band does not end at the axes: %s", svg)
	}
	if strings.Contains(svg, "<one>") || strings.Contains(svg, "short") {
		t.Error("a name is not escaped, or a single point is drawn")
	}
	if got := string(c.Legend()); strings.Count(got, "<li>") != 2 || strings.Contains(got, "<one>") {
		t.Errorf("legend: %s", got)
	}
	if (&Lines{Series: []Series{{Points: []Point{{1, 1}}}}}).SVG() != "" {
		t.Error("one point makes a figure")
	}
	wellFormed(t, string((&Lines{X: Axis{Log: true}, Y: Axis{Log: true}, Series: []Series{{Points: []Point{{1, 1}, {0, 2}, {10, 0}, {100, 1}}}}}).SVG()))
}

// TestHeatCells measures the area of each class, and reads the texts of cells.
func TestHeatCells(t *testing.T) {
	h := &Heat{Values: [][]float64{{0, 0.5, 0.5}, {1, math.NaN(), 1}}, Lo: 0, Hi: 1, Pair: "{r} × {c}", Square: [2]float64{1, 9},
		X: Cells{First: 4, Label: "x"}, Y: Cells{Names: []string{"<a>", "b"}, Label: "y"},
		Texts: func(i, j int) string { return fmt.Sprint(i, j) }}
	svg := string(h.SVG())
	wellFormed(t, svg)
	area := func(class string) (sum float64) {
		for _, m := range regexp.MustCompile(`<path class="`+class+`" d="([^"]*)"`).FindAllStringSubmatch(svg, -1) {
			for _, p := range strings.Split(strings.Trim(m[1], "Mz"), "zM") {
				var x, y, w, h, back float64
				if _, err := fmt.Sscanf(p, "%f %fh%fv%fh-%f", &x, &y, &w, &h, &back); err != nil {
					t.Fatal(p, err)
				}
				sum += w * h / largestCell / largestCell
			}
		}
		return sum
	}
	for class, want := range map[string]float64{"v0": 1, "v10": 2, "v20": 2, "none": 1, "v5": 0} {
		if got := area(class); got != want {
			t.Errorf("%s has an area of %g cells, want %g", class, got, want)
		}
	}
	if !strings.Contains(html.UnescapeString(svg), `"r":["\u003ca\u003e","b"],"c":["4","5","6"],"p":"{r} × {c}","t":["0 0","0 1","0 2","1 0","1 1","1 2"]`) {
		t.Errorf("what is said of cells: %s", svg)
	}
	if !strings.Contains(svg, `class="square" x="26.9" y="22" width="78" height="26"`) {
		t.Errorf("the square goes beyond the cells: %s", svg)
	}
}

// TestLevel keeps the classes at both ends for values at the ends.
func TestLevel(t *testing.T) {
	for _, c := range []struct {
		v      float64
		middle bool
		want   string
	}{{0, false, "v0"}, {0.001, false, "v1"}, {0.5, false, "v10"}, {0.999, false, "v19"}, {1, false, "v20"}, {2, false, "v20"},
		{math.NaN(), false, "none"}, {math.Inf(-1), true, "closed"}, {0, true, "d0"}, {0.5, true, "d10"}, {9, true, "d20"}} {
		if got := Level(c.v, 0, 1, c.middle); got != c.want {
			t.Errorf("%g: %s, want %s", c.v, got, c.want)
		}
	}
}

func TestSpark(t *testing.T) {
	if Spark("", []float64{1, math.NaN()}) != "" {
		t.Error("one value makes a line")
	}
	svg := string(Spark("loss", []float64{2, 1, 0}))
	wellFormed(t, svg)
	if !strings.Contains(svg, `d="M2 2L44 11L86 20"`) {
		t.Error(svg)
	}
	if n := strings.Count(string(Spark("", make([]float64, 1000))), "L"); n != 59 {
		t.Errorf("%d points", n+1)
	}
}

// TestConstant draws a curve of one small value, on an axis that shows the value.
func TestConstant(t *testing.T) {
	for value, want := range map[float64]string{0.001: ">0.001<", -0.001: ">−0.001<", 0: ">0<", 7: ">7<"} {
		c := &Lines{Series: []Series{{Points: []Point{{1, value}, {2, value}}}}}
		f := c.extent()
		if at := f.y(value); at != f.top+(f.bottom-f.top)/2 {
			t.Errorf("%g is at %g of %g to %g", value, at, f.top, f.bottom)
		}
		if value != 7 && !strings.Contains(string(c.SVG()), want) {
			t.Errorf("the axis of %g does not say %s: %s", value, want, c.SVG())
		}
	}
}
