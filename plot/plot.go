// Package plot draws the contents of run directories. Exact match is a heat map over both lengths,
// a line by length, or a bar for the mean over seeds. A training has curves, and a calibration the
// attention that it read and the bias computed from it. One problem has the attention of each head,
// and the answer of a looped model after each run of its loop. Packages runtime/eval, runtime/track and
// runtime/calibrate, which define these files, come before it; the mlc command comes after.
package plot

import (
	"fmt"
	"slices"
	"strings"
)

// Options say how curves are drawn.
type Options struct {
	Each     bool // a line for each run, instead of the mean of runs that differ only in the seed
	LogSteps bool // training curves over steps, on a logarithmic axis
	Group    int  // of bars: the word by which they are grouped, from 1 on; 0: the first

	// Ask returns the attention of a run's model for one problem, which is drawn instead of
	// calibrations; nil: calibrations are drawn.
	Ask func(*Run) (*Asked, error)
}

// kinds lists the kinds of figures in their order. draw returns no figures, and no error,
// if the runs lack the data.
var kinds = []struct {
	name string
	draw func([]*Run, Options) ([]*Figure, error)
}{
	{"grid", grids},
	{"length", one(Lengths)},
	{"bars", one(Bars)},
	{"loss", one(Loss)},
	{"training", one(Learning)},
	{"attention", attention},
}

// one adapts a function that returns one figure, or nil, to kinds.
func one(draw func([]*Run, Options) (*Figure, error)) func([]*Run, Options) ([]*Figure, error) {
	return func(runs []*Run, o Options) ([]*Figure, error) {
		f, err := draw(runs, o)
		if f == nil {
			return nil, err
		}
		return []*Figure{f}, err
	}
}

// Kinds returns the names of the kinds of figures.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Figures draws the figures of one kind, or of all kinds if kind is "". It leaves out
// figures that the runs have no data for.
func Figures(runs []*Run, kind string, o Options) ([]*Figure, error) {
	var out []*Figure
	for _, k := range kinds {
		if kind != "" && kind != k.name {
			continue
		}
		figures, err := k.draw(runs, o)
		if err != nil {
			return nil, err
		}
		out = append(out, figures...)
	}
	return out, nil
}

// grids draws a heat map for each system, averaged over its seeds.
func grids(runs []*Run, _ Options) ([]*Figure, error) {
	var out []*Figure
	systems := names(runs)
	for _, name := range systems {
		f, err := Grid(slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.System() != name }))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if f == nil {
			continue
		}
		if len(systems) > 1 {
			f.Name += "-" + inFileName(name)
		}
		out = append(out, f)
	}
	return out, nil
}

// names lists the systems of runs, each once.
func names(runs []*Run) []string {
	var out []string
	for _, r := range runs {
		if name := r.System(); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// inFileName replaces the characters of a run's name that file names cannot have.
func inFileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\: `, r) {
			return '-'
		}
		return r
	}, name)
}
