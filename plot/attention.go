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

	"github.com/arithlang/mlc/runtime/calibrate"
)

// attention draws the attention of every head that a calibration read, and the bias
// computed from it, for each calibration and site.
func attention(runs []*Run, _ Options) ([]*Figure, error) {
	var out []*Figure
	labels := map[string]int{} // how many runs have this label
	for _, r := range runs {
		labels[r.label()]++
		suffix := ""
		if len(runs) > 1 {
			suffix = "-" + inFileName(r.Name) + "-" + inFileName(strings.ReplaceAll(r.Seeds(), ",", ""))
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
		what := strings.TrimSuffix(c.Of, "s") // weight, logit
		f, err := s.figure("attention", s.Rows, s.Columns, s.Read, "attention "+what)
		if err != nil {
			return nil, err
		}
		f.title = []string{of, fmt.Sprintf("%s attention of stage %s, decoder layer %d, mean of %d problems", s.Name, c.From, c.Layer, c.Samples)}
		out = append(out, f)
		if s.Bias == nil {
			continue
		}
		if f, err = s.figure("bias", s.Extended[0], s.Extended[1], s.Bias, "bias (added to logits)"); err != nil {
			return nil, err
		}
		f.title = []string{of, fmt.Sprintf("bias of %s attention from stage %s", s.Name, c.Stage)}
		out = append(out, f)
	}
	return out, nil
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
)

// figure draws the matrices of all heads in one scale. Wide matrices are two in a row,
// square ones four, so that cells are square.
func (s *Site) figure(name string, rows, columns int, values []float32, label string) (*Figure, error) {
	lo, hi := 0.0, 0.0
	for _, x := range values {
		if v := float64(x); isOpen(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if hi == lo {
		hi = lo + 1
	}
	scale, err := colours(lo, hi)
	if err != nil {
		return nil, err
	}
	out := &Figure{Name: name + "-" + s.Name, bar: &bar{scale, numbers{5}, label}}
	across := 4
	if 2*columns > 3*rows {
		across = 2
	}
	side := min(cellSide(headsWidth/vg.Length(across)-headsAround, columns), sharp(largestHead))
	heads := len(s.Heads)
	for h := range heads {
		p := newAxes("", "")
		p.X.Tick.Marker, p.Y.Tick.Marker = cells{}, cells{down: true}
		if h%across == 0 {
			p.Y.Label.Text = "query i"
			out.panels = append(out.panels, nil)
		}
		if h+across >= heads {
			p.X.Label.Text = "key j"
		}
		p.Add(&matrix{rows: rows, columns: columns, colour: func(i, j int) color.Color {
			switch x := float64(values[(h*rows+i)*columns+j]); {
			case s.Name == "self" && j > i:
				return future
			case !isOpen(x):
				return closed
			default:
				return colourOf(scale, x)
			}
		}})
		if s.Counted < rows {
			p.Add(below{s.Counted})
		}
		p.Add(frame{})
		last := len(out.panels) - 1
		out.panels[last] = append(out.panels[last], &panel{
			Plot: p, width: side * vg.Length(columns), height: side * vg.Length(rows),
			title: fmt.Sprintf("head %d: %s", h, strings.ReplaceAll(kept(&s.Heads[h], columns-s.Columns), "-", "−")),
		})
	}
	if s.Counted < rows {
		out.foot = append(out.foot, entry{"rows above the line count", func(c draw.Canvas) { redLine(c, c.Min.X, c.Max.X, (c.Min.Y+c.Max.Y)/2) }})
	}
	if s.Name == "self" {
		out.foot = append(out.foot, entry{"j > i", swatch(future)})
	}
	if slices.ContainsFunc(values, func(x float32) bool { return !isOpen(float64(x)) }) {
		out.foot = append(out.foot, entry{"closed", swatch(closed)})
	}
	return out, nil
}

// isOpen reports whether a cell of attention or of a bias has a number that counts.
func isOpen(x float64) bool { return x > calibrate.Closed && !math.IsInf(x, 0) }

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

// manyLines is the largest number of lines that kept lists one by one.
const manyLines = 4

// kept lists the lines that a head keeps: i+j = 61, 123; j = 52. It numbers them as in a
// matrix that has wider columns more than the matrix that was read.
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
