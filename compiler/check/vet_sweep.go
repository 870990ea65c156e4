package check

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// A trained is a point of a sweep with its results.
type trained struct {
	point
	said *merged // its settings before arguments are folded into calls
	*checker
	built *Spec
}

// vetSweep checks the trainings of a sweep together.
func (c *checker) vetSweep(all []trained) {
	first := all[0].checker
	if at, ok := c.places["sweep"]; ok && len(c.axes) == 0 && !c.list.HasErrors() && first.wanted("V015") {
		c.report("V015", at, "the sweep has no axes, so there is one training").WithHelp("write an axis, as in train.seed = 1..3, or leave the sweep out")
	}
	if len(c.axes) > 0 && first.wanted("V016") {
		c.vetOverridden(all)
		c.vetPinned()
	}
	c.checkDistinct(all)
}

// checkDistinct reports trainings that are equal.
func (c *checker) checkDistinct(all []trained) {
	seen := make(map[string]point)
	for _, t := range all {
		if t.list.HasErrors() {
			continue
		}
		text := t.meaning()
		same, ok := seen[text]
		if !ok {
			seen[text] = t.point
			continue
		}
		at := t.differs(same)
		if !slices.ContainsFunc(c.list, func(d *diag.Diagnostic) bool { return d.Code == "E0240" && d.Range == at }) {
			c.report("E0240", at, "the trainings %s and %s are the same", same.Name, t.Name).WithHelp("leave one of them out")
		}
	}
}

// differs returns the place of the last value in which the point and another differ.
// Equal values differ in their place, except in a range.
func (p point) differs(other point) diag.Range {
	n := len(p.at) - 1
	for n > 0 && p.at[n] == other.at[n] && p.Set[n] == other.Set[n] {
		n--
	}
	return p.at[n]
}

// vetOverridden warns of attributes in the spec's own file that each training of the
// sweep overrides. Attributes in included files may be meant for other specs. A sweep
// that is restricted by --set is not checked, because it shows only a part.
func (c *checker) vetOverridden(all []trained) {
	if slices.ContainsFunc(c.sets, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), "sweep.") }) {
		return
	}
	for _, path := range c.order {
		s := c.settings[path]
		if s.name.Start.File != c.main || strings.HasPrefix(path, "sweep.") || c.readByAxis(path) {
			continue
		}
		kept := func(t trained) bool { return t.said.settings[path] == s }
		if slices.ContainsFunc(all, kept) {
			continue
		}
		d := c.report("V016", s.name, "%s = %s has no effect: every training of the sweep has its own", path, text(s.value)).WithHelp("leave it out")
		for _, again := range []string{path, s.attribute(path)} {
			if other := all[0].said.settings[again]; other != nil {
				d.WithNote(other.name.Start, "set again")
				break
			}
		}
	}
}

// readByAxis reports whether the values of an axis use an attribute.
func (c *checker) readByAxis(path string) bool {
	return slices.ContainsFunc(c.axes, func(axis string) bool {
		s := c.settings["sweep."+axis]
		found := false
		if s != nil {
			dsl.Rewrite(s.value, func(e *dsl.Expr) *dsl.Expr {
				found = found || e.Kind == dsl.Name && e.Text == path
				return e
			})
		}
		return found
	})
}

// vetPinned warns of attributes of cases that the command line overrides.
func (c *checker) vetPinned() {
	for _, path := range c.pinned {
		for _, in := range c.cases {
			if s := c.settings[in+"."+path]; s != nil {
				name := strings.ReplaceAll(strings.TrimPrefix(in, "sweep."), ".", " ")
				c.report("V016", s.name, "%s = %s of the case %s has no effect: --set says %s", path, text(s.value), name, text(c.settings[path].value)).
					WithHelp("leave --set out, or set it for one training: mlc train --point")
				break
			}
		}
	}
}
