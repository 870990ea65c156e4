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

	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/eval"
)

// A spread is a mean of the results of one system, over its seeds: mean, least and most in
// per cent.
type spread struct {
	mean, least, most float64
	seeds             int // 0: no run has this mean
}

// spreadOf returns the spread of one mean of results, by its name.
func spreadOf(results []*eval.Result, name string) (s spread) {
	var values []float64
	for _, r := range results {
		if x := r.Mean(name); x != nil {
			values = append(values, 100**x)
		}
	}
	if s.seeds = len(values); s.seeds > 0 {
		s.mean, _ = list.Spread(values)
		s.least, s.most = slices.Min(values), slices.Max(values)
	}
	return s
}

// A facet is one word in which the names of systems differ, such as the value of an axis of
// a sweep.
type facet struct {
	values []string       // in order of appearance
	at     map[string]int // index of a system's value
}

func (f *facet) add(system, value string) {
	at := slices.Index(f.values, value)
	if at < 0 {
		at, f.values = len(f.values), append(f.values, value)
	}
	f.at[system] = at
}

// decides reports whether a system's value in f decides its value in g, and the reverse.
func (f *facet) decides(g *facet) bool {
	pairs := map[[2]int]bool{}
	for system, at := range f.at {
		pairs[[2]int{at, g.at[system]}] = true
	}
	return len(pairs) == len(f.values) && len(pairs) == len(g.values)
}

// facets splits the names of systems, by name, into the words in which they differ, each
// with the equal words before it. Words that decide each other make one facet. Names with
// different numbers of words make one facet.
func facets(own map[string]string, systems []string) (all []*facet) {
	words := map[string][]string{}
	for _, s := range systems {
		words[s] = strings.Split(own[s], "-")
	}
	first := words[systems[0]]
	if slices.ContainsFunc(systems, func(s string) bool { return len(words[s]) != len(first) }) {
		whole := &facet{at: map[string]int{}}
		for _, s := range systems {
			whole.add(s, own[s])
		}
		return []*facet{whole}
	}
	from := 0
	for c := range first {
		if !slices.ContainsFunc(systems, func(s string) bool { return words[s][c] != first[c] }) {
			continue
		}
		f := &facet{at: map[string]int{}}
		for _, s := range systems {
			f.add(s, strings.Join(words[s][from:c+1], "-"))
		}
		from = c + 1
		if n := len(all); n > 0 && all[n-1].decides(f) {
			both := &facet{at: map[string]int{}}
			for _, s := range systems {
				both.add(s, all[n-1].values[all[n-1].at[s]]+"-"+f.values[f.at[s]])
			}
			all[n-1] = both
			continue
		}
		all = append(all, f)
	}
	if all == nil { // one system
		f := &facet{at: map[string]int{}}
		f.add(systems[0], own[systems[0]])
		return []*facet{f}
	}
	return all
}

// join makes one facet of several. Without any it has one value, "".
func join(some []*facet, systems []string) *facet {
	f := &facet{at: map[string]int{}}
	for _, s := range systems {
		var words []string
		for _, g := range some {
			words = append(words, g.values[g.at[s]])
		}
		f.add(s, strings.Join(words, ", "))
	}
	return f
}

// Bars draws the mean of each system's results over its seeds, with a whisker from the least
// seed to the most (McLeish et al., arXiv:2405.17399, figures 3, 4, 8, 9 and 16 to 21). The
// bars are grouped by the word o.Group in which the names of systems differ. The next word is
// their colour, and further words make panels. The means are ood and ood100, or id or overall
// where there are none. Bars returns nil for fewer than two results.
func Bars(runs []*Run, o Options) (*Figure, error) {
	results, seeds := map[string][]*eval.Result{}, map[string]bool{}
	var tested []*Run
	for _, r := range runs {
		if key := r.System() + "\n" + r.Seeds(); r.Result != nil && !seeds[key] {
			seeds[key], tested = true, append(tested, r)
			results[r.System()] = append(results[r.System()], r.Result)
		}
	}
	means := barMeans(tested)
	if len(tested) < 2 || means == nil {
		return nil, nil
	}
	systems := names(tested)
	title, own := titles(tested)
	all := facets(own, systems)
	group := max(o.Group, 1) - 1
	if group >= len(all) {
		return nil, fmt.Errorf("there is no word %d by which to group bars: the names of these runs differ in %d", o.Group, len(all))
	}
	x := all[group]
	rest := slices.Delete(slices.Clone(all), group, group+1)
	colour, panels := join(rest[:min(len(rest), 1)], systems), join(rest[min(len(rest), 1):], systems)
	b := bars{groups: x.values, of: make([][]spread, len(panels.values)), slots: len(colour.values) * len(means)}
	for i := range b.of {
		b.of[i] = make([]spread, len(x.values)*b.slots)
	}
	least, most := math.MaxInt, 0
	for _, s := range systems {
		for k, name := range means {
			spread := spreadOf(results[s], name)
			b.of[panels.at[s]][x.at[s]*b.slots+colour.at[s]*len(means)+k] = spread
			if spread.seeds > 0 {
				least, most = min(least, spread.seeds), max(most, spread.seeds)
			}
		}
	}
	b.colour = func(slot int) color.RGBA {
		if len(colour.values) == 1 {
			return lineColours[slot%len(lineColours)]
		}
		c := lineColours[slot/len(means)%len(lineColours)]
		if slot%len(means) > 0 {
			c = lighter(c)
		}
		return c
	}
	out := b.figure(panels.values, metric(tested[0].Result))
	for slot := range b.slots {
		name := means[slot%len(means)]
		if value := colour.values[slot/len(means)]; value != "" {
			name = value + ": " + name
		}
		out.legend = append(out.legend, entry{name, swatch(b.colour(slot))})
	}
	if title != "" {
		out.title = []string{title}
	}
	if most > 1 {
		text := fmt.Sprintf("least to most of %d seeds", most)
		if least < most {
			text = fmt.Sprintf("least to most of %d to %d seeds", least, most)
		}
		out.legend = append(out.legend, entry{text, func(c draw.Canvas) {
			middle := (c.Min.X + c.Max.X) / 2
			whisker(c, middle, c.Min.Y, c.Max.Y)
		}})
	}
	return out, nil
}

// barMeans returns the names of the means that bars show.
func barMeans(runs []*Run) (there []string) {
	for _, some := range [][]string{{eval.OOD, eval.OOD100}, {eval.ID}, {eval.Overall}} {
		for _, name := range some {
			if slices.ContainsFunc(runs, func(r *Run) bool { return r.Result.Mean(name) != nil }) {
				there = append(there, name)
			}
		}
		if there != nil {
			break
		}
	}
	return there
}

// lighter mixes a colour with as much white.
func lighter(c color.RGBA) color.RGBA {
	return color.RGBA{c.R/2 + 0x80, c.G/2 + 0x80, c.B/2 + 0x80, 0xff}
}

// Sizes of bars.
const (
	oneBar     = 5.2 * vg.Millimeter // wide enough for its number
	betweenBar = 3 * vg.Millimeter   // between groups
	barsHeight = 5 * vg.Centimeter
	barPanels  = 2 // in a row
)

// bars are the bars of a figure.
type bars struct {
	groups []string
	slots  int        // bars in a group
	of     [][]spread // by panel; slot s of group g is at g*slots+s
	colour func(slot int) color.RGBA
}

// figure draws a panel for each title.
func (b bars) figure(panels []string, label string) *Figure {
	top := 0.0
	for _, some := range b.of {
		for _, s := range some {
			top = max(top, s.most)
		}
	}
	if top = min(100, 10*math.Ceil(max(top, 1)/9)); top > 60 { // with room for numbers
		top = 100
	}
	width := oneBar*vg.Length(b.slots) + betweenBar
	for _, g := range b.groups {
		width = max(width, letters(smallSize).Width(g)+gap)
	}
	out := &Figure{Name: "bars"}
	for i, title := range panels {
		p := newAxes("", "")
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(len(b.groups))-0.5, 0, top*1.08
		p.X.Tick.Marker, p.Y.Tick.Marker = tokens{b.groups, 1}, until{top}
		p.X.Tick.Length = vg.Points(2)
		if i%barPanels == 0 {
			p.Y.Label.Text = label
			out.panels = append(out.panels, nil)
		}
		p.Add(rules{}, &barsPlot{b, b.of[i], float64((width - betweenBar) / width)}, frame{})
		last := len(out.panels) - 1
		out.panels[last] = append(out.panels[last], &panel{Plot: p, title: title, width: sharp(width * vg.Length(len(b.groups))), height: sharp(barsHeight)})
	}
	return out
}

// until marks the numbers from 0 to top.
type until struct{ top float64 }

// Ticks implements plot.Ticker.
func (u until) Ticks(_, _ float64) []plot.Tick { return numbers{5}.Ticks(0, u.top) }

// barsPlot draws the bars of one panel.
type barsPlot struct {
	bars
	of    []spread
	share float64 // of a group's width that has bars
}

// Plot implements plot.Plotter.
func (b *barsPlot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := letters(smallSize)
	style.XAlign = draw.XCenter
	for n, s := range b.of {
		if s.seeds == 0 {
			continue
		}
		g, slot := n/b.slots, n%b.slots
		left := float64(g) - b.share/2 + b.share*float64(slot)/float64(b.slots)
		r := vg.Rectangle{Min: vg.Point{X: sharp(x(left)), Y: sharp(y(0))}, Max: vg.Point{X: sharp(x(left + b.share/float64(b.slots))), Y: sharp(y(s.mean))}}
		box(c, b.colour(slot), r)
		outline(c, thin, r)
		middle, above := (r.Min.X+r.Max.X)/2, r.Max.Y
		if s.seeds > 1 {
			whisker(c, middle, y(s.least), y(s.most))
			above = max(above, y(s.most))
		}
		c.FillText(style, vg.Point{X: middle, Y: above + vg.Points(1.5)}, tenths(s.mean))
	}
}

// whisker draws a line from one height to another, with a cap at each end.
func whisker(c draw.Canvas, x, low, high vg.Length) {
	style := draw.LineStyle{Color: ink, Width: vg.Points(0.8)}
	half := vg.Points(2)
	c.StrokeLine2(style, x, low, x, high)
	c.StrokeLine2(style, x-half, low, x+half, low)
	c.StrokeLine2(style, x-half, high, x+half, high)
}

// tenths writes a number with one decimal, rounded down, so that only 100 is 100.0.
func tenths(x float64) string { return fmt.Sprintf("%.1f", math.Floor(10*x+1e-6)/10) }
