// Package plot draws what runs have left in their directories: the heat map of
// exact match over both lengths, exact match by length, curves of training, the
// attention that a calibration has read and the bias that it has made of it, and
// what a looped model would have answered after each run of its loop. It comes
// after packages runtime/eval, runtime/track and runtime/calibrate, whose files and
// values those are; the mlc command is after it.
package plot

import (
	"fmt"
	"slices"
	"strings"
)

// Options say how curves are drawn.
type Options struct {
	Each     bool // a line for each run, instead of the mean of those that differ in the seed alone
	LogSteps bool // what training reports over its steps, on a logarithmic axis
}

// kinds are the kinds of figures, in their order. Each draws what some runs have for
// it, together or one by one; nothing is no error.
var kinds = []struct {
	name string
	draw func([]*Run, Options) ([]*Figure, error)
}{
	{"grid", grids},
	{"length", one(Lengths)},
	{"loss", one(Loss)},
	{"training", one(Learning)},
	{"attention", attention},
}

// one makes a list of a figure, which may be nil.
func one(draw func([]*Run, Options) (*Figure, error)) func([]*Run, Options) ([]*Figure, error) {
	return func(runs []*Run, o Options) ([]*Figure, error) {
		f, err := draw(runs, o)
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

// grids draws a heat map for each system, the mean over its seeds.
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

// names lists the systems that some runs are of.
func names(runs []*Run) []string {
	var out []string
	for _, r := range runs {
		if name := r.System(); !slices.Contains(out, name) {
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
