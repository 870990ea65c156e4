package plot

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/plot/list"
)

// Width and height of the data of a figure with curves.
const (
	curvesWidth  = 9 * vg.Centimeter
	curvesHeight = 5.6 * vg.Centimeter
)

// A series is one quantity that one run reports.
type series struct {
	system string
	seed   string // the seeds of its run, as Run.Seeds writes them
	of     string // the problems that it is measured on, in a figure with several kinds
	points plotter.XYs
	steady bool // a line between two points is a fair estimate
}

// A curve is a line of a figure. It shows one series, or the mean of series that differ
// only in the seed, with a band of one standard deviation around it.
type curve struct {
	name   string
	points plotter.XYs
	band   []float64 // half the height of the band at each point; nil: no band
	line   draw.LineStyle
	ends   [2]float64 // the smallest and largest possible value
}

// fewPoints is the largest number of points that are marked, as nothing is known between them.
const fewPoints = 12

// Plot implements plot.Plotter.
func (l *curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	height := func(v float64) vg.Length { return y(min(max(v, l.ends[0]), l.ends[1])) }
	line := make([]vg.Point, len(l.points))
	for i, at := range l.points {
		line[i] = vg.Point{X: x(at.X), Y: height(at.Y)}
	}
	if l.band != nil {
		var edge []vg.Point
		for i, at := range l.points {
			edge = append(edge, vg.Point{X: line[i].X, Y: height(at.Y + l.band[i])})
		}
		for i := len(l.points) - 1; i >= 0; i-- {
			edge = append(edge, vg.Point{X: line[i].X, Y: height(l.points[i].Y - l.band[i])})
		}
		c.FillPolygon(pale(l.line.Color), edge)
	}
	c.StrokeLines(l.line, line)
	if len(line) <= fewPoints {
		for _, at := range line {
			c.DrawGlyph(draw.GlyphStyle{Color: l.line.Color, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}, at)
		}
	}
}

// pale is c with an alpha that lets other colours show through.
func pale(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0x38}
}

// icon draws the curve's entry in a legend.
func (l *curve) icon(c draw.Canvas) {
	y := (c.Min.Y + c.Max.Y) / 2
	if l.band != nil {
		box(c, pale(l.line.Color), c.Rectangle)
	}
	c.StrokeLine2(l.line, c.Min.X, y, c.Max.X, y)
}

// curvesOf makes a curve of each system and kind of problems, or of each series if each is
// set. It leaves out series of fewer than two points. Colours tell systems apart and dashes
// tell problems apart. With a single system, colours tell problems apart too.
func curvesOf(all []series, each bool) []*curve {
	var systems, problems []string
	var groups [][]series
	for i, s := range all {
		if !slices.Contains(systems, s.system) {
			systems = append(systems, s.system)
		}
		if !slices.Contains(problems, s.of) {
			problems = append(problems, s.of)
		}
		if len(s.points) < 2 {
			continue
		}
		same := func(group []series) bool { return group[0].system == s.system && group[0].of == s.of }
		if at := slices.IndexFunc(groups, same); at >= 0 && !each {
			groups[at] = append(groups[at], all[i])
		} else {
			groups = append(groups, all[i:i+1:i+1])
		}
	}
	var out []*curve
	lines := map[[2]string]int{} // counts lines by system and problems
	for _, group := range alone(groups) {
		l, first := mean(group), group[0]
		colour, dashes := slices.Index(systems, first.system), slices.Index(problems, first.of)
		if len(systems) == 1 {
			colour = dashes
		}
		key := [2]string{first.system, first.of}
		dashes += colour/len(lineColours) + len(problems)*lines[key]
		lines[key]++
		l.line = draw.LineStyle{Color: lineColours[colour%len(lineColours)], Width: vg.Points(1.1), Dashes: plotutil.Dashes(dashes)}
		if first.of != "" {
			l.name += ": " + first.of
		}
		out = append(out, l)
	}
	return out
}

// alone splits the groups whose series have fewer than two points in common into groups of
// one series.
func alone(groups [][]series) (out [][]series) {
	for _, group := range groups {
		if len(common(group)) >= 2 {
			out = append(out, group)
			continue
		}
		for i := range group {
			out = append(out, group[i:i+1])
		}
	}
	return out
}

// common returns where all series of a group are known. Steady series are known at any
// point of any of them, within the range that all of them cover. Other series are known
// only at points that all have.
func common(group []series) []float64 {
	have := map[float64]int{}
	from, to := math.Inf(-1), math.Inf(1)
	for _, s := range group {
		from, to = max(from, s.points[0].X), min(to, s.points[len(s.points)-1].X)
		for _, at := range s.points {
			have[at.X]++
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(have)), func(x float64) bool {
		return x < from || x > to || !group[0].steady && have[x] < len(group)
	})
}

// mean is the curve of the mean of a group, at the points that common returns.
func mean(group []series) *curve {
	var seeds []string
	for _, s := range group {
		if !slices.Contains(seeds, s.seed) {
			seeds = append(seeds, s.seed)
		}
	}
	what := ofSeeds(seeds)
	if len(seeds) < len(group) && len(group) > 1 {
		what = fmt.Sprintf("mean of %d runs", len(group))
	}
	l := &curve{name: strings.TrimPrefix(group[0].system+", "+what, ", ")}
	if len(group) == 1 {
		l.points = group[0].points
		return l
	}
	next := make([]int, len(group)) // index of each series' first point at or after x
	for _, x := range common(group) {
		var values []float64
		for i, s := range group {
			for s.points[next[i]].X < x {
				next[i]++
			}
			values = append(values, between(s.points, next[i], x))
		}
		y, deviation := list.Spread(values)
		l.points, l.band = append(l.points, plotter.XY{X: x, Y: y}), append(l.band, deviation)
	}
	return l
}

// between interpolates a series at x, which lies after point i-1 and not after point i.
func between(points plotter.XYs, i int, x float64) float64 {
	b := points[i]
	if b.X == x || i == 0 {
		return b.Y
	}
	a := points[i-1]
	return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
}

// curves is a plot of lines over one axis.
type curves struct{ *plot.Plot }

func newCurves(x, y string) curves {
	c := curves{newAxes(x, y)}
	c.Add(rules{})
	return c
}

// rules draws a light line at each tick that has a number.
type rules struct{}

// Plot implements plot.Plotter.
func (rules) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: grid, Width: vg.Points(0.4)}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if at := x(t.Value); !t.IsMinor() && c.ContainsX(at) {
			c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
		}
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if at := y(t.Value); !t.IsMinor() && c.ContainsY(at) {
			c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
		}
	}
}

// percents makes the Y axis one of per cent, with room for lines at its ends.
func (c curves) percents() {
	c.Y.Min, c.Y.Max, c.Y.Tick.Marker = -3, 103, percents{}
}

// ranges extends the axes to cover the curves.
func (c curves) ranges(lines []*curve) {
	for _, l := range lines {
		for i, at := range l.points {
			c.X.Min, c.X.Max = min(c.X.Min, at.X), max(c.X.Max, at.X)
			half := 0.0
			if l.band != nil {
				half = l.band[i]
			}
			if c.Y.Tick.Marker != (percents{}) {
				c.Y.Min, c.Y.Max = min(c.Y.Min, at.Y-half), max(c.Y.Max, at.Y+half)
			}
		}
	}
	if c.X.Tick.Marker != (decades{}) {
		c.X.Min = 0
	}
	if c.Y.Tick.Marker == (decades{}) {
		c.Y.Min, c.Y.Max = round125(c.Y.Min, math.Floor), round125(c.Y.Max, math.Ceil)
	}
}

// round125 rounds a logarithm to the logarithm of 1, 2 or 5 times a power of ten. way is
// math.Floor or math.Ceil.
func round125(x float64, way func(float64) float64) float64 {
	best := math.Inf(1)
	for _, n := range []float64{1, 2, 5} {
		at := math.Log10(n)
		power := math.Round(x - at)
		if math.Abs(power+at-x) > 1e-9 { // otherwise x is such a logarithm already
			power = way(x - at)
		}
		if math.Abs(power+at-x) < math.Abs(best-x) {
			best = power + at
		}
	}
	return best
}

// figure draws the curves of some series, with a legend to the right. It returns nil if no
// series has a curve.
func (c curves) figure(name, title string, all []series, o Options) *Figure {
	lines := curvesOf(all, o.Each)
	if len(lines) == 0 {
		return nil
	}
	c.ranges(lines)
	f := &Figure{Name: name, panels: [][]*panel{{{Plot: c.Plot, width: sharp(curvesWidth), height: sharp(curvesHeight)}}}}
	if title != "" {
		f.title = []string{title}
	}
	banded := false
	for _, l := range lines {
		l.ends = [2]float64{c.Y.Min, c.Y.Max}
		if c.Y.Tick.Marker == (percents{}) {
			l.ends = [2]float64{0, 100}
		}
		c.Add(l)
		f.legend = append(f.legend, entry{l.name, l.icon})
		banded = banded || l.band != nil
	}
	c.Add(frame{})
	if banded {
		f.legend = append(f.legend, entry{"± one standard deviation", func(d draw.Canvas) { box(d, pale(color.Black), d.Rectangle) }})
	}
	return f
}

// upright is a red vertical line through all of the data.
type upright struct{ x float64 }

// Plot implements plot.Plotter.
func (u upright) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	if at := x(u.x); c.ContainsX(at) {
		c.StrokeLine2(draw.LineStyle{Color: red, Width: vg.Points(0.8)}, at, c.Min.Y, at, c.Max.Y)
	}
}
