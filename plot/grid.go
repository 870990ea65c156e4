package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/runtime/eval"
)

// A field is the mean of several results over a grid that covers all of them.
type field struct {
	first, second eval.Span
	mean          [][]float64 // NaN where nothing was tested
}

// mostCells is the largest number of cells in a grid.
const mostCells = 4 << 20

// newField returns the mean of results. It returns nil if no cell has two different
// lengths: then there is no grid.
func newField(results []*eval.Result) (*field, error) {
	f := &field{first: eval.Span{Lo: math.MaxInt}, second: eval.Span{Lo: math.MaxInt}}
	for _, r := range results {
		for _, c := range r.ByCell {
			if c.J != 0 && c.I != c.J {
				f.first.Hi, f.second.Hi = max(f.first.Hi, c.I), max(f.second.Hi, c.J)
			}
			f.first.Lo, f.second.Lo = min(f.first.Lo, c.I), min(f.second.Lo, c.J)
		}
	}
	if f.first.Hi == 0 {
		return nil, nil
	}
	columns, rows := f.second.Hi-f.second.Lo+1, f.first.Hi-f.first.Lo+1
	if columns*rows > mostCells {
		return nil, fmt.Errorf("a grid of %d by %d cells is too large for a picture", rows, columns)
	}
	counts := make([][]int, rows)
	for i := range rows {
		f.mean = append(f.mean, make([]float64, columns))
		counts[i] = make([]int, columns)
	}
	for _, r := range results {
		for _, c := range r.ByCell {
			if c.I <= f.first.Hi && c.J <= f.second.Hi {
				f.mean[c.I-f.first.Lo][c.J-f.second.Lo] += c.Fraction()
				counts[c.I-f.first.Lo][c.J-f.second.Lo]++
			}
		}
	}
	for i := range rows {
		for j := range columns {
			f.mean[i][j] /= float64(counts[i][j]) // 0/0 is NaN
		}
	}
	return f, nil
}

// Sizes of heat maps.
const (
	gridWidth   = 8 * vg.Centimeter
	leastWidth  = 3.6 * vg.Centimeter // if a grid has few cells
	largestCell = 1 * vg.Centimeter   // if a grid has many cells
)

// Grid draws the mean result of runs of one system as a heat map, in per cent, with a red
// square around the lengths of training (McLeish et al., arXiv:2405.17399, figures 6 and
// 12). It returns nil if the lengths make no grid, and an error if the grid is too large.
func Grid(runs []*Run) (*Figure, error) {
	var results []*eval.Result
	var seeds []string
	for _, r := range runs {
		if r.Result != nil {
			results, seeds = append(results, r.Result), append(seeds, r.Seeds())
		}
	}
	f, err := newField(results)
	if f == nil {
		return nil, err
	}
	scale, err := colours(0, 100)
	if err != nil {
		return nil, err
	}
	l := lengthsOf(runs[0].Task)
	p := newAxes(l.second, l.first)
	p.X.Tick.Marker, p.Y.Tick.Marker = cells{least: 1}, cells{least: 1, down: true}
	p.Add(&matrix{Pair: eval.Pair{I: f.first.Lo, J: f.second.Lo}, rows: len(f.mean), columns: len(f.mean[0]), colour: func(i, j int) color.Color {
		return colourOf(scale, 100*f.mean[i][j])
	}})
	p.Add(frame{})
	rows, columns := vg.Length(len(f.mean)), vg.Length(len(f.mean[0]))
	side := min(cellSide(gridWidth, int(max(rows, columns))), sharp(max(largestCell, leastWidth/min(rows, columns))))
	out := &Figure{
		Name:   "grid",
		title:  []string{fmt.Sprintf("%s, %s", runs[0].System(), ofSeeds(seeds))},
		panels: [][]*panel{{{Plot: p, width: side * columns, height: side * rows}}},
		bar:    &bar{scale, percents{}, metric(results[0])},
	}
	if t := results[0].Trained; t != nil && t[0] >= f.first.Lo && t[1] >= f.second.Lo {
		p.Add(square{
			top: float64(f.first.Lo) - 0.5, bottom: math.Min(float64(t[0]), float64(f.first.Hi)) + 0.5,
			left: float64(f.second.Lo) - 0.5, right: math.Min(float64(t[1]), float64(f.second.Hi)) + 0.5,
		})
		out.foot = append(out.foot, entry{"lengths of training", func(c draw.Canvas) { outlineRed(c, c.Rectangle) }})
	}
	if slices.ContainsFunc(f.mean, func(row []float64) bool { return slices.ContainsFunc(row, math.IsNaN) }) {
		out.foot = append(out.foot, entry{"not tested", swatch(blank)})
	}
	return out, nil
}

// ofSeeds describes the seeds behind a figure: one seed, or the mean of several.
func ofSeeds(seeds []string) string {
	if len(seeds) == 1 {
		return seeds[0]
	}
	return fmt.Sprintf("mean of %d seeds", len(seeds))
}

// metric is the name of a result's metric, with its unit.
func metric(r *eval.Result) string { return strings.ReplaceAll(r.Metric, "_", " ") + " (%)" }

// lengths names the axes of a result.
type lengths struct{ first, second, both string }

// lengthsOf names the lengths of a task's problems.
func lengthsOf(task string) lengths {
	operands := func(what, unit string) lengths {
		return lengths{"first " + what + unit, "second " + what + unit, "length of each " + what + unit}
	}
	switch task {
	case "file":
		return lengths{both: "length of the prompt (tokens)"}
	case "text":
		return lengths{both: "length of the text (tokens)"}
	case "sort":
		return lengths{"numbers (digits)", "array (numbers)", "length of the array and of its numbers"}
	case "sum":
		return lengths{"numbers (digits)", "numbers that are added", "digits, and numbers that are added"}
	case "or":
		return operands("vector", " (bits)")
	case "successor", "parity", "copy":
		return lengths{both: "length of the number (digits)"}
	}
	return operands("operand", " (digits)")
}

// A square is a line around cells, with lengths as its coordinates.
type square struct{ top, bottom, left, right float64 }

// Plot implements plot.Plotter.
func (s square) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	outlineRed(c, vg.Rectangle{Min: vg.Point{X: sharp(x(s.left)), Y: sharp(y(-s.bottom))}, Max: vg.Point{X: sharp(x(s.right)), Y: sharp(y(-s.top))}})
}

// outlineRed draws a red line on a white one, which is visible on any colour.
func outlineRed(c draw.Canvas, r vg.Rectangle) {
	outline(c, draw.LineStyle{Color: color.White, Width: vg.Points(2.2)}, r)
	outline(c, draw.LineStyle{Color: red, Width: vg.Points(1.3)}, r)
}

// AxisNames names the lengths of a task's problems: the first length, the second, and both
// together. Tasks with one length have no names for the first and second.
func AxisNames(task string) (first, second, both string) {
	l := lengthsOf(task)
	return l.first, l.second, l.both
}
