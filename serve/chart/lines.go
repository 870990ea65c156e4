package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/arithlang/mlc/plot/scale"
	"github.com/arithlang/mlc/runtime/track"
)

// A Point is a point of a curve. A point whose Y is NaN is left out.
type Point struct{ X, Y float64 }

// A Series is a curve, its points in ascending X. It has a band around it if Low and High
// have a value for each point.
type Series struct {
	Name      string
	Points    []Point
	Low, High []float64
	Style     int // number for LineClass
	Faint     bool
}

// An Axis is an axis of Lines.
type Axis struct {
	Label   string
	Unit    string // precedes a value of X in the text of a point: "step 12"
	Log     bool
	Percent bool // from 0 to 100
}

// Lines is a figure of curves with common axes.
type Lines struct {
	Label  string
	X, Y   Axis
	Series []Series
	Mark   float64 // X of a vertical line; 0: no line
}

const (
	plotHeight = 176
	mostPoints = 300 // of a curve; more would not be visible
)

// frame is the rectangle of the data, with the ranges of the axes.
type frame struct {
	left, right, top, bottom float64
	x0, x1, y0, y1           float64 // the ends of the axes; logarithms on a logarithmic axis
}

func (f *frame) x(v float64) float64 { return f.left + (f.right-f.left)*(v-f.x0)/(f.x1-f.x0) }
func (f *frame) y(v float64) float64 { return f.bottom - (f.bottom-f.top)*(v-f.y0)/(f.y1-f.y0) }

// hovered is a curve as the script reads it: places in the figure and their texts.
type hovered struct {
	Name   string   `json:"n"`
	Class  string   `json:"c"`
	Points [][4]any `json:"p"` // x, y, text of x, text of y
}

// SVG draws the figure. It returns "" if no curve has two points.
func (c *Lines) SVG() template.HTML {
	c = c.drawable()
	if c == nil {
		return ""
	}
	f := c.extent()
	xs, ys := c.X.ticks(f.x0, f.x1, 5), c.Y.ticks(f.y0, f.y1, 5)
	widest := 1
	for _, t := range ys {
		widest = max(widest, len([]rune(t.Text)))
	}
	f.left, f.right, f.top, f.bottom = 8+letter*float64(widest), width-14, 24, 24+plotHeight
	var b strings.Builder
	svg(&b, "chart", c.Label, width, f.bottom+36, c.hover(f))
	c.axes(&b, f, xs, ys)
	for i := range c.Series {
		c.Series[i].band(&b, f)
	}
	if c.Mark != 0 && c.Mark >= f.x0 && c.Mark <= f.x1 {
		line(&b, "upright", f.x(c.Mark), f.top, f.x(c.Mark), f.bottom)
	}
	for i := range c.Series {
		c.Series[i].line(&b, f)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// Legend names the curves. It returns "" for fewer than two.
func (c *Lines) Legend() template.HTML {
	d := c.drawable()
	if d == nil || len(d.Series) < 2 {
		return ""
	}
	var entries []Entry
	for _, s := range d.Series {
		entries = append(entries, Entry{s.class(), s.Name})
	}
	return Legend(entries...)
}

func (s *Series) class() string {
	class := LineClass(s.Style)
	if s.Low != nil {
		class += " banded"
	}
	if s.Faint {
		class += " faint"
	}
	return class
}

// drawable returns the curves with at least two points, with the logarithms of their values
// on a logarithmic axis. It returns nil if there is no such curve.
func (c *Lines) drawable() *Lines {
	out := *c
	out.Series = nil
	for _, s := range c.Series {
		t := Series{Name: s.Name, Style: s.Style, Faint: s.Faint}
		stride := max(1, (len(s.Points)+mostPoints-1)/mostPoints)
		for i, p := range s.Points {
			if i%stride != 0 && i != len(s.Points)-1 {
				continue
			}
			p = Point{scaled(p.X, c.X.Log), scaled(p.Y, c.Y.Log)}
			if math.IsNaN(p.X+p.Y) || math.IsInf(p.X+p.Y, 0) {
				continue
			}
			t.Points = append(t.Points, p)
			if s.Low != nil {
				t.Low = append(t.Low, scaled(s.Low[i], c.Y.Log))
				t.High = append(t.High, scaled(s.High[i], c.Y.Log))
			}
		}
		if len(t.Points) >= 2 {
			out.Series = append(out.Series, t)
		}
	}
	if out.Series == nil {
		return nil
	}
	return &out
}

func scaled(v float64, log bool) float64 {
	if log {
		return math.Log10(v)
	}
	return v
}

func (c *Lines) extent() *frame {
	f := &frame{x0: math.Inf(1), x1: math.Inf(-1), y0: math.Inf(1), y1: math.Inf(-1)}
	for _, s := range c.Series {
		for i, p := range s.Points {
			f.x0, f.x1 = math.Min(f.x0, p.X), math.Max(f.x1, p.X)
			f.y0, f.y1 = math.Min(f.y0, p.Y), math.Max(f.y1, p.Y)
			if s.Low != nil && !math.IsNaN(s.Low[i]) && !math.IsInf(s.Low[i], 0) {
				f.y0, f.y1 = math.Min(f.y0, s.Low[i]), math.Max(f.y1, s.High[i])
			}
		}
	}
	switch {
	case c.Y.Percent:
		f.y0, f.y1 = 0, 100
	case c.Y.Log:
		f.y0, f.y1 = f.y0-0.06, f.y1+0.06
	default:
		if f.y0 > 0 && f.y0 < f.y1/2 {
			f.y0 = 0
		}
		f.y1 += 0.04 * (f.y1 - f.y0)
	}
	if f.x1-f.x0 < 1e-12 {
		f.x0, f.x1 = f.x0-1, f.x1+1
	}
	if y := f.y0; f.y1-f.y0 <= 1e-9*math.Abs(y) { // a constant is in the middle of an axis that begins or ends at 0
		f.y0, f.y1 = math.Min(2*y, 0), math.Max(2*y, 0)
		if y == 0 {
			f.y0, f.y1 = -1, 1
		}
	}
	if !c.X.Log && f.x0 > 0 && f.x0 < 0.1*f.x1 {
		f.x0 = 0
	}
	return f
}

func (a *Axis) ticks(lo, hi float64, parts int) []scale.Tick {
	if a.Log {
		return scale.Decades(lo, hi, parts+1, Number)
	}
	return scale.Evenly(lo, hi, parts, Number)
}

// Number writes a number for people: 50k, 2M, −0.5.
func Number(x float64) string { return scale.Number(x, 1e4) }

// axes draws the grid, the numbers and the names. The name of Y is above its numbers, so it
// need not be turned.
func (c *Lines) axes(b *strings.Builder, f *frame, xs, ys []scale.Tick) {
	write(b, "name", 0, 12, c.Y.Label)
	for _, t := range ys {
		y := f.y(t.At)
		if t.Text == "" {
			continue
		}
		line(b, "grid", f.left, y, f.right, y)
		write(b, "tick end", f.left-6, y+4, t.Text)
	}
	line(b, "axis", f.left, f.bottom, f.right, f.bottom)
	for _, t := range xs {
		x := f.x(t.At)
		if t.Text == "" {
			continue
		}
		line(b, "axis", x, f.bottom, x, f.bottom+4)
		write(b, "tick middle", x, f.bottom+17, t.Text)
	}
	write(b, "name end", f.right, f.bottom+33, c.X.Label)
}

func (s *Series) band(b *strings.Builder, f *frame) {
	if s.Low == nil {
		return
	}
	clip := func(v float64) float64 { return f.y(math.Min(math.Max(v, f.y0), f.y1)) }
	fmt.Fprintf(b, `<path class="band %s" d="`, LineClass(s.Style))
	for i, p := range s.Points {
		b.WriteString(pen(i) + num(f.x(p.X)) + " " + num(clip(s.High[i])))
	}
	for i := len(s.Points) - 1; i >= 0; i-- {
		b.WriteString("L" + num(f.x(s.Points[i].X)) + " " + num(clip(s.Low[i])))
	}
	b.WriteString(`Z"/>`)
}

// line draws a curve, with dots if it has few points: between them nothing is known.
func (s *Series) line(b *strings.Builder, f *frame) {
	const few = 24
	fmt.Fprintf(b, `<path class="line %s" d="`, s.class())
	for i, p := range s.Points {
		b.WriteString(pen(i) + num(f.x(p.X)) + " " + num(f.y(p.Y)))
	}
	b.WriteString(`"/>`)
	if len(s.Points) > few {
		return
	}
	for _, p := range s.Points {
		fmt.Fprintf(b, `<circle class="dot %s" cx="%s" cy="%s" r="2.4"/>`, s.class(), num(f.x(p.X)), num(f.y(p.Y)))
	}
}

func (c *Lines) hover(f *frame) []hovered {
	var out []hovered
	for _, s := range c.Series {
		h := hovered{Name: s.Name, Class: s.class()}
		for i, p := range s.Points {
			text := c.Y.value(p.Y)
			if s.Low != nil {
				text += fmt.Sprintf(" (%s to %s)", c.Y.value(s.Low[i]), c.Y.value(s.High[i]))
			}
			x := math.Round(10*f.x(p.X)) / 10
			y := math.Round(10*f.y(p.Y)) / 10
			h.Points = append(h.Points, [4]any{x, y, strings.TrimSpace(c.X.Unit + " " + track.Thousands(int(math.Round(unscaled(p.X, c.X.Log))))), text})
		}
		out = append(out, h)
	}
	return out
}

// value writes a value of an axis for people.
func (a *Axis) value(v float64) string {
	if a.Percent {
		return fmt.Sprintf("%.4g %%", v)
	}
	return strings.Replace(fmt.Sprintf("%.4g", unscaled(v, a.Log)), "-", "−", 1)
}

func unscaled(v float64, log bool) float64 {
	if log {
		return math.Pow(10, v)
	}
	return v
}
