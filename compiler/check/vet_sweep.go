package check

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// A trained is a point of a sweep with what it resolved to.
type trained struct {
	point
	said *merged // its settings, before arguments are folded into calls
	*checker
	built *Spec
}

// vetSweep looks at the trainings of a sweep together.
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

// checkDistinct wants no training twice.
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

// differs is where the last of the values stands in which another point of the sweep
// is not this one. Equal values have different places, those of a range have one.
func (p point) differs(other point) diag.Range {
	n := len(p.at) - 1
	for n > 0 && p.at[n] == other.at[n] && p.Set[n] == other.Set[n] {
		n--
	}
	return p.at[n]
}

// vetOverridden finds attributes that the spec's own file sets, and each training of
// the sweep again. What an include brings may be meant for others, and of a sweep that
// is cut short no more than a part is seen.
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

// readByAxis reports whether the values of an axis are made of an attribute.
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

// vetPinned finds attributes of cases in whose place the command line puts its own.
func (c *checker) vetPinned() {
	for _, path := range c.pinned {
		for _, in := range c.cases {
			if s := c.settings[in+"."+path]; s != nil {
				name := strings.ReplaceAll(strings.TrimPrefix(in, "sweep."), ".", " ")
				c.report("V016", s.name, "%s = %s of the case %s has no effect: --set says %s", path, text(s.value), name, text(c.settings[path].value)).
					WithHelp("leave --set out, or say it of one training: mlc train --point")
				break
			}
		}
	}
}
