package cli

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/track"
)

// A training is one of those that a spec asks for: the spec's own, or a point of
// its sweep.
type training struct {
	source
	set     []string        // path=value, from the command line
	point   check.Point     // with no name: the spec has no sweep
	number  int             // in the sweep, from 1; 0: there is none
	printed map[string]bool // findings that have been printed for another of the sweep
	title   string          // of a run: what the spec is called, whose file is not
}

// settings are all that is set in the training beside its file.
func (t training) settings() []string { return slices.Concat(t.set, t.point.Set) }

// options are those of the training for package check.
func (t training) options() check.Options {
	o := t.asks(t.settings())
	if t.point.Name != "" {
		o.Name = nameOf(t.name) + "-" + t.point.Slug
	}
	if t.title != "" {
		o.Name = t.title
	}
	return o
}

// nameOf is the name of a spec's file without folder and extension.
func nameOf(file string) string {
	return strings.TrimSuffix(path.Base(file), path.Ext(file))
}

// A spread is what a spec says of its trainings.
type spread struct {
	points []check.Point
	single bool // it has no sweep
	found  diag.List
}

// ask reads a spec twice, and the second time it may be another one: there are errors or
// points, or it is single.
func ask(opts check.Options) (of spread) {
	of.points, of.found = check.Points(opts)
	if of.single = len(of.points) == 0 && !of.found.HasErrors(); of.single {
		return of
	}
	if _, all := check.Resolve(opts); all.HasErrors() || !of.found.HasErrors() {
		of.found = all
	}
	return of
}

// trainings lists those that a spec asks for, or the ones of them that only
// chooses. What is found in a sweep is printed here, once for all of it.
func (a *app) trainings(file, root string, set, only []string) ([]training, error) {
	s, err := findSource(file, root)
	if err != nil {
		return nil, err
	}
	return a.trainingsOf(s, set, only)
}

func (a *app) trainingsOf(s source, set, only []string) ([]training, error) {
	of, err := await(a, func() (spread, error) { return ask(s.asks(set)), nil })
	if err != nil {
		return nil, err
	}
	if of.single {
		if len(only) > 0 {
			return nil, usagef("--point: %s has no sweep, so there is nothing to choose", s.shown(s.name))
		}
		return []training{{source: s, set: set}}, nil
	}
	if err := a.findings(s, of.found); err != nil {
		return nil, err
	}
	if of.found.HasErrors() {
		return nil, errShown
	}
	points, err := choose(of.points, only)
	if err != nil {
		return nil, err
	}
	shown := make(map[string]bool)
	all := make([]training, len(points))
	for i, p := range points {
		number := 1 + slices.IndexFunc(of.points, func(q check.Point) bool { return q.Slug == p.Slug })
		all[i] = training{source: s, set: set, point: p, number: number, printed: shown}
	}
	return all, nil
}

// command is the rest of a command line that is about the training.
func (t training) command() string {
	text := t.shown(t.name)
	for _, s := range t.set {
		text += " --set " + flag.Word(s)
	}
	if t.point.Name != "" {
		text += " --point " + t.point.Slug
	}
	return text
}

// choose keeps the points that any of the choices is about, in order.
func choose(points []check.Point, choices []string) ([]check.Point, error) {
	if len(choices) == 0 {
		return points, nil
	}
	keep := make([]bool, len(points))
	for _, c := range choices {
		hits := 0
		for i, p := range points {
			if isAbout(c, i, p) {
				keep[i] = true
				hits++
			}
		}
		if hits == 0 {
			return nil, usagef("--point: the sweep has no training %q: %s", c, diag.DidYouMean(c, termsOf(points), "say which by its number from 1, its name, or values such as"))
		}
	}
	var out []check.Point
	for i, p := range points {
		if keep[i] {
			out = append(out, p)
		}
	}
	return out, nil
}

// isAbout reports whether a choice is the number of a point, from 0 here, its slug,
// or some of its values.
func isAbout(choice string, number int, p check.Point) bool {
	if choice == strconv.Itoa(number+1) || choice == p.Slug {
		return true
	}
	has := terms(p.Name)
	wants := terms(strings.ReplaceAll(choice, " ", ""))
	return !slices.ContainsFunc(wants, func(t string) bool { return !slices.Contains(has, t) })
}

// termsOf lists the values that tell points apart, each once.
func termsOf(points []check.Point) []string {
	var all []string
	for _, p := range points {
		for _, t := range terms(p.Name) {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return all
}

// seedless is the name of a point without its seeds.
func seedless(name string) string {
	rest := slices.DeleteFunc(terms(name), func(t string) bool {
		axis, _, _ := strings.Cut(t, "=")
		path := axis[strings.LastIndexByte(axis, '.')+1:]
		return path == "seed" || path == "init_seed"
	})
	return strings.Join(rest, ",")
}

// terms takes axis=value,axis=value apart; values may have commas in parentheses.
func terms(name string) []string {
	var out []string
	depth, from := 0, 0
	for i, r := range name {
		switch {
		case strings.ContainsRune("([", r):
			depth++
		case strings.ContainsRune(")]", r):
			depth--
		case r == ',' && depth == 0:
			out = append(out, name[from:i])
			from = i + 1
		}
	}
	return append(out, name[from:])
}

// news are the errors that have not been printed for another training.
func (t training) news(found diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(found), func(d *diag.Diagnostic) bool {
		key := fmt.Sprint(d.Code, d.Range)
		old := t.printed[key]
		t.printed[key] = true
		return old || d.Severity != diag.Error
	})
}

// compareAll prints the size of each training of a sweep, one a line.
func (a *app) compareAll(all []training) error {
	wide := len("training")
	for _, t := range all {
		wide = max(wide, len(t.point.Name))
	}
	var shown findings
	for i, t := range all {
		if i == 0 && !a.json {
			fmt.Fprintf(a.out, "%-*s  %13s  %11s  %9s  %10s  %7s\n", wide, "training", "parameters", "step (FLOP)", "memory", "per thread", "kernels")
		}
		if err := shown.unless(a.compareOne(t, wide)); err != nil {
			return err
		}
	}
	return shown.err()
}

func (a *app) compareOne(t training, wide int) error {
	whole, err := a.compile(t)
	if err != nil {
		return err
	}
	if len(whole.Stages) > 0 && !a.json {
		if _, err := fmt.Fprintln(a.out, t.point.Name); err != nil {
			return err
		}
	}
	for _, p := range whole.Trainings() {
		sum, err := newSummary(p)
		if err != nil {
			return err
		}
		if a.json {
			if err := a.printJSON(sum); err != nil {
				return err
			}
			continue
		}
		name := t.point.Name
		if p.Stage != "" {
			name = "  " + p.Stage
		}
		_, err = fmt.Fprintf(a.out, "%-*s  %13s  %11s  %9s  %10s  %7d\n", wide, name, track.Thousands(sum.Params), scaled(sum.Step.FLOPs, 1000, ""),
			scaled(sum.Memory.Shared, 1024, "B"), scaled(sum.Memory.PerWorker, 1024, "B"), len(p.Lowered.Kernels))
		if err != nil {
			return err
		}
	}
	return nil
}
