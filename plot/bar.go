package plot

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A bar shows which value each colour stands for.
type bar struct {
	palette.ColorMap
	marker plot.Ticker
	label  string // with its unit; "": none
}

// Sizes of a bar.
const (
	barWidth   = 3.2 * vg.Millimeter
	leastBar   = 3 * vg.Centimeter // smallest height
	barColours = 128
	tickLength = 3 // points
)

// ticks returns the ticks of the bar's numbers.
func (b *bar) ticks() []plot.Tick { return b.marker.Ticks(b.Min(), b.Max()) }

// numbersWidth is the width of the ticks and their numbers.
func (b *bar) numbersWidth() (w vg.Length) {
	for _, t := range b.ticks() {
		w = max(w, letters(smallSize).Width(t.Label))
	}
	return vg.Points(tickLength) + gap/2 + w
}

// width is the width of the bar, its numbers and its label together.
func (b *bar) width() vg.Length {
	w := barWidth + b.numbersWidth()
	if b.label != "" {
		w += gap/2 + lineHeight(letters(labelSize))
	}
	return w
}

// draw draws the bar in r, with its numbers and its label to the right.
func (b *bar) draw(c draw.Canvas, r vg.Rectangle) {
	r.Min.X, r.Max.X = sharp(r.Min.X), sharp(r.Max.X)
	height := r.Max.Y - r.Min.Y
	for i := range barColours {
		part := vg.Rectangle{Min: r.Min, Max: r.Max}
		part.Min.Y = sharp(r.Min.Y + height*vg.Length(i)/barColours) // each part reaches to the top, and the next covers it
		box(c, colourOf(b, b.Min()+(b.Max()-b.Min())*(float64(i)+0.5)/barColours), part)
	}
	outline(c, thin, r)
	style := letters(smallSize)
	style.YAlign = draw.YCenter
	for _, t := range b.ticks() {
		y := r.Min.Y + height*vg.Length((t.Value-b.Min())/(b.Max()-b.Min()))
		end := r.Max.X + vg.Points(tickLength)
		c.StrokeLine2(thin, r.Max.X, y, end, y)
		c.FillText(style, vg.Point{X: end + gap/2, Y: y + style.FontExtents().Descent}, t.Label)
	}
	style = letters(labelSize)
	style.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XCenter, draw.YTop
	c.FillText(style, vg.Point{X: r.Max.X + b.numbersWidth() + gap/2, Y: (r.Min.Y + r.Max.Y) / 2}, b.label)
}
