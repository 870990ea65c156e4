// Package plot draws what runs have left in their directories: the heat map of
// exact match over both lengths, exact match by length, curves of training, the
// attention that a calibration has read and the bias that it has made of it, and
// what a looped model would have answered after each run of its loop. It comes
// after packages runtime/eval, runtime/track and runtime/calibrate, whose files and
// values those are; the mlc command is after it.
package plot

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/arithlang/mlc/runtime/eval"
)

// Formats are the names of the formats that figures are saved in, as file names
// end.
func Formats() []string { return []string{"png", "svg", "pdf"} }

// A Figure is a picture with a name that goes into a file's.
type Figure struct {
	Name          string
	width, height vg.Length
	draw          func(c draw.Canvas)
}

// Save writes a figure to a file, in the format that its name ends with.
func (f *Figure) Save(path string) error {
	format := strings.TrimPrefix(filepath.Ext(path), ".")
	if !slices.Contains(Formats(), format) {
		return fmt.Errorf("%s: figures are saved as %s", path, strings.Join(Formats(), ", "))
	}
	c, err := f.canvas(format)
	if err != nil {
		return err
	}
	f.draw(draw.New(c))
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = c.WriteTo(out)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

// dotsPerInch is the resolution of a PNG: cells of a matrix are small.
const dotsPerInch = 192

// canvas is what a figure of some format is drawn on.
func (f *Figure) canvas(format string) (vg.CanvasWriterTo, error) {
	if format == "png" {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dotsPerInch))}, nil
	}
	return draw.NewFormattedCanvas(f.width, f.height, format)
}

// single is a figure of one plot.
func single(name string, p *plot.Plot, width, height vg.Length) *Figure {
	return &Figure{name, width, height, p.Draw}
}

// kinds are the kinds of figures, in their order. Each draws what some runs have for
// it, together or one by one; nothing is no error.
var kinds = []struct {
	name string
	draw func([]*Run) ([]*Figure, error)
}{
	{"grid", grids},
	{"length", one(Lengths)},
	{"loss", one(Loss)},
	{"training", one(Learning)},
	{"attention", attention},
}

// one makes a list of a figure, which may be nil.
func one(draw func([]*Run) (*Figure, error)) func([]*Run) ([]*Figure, error) {
	return func(runs []*Run) ([]*Figure, error) {
		f, err := draw(runs)
		if f == nil {
			return nil, err
		}
		return []*Figure{f}, err
	}
}

// Kinds are the names of the kinds of figures.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Figures draws what there is of some runs: all of one kind, or of all kinds if that
// is "".
func Figures(runs []*Run, kind string) ([]*Figure, error) {
	var out []*Figure
	for _, k := range kinds {
		if kind != "" && kind != k.name {
			continue
		}
		figures, err := k.draw(runs)
		if err != nil {
			return nil, err
		}
		out = append(out, figures...)
	}
	return out, nil
}

// grids draws a heat map for each system, the mean over its seeds.
func grids(runs []*Run) ([]*Figure, error) {
	var out []*Figure
	for _, name := range names(runs) {
		var results []*eval.Result
		for _, r := range runs {
			if r.system() == name && r.Result != nil {
				named := *r.Result
				named.Name = name
				results = append(results, &named)
			}
		}
		f, err := Grid(results)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if f == nil {
			continue
		}
		if len(names(runs)) > 1 {
			f.Name += "-" + inFileName(name)
		}
		out = append(out, f)
	}
	return out, nil
}

// names lists the systems that some runs are of.
func names(runs []*Run) []string {
	var out []string
	for _, r := range runs {
		if name := r.system(); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// inFileName makes a name of a spec, or of one with a stage, one of a file.
func inFileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\: `, r) {
			return '-'
		}
		return r
	}, name)
}
