package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of text, in points.
const (
	titleSize = 9
	labelSize = 8
	smallSize = 7
)

// Colours, except those of scales and lines.
var (
	ink   = color.Gray{0x1a}
	grid  = color.Gray{0xdd}
	blank = color.Gray{0xe0}                               // cells without a value
	red   = color.RGBA{R: 0xd6, G: 0x1f, B: 0x1f, A: 0xff} // the longest lengths of training
)

// lineColours differ from each other and from red for the colour-blind too (Okabe and Ito).
var lineColours = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0x56, 0xb4, 0xe9, 0xff}, {0x8c, 0x56, 0x4b, 0xff}, {0x33, 0x33, 0x33, 0xff},
}

// letters is the style of text with its origin at the left end of its baseline.
func letters(size float64) text.Style {
	return text.Style{
		Color:   ink,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)},
		XAlign:  draw.XLeft,
		YAlign:  draw.YBottom,
		Handler: plot.DefaultTextHandler,
	}
}

// thin is the style of axes and frames.
var thin = draw.LineStyle{Color: ink, Width: vg.Points(0.5)}

// newAxes returns an empty plot whose axes touch the data. The caller adds a frame.
func newAxes(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil // the figure draws the background
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Label.Padding = letters(labelSize).Font, 0 // the padding of ticks is enough
		axis.Tick.Label.Font, axis.Tick.Label.Color = letters(smallSize).Font, ink
		axis.Tick.LineStyle, axis.LineStyle.Width = thin, 0 // the frame draws the line
		axis.Tick.Length, axis.Padding = vg.Points(3), 0
	}
	return p
}

// A dot is a pixel of a PNG. Sharp edges lie at whole dots, in every format.
const (
	dotsPerInch = 192
	dot         = vg.Inch / dotsPerInch
)

// sharp rounds x to the nearest whole dot.
func sharp(x vg.Length) vg.Length { return vg.Length(math.Round(float64(x/dot))) * dot }

// roomy rounds x up to a whole dot.
func roomy(x vg.Length) vg.Length { return vg.Length(math.Ceil(float64(x/dot)-1e-6)) * dot }

// box fills a rectangle.
func box(c draw.Canvas, fill color.Color, r vg.Rectangle) {
	c.FillPolygon(fill, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}

// outline draws the edges of a rectangle.
func outline(c draw.Canvas, style draw.LineStyle, r vg.Rectangle) {
	c.SetLineStyle(style)
	c.Stroke(r.Path())
}

// frame outlines the data.
type frame struct{}

// Plot implements plot.Plotter.
func (frame) Plot(c draw.Canvas, _ *plot.Plot) { outline(c, thin, c.Rectangle) }
