package plot

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A bar says which value a colour is.
type bar struct {
	palette.ColorMap
	marker plot.Ticker
	label  string // with its unit
}

// Sizes of a bar.
const (
	barWidth   = 3.2 * vg.Millimeter
	leastBar   = 3 * vg.Centimeter // high; else it is as high as a panel
	barColours = 128
	tickLength = 3 // points
)

// ticks are those of its numbers.
func (b *bar) ticks() []plot.Tick { return b.marker.Ticks(b.Min(), b.Max()) }

// numbersWidth is how wide the ticks and their numbers are.
func (b *bar) numbersWidth() (w vg.Length) {
	for _, t := range b.ticks() {
		w = max(w, letters(smallSize).Width(t.Label))
	}
	return vg.Points(tickLength) + gap/2 + w
}

// width is that of the bar, its numbers and its label.
func (b *bar) width() vg.Length {
	return barWidth + b.numbersWidth() + gap/2 + lineHeight(letters(labelSize))
}

// draw draws a bar, its numbers and its label to the right of it.
func (b *bar) draw(c draw.Canvas, r vg.Rectangle) {
	r.Min.X, r.Max.X = sharp(r.Min.X), sharp(r.Max.X)
	height := r.Max.Y - r.Min.Y
	for i := range barColours {
		part := vg.Rectangle{Min: r.Min, Max: r.Max}
		part.Min.Y = sharp(r.Min.Y + height*vg.Length(i)/barColours) // up to the top: the next lie over it
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
