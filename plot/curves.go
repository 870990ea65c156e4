package plot

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

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
	c.Y.Min, c.Y.Max = 0, 1
	c.X.Tick.Marker = lengths{1}
	var all []series
	var longest []int
	for _, r := range runs {
		if r.Result == nil {
			continue
		}
		c.Y.Label.Text = "fraction right: " + r.Result.Metric
		all = append(all, series{r.Name, r.Seed, byLength(r.Result)})
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
	c.Y.Scale, c.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	return c.figure("loss", reported(runs, func(r *track.Report) float64 { return max(r.Loss, 1e-6) }))
}

// Learning is the exact match on held-out problems while training, a line a run, or
// a stage of one.
func Learning(runs []*Run) (*Figure, error) {
	c := newCurves("examples", "exact match of held-out problems")
	c.X.Tick.Marker = counts{}
	c.Y.Min, c.Y.Max = 0, 1
	return c.figure("training", reported(runs, func(r *track.Report) float64 { return r.ExactMatch }))
}

// reported is a value of each report over the examples seen.
func reported(runs []*Run, value func(*track.Report) float64) (all []series) {
	for _, r := range runs {
		for _, t := range r.Trainings {
			s := series{name: r.Name, seed: r.Seed}
			if t.Stage != "" {
				s.name += "/" + t.Stage
			}
			for i := range t.Reports {
				s.points = append(s.points, plotter.XY{X: float64(t.Reports[i].Examples), Y: value(&t.Reports[i])})
			}
			all = append(all, s)
		}
	}
	return all
}

// curves are lines over one axis.
type curves struct{ *plot.Plot }

func newCurves(x, y string) curves {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Add(plotter.NewGrid())
	return curves{p}
}

// fewPoints are so few that each is marked: between them nothing is known.
const fewPoints = 12

// figure adds a line for each series of at least two points, seeds of one name in
// one colour, and a legend beside them; nil if there is no line.
func (c curves) figure(name string, all []series) (*Figure, error) {
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.Padding = true, true, vg.Points(3)
	var width vg.Length
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
		l.Color = plotutil.Color(colour)
		l.Dashes = plotutil.Dashes(len(before) + colour/len(plotutil.DefaultColors))
		l.Width = vg.Points(1.2)
		c.Add(l)
		if len(s.points) <= fewPoints {
			dots.Color, dots.Shape, dots.Radius = l.Color, draw.CircleGlyph{}, vg.Points(2)
			c.Add(dots)
		}
		label := fmt.Sprintf("%s, seed %d", s.name, s.seed)
		legend.Add(label, l)
		width = max(width, legend.ThumbnailWidth+legend.TextStyle.Width(" "+label+" "))
	}
	if width == 0 {
		return nil, nil
	}
	return &Figure{name, curvesWidth + width, curvesHeight, func(canvas draw.Canvas) {
		c.Draw(draw.Crop(canvas, 0, -width, 0, 0))
		legend.Draw(draw.Crop(canvas, canvas.Size().X-width, 0, 0, -vg.Points(5)))
	}}, nil
}
