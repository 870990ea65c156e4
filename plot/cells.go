package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/runtime/eval"
)

// A matrix is drawn as one rectangle a cell. Rows go downwards, as in writing: row i is at Y = -i.
type matrix struct {
	eval.Pair     // the numbers of the first row and column
	rows, columns int
	colour        func(i, j int) color.Color // from 0
}

// DataRange implements plot.DataRanger.
func (m *matrix) DataRange() (xmin, xmax, ymin, ymax float64) {
	left, top := float64(m.J)-0.5, 0.5-float64(m.I)
	return left, left + float64(m.columns), top - float64(m.rows), top
}

// Plot implements plot.Plotter. Adjacent cells of one colour in a row become one rectangle,
// and rows are drawn from the top down. All edges are at whole dots, so no dot blends two
// cells. Each rectangle reaches one dot under the next: a viewer may let the paper shine
// through where edges only meet.
func (m *matrix) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	left, _, _, top := m.DataRange()
	column := func(j int) vg.Length { return sharp(x(left + float64(j))) }
	row := func(i int) vg.Length { return sharp(y(top - float64(i))) }
	for i := range m.rows {
		for j := 0; j < m.columns; {
			colour, end := m.colour(i, j), j+1
			for end < m.columns && m.colour(i, end) == colour {
				end++
			}
			r := vg.Rectangle{Min: vg.Point{X: column(j), Y: row(i + 1)}, Max: vg.Point{X: column(end), Y: row(i)}}
			if end < m.columns {
				r.Max.X += dot
			}
			if i < m.rows-1 {
				r.Min.Y -= dot
			}
			box(c, colour, r)
			j = end
		}
	}
}

// cellSide is the side of a square cell, chosen so that across cells are about width wide.
func cellSide(width vg.Length, across int) vg.Length {
	return max(sharp(width/vg.Length(across)), 2*dot)
}

// colours returns a colour map from lo to hi. Luminance grows evenly with the value
// (Moreland 2016), so the colours differ in print and for the colour-blind.
func colours(lo, hi float64) (palette.ColorMap, error) {
	m, err := moreland.NewLuminance([]color.Color{
		color.RGBA{0x44, 0x01, 0x54, 0xff}, color.RGBA{0x3b, 0x52, 0x8b, 0xff}, color.RGBA{0x21, 0x91, 0x8c, 0xff},
		color.RGBA{0x5e, 0xc9, 0x62, 0xff}, color.RGBA{0xfd, 0xe7, 0x25, 0xff},
	})
	if err != nil {
		return nil, err
	}
	m.SetMin(lo)
	m.SetMax(max(hi, lo+1e-9))
	return m, nil
}

// colourOf is the colour of x in m. Values beyond the ends of m have the colour of the end,
// and NaN is blank.
func colourOf(m palette.ColorMap, x float64) color.Color {
	if math.IsNaN(x) {
		return blank
	}
	c, err := m.At(min(max(x, m.Min()), m.Max()))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	r, g, b, _ := c.RGBA()
	return color.RGBA{eightBits(r), eightBits(g), eightBits(b), 0xff}
}

// eightBits rounds a part of a colour to 8 bits, which all formats can store.
func eightBits(x uint32) uint8 { return uint8((x + 128) / 257) }
