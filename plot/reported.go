package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
)

// Lengths draws exact match, in per cent, by the length of both operands, with a red line
// at the longest training problems (Duan, Shi and Xu, arXiv:2310.11984, figure 1). It
// returns nil if the runs have fewer than two lengths.
func Lengths(runs []*Run, o Options) (*Figure, error) {
	c := newCurves("", "")
	c.percents()
	c.X.Tick.Marker = numbers{6}
	var all []series
	var longest []int
	title, called := titles(runs)
	for _, r := range runs {
		if r.Result == nil {
			continue
		}
		c.X.Label.Text, c.Y.Label.Text = lengthsOf(r.Task).both, metric(r.Result)
		all = append(all, series{system: called[r.System()], seed: r.Seeds(), points: byLength(r.Result)})
		if t := r.Result.Trained; t != nil && !slices.Contains(longest, t[0]) {
			longest = append(longest, t[0])
		}
	}
	f := c.figure("lengths", title, all, o)
	if f != nil && len(longest) == 1 {
		end := upright{float64(longest[0])}
		c.X.Max = max(c.X.Max, end.x)
		c.Add(end)
		f.legend = append(f.legend, entry{"longest in training", func(d draw.Canvas) {
			d.StrokeLine2(draw.LineStyle{Color: red, Width: vg.Points(0.8)}, d.Min.X, (d.Min.Y+d.Max.Y)/2, d.Max.X, (d.Min.Y+d.Max.Y)/2)
		}})
	}
	return f, nil
}

// byLength returns the cells whose two lengths are equal, or that have one length.
func byLength(r *eval.Result) (out plotter.XYs) {
	for _, c := range r.ByCell {
		if c.J == 0 || c.I == c.J {
			out = append(out, plotter.XY{X: float64(c.I), Y: 100 * c.Fraction()})
		}
	}
	return out
}

// A measure is a number that a report may contain.
type measure struct {
	of    string                       // the problems that it is measured on
	alone string                       // the name of the axis in a figure without other measures
	value func(*track.Report) *float64 // returns nil if not measured
	spare bool                         // drawn only for trainings without the measure before it
}

// The problems that reports measure on.
const (
	heldOut = "held-out problems"
	trained = "training problems"
)

// log is the decimal logarithm of x, or nil.
func log(x *float64) *float64 {
	if x == nil {
		return nil
	}
	const least = 1e-9 // smaller values count as 0
	y := math.Log10(max(*x, least))
	return &y
}

// percent is x in per cent, or nil.
func percent(x *float64) *float64 {
	if x == nil {
		return nil
	}
	y := 100 * *x
	return &y
}

// Loss draws the loss during training, on held-out and on training problems, on a
// logarithmic axis. Means and deviations are of the logarithm. The loss of the batches,
// which includes dropout, is drawn only where no loss of training problems was measured.
func Loss(runs []*Run, o Options) (*Figure, error) {
	c := newCurves("", "loss (nats per token)")
	c.Y.Tick.Marker = decades{}
	return c.reported("loss", runs, o, []measure{
		{of: heldOut, alone: "loss of held-out problems (nats per token)", value: func(r *track.Report) *float64 { return log(r.HeldOutLoss) }},
		{of: trained, alone: "loss of training problems (nats per token)", value: func(r *track.Report) *float64 { return log(r.TrainLoss) }},
		{of: "training batches", alone: "training loss (nats per token)", value: func(r *track.Report) *float64 { return log(&r.Loss) }, spare: true},
	}, func(l *track.Length) *float64 { return log(l.Loss) }), nil
}

// Learning draws exact match during training, in per cent, on held-out problems, on
// training problems and on the lengths tested besides.
func Learning(runs []*Run, o Options) (*Figure, error) {
	c := newCurves("", "exact match (%)")
	c.percents()
	return c.reported("training", runs, o, []measure{
		{of: heldOut, alone: "exact match of held-out problems (%)", value: func(r *track.Report) *float64 { return percent(r.ExactMatch) }},
		{of: trained, alone: "exact match of training problems (%)", value: func(r *track.Report) *float64 { return percent(r.TrainExactMatch) }},
	}, func(l *track.Length) *float64 { return percent(&l.ExactMatch) }), nil
}

// reported draws measures from all reports of a run, or of each of its stages, and a line
// for each length tested during training. The X axis is the number of examples, or of steps
// on a logarithmic axis.
func (c curves) reported(name string, runs []*Run, o Options, measures []measure, ofLength func(*track.Length) *float64) *Figure {
	c.X.Label.Text, c.X.Tick.Marker = "training examples", numbers{6}
	if o.LogSteps {
		c.X.Label.Text, c.X.Tick.Marker = "training steps", decades{}
	}
	var all []series
	var there []string
	title, called := titles(runs)
	for _, r := range runs {
		for _, t := range r.Trainings {
			system := strings.Trim(called[r.System()]+"/"+t.Stage, "/")
			var before plotter.XYs
			for _, m := range measures {
				points := m.points(t.Reports, o.LogSteps)
				spared := m.spare && len(before) > 0
				if before = points; len(points) == 0 || spared {
					continue
				}
				all = append(all, series{system: system, seed: r.Seeds(), of: m.of, points: points, steady: true})
				if !slices.Contains(there, m.of) {
					there = append(there, m.of)
				}
			}
			for _, l := range byTest(t.Tests, ofLength, o.LogSteps) {
				l.system, l.seed = system, r.Seeds()
				all, there = append(all, l), append(there, l.of)
			}
		}
	}
	for _, m := range measures {
		if len(there) == 1 && m.of == there[0] {
			c.Y.Label.Text = m.alone
			for i := range all {
				all[i].of = ""
			}
		}
	}
	return c.figure(name, title, all, o)
}

// byTest returns a series for each length tested during training: of the weights, and of
// their average.
func byTest(tests []track.Test, value func(*track.Length) *float64, logSteps bool) (out []series) {
	at := map[string]int{}
	for _, t := range tests {
		for i, lengths := range [][]track.Length{t.Lengths, t.Average} {
			for _, l := range lengths {
				of := fmt.Sprintf("length %d", l.Length)
				if i > 0 {
					of += ", averaged"
				}
				k, known := at[of]
				if !known {
					k = len(out)
					at[of], out = k, append(out, series{of: of, steady: true})
				}
				m := measure{value: func(*track.Report) *float64 { return value(&l) }}
				out[k].points = append(out[k].points, m.points([]track.Report{{Step: t.Step, Examples: t.Examples}}, logSteps)...)
			}
		}
	}
	return slices.DeleteFunc(out, func(s series) bool { return len(s.points) == 0 })
}

// points returns the measure from the reports that have it.
func (m *measure) points(reports []track.Report, logSteps bool) (points plotter.XYs) {
	for i := range reports {
		r := &reports[i]
		y := m.value(r)
		switch {
		case y == nil || logSteps && r.Step == 0:
		case logSteps:
			points = append(points, plotter.XY{X: math.Log10(float64(r.Step)), Y: *y})
		default:
			points = append(points, plotter.XY{X: float64(r.Examples), Y: *y})
		}
	}
	return points
}
