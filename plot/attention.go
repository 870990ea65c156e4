package plot

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/runtime/calibrate"
)

// attention draws, for each calibration and site, the attention of every head that was
// read and the bias that became of it.
func attention(runs []*Run) ([]*Figure, error) {
	var out []*Figure
	labels := map[string]int{} // how many runs are called the same
	for _, r := range runs {
		labels[r.label()]++
		suffix := ""
		if len(runs) > 1 {
			suffix = fmt.Sprintf("-%s-seed-%d", inFileName(r.Name), r.Seed)
		}
		if n := labels[r.label()]; n > 1 {
			suffix += fmt.Sprintf("-%d", n)
		}
		for _, c := range r.Calibrations {
			suffix := suffix
			if len(r.Calibrations) > 1 {
				suffix += "-" + inFileName(c.Stage)
			}
			figures, err := c.figures(r.label())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Name, err)
			}
			for _, f := range figures {
				f.Name += suffix
			}
			out = append(out, figures...)
		}
	}
	return out, nil
}

// figures draws a calibration: the attention (arXiv:2310.11984, figures 5 and 6) and
// the bias (figures 10 and 11) of each site.
func (c *Calibration) figures(of string) ([]*Figure, error) {
	var out []*Figure
	for i := range c.Sites {
		s := &c.Sites[i]
		f, err := s.attention(fmt.Sprintf("%s\n%s attention of %s, layer %d, %s, mean of %d problems; the rows above the line count",
			of, s.Name, c.From, c.Layer, c.Of, c.Samples))
		if err != nil {
			return nil, err
		}
		out = append(out, f)
		if s.Bias == nil {
			continue
		}
		if f, err = s.bias(fmt.Sprintf("%s\nbias of %s attention from %s; the rows above the line were read", of, s.Name, c.Stage)); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// The colours of cells that no weight is told by.
var (
	future      = color.Gray{0xe0} // what causality closes
	transparent = color.Black      // a head without any line, which stays open
)

// attention draws all heads in one scale.
func (s *Site) attention(title string) (*Figure, error) {
	lo, hi := 0.0, 0.0
	for _, x := range s.Read {
		if v := float64(x); !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	colours, err := colours()
	if err != nil {
		return nil, err
	}
	colours.SetMin(lo)
	colours.SetMax(max(hi, lo+1e-9))
	p := panels{site: s, rows: s.Rows, columns: s.Columns, values: s.Read, colours: colours.Palette(shades).Colors(), title: title, bar: colours}
	for range s.Heads {
		p.scales = append(p.scales, scale{colours.Min(), colours.Max(), future})
	}
	return p.figure("attention-" + s.Name)
}

// bias draws each head in a scale of its own, from closed cells to its strongest
// line.
func (s *Site) bias(title string) (*Figure, error) {
	colours, err := colours()
	if err != nil {
		return nil, err
	}
	m, n := s.Extended[0], s.Extended[1]
	p := panels{site: s, rows: m, columns: n, values: s.Bias, colours: colours.Palette(shades).Colors(), title: title}
	for h := range s.Heads {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, x := range s.Bias[h*m*n : (h+1)*m*n] {
			if x > calibrate.Closed {
				lo, hi = min(lo, float64(x)), max(hi, float64(x))
			}
		}
		lo = min(0, lo-1) // lighter than a closed cell, be it negative
		k := scale{lo, max(hi, lo+1), p.colours[0]}
		if s.Heads[h].Transparent {
			k = scale{1, 2, transparent} // than which all is less
		}
		p.scales = append(p.scales, k)
	}
	return p.figure("bias-" + s.Name)
}

// A scale goes from the first colour to the last; what is less has one of its own.
type scale struct {
	lo, hi float64
	less   color.Color
}

func (s scale) colour(x float64, colours []color.Color) color.Color {
	if !(x >= s.lo) {
		return s.less
	}
	return colours[int(float64(len(colours)-1)*(min(x, s.hi)-s.lo)/(s.hi-s.lo)+0.5)]
}

// panels are the matrices of all heads side by side.
type panels struct {
	site          *Site
	rows, columns int
	values        []float32 // [heads, rows, columns]
	scales        []scale   // of each head
	colours       []color.Color
	title         string
	bar           palette.ColorMap // nil: heads have scales of their own
}

// The sizes of panels.
const (
	shades       = 64
	panelsWidth  = 17 * vg.Centimeter
	titleHeight  = 1.1 * vg.Centimeter
	panelBorders = 1.1 * vg.Centimeter // above and below the cells
	smallText    = 7                   // points
)

// figure draws two panels side by side where they are wide, four where they are
// square, so that cells are about square.
func (p *panels) figure(name string) (*Figure, error) {
	heads := len(p.scales)
	across := 4
	if 2*p.columns > 3*p.rows {
		across = 2
	}
	across = min(across, heads)
	down := (heads + across - 1) / across
	plots := make([][]*plot.Plot, down)
	for h := range down * across {
		var panel *plot.Plot
		if h < heads {
			var err error
			if panel, err = p.panel(h); err != nil {
				return nil, err
			}
			if h%across == 0 {
				panel.Y.Label.Text = "row"
			}
			if h+across >= heads {
				panel.X.Label.Text = "token"
			}
		}
		plots[h/across] = append(plots[h/across], panel)
	}
	width := panelsWidth
	side := (width/vg.Length(across) - panelBorders) / vg.Length(p.columns)
	height := titleHeight + vg.Length(down)*(side*vg.Length(p.rows)+panelBorders) + panelBorders/2
	tiles := draw.Tiles{Rows: down, Cols: across, PadX: vg.Points(6), PadY: vg.Points(4), PadRight: vg.Points(8)}
	all := func(c draw.Canvas) {
		style := plots[0][0].Title.TextStyle
		style.Font.Size, style.XAlign, style.YAlign = vg.Points(9), draw.XLeft, draw.YTop
		c.FillText(style, vg.Point{X: c.Min.X + vg.Points(4), Y: c.Max.Y - vg.Points(3)}, p.title)
		c = draw.Crop(c, 0, 0, 0, -titleHeight)
		for j, row := range plot.Align(plots, tiles, c) {
			for i, canvas := range row {
				if plots[j][i] != nil {
					plots[j][i].Draw(canvas)
				}
			}
		}
	}
	if p.bar != nil {
		width += barWidth
		all = withBar(all, p.bar)
	}
	return &Figure{name, width, height, all}, nil
}

// panel is the matrix of a head, under the lines that it keeps.
func (p *panels) panel(h int) (*plot.Plot, error) {
	out := plot.New()
	out.Title.Text = fmt.Sprintf("head %d: %s", h, kept(&p.site.Heads[h], p.columns-p.site.Columns))
	out.Title.TextStyle.Font.Size, out.Title.Padding = vg.Points(smallText), vg.Points(2)
	for _, axis := range []*plot.Axis{&out.X, &out.Y} {
		axis.Label.TextStyle.Font.Size, axis.Tick.Label.Font.Size = vg.Points(smallText), vg.Points(smallText-1)
		axis.Tick.Length, axis.Padding = vg.Points(3), 0
	}
	out.X.Tick.Marker, out.Y.Tick.Marker = indices{1}, indices{-1}
	out.Add(&matrix{p.rows, p.columns, func(i, j int) color.Color {
		if p.site.Name == "self" && j > i {
			return future
		}
		return p.scales[h].colour(float64(p.values[(h*p.rows+i)*p.columns+j]), p.colours)
	}})
	if counted := p.site.Counted; counted < p.rows {
		y := 0.5 - float64(counted)
		l, err := plotter.NewLine(plotter.XYs{{X: -0.5, Y: y}, {X: float64(p.columns) - 0.5, Y: y}})
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = red, vg.Points(0.8)
		out.Add(l)
	}
	return out, nil
}

// manyLines are too many to be listed.
const manyLines = 4

// kept lists the lines of a head that are kept, i+j = 61, 123; j = 52, by their numbers
// in a matrix that is wider than the one that was read.
func kept(h *calibrate.Head, wider int) string {
	if h.Transparent {
		return "transparent"
	}
	var all []string
	for _, f := range h.Directions {
		var numbers []string
		shift := 0
		if f.Direction[1] <= 0 { // counted from the right end
			shift = f.Direction[0] * wider
		}
		for _, l := range f.Lines {
			if l.Kept {
				numbers = append(numbers, fmt.Sprint(l.Number+shift))
			}
		}
		switch n := len(numbers); {
		case n > manyLines:
			all = append(all, fmt.Sprintf("%s = %s … %s (%d)", f.Formula, numbers[0], numbers[n-1], n))
		case n > 0:
			all = append(all, f.Formula+" = "+strings.Join(numbers, ", "))
		}
	}
	return strings.Join(all, "; ")
}

// A matrix is that of a head as a plot.Plotter. Rows go downwards: the Y of row i is
// -i.
type matrix struct {
	rows, columns int
	colour        func(i, j int) color.Color
}

// DataRange implements plot.DataRanger.
func (m *matrix) DataRange() (xmin, xmax, ymin, ymax float64) {
	return -0.5, float64(m.columns) - 0.5, 0.5 - float64(m.rows), 0.5
}

// Plot implements plot.Plotter: cells of one colour side by side are one rectangle,
// from the top down. Each reaches a bit under those that follow, as where edges only
// meet, the paper shines through.
func (m *matrix) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	under := vg.Points(0.4)
	_, xmax, ymin, _ := m.DataRange()
	for i := range m.rows {
		for j := 0; j < m.columns; {
			colour, end := m.colour(i, j), j+1
			for end < m.columns && m.colour(i, end) == colour {
				end++
			}
			left, right := x(float64(j)-0.5), min(x(xmax), x(float64(end)-0.5)+under)
			top, bottom := y(0.5-float64(i)), max(y(ymin), y(-0.5-float64(i))-under)
			c.FillPolygon(colour, []vg.Point{{X: left, Y: top}, {X: right, Y: top}, {X: right, Y: bottom}, {X: left, Y: bottom}})
			j = end
		}
	}
}

// indices marks whole numbers from 0; those of a downward axis are negative.
type indices struct{ sign float64 }

// Ticks implements plot.Ticker.
func (x indices) Ticks(lo, hi float64) []plot.Tick { return whole(lo, hi, x.sign, 0) }
