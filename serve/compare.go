package serve

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/plot"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/serve/chart"
)

// A comparison shows several runs side by side.
type comparison struct {
	Runs   []*view
	Names  []string // for legends: the run, and its settings that differ if they are few
	Each   bool     // a line for each run, instead of the mean of runs that differ only in the seed
	Seeds  bool     // some runs differ only in the seed
	Config *Config
	Static bool

	systems []string // one for each run
}

func compare(runs []*view, each bool, c *Config) *comparison {
	out := &comparison{Runs: runs, Each: each, Config: c}
	var plots []*plot.Run
	for _, v := range runs {
		plots = append(plots, v.Runs)
	}
	plot.Distinguish(plots)
	var all []*list.Run
	for _, v := range runs {
		all = append(all, v.Run)
	}
	differing := slices.DeleteFunc(list.Differing(all), isSeed)
	for i, p := range plots {
		name := runs[i].Title()
		if said := runs[i].Said(differing); said != "" && len(differing) <= mostSettings {
			name += ", " + said
		}
		out.Names = append(out.Names, name)
		if slices.Contains(out.systems, p.System()) {
			out.Seeds = true
		}
		out.systems = append(out.systems, p.System())
	}
	return out
}

// Class returns the class of a run's line.
func (c *comparison) Class(run int) string { return chart.LineClass(c.style(run)) }

// style returns the number of a run's line. The runs of a system share one where means are drawn.
func (c *comparison) style(run int) int {
	if c.Each || !c.Seeds {
		return run
	}
	var seen []string
	for _, s := range c.systems[:run+1] {
		if !slices.Contains(seen, s) {
			seen = append(seen, s)
		}
	}
	return slices.Index(seen, c.systems[run])
}

// A setting has one value in each run. Best marks the best results. It is nil for a value
// without better and worse.
type setting struct {
	Path   string
	Values []string
	Best   []bool
}

// Cells returns the values with their marks.
func (s setting) Cells() (out []markedCell) {
	for i, text := range s.Values {
		out = append(out, markedCell{cmp.Or(text, "–"), s.Best != nil && s.Best[i]})
	}
	return out
}

// A markedCell is a value in a table of several runs.
type markedCell struct {
	Text string
	Best bool
}

// Settings returns the settings that differ between the runs.
func (c *comparison) Settings() (out []setting) {
	var runs []*list.Run
	for _, v := range c.Runs {
		runs = append(runs, v.Run)
	}
	for _, path := range list.Differing(runs) {
		s := setting{Path: path}
		for _, r := range runs {
			s.Values = append(s.Values, r.Settings[path])
		}
		out = append(out, s)
	}
	return out
}

// Makes returns the facts of Made that differ between the runs, except those that other rows show.
func (c *comparison) Makes() (out []setting) {
	var names []string
	values := make([]map[string]string, len(c.Runs))
	for i, v := range c.Runs {
		values[i] = map[string]string{}
		for _, f := range v.Made() {
			values[i][f.Name] = f.Value
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	for _, name := range names {
		s := setting{Path: name}
		for i := range c.Runs {
			s.Values = append(s.Values, values[i][name])
		}
		if len(slices.Compact(slices.Clone(s.Values))) > 1 && !slices.Contains([]string{"spec", "started", "seed", "init seed", "budget"}, name) {
			out = append(out, s)
		}
	}
	return out
}

// Results returns the last values of all runs, one row a quantity, the best of each marked.
func (c *comparison) Results() (out []setting) {
	row := func(name string, text func(v *view) string, of func(v *view) *float64, sign float64) {
		s := setting{Path: name}
		var values []*float64
		some := false
		for _, v := range c.Runs {
			t := text(v)
			some = some || t != ""
			s.Values = append(s.Values, t)
			values = append(values, of(v))
		}
		if s.Best = best(values, sign); some {
			out = append(out, s)
		}
	}
	nothing := func(*view) *float64 { return nil }
	row("state", func(v *view) string { return string(v.State) }, nothing, 0)
	for _, m := range tested {
		value := func(v *view) *float64 {
			if v.Runs.Result == nil {
				return nil
			}
			return v.Runs.Result.Mean(m.name)
		}
		row(m.name+", "+new(eval.Result).What(m.name), func(v *view) string {
			text := percent(value(v))
			if text == "" {
				return ""
			}
			if n := problemsOf(v.Runs.Result, *value(v), m.has); n > 0 {
				text += " of " + track.Thousands(n)
			}
			return text
		}, value, 1)
	}
	row("bits a character of the tested text", func(v *view) string { return orNothing(v.Run.Bits(), lossText) }, func(v *view) *float64 { return v.Run.Bits() }, -1)
	row("exact match, last report", func(v *view) string { return percent(v.ExactMatch) }, func(v *view) *float64 { return v.ExactMatch }, 1)
	row("loss, last report", func(v *view) string { return orNothing(v.Loss, lossText) }, func(v *view) *float64 { return v.Loss }, -1)
	row("steps", func(v *view) string { return track.Thousands(v.Step) }, nothing, 0)
	return out
}

// best marks the largest values, or the smallest if sign is -1. It returns nil if all
// values are equal or fewer than two are known.
func best(values []*float64, sign float64) []bool {
	top, least, n := math.Inf(-1), math.Inf(1), 0
	for _, v := range values {
		if v != nil && !math.IsNaN(*v) {
			top, least, n = math.Max(top, sign**v), math.Min(least, sign**v), n+1
		}
	}
	if n < 2 || top == least {
		return nil
	}
	marks := make([]bool, len(values))
	for i, v := range values {
		marks[i] = v != nil && sign**v == top
	}
	return marks
}

// A sample is the curve of one run.
type sample struct {
	run    int
	points []chart.Point
}

// lines draws the curves of runs. Unless each is set, runs of one system become their mean,
// in a band.
func (c *comparison) lines(title string, x, y chart.Axis, all []sample) []figure {
	l := &chart.Lines{Label: title + ", several runs", X: x, Y: y}
	var groups [][]sample
	for _, s := range all {
		at := slices.IndexFunc(groups, func(g []sample) bool { return c.systems[g[0].run] == c.systems[s.run] })
		if c.Each || at < 0 {
			groups = append(groups, []sample{s})
		} else {
			groups[at] = append(groups[at], s)
		}
	}
	for _, g := range groups {
		if len(g) == 1 {
			l.Series = append(l.Series, chart.Series{Name: c.Names[g[0].run], Style: c.style(g[0].run), Points: g[0].points})
			continue
		}
		var curves [][]chart.Point
		for _, s := range g {
			curves = append(curves, s.points)
		}
		l.Series = append(l.Series, spread(fmt.Sprintf("%s, mean of %d seeds", c.systems[g[0].run], len(g)), logged(curves, y.Log), c.style(g[0].run)))
		if y.Log {
			powers(&l.Series[len(l.Series)-1])
		}
	}
	svg := l.SVG()
	if svg == "" {
		return nil
	}
	return []figure{{Title: title, Picture: svg, Legend: l.Legend(), CSV: curvesCSV("x", l.Series)}}
}

// logged returns curves with the logarithms of their Y, if log is set: on a logarithmic
// axis, means and deviations are of logarithms.
func logged(curves [][]chart.Point, log bool) [][]chart.Point {
	if !log {
		return curves
	}
	out := make([][]chart.Point, len(curves))
	for i, c := range curves {
		for _, p := range c {
			out[i] = append(out[i], chart.Point{X: p.X, Y: math.Log(p.Y)})
		}
	}
	return out
}

// powers undoes logged.
func powers(s *chart.Series) {
	for i := range s.Points {
		s.Points[i].Y, s.Low[i], s.High[i] = math.Exp(s.Points[i].Y), math.Exp(s.Low[i]), math.Exp(s.High[i])
	}
}

// Curves draws the reports of all runs, from the last training of each.
func (c *comparison) Curves() (out []figure) {
	x := chart.Axis{Label: "training examples", Unit: "examples"}
	for _, q := range quantities {
		m := c.common(&q)
		if m == nil {
			continue
		}
		var all []sample
		for i, v := range c.Runs {
			if n := len(v.Runs.Trainings); n > 0 {
				all = append(all, sample{i, m.points(v.Runs.Trainings[n-1].Reports, true, q.y.Percent)})
			}
		}
		title := q.title
		if m.name != "learning rate" {
			title += ", " + m.name
		}
		out = append(out, c.lines(title, x, q.y, all)...)
	}
	return out
}

// common returns the first measure of a quantity that all runs with reports have, or nil.
func (c *comparison) common(q *quantity) *measure {
	for i, m := range q.measures {
		if !slices.ContainsFunc(c.Runs, func(v *view) bool {
			n := len(v.Runs.Trainings)
			return n > 0 && len(m.points(v.Runs.Trainings[n-1].Reports, false, false)) < 2
		}) {
			return &q.measures[i]
		}
	}
	return nil
}

// Length draws exact match by length for all runs.
func (c *comparison) Length() []figure {
	var all []sample
	var x, y chart.Axis
	for i, v := range c.Runs {
		if r := v.Runs.Result; r != nil {
			x, y = lengthAxes(v.Runs.Task, r)
			all = append(all, sample{i, byLength(r)})
		}
	}
	return c.lines("Exact match by length", x, y, all)
}

// mostGrids is the largest number of grids side by side.
const mostGrids = 12

// Grids draws the grids of all runs.
func (c *comparison) Grids() (out []figure) {
	for _, v := range c.Runs {
		g, err := gridOf(v.Runs.Result)
		if g == nil || err != nil || len(out) == mostGrids {
			continue
		}
		h := g.heat(v.Runs.Result, v.Runs.Task)
		h.Small, h.Label = true, "Heat map of exact match, "+v.Title()
		out = append(out, figure{Title: v.Title(), Picture: h.SVG(), Legend: gridLegend(h.Square[0] > 0, g.whole()), CSV: gridCSV(v.Runs.Result), Small: true})
	}
	return out
}

// differences are the grids of runs minus the grid of run From.
type differences struct {
	From    string
	Figures []figure
}

// Differences compares the grids with the grid of the first run that has one.
func (c *comparison) Differences() (out differences) {
	var first *eval.Result
	for _, v := range c.Runs {
		g, err := gridOf(v.Runs.Result)
		switch {
		case g == nil || err != nil || len(out.Figures) == mostGrids:
		case first == nil:
			first, out.From = v.Runs.Result, v.Title()
		default:
			d := difference(g, v.Runs.Result, first, v.Runs.Task)
			d.Label = fmt.Sprintf("Difference of exact match, %s minus %s", v.Title(), out.From)
			out.Figures = append(out.Figures, figure{Title: v.Title(), Picture: d.SVG(), Legend: chart.Bar("−100", "+100", true), Small: true})
		}
	}
	return out
}

// difference is the fraction right in a grid minus the fraction right in another result.
func difference(g *grid, r, than *eval.Result, task string) *chart.Heat {
	other := map[eval.Pair]eval.Cell{}
	for _, c := range than.ByCell {
		other[c.Pair] = c
	}
	h := g.heat(r, task)
	h.Lo, h.Hi, h.Middle, h.Small = -1, 1, true, true
	for i, row := range h.Values {
		for j := range row {
			o, ok := other[eval.Pair{I: g.first + i, J: g.second + j}]
			if !ok {
				row[j] = math.NaN()
				continue
			}
			row[j] -= o.Fraction()
		}
	}
	h.Texts = func(i, j int) string {
		if math.IsNaN(h.Values[i][j]) {
			return "not tested by both"
		}
		return fmt.Sprintf("%+.1f points", 100*h.Values[i][j])
	}
	return h
}
