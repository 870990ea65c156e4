package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
)

// The size of a figure with curves, without its legend.
const (
	curvesWidth  = 14 * vg.Centimeter
	curvesHeight = 9 * vg.Centimeter
)

// A series is what makes one line of a figure.
type series struct {
	name   string // what has a colour of its own
	seed   uint64
	points plotter.XYs
}

// Lengths is exact match by the length of both operands, a line a run (Duan, Shi and
// Xu, arXiv:2310.11984, figure 1), with a red line at the longest problems of
// training; nil if there are not two lengths.
func Lengths(runs []*Run) (*Figure, error) {
	c := newCurves("length of the operands", "")
	c.Y.Min, c.Y.Max, c.Y.Tick.Marker = 0, 1, tenths{}
	c.X.Tick.Marker = lengths{1}
	var all []series
	var longest []int
	called := titles(runs)
	for _, r := range runs {
		if r.Result == nil {
			continue
		}
		c.Y.Label.Text = strings.ReplaceAll(r.Result.Metric, "_", " ")
		if r.Result.Tested != "" {
			c.X.Label.Text = "prompt length, tokens"
		}
		all = append(all, series{called[r.system()], r.Seed, byLength(r.Result)})
		if t := r.Result.Trained; t != nil && !slices.Contains(longest, t[0]) {
			longest = append(longest, t[0])
		}
	}
	if len(longest) == 1 {
		end := float64(longest[0])
		l, err := plotter.NewLine(plotter.XYs{{X: end, Y: 0}, {X: end, Y: 1}})
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = red, vg.Points(0.6)
		c.Add(l)
		c.legend.Add("longest of training", l)
	}
	return c.figure("lengths", all)
}

// byLength are the cells along the diagonal.
func byLength(r *eval.Result) (out plotter.XYs) {
	for _, c := range r.ByCell {
		if c.J == 0 || c.I == c.J {
			out = append(out, plotter.XY{X: float64(c.I), Y: c.Fraction()})
		}
	}
	return out
}

// tenths marks fractions, every other one with its number.
type tenths struct{}

// Ticks implements plot.Ticker.
func (tenths) Ticks(lo, hi float64) (ticks []plot.Tick) {
	for n := range 11 {
		t := plot.Tick{Value: float64(n) / 10}
		if n%2 == 0 {
			t.Label = fmt.Sprintf("%.1f", t.Value)
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// decades marks numbers by their logarithms: powers of ten, and where there are few of
// those 2 and 5 times them. An axis with plot.LogScale would put its label off its middle.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) (ticks []plot.Tick) {
	for power := math.Floor(lo); power <= hi; power++ {
		for n := 1.0; n < 10; n++ {
			x := n * math.Pow(10, power)
			t := plot.Tick{Value: math.Log10(x)}
			if n == 1 || hi-lo < 2.5 && (n == 2 || n == 5) {
				t.Label = fmt.Sprintf("%.3g", x)
			}
			if t.Value >= lo && t.Value <= hi {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// counts marks numbers of examples: 50k, 2M.
type counts struct{}

// Ticks implements plot.Ticker.
func (counts) Ticks(lo, hi float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(lo, hi)
	for i, t := range ticks {
		if t.IsMinor() {
			continue
		}
		ticks[i].Label = fmt.Sprintf("%g", t.Value)
		for _, unit := range []struct {
			size float64
			name string
		}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
			if t.Value >= unit.size {
				ticks[i].Label = fmt.Sprintf("%g%s", t.Value/unit.size, unit.name)
				break
			}
		}
	}
	return ticks
}

// Loss is the loss of training, a line a run, or a stage of one.
func Loss(runs []*Run) (*Figure, error) {
	c := newCurves("examples", "loss, nats a token")
	c.X.Tick.Marker = counts{}
	c.Y.Tick.Marker = decades{}
	return c.figure("loss", reported(runs, func(r *track.Report) *float64 {
		log := math.Log10(max(r.Loss, 1e-6))
		return &log
	}))
}

// Learning is the exact match on held-out problems while training, a line a run, or
// a stage of one; none of a run that holds no problem out.
func Learning(runs []*Run) (*Figure, error) {
	c := newCurves("examples", "exact match of held-out problems")
	c.X.Tick.Marker = counts{}
	c.Y.Min, c.Y.Max, c.Y.Tick.Marker = 0, 1, tenths{}
	return c.figure("training", reported(runs, func(r *track.Report) *float64 { return r.ExactMatch }))
}

// reported is a value of each report that has it, over the examples seen.
func reported(runs []*Run, value func(*track.Report) *float64) (all []series) {
	called := titles(runs)
	for _, r := range runs {
		for _, t := range r.Trainings {
			s := series{name: called[r.system()], seed: r.Seed}
			if t.Stage != "" {
				s.name += "/" + t.Stage
			}
			for i := range t.Reports {
				if v := value(&t.Reports[i]); v != nil {
					s.points = append(s.points, plotter.XY{X: float64(t.Reports[i].Examples), Y: *v})
				}
			}
			all = append(all, s)
		}
	}
	return all
}

// curves are lines over one axis.
type curves struct {
	*plot.Plot
	legend *plot.Legend
}

func newCurves(x, y string) curves {
	p, legend := plot.New(), plot.NewLegend()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Add(plotter.NewGrid())
	legend.Top, legend.Left, legend.Padding = true, true, vg.Points(3)
	return curves{p, &legend}
}

// lineColours can be told apart by everybody (Okabe and Ito), and from red.
var lineColours = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff},
	color.RGBA{0xcc, 0x79, 0xa7, 0xff}, color.RGBA{0x56, 0xb4, 0xe9, 0xff}, color.RGBA{0x8c, 0x56, 0x4b, 0xff}, color.RGBA{0x33, 0x33, 0x33, 0xff},
}

// fewPoints are so few that each is marked: between them nothing is known.
const fewPoints = 12

// figure adds a line for each series of at least two points, seeds of one name in
// one colour, and a legend beside them; nil if there is no line.
func (c curves) figure(name string, all []series) (*Figure, error) {
	drawn := 0
	var seen []string
	for i, s := range all {
		if !slices.Contains(seen, s.name) {
			seen = append(seen, s.name)
		}
		if len(s.points) < 2 {
			continue
		}
		l, dots, err := plotter.NewLinePoints(s.points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		colour := slices.Index(seen, s.name)
		before := slices.DeleteFunc(slices.Clone(all[:i]), func(o series) bool { return o.name != s.name })
		l.Color = lineColours[colour%len(lineColours)]
		l.Dashes = plotutil.Dashes(len(before) + colour/len(lineColours))
		l.Width = vg.Points(1.2)
		c.Add(l)
		if len(s.points) <= fewPoints {
			dots.Color, dots.Shape, dots.Radius = l.Color, draw.CircleGlyph{}, vg.Points(2)
			c.Add(dots)
		}
		c.legend.Add(fmt.Sprintf("%s, seed %d", s.name, s.seed), l)
		drawn++
	}
	if drawn == 0 {
		return nil, nil
	}
	const margin = 5 * vg.Millimeter
	room := c.legend.Rectangle(draw.New(vgimg.New(1, 1))).Size() // whatever the canvas
	width := room.X + margin
	return &Figure{name, curvesWidth + width, max(curvesHeight, room.Y+margin), func(canvas draw.Canvas) {
		c.Draw(draw.Crop(canvas, 0, -width, 0, 0))
		c.legend.Draw(draw.Crop(canvas, canvas.Size().X-width, 0, 0, -vg.Points(5)))
	}}, nil
}
