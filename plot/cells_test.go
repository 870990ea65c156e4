package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/arithlang/mlc/runtime/calibrate"
)

// picture saves a figure as a PNG and decodes it.
func picture(t *testing.T, f *Figure) image.Image {
	t.Helper()
	file, err := os.Open(saved(t, f, "png"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	img, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// saved returns a figure as the bytes of a file.
func saved(t *testing.T, f *Figure, format string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "figure."+format)
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// A filled is a rectangle of an SVG, in points from its lower left corner.
type filled struct {
	vg.Rectangle
	colour string
}

// rectangles returns the rectangles of an SVG in drawing order. It fails the test if the
// SVG has an image.
func rectangles(t *testing.T, f *Figure) (all []filled) {
	t.Helper()
	file, err := os.Open(saved(t, f, "svg"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for d := xml.NewDecoder(file); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if e.Name.Local == "image" {
			t.Error("there is an image in the SVG")
		}
		at := map[string]string{}
		for _, a := range e.Attr {
			at[a.Name.Local] = a.Value
		}
		colour, isFill := strings.CutPrefix(at["style"], "fill:#")
		if at["style"] == "" { // the default style
			colour, isFill = "000000", true
		}
		var r vg.Rectangle
		var p [4]vg.Length
		n, _ := fmt.Sscanf(at["d"], "M%g,%gL%g,%gL%g,%gL%g,%gZ", &r.Min.X, &r.Min.Y, &p[0], &p[1], &r.Max.X, &r.Max.Y, &p[2], &p[3])
		if e.Name.Local == "path" && isFill && n == 8 {
			all = append(all, filled{r, strings.ToLower(colour)})
		}
	}
}

// A drawing is a figure in two formats.
type drawing struct {
	*Figure
	img   image.Image
	boxes []filled
}

func drawn(t *testing.T, f *Figure) drawing {
	t.Helper()
	return drawing{f, picture(t, f), rectangles(t, f)}
}

// check compares the cells of a panel with their colours. In a PNG it tests every dot along
// the middle of each row, in an SVG the last rectangle drawn over the middle of the cell.
func (d drawing) check(t *testing.T, row, column, rows, columns int, want func(i, j int) color.Color) {
	t.Helper()
	data := d.layout().data[row][column]
	size := data.Size()
	dots := func(x vg.Length) int { return int(math.Round(float64(x / dot))) }
	for i := range rows {
		y := data.Max.Y - size.Y*vg.Length(i*2+1)/vg.Length(2*rows)
		for x := dots(data.Min.X) + 3; x < dots(data.Max.X)-3; x++ {
			j := (x - dots(data.Min.X)) * columns / dots(size.X)
			if got, want := color.RGBAModel.Convert(d.img.At(x, d.img.Bounds().Dy()-dots(y))), color.RGBAModel.Convert(want(i, j)); got != want {
				t.Fatalf("%s: dot %d of row %d, cell %d, is %v in the PNG, want %v", d.Name, x, i, j, got, want)
			}
		}
		for j := range columns {
			x, got := data.Min.X+size.X*vg.Length(j*2+1)/vg.Length(2*columns), ""
			for _, b := range d.boxes {
				if b.Min.X <= x && x <= b.Max.X && b.Min.Y <= y && y <= b.Max.Y {
					got = b.colour
				}
			}
			r, g, b, _ := want(i, j).RGBA()
			if want := fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8); got != want {
				t.Fatalf("%s: cell %d, %d is %q in the SVG, want %q", d.Name, i, j, got, want)
			}
		}
	}
}

// TestGridCells wants each cell of a grid in the colour of its measurement, and no other
// colours between cells.
func TestGridCells(t *testing.T) {
	right := func(i, j int) int { return (i*i + 3*j) % 11 }
	run := load(t, runDir(t, "a", 1, right))[0]
	run.Result.ByCell, run.Result.Trained = run.Result.ByCell[1:], nil // without 1, 1
	f, err := Grid([]*Run{run})
	if err != nil {
		t.Fatal(err)
	}
	scale, err := colours(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	drawn(t, f).check(t, 0, 0, 12, 10, func(i, j int) color.Color {
		if i == 0 && j == 0 {
			return blank
		}
		return colourOf(scale, 10*float64(right(i+1, j+1)))
	})
	for x, want := range map[float64]color.RGBA{0: {0x44, 0x01, 0x54, 0xff}, 100: {0xfd, 0xe7, 0x25, 0xff}} {
		if got := colourOf(scale, x); got != want {
			t.Errorf("%g %% is %v, want %v", x, got, want)
		}
	}
}

// TestTrainedSquare looks for the red line around the lengths of training.
func TestTrainedSquare(t *testing.T) {
	f, err := Grid(load(t, runDir(t, "a", 1, func(i, j int) int { return 10 })))
	if err != nil {
		t.Fatal(err)
	}
	img, data := picture(t, f), f.layout().data[0][0]
	for _, at := range []vg.Point{{X: 0.4, Y: 0.1}, {X: 0, Y: 0.1}, {X: 0.1, Y: 4. / 12}, {X: 0.1, Y: 0}} { // shares of 10 columns and 12 rows
		x, y := int((data.Min.X+at.X*data.Size().X)/dot), img.Bounds().Dy()-int((data.Max.Y-at.Y*data.Size().Y)/dot)
		found := false
		for d := -2; d <= 2; d++ {
			found = found || color.RGBAModel.Convert(img.At(x+d, y)) == red || color.RGBAModel.Convert(img.At(x, y+d)) == red
		}
		if !found {
			t.Errorf("the line is not at %v", at)
		}
	}
}

// TestHeadCells wants the cells of attention and bias in their colours: closed cells and
// transparent biases black, future cells grey. Attention has one scale for all heads, and the
// bias of each head has its own.
func TestHeadCells(t *testing.T) {
	run := load(t, pipelineDir(t))[0]
	figures, err := Figures([]*Run{run}, "attention", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n, f := range figures {
		s := &run.Calibrations[0].Sites[n/2]
		rows, columns, values := s.Rows, s.Columns, s.Read
		if n%2 == 1 {
			rows, columns, values = s.Extended[0], s.Extended[1], s.Bias
		}
		isBias := n%2 == 1
		if isBias == (f.bar != nil) {
			t.Errorf("%s: the figure has a bar: %t", f.Name, f.bar != nil)
		}
		d := drawn(t, f)
		for h := range s.Heads {
			of := values
			if isBias {
				of = values[h*rows*columns:][:rows*columns]
			}
			hi := float64(slices.Max(of))
			if hi == 0 && !s.Heads[h].Transparent {
				t.Errorf("%s: head %d has no line", f.Name, h)
			}
			scale, err := colours(0, hi)
			if err != nil {
				t.Fatal(err)
			}
			d.check(t, h/len(f.panels[0]), h%len(f.panels[0]), rows, columns, func(i, j int) color.Color {
				switch x := float64(values[(h*rows+i)*columns+j]); {
				case s.Name == "self" && j > i:
					return future
				case x == calibrate.Closed, isBias && s.Heads[h].Transparent:
					return closed
				default:
					return colourOf(scale, x)
				}
			})
		}
	}
}

// TestInside wants every text and every panel inside its figure, and no panel over another
// or over the bar, with long words and little data.
func TestInside(t *testing.T) {
	long := strings.Repeat("abcdefgh-", 12)
	runs := load(t, runDir(t, "a", 1, func(i, j int) int { return 5 }), runDir(t, long, 2, func(i, j int) int { return 3 }), pipelineDir(t))
	figures, err := Figures(runs, "", Options{Each: true})
	if err != nil {
		t.Fatal(err)
	}
	figures = append(figures, Thinking(thought("1+2", "3", "3")), Thinking(thought("1+2", strings.Repeat("3", 200), strings.Repeat("4", 200))))
	for _, f := range figures {
		l := f.layout()
		page := vg.Rectangle{Max: vg.Point{X: l.width, Y: l.height}}
		inside := func(what string, r vg.Rectangle) {
			if r.Min.X < 0 || r.Min.Y < 0 || r.Max.X > page.Max.X || r.Max.Y > page.Max.Y {
				t.Errorf("%s: %s is cut: %v of %v", f.Name, what, r, page)
			}
		}
		var all []vg.Rectangle
		for i, row := range f.panels {
			for j, p := range row {
				in, data := p.insets(), l.data[i][j]
				in.top += vg.Length(len(p.titled())) * lineHeight(letters(smallSize))
				all = append(all, vg.Rectangle{Min: vg.Point{X: data.Min.X - in.left, Y: data.Min.Y - in.bottom}, Max: vg.Point{X: data.Max.X + in.right, Y: data.Max.Y + in.top}})
			}
		}
		if w := f.sideWidth(); w > 0 {
			top := l.data[0][0].Max.Y
			all = append(all, vg.Rectangle{Min: vg.Point{X: l.right, Y: top - f.sideHeight()}, Max: vg.Point{X: l.right + w, Y: top}})
		}
		for i, a := range all {
			inside(fmt.Sprint("part ", i), a)
			for j, b := range all[:i] {
				if a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y {
					t.Errorf("%s: part %d lies over part %d: %v, %v", f.Name, i, j, a, b)
				}
			}
		}
		for _, line := range f.title {
			inside(line, vg.Rectangle{Min: vg.Point{X: margin}, Max: vg.Point{X: margin + letters(titleSize).Width(line)}})
		}
	}
}

// TestCodePage encodes the signs of figures for the font of a PDF.
func TestCodePage(t *testing.T) {
	if got, want := inCodePage("a ± −1 … é 字"), "a \xb1 \x961 \x85 \xe9 ?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
