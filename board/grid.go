package board

import (
	"image"
	"image/color"
	"image/draw"

	"github.com/arithlang/mlc/runtime/eval"
)

// A grid is the exact match of pairs of lengths: the first operand from left to right, the
// second from bottom to top, as in the paper's figures.
type grid struct {
	cells         []eval.Cell
	width, height int     // the longest lengths
	trained       *[2]int // corner of the lengths of training
}

// gridOf returns the grid of a result, or nil if all its cells have operands of equal length.
func gridOf(r *eval.Result) *grid {
	g := grid{trained: r.Trained}
	pairs := false
	for _, c := range r.ByCell {
		if c.J > 0 {
			g.cells = append(g.cells, c)
			g.width, g.height = max(g.width, c.I), max(g.height, c.J)
			pairs = pairs || c.I != c.J
		}
	}
	if !pairs {
		return nil
	}
	return &g
}

// The colours, and the least width of a picture in pixels.
var (
	untested = color.RGBA{0xee, 0xee, 0xee, 0xff}
	border   = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
)

const wide = 240

// shade maps 0 to black and 1 to light yellow, over blue. Brighter is more, so the scale also
// works without colour vision.
func shade(x float64) color.RGBA {
	stops := []color.RGBA{{0x10, 0x10, 0x28, 0xff}, {0x2b, 0x4c, 0x8c, 0xff}, {0x2f, 0x9e, 0x9e, 0xff}, {0xf6, 0xf2, 0xb8, 0xff}}
	at := max(0, min(x, 1)) * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	mix := func(a, b uint8) uint8 { return uint8(float64(a) + (float64(b)-float64(a))*(at-float64(i)) + 0.5) }
	a, b := stops[i], stops[i+1]
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// draw draws the grid, with a line around the lengths of training.
func (g *grid) draw() *image.RGBA {
	side := max(1, (wide+g.width-1)/g.width)
	width, height := side*g.width, side*g.height
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	fill := func(at image.Rectangle, c color.Color) {
		draw.Draw(img, at, image.NewUniform(c), image.Point{}, draw.Src)
	}
	fill(img.Bounds(), untested)
	for _, c := range g.cells {
		left, top := side*(c.I-1), side*(g.height-c.J)
		fill(image.Rect(left, top, left+side, top+side), shade(c.Fraction()))
	}
	if t := g.trained; t != nil && t[0] > 0 && t[1] > 0 {
		right, top := side*min(t[0], g.width), height-side*min(t[1], g.height)
		fill(image.Rect(0, top, right, top+1), border)
		fill(image.Rect(right-1, top, right, height), border)
	}
	return img
}
