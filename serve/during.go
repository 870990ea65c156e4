package serve

import (
	"fmt"

	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/serve/chart"
)

// ofLength lists the numbers that tests during training have for each length.
var ofLength = []struct {
	title string
	y     chart.Axis
	value func(*track.Length) *float64
}{
	{"Exact match", chart.Axis{Label: "%", Percent: true}, func(l *track.Length) *float64 { x := 100 * l.ExactMatch; return &x }},
	{"Loss", chart.Axis{Label: "nats per token", Log: true}, func(l *track.Length) *float64 { return l.Loss }},
}

// During draws the tests during training, by stage: a line for each length, and another for
// the averaged weights if these were tested.
func (v *view) During() (out []figure) {
	for _, t := range v.Runs.Trainings {
		for _, q := range ofLength {
			c := &chart.Lines{X: stepAxis, Y: q.y, Series: seriesOf(t.Tests, q.value)}
			name := q.title + " of held-out problems"
			if t.Stage != "" {
				name += ", stage " + t.Stage
			}
			c.Label = name + " by length, over training steps, " + v.Title()
			if svg := c.SVG(); svg != "" {
				out = append(out, figure{Title: name, Picture: svg, Legend: c.Legend(), CSV: curvesCSV("step", c.Series)})
			}
		}
	}
	return out
}

// seriesOf returns a line for each length of tests, in order of appearance.
func seriesOf(tests []track.Test, value func(*track.Length) *float64) (out []chart.Series) {
	at := map[string]int{}
	for _, t := range tests {
		for i, lengths := range [][]track.Length{t.Lengths, t.Average} {
			for k := range lengths {
				l := &lengths[k]
				name := fmt.Sprintf("length %d", l.Length)
				if l.Entries > 0 {
					name = fmt.Sprintf("%d entries of length %d", l.Entries, l.Length)
				}
				if i > 0 {
					name += ", averaged"
				}
				y := value(l)
				if y == nil {
					continue
				}
				n, known := at[name]
				if !known {
					n = len(out)
					at[name], out = n, append(out, chart.Series{Name: name, Style: n})
				}
				out[n].Points = append(out[n].Points, chart.Point{X: float64(t.Step), Y: *y})
			}
		}
	}
	return out
}
