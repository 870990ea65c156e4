package project

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/flag"
)

// A Training is a training that a spec describes: the only one, or a point of its sweep.
type Training struct {
	Source
	Set     []string        // path=value, from the command line
	Point   check.Point     // without a name: the spec has no sweep
	Number  int             // in the sweep, from 1; 0: no sweep
	printed map[string]bool // printed findings, shared by the trainings of a sweep
	title   string          // name of a run's spec, whose file has another name
}

// settings returns all settings from outside the spec's file.
func (t Training) settings() []string { return slices.Concat(t.Set, t.Point.Set) }

// Options returns the training's options for package check.
func (t Training) Options() check.Options {
	o := t.Asks(t.settings())
	if t.Point.Name != "" {
		o.Name = NameOf(t.Name) + "-" + t.Point.Slug
	}
	if t.title != "" {
		o.Name = t.title
	}
	return o
}

// NameOf returns the name of a spec's file without folder and extension.
func NameOf(file string) string {
	return strings.TrimSuffix(path.Base(file), path.Ext(file))
}

// A spread describes the trainings of a spec.
type spread struct {
	points []check.Point
	single bool // it has no sweep
	alone  bool // it is of attention alone
	found  diag.List
}

// ask reads a spec several times. The file may change in between, but the result always has errors
// or points, or is single or alone.
func ask(opts check.Options) (of spread) {
	if of.alone = check.IsAttention(opts); of.alone {
		return of
	}
	of.points, of.found = check.Points(opts)
	if of.single = len(of.points) == 0 && !of.found.HasErrors(); of.single {
		return of
	}
	if _, all := check.Resolve(opts); all.HasErrors() || !of.found.HasErrors() {
		of.found = all
	}
	return of
}

// Trainings lists the trainings of a spec, or the ones that only selects. It prints the
// findings in a sweep, once for all trainings, and returns shell.ErrShown if some are
// errors.
func Trainings(sh *shell.Shell, file, root string, set, only []string) ([]Training, error) {
	s, err := FindSource(file, root)
	if err != nil {
		return nil, err
	}
	return trainingsOf(sh, s, set, only)
}

func trainingsOf(sh *shell.Shell, s Source, set, only []string) ([]Training, error) {
	of, err := shell.Await(sh, func() (spread, error) { return ask(s.Asks(set)), nil })
	if err != nil {
		return nil, err
	}
	if of.alone {
		file := s.Shown(s.Name)
		return nil, shell.Usagef("%s is a spec of attention alone, which has nothing to train: use %s", file, shell.Hint("attention", file, "-o", "DIR"))
	}
	if of.single {
		if len(only) > 0 {
			return nil, shell.Usagef("--point: %s has no sweep, so there is nothing to choose", s.Shown(s.Name))
		}
		return []Training{{Source: s, Set: set}}, nil
	}
	if err := PrintFindings(sh, s, of.found); err != nil {
		return nil, err
	}
	if of.found.HasErrors() {
		return nil, shell.ErrShown
	}
	points, err := choose(of.points, only)
	if err != nil {
		return nil, err
	}
	shown := make(map[string]bool)
	all := make([]Training, len(points))
	for i, p := range points {
		number := 1 + slices.IndexFunc(of.points, func(q check.Point) bool { return q.Slug == p.Slug })
		all[i] = Training{Source: s, Set: set, Point: p, Number: number, printed: shown}
	}
	return all, nil
}

// Command returns the words of a command line that select the training.
func (t Training) Command() string {
	text := t.Shown(t.Name)
	for _, s := range t.Set {
		text += " --set " + flag.Word(s)
	}
	if t.Point.Name != "" {
		text += " --point " + t.Point.Slug
	}
	return text
}

// choose returns the points that any of the choices selects, in order.
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
			return nil, shell.Usagef("--point: the sweep has no training %q: %s", c, diag.DidYouMean(c, termsOf(points), "choose by number from 1, by name, or by values such as"))
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

// isAbout reports whether a choice is the number of a point, its slug, or some of its
// values. number is from 0, the choice from 1.
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

// Seedless returns the name of a point without its seeds.
func Seedless(name string) string {
	rest := slices.DeleteFunc(terms(name), func(t string) bool {
		axis, _, _ := strings.Cut(t, "=")
		path := axis[strings.LastIndexByte(axis, '.')+1:]
		return path == "seed" || path == "init_seed"
	})
	return strings.Join(rest, ",")
}

// terms splits axis=value,axis=value. Values may contain commas in parentheses.
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

// news returns the errors that were not printed for another training.
func (t Training) news(found diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(found), func(d *diag.Diagnostic) bool {
		key := fmt.Sprint(d.Code, d.Range)
		old := t.printed[key]
		t.printed[key] = true
		return old || d.Severity != diag.Error
	})
}
