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

// A matrix is drawn as a rectangle a cell. Rows go downwards, as they are written: the Y
// of row i is -i.
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

// Plot implements plot.Plotter: cells of one colour side by side are one rectangle, from
// the top down. All edges are sharp, so that no dot has a colour between two cells. Each
// reaches a bit under those that follow, as where edges only meet, a viewer may let the
// paper shine through.
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

// cellSide is the side of a square cell, so that so many are about as wide as a picture.
func cellSide(width vg.Length, across int) vg.Length {
	return max(sharp(width/vg.Length(across)), 2*dot)
}

// colours go from lo to hi, ever lighter, so that they can also be told apart in print
// and by everybody: the luminance of those between grows evenly (Moreland 2016).
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

// colourOf is the colour of a value, that of the nearest end beyond them; blank of none.
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

// eightBits rounds a colour's part to what all formats have.
func eightBits(x uint32) uint8 { return uint8((x + 128) / 257) }
