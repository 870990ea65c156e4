package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/runtime/calibrate"
)

// An Asked is the attention of a model for one problem, and the model's answer.
type Asked struct {
	Problem, Answer, Expected string
	Maps                      []Map
}

// A Map is the attention of one layer.
type Map struct {
	Layer         string // decoder layer 6
	Site          string // self, cross
	Causal        bool   // rows and columns are tokens of the answer
	Rows, Columns []string
	Heads         [][][]float64 // by head, row and column
}

// figure draws the heads of a map (arXiv:2310.11984, figures 2, 5 and 6).
func (a *Asked) figure(of string, m Map) (*Figure, error) {
	h := heads{rows: len(m.Rows), columns: len(m.Columns), counted: len(m.Rows), causal: m.Causal, names: [2][]string{m.Rows, m.Columns}}
	for n, head := range m.Heads {
		h.titles = append(h.titles, fmt.Sprintf("head %d", n))
		for _, row := range head {
			for _, x := range row {
				h.values = append(h.values, float32(x))
			}
		}
	}
	f, err := h.figure("attention weight")
	if err != nil {
		return nil, err
	}
	said := "right answer"
	if a.Answer != a.Expected {
		said = "answer " + shortened(a.Answer) + ", right is " + shortened(a.Expected)
	}
	f.Name = inFileName("attention " + m.Layer + " " + m.Site)
	f.title = []string{of, fmt.Sprintf("%s attention of %s for %s: %s", m.Site, m.Layer, shortened(a.Problem), said)}
	return f, nil
}

// heads is one attention, or its bias, with a matrix for each head.
type heads struct {
	titles        []string // one for each head
	rows, columns int
	values        []float32   // [heads, rows, columns]
	counted       int         // rows above the line; all rows: no line
	causal        bool        // no row sees a later column
	own           bool        // each head has its own scale
	dark          []bool      // heads without any line, all of whose cells are black; nil: none
	names         [2][]string // of rows and columns; nil: numbers
}

// The colours of cells without a number.
var (
	future = blank            // causality closes the cell
	closed = color.Gray{0x00} // a bias closes the cell, or a mask before a softmax
)

// Sizes of the figures of heads.
const (
	headsWidth  = 16 * vg.Centimeter
	headsAround = 1.2 * vg.Centimeter // around a matrix
	largestHead = 5 * vg.Millimeter   // cell
	namedHead   = 2.5 * vg.Millimeter // cell with room for a token
	namedWidth  = 27 * vg.Centimeter
	mostNamed   = 70 // columns
)

// layout returns the side of a cell and the number of heads in a row of the figure. Wide
// matrices are two in a row, square ones four.
func (m *heads) layout() (side vg.Length, across int) {
	if m.names[1] != nil && m.columns <= mostNamed {
		side = sharp(namedHead)
		return side, max(1, min(4, len(m.titles), int(namedWidth/(side*vg.Length(m.columns)+headsAround))))
	}
	m.names = [2][]string{}
	across = 4
	if 2*m.columns > 3*m.rows {
		across = 2
	}
	return min(cellSide(headsWidth/vg.Length(across)-headsAround, m.columns), sharp(largestHead)), across
}

// of returns the cells of a head.
func (m *heads) of(h int) []float32 { return m.values[h*m.rows*m.columns:][:m.rows*m.columns] }

// scale returns the colours of open cells. It begins or ends at 0. Without a difference in
// the values it ends at 0, or has 1 as its width.
func (m *heads) scale(values []float32) (palette.ColorMap, error) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range values {
		if v := float64(x); isOpen(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		lo, hi = 0, 0
	}
	if lo, hi = min(lo, 0), max(hi, 0); lo == hi {
		lo = -1
	}
	return colours(lo, hi)
}

// figure draws the matrices of all heads. Cells are square. label is the name of the values.
func (m *heads) figure(label string) (*Figure, error) {
	out := &Figure{}
	side, across := m.layout()
	scale, err := m.scale(m.values)
	if err != nil {
		return nil, err
	}
	if !m.own {
		out.bar = &bar{scale, numbers{5}, label}
	}
	for h, title := range m.titles {
		values, scale, dark := m.of(h), scale, m.dark != nil && m.dark[h]
		if m.own {
			if scale, err = m.scale(values); err != nil {
				return nil, err
			}
		}
		p := m.axes()
		if h%across == 0 {
			p.Y.Label.Text = "query i"
			out.panels = append(out.panels, nil)
		}
		if h+across >= len(m.titles) {
			p.X.Label.Text = "key j"
		}
		p.Add(&matrix{rows: m.rows, columns: m.columns, colour: func(i, j int) color.Color {
			switch x := float64(values[i*m.columns+j]); {
			case m.causal && j > i:
				return future
			case dark || !isOpen(x):
				return closed
			default:
				return colourOf(scale, x)
			}
		}})
		if m.counted < m.rows {
			p.Add(below{m.counted})
		}
		p.Add(frame{})
		one := &panel{Plot: p, width: side * vg.Length(m.columns), height: side * vg.Length(m.rows), title: title}
		if m.own && !dark {
			one.bar = &bar{scale, numbers{3}, ""}
		}
		last := len(out.panels) - 1
		out.panels[last] = append(out.panels[last], one)
	}
	m.explain(out)
	return out, nil
}

// axes returns an empty plot of a head.
func (m *heads) axes() *plot.Plot {
	p := newAxes("", "")
	p.X.Tick.Marker, p.Y.Tick.Marker = cells{}, cells{down: true}
	if m.names[1] != nil {
		p.X.Tick.Marker, p.Y.Tick.Marker = tokens{m.names[1], 1}, tokens{m.names[0], -1}
		p.X.Tick.Length, p.Y.Tick.Length = 1, 1
	}
	return p
}

// explain adds the entries below the panels.
func (m *heads) explain(f *Figure) {
	if m.counted < m.rows {
		f.foot = append(f.foot, entry{"rows above the line count", func(c draw.Canvas) { redLine(c, c.Min.X, c.Max.X, (c.Min.Y+c.Max.Y)/2) }})
	}
	if m.causal {
		f.foot = append(f.foot, entry{"j > i", swatch(future)})
	}
	var black []string
	if slices.ContainsFunc(m.values, func(x float32) bool { return !isOpen(float64(x)) }) {
		black = append(black, "closed")
	}
	if slices.Contains(m.dark, true) {
		black = append(black, "all cells of a transparent head")
	}
	if black != nil {
		f.foot = append(f.foot, entry{strings.Join(black, ", "), swatch(closed)})
	}
}

// isOpen reports whether a cell of attention or of a bias has a number that counts.
func isOpen(x float64) bool { return x > calibrate.Closed && !math.IsInf(x, 0) }

// tokens marks each row or column with its token. sign is -1 on a downward axis.
type tokens struct {
	names []string
	sign  float64
}

// Ticks implements plot.Ticker.
func (t tokens) Ticks(_, _ float64) (out []plot.Tick) {
	for i, name := range t.names {
		out = append(out, plot.Tick{Value: t.sign * float64(i), Label: name})
	}
	return out
}

// below is the line below the first rows.
type below struct{ rows int }

// Plot implements plot.Plotter.
func (b below) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	redLine(c, c.Min.X, c.Max.X, sharp(y(0.5-float64(b.rows))))
}

// redLine draws a level line, red on white.
func redLine(c draw.Canvas, left, right, y vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: color.White, Width: vg.Points(1.8)}, left, y, right, y)
	c.StrokeLine2(draw.LineStyle{Color: red, Width: vg.Points(1)}, left, y, right, y)
}
