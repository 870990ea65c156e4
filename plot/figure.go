package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/arithlang/mlc/runtime/ckpt"
)

// Formats returns the formats that figures are saved in, as extensions of file names.
func Formats() []string { return []string{"png", "svg", "pdf"} }

// A Figure is a picture. Name goes into the name of its file. From the top down a figure
// has a title, panels with the data, and an explanation of colours. To the right of the
// panels is the bar of their colours or a legend.
type Figure struct {
	Name   string
	title  []string
	panels [][]*panel // rows of panels; all have one size
	bar    *bar
	legend []entry // of lines
	foot   []entry // of cells
}

// A panel is a plot with a title, whose data has a given size.
type panel struct {
	*plot.Plot
	title         string
	width, height vg.Length // size of the data, in whole dots
	bar           *bar      // of the panel's own colours; nil: none
}

// An entry explains one line or colour of the data.
type entry struct {
	what string
	icon func(c draw.Canvas) // draws into a canvas as high as a capital letter
}

// Distances in a figure.
const (
	margin     = 4 * dot
	gap        = 2 * vg.Millimeter
	iconWidth  = 6 * vg.Millimeter
	iconHeight = 1.8 * vg.Millimeter
)

// insets are the widths that axes, names and titles need on each side of a panel's data.
type insets struct{ left, right, top, bottom vg.Length }

// axes returns the plot without the names of its axes, and the insets of the rest. A number at the
// end of an axis reaches beyond the axis, by a width that depends on the insets. So axes iterates.
func (p *panel) axes() (*plot.Plot, insets) {
	bare := *p.Plot
	bare.X.Label.Text, bare.Y.Label.Text = "", ""
	var in insets
	for range 4 {
		c := draw.Canvas{Rectangle: vg.Rectangle{Max: vg.Point{X: p.width + in.left + in.right, Y: p.height + in.top + in.bottom}}}
		data := bare.DataCanvas(c)
		in = insets{data.Min.X, c.Max.X - data.Max.X, c.Max.Y - data.Max.Y, data.Min.Y}
	}
	return &bare, in
}

// insets returns the insets of everything except the title. A name at the left that is
// longer than the data reaches beyond it upwards, where there is no other name.
func (p *panel) insets() insets {
	_, axes := p.axes()
	in, style := axes, letters(labelSize)
	if name := p.X.Label.Text; name != "" {
		beyond := (style.Width(name) - p.width) / 2
		in.left, in.right, in.bottom = max(in.left, beyond), max(in.right, beyond), in.bottom+lineHeight(style)
	}
	if name := p.Y.Label.Text; name != "" {
		beyond := style.Width(name) - p.height
		in.top, in.left = max(in.top, beyond/2, beyond-axes.bottom), in.left+lineHeight(style)
	}
	if p.bar != nil {
		in.right = max(in.right, gap+p.bar.width())
	}
	return in
}

// titled breaks the panel's title into lines. A line is wider than the panel only where it
// has no space to break at.
func (p *panel) titled() []string {
	style := letters(smallSize)
	var lines []string
	for _, word := range strings.SplitAfter(p.title, " ") {
		if word == "" {
			continue
		}
		n := len(lines) - 1
		if n >= 0 && style.Width(strings.TrimSpace(lines[n]+word)) <= p.width {
			lines[n] += word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// lineHeight is the distance between lines of text.
func lineHeight(s text.Style) vg.Length { return 1.25 * s.Font.Size }

// A layout places the parts of a figure, measured from its lower left corner.
type layout struct {
	width, height vg.Length
	data          [][]vg.Rectangle // of the panels
	around        insets           // of each panel
	right         vg.Length        // where the bar or the legend begins
	foot          [][]entry        // by line
}

// layout places the parts. The data of panels begins and ends at whole dots.
func (f *Figure) layout() layout {
	var l layout
	for _, row := range f.panels {
		for _, p := range row {
			in := p.insets()
			in.top += vg.Length(len(p.titled())) * lineHeight(letters(smallSize))
			l.around = insets{max(l.around.left, in.left), max(l.around.right, in.right), max(l.around.top, in.top), max(l.around.bottom, in.bottom)}
		}
	}
	first := f.panels[0][0]
	title, small := letters(titleSize), letters(smallSize)
	across := roomy(l.around.left + first.width + l.around.right + gap)
	down := roomy(l.around.top + first.height + l.around.bottom + gap/2)
	l.right = margin + vg.Length(len(f.panels[0]))*across
	for _, line := range f.title {
		l.width = max(l.width, 2*margin+title.Width(line))
	}
	l.width = roomy(max(l.width, l.right+f.sideWidth()+margin))
	l.foot = f.footLines(l.width - 2*margin)
	foot := vg.Length(len(l.foot)) * 1.5 * lineHeight(small)
	above := margin + vg.Length(len(f.title))*lineHeight(title)
	if len(f.title) > 0 {
		above += gap
	}
	panels := vg.Length(len(f.panels)) * down
	l.height = roomy(above + max(panels, l.around.top+f.sideHeight()+gap) + foot + margin)
	for i, row := range f.panels {
		l.data = append(l.data, nil)
		for j, p := range row {
			min := vg.Point{
				X: sharp(margin + vg.Length(j)*across + l.around.left),
				Y: sharp(l.height - above - vg.Length(i)*down - l.around.top - p.height),
			}
			l.data[i] = append(l.data[i], vg.Rectangle{Min: min, Max: min.Add(vg.Point{X: p.width, Y: p.height})})
		}
	}
	return l
}

// sideWidth is the width of the bar or of the legend.
func (f *Figure) sideWidth() (w vg.Length) {
	if f.bar != nil {
		w = f.bar.width()
	}
	for _, e := range f.legend {
		w = max(w, iconWidth+gap+letters(labelSize).Width(e.what))
	}
	return w
}

// sideHeight is the height of the bar or of the legend.
func (f *Figure) sideHeight() vg.Length {
	if f.bar != nil {
		return max(f.panels[0][0].height, sharp(leastBar))
	}
	return vg.Length(len(f.legend)) * lineHeight(letters(labelSize))
}

// footLines breaks the entries below the panels into lines of at most the given width.
func (f *Figure) footLines(width vg.Length) (lines [][]entry) {
	at := width
	for _, e := range f.foot {
		w := e.width()
		if at+w > width {
			lines, at = append(lines, nil), 0
		}
		last := len(lines) - 1
		lines[last] = append(lines[last], e)
		at += w
	}
	return lines
}

// width is the width of an entry below the panels, with the space before the next entry.
func (e entry) width() vg.Length {
	return iconHeight + gap/2 + letters(smallSize).Width(e.what) + 2*gap
}

func (f *Figure) draw(c draw.Canvas, l layout) {
	box(c, color.White, c.Rectangle)
	style := letters(titleSize)
	y := l.height - margin
	for _, line := range f.title {
		y -= lineHeight(style)
		c.FillText(style, vg.Point{X: margin, Y: y}, line)
	}
	for i, row := range f.panels {
		for j, p := range row {
			p.draw(c, l.data[i][j])
		}
	}
	top := l.data[0][0].Max.Y
	if f.bar != nil {
		f.bar.draw(c, vg.Rectangle{Min: vg.Point{X: l.right, Y: top - f.sideHeight()}, Max: vg.Point{X: l.right + barWidth, Y: top}})
	}
	style = letters(labelSize)
	y = top
	for _, e := range f.legend {
		y -= lineHeight(style)
		e.icon(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: l.right, Y: y}, Max: vg.Point{X: l.right + iconWidth, Y: y + 0.7*style.Font.Size}}})
		c.FillText(style, vg.Point{X: l.right + iconWidth + gap, Y: y}, e.what)
	}
	style = letters(smallSize)
	for i, line := range l.foot {
		x, y := vg.Length(margin), margin+vg.Length(len(l.foot)-1-i)*1.5*lineHeight(style)
		for _, e := range line {
			e.icon(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: sharp(x), Y: sharp(y)}, Max: vg.Point{X: sharp(x + iconHeight), Y: sharp(y + iconHeight)}}})
			c.FillText(style, vg.Point{X: x + iconHeight + gap/2, Y: y}, e.what)
			x += e.width()
		}
	}
}

// draw draws a panel around its data.
func (p *panel) draw(c draw.Canvas, data vg.Rectangle) {
	axes, in := p.axes()
	axes.Draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: data.Min.X - in.left, Y: data.Min.Y - in.bottom},
		Max: vg.Point{X: data.Max.X + in.right, Y: data.Max.Y + in.top},
	}})
	name, middle := letters(labelSize), data.Min.Add(data.Size().Scale(0.5))
	name.XAlign, name.YAlign = draw.XCenter, draw.YTop
	c.FillText(name, vg.Point{X: middle.X, Y: data.Min.Y - in.bottom}, p.X.Label.Text)
	name.Rotation, name.YAlign = math.Pi/2, draw.YBottom
	half := name.Width(p.Y.Label.Text) / 2
	c.FillText(name, vg.Point{X: data.Min.X - in.left - gap/2, Y: max(middle.Y, data.Min.Y-in.bottom+half)}, p.Y.Label.Text)
	if p.bar != nil {
		p.bar.draw(c, vg.Rectangle{Min: vg.Point{X: data.Max.X + gap, Y: data.Min.Y}, Max: vg.Point{X: data.Max.X + gap + barWidth, Y: data.Max.Y}})
	}
	title, y := letters(smallSize), data.Max.Y+in.top+gap/2
	lines := p.titled()
	for i, line := range lines {
		c.FillText(title, vg.Point{X: data.Min.X, Y: y + vg.Length(len(lines)-1-i)*lineHeight(title)}, line)
	}
}

// swatch returns an icon filled with one colour.
func swatch(fill color.Color) func(draw.Canvas) {
	return func(c draw.Canvas) {
		box(c, fill, c.Rectangle)
		outline(c, thin, c.Rectangle)
	}
}

// Save writes the figure to a file, in the format that the extension of path names. It
// returns an error if the format is not one of Formats.
func (f *Figure) Save(path string) error {
	format := strings.TrimPrefix(filepath.Ext(path), ".")
	if !slices.Contains(Formats(), format) {
		return fmt.Errorf("%s: figures are saved as %s", path, strings.Join(Formats(), ", "))
	}
	l := f.layout()
	c := l.canvas(format)
	f.draw(draw.NewCanvas(c, l.width, l.height), l)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	text := b.Bytes()
	if format == "svg" { // the SVG has no font in it, and not every machine has this one
		text = bytes.ReplaceAll(text, []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif;"))
	}
	return ckpt.WriteFile(path, text)
}

// canvas returns an empty canvas for a format.
func (l *layout) canvas(format string) vg.CanvasWriterTo {
	switch format {
	case "svg":
		return vgsvg.New(l.width, l.height)
	case "pdf":
		return codePage{vgpdf.New(l.width, l.height)}
	}
	return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(l.width, l.height), vgimg.UseDPI(dotsPerInch))}
}

// codePage is a PDF canvas. A PDF wants text in code page 1252, not in UTF-8.
type codePage struct{ *vgpdf.Canvas }

// FillString implements vg.Canvas.
func (c codePage) FillString(f font.Face, at vg.Point, text string) {
	c.Canvas.FillString(f, at, inCodePage(text))
}

// SetColor implements vg.Canvas.
func (c codePage) SetColor(colour color.Color) { c.Canvas.SetColor(apart{colour}) }

// apart is a colour whose parts are not multiplied by its alpha, as PDF wants them.
type apart struct{ color.Color }

// RGBA implements color.Color.
func (a apart) RGBA() (r, g, b, alpha uint32) {
	n := color.NRGBA64Model.Convert(a.Color).(color.NRGBA64)
	return uint32(n.R), uint32(n.G), uint32(n.B), uint32(n.A)
}

// inCodePage encodes a text in code page 1252. Characters that it lacks become question
// marks, or a similar sign where it has one.
func inCodePage(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80 || r >= 0xa0 && r <= 0xff:
			b.WriteByte(byte(r))
		case r == '−' || r == '–':
			b.WriteByte(0x96)
		case r == '…':
			b.WriteByte(0x85)
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
}
