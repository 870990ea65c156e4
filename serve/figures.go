package serve

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/plot"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/serve/chart"
)

// A figure is a picture with its title, a legend of its colours, and its numbers as CSV.
type figure struct {
	Title, Note string
	Picture     template.HTML
	Legend      template.HTML
	CSV         string
	Small       bool
}

// A measure is a number of a report.
type measure struct {
	name  string
	value func(*track.Report) *float64
}

// A quantity is a figure of one or more measures.
type quantity struct {
	title    string
	y        chart.Axis
	measures []measure
	spare    bool // the last measure is only for reports without the others
}

var quantities = []quantity{
	{"Loss", chart.Axis{Label: "nats per token", Log: true}, []measure{
		{"held-out problems", func(r *track.Report) *float64 { return r.HeldOutLoss }},
		{"training problems", func(r *track.Report) *float64 { return r.TrainLoss }},
		{"training batches", func(r *track.Report) *float64 { return &r.Loss }},
	}, true},
	{"Exact match", chart.Axis{Label: "%", Percent: true}, []measure{
		{"held-out problems", func(r *track.Report) *float64 { return r.ExactMatch }},
		{"training problems", func(r *track.Report) *float64 { return r.TrainExactMatch }},
	}, false},
	{"Learning rate", chart.Axis{Label: "per step"}, []measure{
		{"learning rate", func(r *track.Report) *float64 { return &r.LR }},
	}, false},
}

// points returns a measure over steps, or over examples.
func (m *measure) points(reports []track.Report, examples, percents bool) (out []chart.Point) {
	for i := range reports {
		y := m.value(&reports[i])
		if y == nil {
			continue
		}
		p := chart.Point{X: float64(reports[i].Step), Y: *y}
		if examples {
			p.X = float64(reports[i].Examples)
		}
		if percents {
			p.Y *= 100
		}
		out = append(out, p)
	}
	return out
}

// measured returns the measures of a quantity that at least two reports have.
func (q *quantity) measured(reports []track.Report) (out []measure) {
	for i, m := range q.measures {
		if q.spare && i == len(q.measures)-1 && len(out) > 0 {
			break
		}
		if len(m.points(reports, false, false)) >= 2 {
			out = append(out, m)
		}
	}
	return out
}

var stepAxis = chart.Axis{Label: "training steps", Unit: "step"}

// Curves draws the reports of a run, by stage.
func (v *view) Curves() (out []figure) {
	for _, t := range v.Runs.Trainings {
		for _, q := range quantities {
			c := &chart.Lines{X: stepAxis, Y: q.y}
			name := q.title
			if t.Stage != "" {
				name += ", stage " + t.Stage
			}
			measures := q.measured(t.Reports)
			for i, m := range measures {
				c.Series = append(c.Series, chart.Series{Name: m.name, Style: i, Points: m.points(t.Reports, false, q.y.Percent)})
			}
			if len(measures) == 1 && measures[0].name != "learning rate" {
				name += ", " + measures[0].name
			}
			c.Label = name + " over training steps, " + v.Title()
			if svg := c.SVG(); svg != "" {
				out = append(out, figure{Title: name, Picture: svg, Legend: c.Legend(), CSV: curvesCSV("step", c.Series)})
			}
		}
	}
	return out
}

// byLength is exact match where both lengths are equal, in per cent.
func byLength(r *eval.Result) (out []chart.Point) {
	for _, c := range r.ByCell {
		if c.J == 0 || c.I == c.J {
			out = append(out, chart.Point{X: float64(c.I), Y: 100 * c.Fraction()})
		}
	}
	return out
}

func lengthAxes(task string, r *eval.Result) (x, y chart.Axis) {
	_, _, both := plot.AxisNames(task)
	return chart.Axis{Label: both, Unit: "length"}, chart.Axis{Label: metric(r) + ", %", Percent: true}
}

// Length draws exact match by length, with the mean and standard deviation over all seeds.
func (v *view) Length() []figure {
	r := v.Runs.Result
	if r == nil {
		return nil
	}
	x, y := lengthAxes(v.Runs.Task, r)
	c := &chart.Lines{Label: "Exact match by length, " + v.Title(), X: x, Y: y}
	curves := [][]chart.Point{byLength(r)}
	for _, s := range v.Seeds {
		if t := s.Runs.Result; t != nil && t.Settings.Metric == r.Metric {
			curves = append(curves, byLength(t))
		}
	}
	own := chart.Series{Name: "this run, " + record.Seeds(v.Record.Seed, v.Record.InitSeed), Points: curves[0]}
	if len(curves) > 1 {
		c.Series = append(c.Series, spread(fmt.Sprintf("mean ± standard deviation of %d seeds", len(curves)), curves, 1))
	}
	c.Series = append(c.Series, own)
	f := figure{Title: "Exact match by length", Legend: c.Legend()}
	if t := r.Trained; t != nil {
		c.Mark = float64(t[0])
		f.Legend = legendWith(c, chart.Entry{Class: "upright", Name: fmt.Sprintf("longest in training: %d", t[0])})
	}
	f.Picture, f.CSV = c.SVG(), curvesCSV("length", c.Series)
	if f.Picture == "" {
		return nil
	}
	return []figure{f}
}

// legendWith returns a legend of curves with one more entry. A single curve has no entry.
func legendWith(c *chart.Lines, more chart.Entry) template.HTML {
	var all []chart.Entry
	if len(c.Series) > 1 {
		for i := range c.Series {
			class := chart.LineClass(c.Series[i].Style)
			if c.Series[i].Low != nil {
				class += " banded"
			}
			all = append(all, chart.Entry{Class: class, Name: c.Series[i].Name})
		}
	}
	return chart.Legend(append(all, more)...)
}

// spread is the mean of curves where all have a point, in a band of one standard deviation
// on each side.
func spread(name string, curves [][]chart.Point, style int) chart.Series {
	s := chart.Series{Name: name, Style: style}
	at := func(c []chart.Point, x float64) int {
		i, there := slices.BinarySearchFunc(c, x, func(p chart.Point, x float64) int { return cmp.Compare(p.X, x) })
		if !there {
			return -1
		}
		return i
	}
	for _, p := range curves[0] {
		var values []float64
		for _, c := range curves {
			if i := at(c, p.X); i >= 0 {
				values = append(values, c[i].Y)
			}
		}
		if len(values) < len(curves) {
			continue
		}
		mean, deviation := list.Spread(values)
		s.Points = append(s.Points, chart.Point{X: p.X, Y: mean})
		s.Low, s.High = append(s.Low, mean-deviation), append(s.High, mean+deviation)
	}
	return s
}

// curvesCSV writes curves as a table with a column for each curve. A field is empty where a
// curve has no point.
func curvesCSV(x string, all []chart.Series) string {
	var xs []float64
	at := make([]map[float64]float64, len(all))
	var b strings.Builder
	b.WriteString(x)
	for i, s := range all {
		b.WriteString("," + csvText(s.Name))
		at[i] = map[float64]float64{}
		for _, p := range s.Points {
			xs = append(xs, p.X)
			at[i][p.X] = p.Y
		}
	}
	slices.Sort(xs)
	for _, x := range slices.Compact(xs) {
		b.WriteString("\n" + exactly(x))
		for i := range all {
			b.WriteByte(',')
			if y, ok := at[i][x]; ok {
				b.WriteString(exactly(y))
			}
		}
	}
	return b.String() + "\n"
}

// exactly writes a number with six digits.
func exactly(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// csvText quotes a text for CSV where needed.
func csvText(text string) string {
	if strings.ContainsAny(text, ",\"\n\r") {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}

// A grid holds the cells of a result by two lengths.
type grid struct {
	first, second int // the lengths of the first row and column
	cells         [][]*eval.Cell
}

// mostCells is the largest number of cells on a page.
const mostCells = 40000

// gridOf returns the grid of a result, or nil if no cell has two different lengths. Cells
// longer than all of these are left out.
func gridOf(r *eval.Result) (*grid, error) {
	if r == nil {
		return nil, nil
	}
	lo, hi := eval.Pair{I: math.MaxInt, J: math.MaxInt}, eval.Pair{}
	for _, c := range r.ByCell {
		if c.I < 1 || c.J < 0 || c.Correct < 0 || c.Correct > c.Samples {
			return nil, fmt.Errorf("the result of the test is damaged: %d of %d right at lengths %d and %d", c.Correct, c.Samples, c.I, c.J)
		}
		if c.J != 0 && c.I != c.J {
			hi = eval.Pair{I: max(hi.I, c.I), J: max(hi.J, c.J)}
		}
		lo = eval.Pair{I: min(lo.I, c.I), J: min(lo.J, c.J)}
	}
	if hi.I == 0 {
		return nil, nil
	}
	rows, cols := hi.I-lo.I+1, hi.J-lo.J+1
	if rows > mostCells || cols > mostCells || rows*cols > mostCells {
		return nil, fmt.Errorf("a grid of %d by %d cells is too large for a page: mlc plot draws it", rows, cols)
	}
	g := &grid{lo.I, lo.J, make([][]*eval.Cell, rows)}
	for i := range rows {
		g.cells[i] = make([]*eval.Cell, cols)
	}
	for i := range r.ByCell {
		if c := &r.ByCell[i]; c.I <= hi.I && c.J <= hi.J {
			g.cells[c.I-lo.I][c.J-lo.J] = c
		}
	}
	return g, nil
}

func (g *grid) heat(r *eval.Result, task string) *chart.Heat {
	first, second, _ := plot.AxisNames(task)
	h := &chart.Heat{
		Lo: 0, Hi: 1,
		Y: chart.Cells{Label: first, First: g.first}, X: chart.Cells{Label: second, First: g.second},
		Pair: "{r} × {c}",
		Texts: func(i, j int) string {
			c := g.cells[i][j]
			if c == nil {
				return "not tested"
			}
			return fmt.Sprintf("%d of %d right, %s %%", c.Correct, c.Samples, track.Percent(c.Fraction()))
		},
	}
	for _, row := range g.cells {
		values := make([]float64, len(row))
		for j, c := range row {
			values[j] = math.NaN()
			if c != nil {
				values[j] = c.Fraction()
			}
		}
		h.Values = append(h.Values, values)
	}
	if t := r.Trained; t != nil {
		h.Square = [2]float64{float64(t[0] - g.first + 1), float64(t[1] - g.second + 1)}
	}
	return h
}

func (g *grid) whole() bool {
	return !slices.ContainsFunc(g.cells, func(row []*eval.Cell) bool { return slices.Contains(row, nil) })
}

// gridLegend explains the colours of a grid.
func gridLegend(square, all bool) template.HTML {
	var entries []chart.Entry
	if square {
		entries = append(entries, chart.Entry{Class: "square", Name: "lengths of training"})
	}
	if !all {
		entries = append(entries, chart.Entry{Class: "none", Name: "not tested"})
	}
	return chart.Bar("0", "100 %", false) + chart.Legend(entries...)
}

// Grid draws the heat map of a test over both lengths.
func (v *view) Grid() []figure {
	r := v.Runs.Result
	g, err := gridOf(r)
	if err != nil {
		return []figure{{Title: "Exact match by both lengths", Note: err.Error()}}
	}
	if g == nil {
		return nil
	}
	h := g.heat(r, v.Runs.Task)
	h.Label = "Heat map of exact match by both lengths, " + v.Title()
	return []figure{{Title: "Exact match by both lengths", Picture: h.SVG(), Legend: gridLegend(r.Trained != nil, g.whole()), CSV: gridCSV(r)}}
}

func gridCSV(r *eval.Result) string {
	var b strings.Builder
	b.WriteString("i,j,samples,correct\n")
	for _, c := range r.ByCell {
		fmt.Fprintf(&b, "%d,%d,%d,%d\n", c.I, c.J, c.Samples, c.Correct)
	}
	return b.String()
}
