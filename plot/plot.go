// Package plot draws what runs have left in their directories: the heat map of
// exact match over both lengths, exact match by length, curves of training, and
// what a looped model would have answered after each run of its loop. It comes
// after packages runtime/eval and runtime/track, which write those files; the mlc
// command is after it.
package plot

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
)

// A Run is what is known of a run directory.
type Run struct {
	Name    string `json:"name"`
	Seed    uint64 `json:"seed"`
	Reports []track.Report
	Result  *eval.Result // nil: not tested yet
}

// Load reads a run directory, with the result in a folder below eval; "" is what
// the spec asks for.
func Load(dir, folder string) (*Run, error) {
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		return nil, fmt.Errorf("%s is no run directory: %w", dir, err)
	}
	r := new(Run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "run.json"), err)
	}
	if r.Reports, err = track.All(dir); err != nil {
		return nil, err
	}
	r.Result, err = eval.Load(filepath.Join(dir, "eval", folder))
	return r, err
}

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
	c, err := draw.NewFormattedCanvas(f.width, f.height, format)
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

// single is a figure of one plot.
func single(name string, p *plot.Plot, width, height vg.Length) *Figure {
	return &Figure{name, width, height, p.Draw}
}

// Figures draws what there is to draw of some runs: a heat map for each spec, the
// mean over its seeds, and the curves of all of them together.
func Figures(runs []*Run) ([]*Figure, error) {
	var out []*Figure
	for _, name := range names(runs) {
		var results []*eval.Result
		for _, r := range runs {
			if r.Name == name && r.Result != nil {
				results = append(results, r.Result)
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
			f.Name += "-" + name
		}
		out = append(out, f)
	}
	for _, draw := range []func([]*Run) (*Figure, error){Lengths, Loss, Training} {
		f, err := draw(runs)
		if err != nil {
			return nil, err
		}
		if f != nil {
			out = append(out, f)
		}
	}
	return out, nil
}

// names lists the specs of some runs.
func names(runs []*Run) []string {
	var out []string
	for _, r := range runs {
		if !slices.Contains(out, r.Name) {
			out = append(out, r.Name)
		}
	}
	return out
}
