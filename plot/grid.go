package plot

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/runtime/eval"
)

// red is the colour of the square around what was trained.
var red = color.RGBA{R: 0xd6, G: 0x1f, B: 0x1f, A: 0xff}

// colours go from none right to all right, ever lighter, so that they can also be
// told apart in print.
func colours() (palette.ColorMap, error) {
	dark := []color.Color{
		color.RGBA{0x44, 0x01, 0x54, 0xff}, color.RGBA{0x3b, 0x52, 0x8b, 0xff}, color.RGBA{0x21, 0x91, 0x8c, 0xff},
		color.RGBA{0x5e, 0xc9, 0x62, 0xff}, color.RGBA{0xfd, 0xe7, 0x25, 0xff},
	}
	m, err := moreland.NewLuminance(dark)
	if err != nil {
		return nil, err
	}
	m.SetMin(0)
	m.SetMax(1)
	return m, nil
}

// A field is the mean of some results over the grid that they have in common. Rows
// go downwards, as in a matrix: the Y of length i is -i.
type field struct {
	first, second eval.Span
	mean          [][]float64 // NaN where nothing was tested
}

func (f *field) Dims() (columns, rows int) {
	return f.second.Hi - f.second.Lo + 1, f.first.Hi - f.first.Lo + 1
}
func (f *field) X(c int) float64    { return float64(f.second.Lo + c) }
func (f *field) Y(r int) float64    { return -float64(f.first.Hi - r) }
func (f *field) Z(c, r int) float64 { return f.mean[len(f.mean)-1-r][c] }

// newField returns nil where no two lengths differ, and there is no grid.
func newField(results []*eval.Result) *field {
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
		return nil
	}
	columns, rows := f.Dims()
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
	return f
}

// Grid is the heat map of results of one spec, their mean, with a red square around
// what was trained (McLeish et al., arXiv:2405.17399, figures 6 and 12); nil where
// lengths make no grid.
func Grid(results []*eval.Result) (*Figure, error) {
	f := newField(results)
	if f == nil {
		return nil, nil
	}
	colours, err := colours()
	if err != nil {
		return nil, err
	}
	p := plot.New()
	first := results[0]
	p.Title.Text = fmt.Sprintf("%s: %s", first.Name, strings.ReplaceAll(first.Metric, "_", " "))
	if len(results) > 1 {
		p.Title.Text += fmt.Sprintf(", mean of %d", len(results))
	}
	p.X.Label.Text, p.Y.Label.Text = "length of the second operand", "length of the first operand"
	p.X.Tick.Marker = lengths{1}
	p.Y.Tick.Marker = lengths{-1}
	h := plotter.NewHeatMap(f, colours.Palette(256))
	h.Min, h.Max = 0, 1
	h.NaN = color.Gray{0xe0}
	h.Rasterized = true
	p.Add(h)
	if t := first.Trained; t != nil {
		square, err := f.square(t[0], t[1])
		if err != nil {
			return nil, err
		}
		p.Add(square)
	}
	return &Figure{"grid", 13 * vg.Centimeter, 12 * vg.Centimeter, withBar(p.Draw, colours)}, nil
}

// square is the line around what was trained.
func (f *field) square(first, second int) (*plotter.Line, error) {
	left, right := float64(f.second.Lo)-0.5, math.Min(float64(second), float64(f.second.Hi))+0.5
	top, bottom := 0.5-float64(f.first.Lo), -math.Min(float64(first), float64(f.first.Hi))-0.5
	l, err := plotter.NewLine(plotter.XYs{{X: left, Y: top}, {X: right, Y: top}, {X: right, Y: bottom}, {X: left, Y: bottom}, {X: left, Y: top}})
	if err != nil {
		return nil, err
	}
	l.Color, l.Width = red, vg.Points(2)
	return l, nil
}

// barWidth is the room for the bar of colours.
const barWidth = 1.6 * vg.Centimeter

// withBar draws something with the bar of its colours to the right.
func withBar(picture func(draw.Canvas), colours palette.ColorMap) func(draw.Canvas) {
	bar := plot.New()
	bar.Add(&plotter.ColorBar{ColorMap: colours, Vertical: true})
	bar.HideX()
	bar.Y.Padding = 0
	bar.Title.Text = " " // as high as the other one's
	return func(c draw.Canvas) {
		picture(draw.Crop(c, 0, -barWidth, 0, 0))
		bar.Draw(draw.Crop(c, c.Size().X-barWidth, 0, 0.8*vg.Centimeter, 0))
	}
}

// lengths marks whole numbers from 1; those of a downward axis are negative.
type lengths struct{ sign float64 }

// Ticks implements plot.Ticker.
func (l lengths) Ticks(lo, hi float64) []plot.Tick { return whole(lo, hi, l.sign, 1) }

// whole marks about ten of the numbers from least on, and least itself.
func whole(lo, hi, sign, least float64) []plot.Tick {
	first, last := math.Min(sign*lo, sign*hi), math.Max(sign*lo, sign*hi)
	step := 1.0
	for _, s := range []float64{1, 2, 5, 10, 20, 50, 100} {
		step = s
		if (last-first)/s <= 11 {
			break
		}
	}
	var ticks []plot.Tick
	if first <= least && math.Mod(least, step) != 0 {
		ticks = append(ticks, plot.Tick{Value: sign * least, Label: fmt.Sprint(least)})
	}
	for n := step * math.Ceil(math.Max(first, least)/step); n <= last; n += step {
		ticks = append(ticks, plot.Tick{Value: sign * n, Label: fmt.Sprint(n)})
	}
	return ticks
}
