package check

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// A Point is one training of a sweep. Resolve returns its spec if Set follows the other
// options.
type Point struct {
	Name string            // axis=value, separated by commas
	Slug string            // Name as part of a file name, unique in the sweep
	Set  []string          // sweep.path=[value], or sweep.axis=case
	Axes map[string]string // the axis, by each attribute that it sets, directly or in its cases

	Search Search // of the whole sweep
}

// Points lists the trainings of a sweep in order. The last axis varies fastest. It
// returns none if the spec has no sweep.
func Points(opts Options) ([]Point, diag.List) {
	c := newChecker(opts)
	c.merge()
	var out []Point
	if !c.unparsed {
		for _, p := range c.points() {
			out = append(out, p.Point)
		}
	}
	return out, c.complete(c.list)
}

// Bounds on the trainings of a sweep, and on its axes or stages.
const (
	maxPoints = 1000
	maxAxes   = 32
)

// A point is a Point with its settings.
type point struct {
	Point
	base   *merged             // settings that its cases include, or nil
	own    *merged             // the spec's own settings, including its axes
	chosen map[string]*setting // values of axes that are attributes
	at     []diag.Range        // the place of each element of Set
	draw   *lot                // how the point is drawn; nil: it is one of all combinations
}

// merged returns all settings of the point. The spec overrides what a case includes, as
// it does for other includes.
func (p point) merged() *merged {
	if p.base == nil {
		return p.own
	}
	return p.own.over(p.base)
}

// points returns the combinations of all axes, in order.
func (c *checker) points() []point {
	c.boundStages()
	if len(c.axes) > maxAxes {
		c.report("E0315", c.where("sweep"), "the sweep has more than %d axes", maxAxes).WithHelp("write several specs that include what they share")
		return nil
	}
	if len(c.axes) == 0 {
		return nil
	}
	all, ok := c.searched(c.search())
	if !ok {
		c.report("E0315", c.where("sweep"), "the sweep has more than %d trainings", maxPoints).WithHelp("leave out values or axes, or draw some with search = random(trainings = N)")
		return nil
	}
	distinguish(all)
	return all
}

// combinations returns the combinations of all axes' values. ok is false if there are too
// many.
func (c *checker) combinations() ([]point, bool) {
	all := []point{{own: c.single()}}
	for _, axis := range c.axes {
		var next []point
		for _, p := range all {
			next = append(next, c.extend(p, axis)...)
			if len(next)*max(len(c.stages), 1) > maxPoints {
				return nil, false
			}
		}
		if len(next) > 0 { // after an error, still check the other axes
			all = next
		}
	}
	return all, true
}

func (c *checker) boundStages() {
	if len(c.stages) > maxAxes {
		c.report("E0315", c.where(c.stageBlock(c.stages[maxAxes])), "there are more than %d stages", maxAxes).WithHelp("write several specs that include what they share")
		c.stages = nil
	}
}

// maxSlug leaves room for the spec's name in a file name.
const maxSlug = 120

// distinguish adds numbers to slugs that are equal or too long.
func distinguish(all []point) {
	seen := make(map[string]bool)
	for n := range all {
		p := &all[n]
		if len(p.Slug) > maxSlug || seen[p.Slug] {
			p.Slug = fmt.Sprintf("%s-%d", p.Slug[:min(len(p.Slug), maxSlug)], n+1)
		}
		seen[p.Slug] = true
	}
}

// extend returns the point with each value of one more axis.
func (c *checker) extend(p point, axis string) []point {
	if !strings.Contains(axis, ".") {
		return c.extendCases(p, axis)
	}
	var out []point
	path := "sweep." + axis
	for _, e := range c.entries(c.settings[path].value, axis, p.draw) {
		e = p.evaluate(e)
		s := *c.settings[path]
		s.value = e
		short := c.axisName(axis)
		q := p.with(e.Range, short, dsl.Format(e), path+"=["+c.settingText(axis, e)+"]") // still an axis, so later cases may change it
		q.Slug = p.slug(short + "-" + dsl.Format(e))
		q.Axes = p.sets(axis, axis)
		q.own, q.chosen = p.own.clone(), make(map[string]*setting)
		maps.Copy(q.chosen, p.chosen)
		q.chosen[axis] = &s
		q.own.set(axis, &s)
		c.keepArguments(q)
		out = append(out, q)
	}
	return out
}

// extendCases returns the point with each case of a named axis, or with the case that the
// spec chooses.
func (c *checker) extendCases(p point, axis string) []point {
	only := c.settings["sweep."+axis]
	if only != nil && only.value.Kind == dsl.Name && only.value.Text == "none" {
		return []point{p}
	}
	var out []point
	var names []string
	for _, in := range c.cases {
		name, ok := strings.CutPrefix(in, "sweep."+axis+".")
		if !ok {
			continue
		}
		names = append(names, name)
		if only != nil && dsl.Format(only.value) != name || len(out) > maxPoints {
			continue
		}
		q := p.with(c.where(in), axis, name, "sweep."+axis+"="+name)
		q.Slug = p.slug(name)
		q.Axes = p.sets(axis, c.setIn(in)...)
		q.own = p.own.apply(c.lang, c.merged, in)
		for _, path := range c.pinned {
			q.own.set(path, c.settings[path])
		}
		c.keepArguments(q)
		if len(c.includes[in]) > 0 {
			q.base = c.base(in)
			if p.base != nil {
				q.base = q.base.over(p.base)
			}
		}
		out = append(out, q)
	}
	if len(out) == 0 && only != nil {
		c.report("E0208", only.value.Range, "the axis %s has no case %s", axis, text(only.value)).
			WithHelp("%s", diag.DidYouMean(dsl.Format(only.value), names, "its cases are"))
	}
	return out
}

// keepArguments restores arguments from the command line and from earlier axes, after an
// axis has replaced the call that they belong to.
func (c *checker) keepArguments(p point) {
	for _, path := range c.pinned {
		if p.own.settings[path] == nil {
			p.own.set(path, c.settings[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.chosen)) {
		if p.own.settings[path] == nil {
			p.own.set(path, p.chosen[path])
		}
	}
}

// base merges the files that a sweep case includes, with which its training begins.
func (c *checker) base(in string) *merged {
	if m := c.bases[in]; m != nil {
		return m
	}
	v := c.variant(newMerged())
	for _, e := range c.includes[in] {
		v.include(e, []string{e.Range.Start.File})
		if len(v.axes) > 0 {
			v.report("E0109", e.Include.File.Range, "%s is a sweep, but a case of a sweep is one training", e.Include.File.Text).
				WithHelp("include what it sweeps over in cases of this sweep")
			c.unparsed = true
			break
		}
	}
	v.boundStages()
	c.adopt(v)
	c.bases[in] = v.merged.single()
	return c.bases[in]
}

// over returns these settings on top of base.
func (m *merged) over(base *merged) *merged {
	out := base.clone()
	for _, path := range m.order {
		out.set(path, m.settings[path])
	}
	maps.Copy(out.places, m.places)
	maps.Copy(out.blocks, m.blocks)
	out.labels = maps.Clone(base.labels)
	maps.Copy(out.labels, m.labels)
	out.stages = slices.Clone(base.stages)
	for _, name := range m.stages {
		addNew(&out.stages, name)
	}
	out.inside = maps.Clone(base.inside)
	for in, paths := range m.inside {
		out.inside[in] = slices.Concat(base.inside[in], paths)
	}
	return out
}

// setIn lists the attributes that a case sets and the command line does not.
func (c *checker) setIn(in string) []string {
	return slices.DeleteFunc(slices.Clone(c.inside[in]), func(path string) bool {
		return c.settings[in+"."+path] == nil || slices.Contains(c.pinned, path)
	})
}

// sets returns the point's Axes, extended by an axis that sets the given attributes.
func (p point) sets(axis string, paths ...string) map[string]string {
	all := make(map[string]string)
	maps.Copy(all, p.Axes)
	for _, path := range paths {
		all[path] = axis
	}
	return all
}

// with returns the point with one more value, whose place is at.
func (p point) with(at diag.Range, axis, value, set string) point {
	name := axis + "=" + strings.ReplaceAll(value, " ", "")
	if p.Name != "" {
		name = p.Name + "," + name
	}
	p.at = append(p.at[:len(p.at):len(p.at)], at)
	p.Point = Point{Name: name, Set: append(p.Set[:len(p.Set):len(p.Set)], set), Axes: p.Axes}
	return p
}

// unfit matches text that file names and Go packages cannot have.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_.]+|\.\.+`)

// slug returns the point's slug with one more part.
func (p point) slug(part string) string {
	part = strings.Trim(unfit.ReplaceAllString(part, "-"), "-.")
	if p.Slug == "" {
		return part
	}
	return p.Slug + "-" + part
}

// axisName returns the shortest end of a path that identifies one axis.
func (c *checker) axisName(axis string) string {
	parts := strings.Split(axis, ".")
	for n := len(parts) - 1; n > 0; n-- {
		short := strings.Join(parts[n:], ".")
		if !slices.ContainsFunc(c.axes, func(a string) bool { return a != axis && (a == short || strings.HasSuffix(a, "."+short)) }) {
			return short
		}
	}
	return axis
}

// entries lists the values of an axis: elements of a list, whole numbers of a range, a
// number drawn from an interval, or the value itself.
func (c *checker) entries(e *dsl.Expr, axis string, by *lot) []*dsl.Expr {
	var out []*dsl.Expr
	switch {
	case e.Kind == dsl.Call && intervals[e.Text] != nil:
		if x := c.fromInterval(e, axis, by); x != nil {
			out = []*dsl.Expr{x}
		}
	case e.Kind == dsl.List && len(e.Args) == 0:
		c.report("E0210", e.Range, "an axis needs values").WithHelp("write path = [a, b] or path = 1..3")
	case e.Kind == dsl.List:
		for _, a := range e.Args {
			out = append(out, a.Value)
		}
	case isRange(e):
		v := c.interval(&dsl.Row{Type: dsl.IntRange, Min: -1e9, Max: 1e9}, "the axis", e)
		if v == nil {
			return nil
		}
		for x := v.list[0]; x <= v.list[1] && len(out) <= maxPoints; x++ {
			out = append(out, numberAt(x, e))
		}
	default:
		out = []*dsl.Expr{e}
	}
	return out
}

// evaluate replaces paths by the values of earlier axes, or of attributes, and folds
// arithmetic on numbers.
func (p point) evaluate(e *dsl.Expr) *dsl.Expr {
	var all *merged
	return dsl.Rewrite(e, func(e *dsl.Expr) *dsl.Expr {
		switch {
		case e.Kind == dsl.Name && p.chosen[e.Text] != nil:
			c := *p.chosen[e.Text].value
			c.Range, c.Head = e.Range, e.Head
			return &c
		case e.Kind == dsl.Name && strings.Contains(e.Text, "."):
			if all == nil {
				all = p.merged()
			}
			s := all.settings[e.Text]
			if s == nil {
				return e
			}
			c := *s.value
			c.Range, c.Head = e.Range, e.Head
			return &c
		case e.Kind == dsl.Binary:
			return foldNumbers(e)
		}
		return e
	})
}

func foldNumbers(e *dsl.Expr) *dsl.Expr {
	a, b := e.Arg(0), e.Arg(1)
	if a.Kind != dsl.Number || b.Kind != dsl.Number || a.Unit != "" || b.Unit != "" {
		return e
	}
	x, y := dsl.Unit{Factor: 1}.Value(a.Text), dsl.Unit{Factor: 1}.Value(b.Text)
	switch {
	case e.Text == "+":
		return numberAt(x+y, e)
	case e.Text == "*":
		return numberAt(x*y, e)
	case e.Text == "-" && x >= y:
		return numberAt(x-y, e)
	case e.Text == "/" && y != 0:
		return numberAt(x/y, e)
	}
	return e
}

// numberAt writes a number at the place of e.
func numberAt(x float64, e *dsl.Expr) *dsl.Expr {
	return digitsAt(strconv.FormatFloat(x, 'f', -1, 64), e)
}

// pin records that the command line sets a path, so that no sweep case changes it. It
// reports a path that is itself an axis.
func (c *checker) pin(path string) {
	c.pinned = slices.DeleteFunc(c.pinned, func(p string) bool { return c.settings[p] == nil }) // drop arguments of calls that were replaced
	s := c.settings[path]
	if !overridable(path) || s == nil {
		return
	}
	if slices.Contains(c.axes, path) {
		c.report("E0328", s.name, "%s is an axis of the sweep, which has values for it", path).
			WithHelp("choose with --set sweep.%s=%s, or one of its trainings with --point", path, text(s.value)).
			WithNote(c.settings["sweep."+path].name.Start, "the axis")
		return
	}
	c.pinned = append(c.pinned, path)
}
