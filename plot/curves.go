package plot

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
)

// The size of a figure with curves.
const (
	curvesWidth  = 16 * vg.Centimeter
	curvesHeight = 10 * vg.Centimeter
)

// Lengths is exact match by the length of both operands, a line a run; nil if
// there are not two lengths.
func Lengths(runs []*Run) (*Figure, error) {
	p := newCurves("length of the operands", "")
	p.Y.Min, p.Y.Max = 0, 1
	p.X.Tick.Marker = lengths{1}
	for _, r := range runs {
		if r.Result != nil {
			p.Y.Label.Text = "fraction right: " + r.Result.Metric
		}
	}
	return p.figure("lengths", runs, func(r *Run) plotter.XYs {
		if r.Result == nil {
			return nil
		}
		return byLength(r.Result)
	})
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

// Loss is the loss of training, a line a run.
func Loss(runs []*Run) (*Figure, error) {
	p := newCurves("examples", "loss, nats a token")
	p.X.Tick.Marker = counts{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	return p.figure("loss", runs, reported(func(r *track.Report) float64 { return max(r.Loss, 1e-6) }))
}

// Training is the exact match on held-out problems while training, a line a run.
func Training(runs []*Run) (*Figure, error) {
	p := newCurves("examples", "exact match of held-out problems")
	p.X.Tick.Marker = counts{}
	p.Legend.Top = false
	p.Y.Min, p.Y.Max = 0, 1
	return p.figure("training", runs, reported(func(r *track.Report) float64 { return r.ExactMatch }))
}

// reported is a value of each report over the examples seen.
func reported(value func(*track.Report) float64) func(*Run) plotter.XYs {
	return func(r *Run) (out plotter.XYs) {
		for i := range r.Reports {
			out = append(out, plotter.XY{X: float64(r.Reports[i].Examples), Y: value(&r.Reports[i])})
		}
		return out
	}
}

// curves are lines over one axis.
type curves struct{ *plot.Plot }

func newCurves(x, y string) curves {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	return curves{p}
}

// figure adds a line a run that has at least two points; nil if none has.
func (c curves) figure(name string, runs []*Run, points func(*Run) plotter.XYs) (*Figure, error) {
	drawn := 0
	for _, r := range runs {
		xys := points(r)
		if len(xys) < 2 {
			continue
		}
		l, err := plotter.NewLine(xys)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		l.Color = plotutil.Color(slices.Index(names(runs), r.Name))
		l.Dashes = plotutil.Dashes(seedOf(runs, r))
		l.Width = vg.Points(1.2)
		c.Add(l)
		c.Legend.Add(fmt.Sprintf("%s, seed %d", r.Name, r.Seed), l)
		drawn++
	}
	if drawn == 0 {
		return nil, nil
	}
	return single(name, c.Plot, curvesWidth, curvesHeight), nil
}

// seedOf is which of the runs of its spec a run is.
func seedOf(runs []*Run, r *Run) (n int) {
	for _, other := range runs {
		if other == r {
			break
		}
		if other.Name == r.Name {
			n++
		}
	}
	return n
}
