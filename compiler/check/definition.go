package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// kinds are the kinds of definitions.
var kinds = []string{"mask", "bias", "table"}

// Defines reports whether named blocks of this kind are definitions: mask, bias or table.
func Defines(kind string) bool { return slices.Contains(kinds, kind) }

// A definition is a mask, bias or table block, of the spec or of the prelude.
type definition struct {
	kind    string // one of kinds
	name    string
	at      diag.Range
	names   []string // attributes, in the order of their first setting
	attrs   map[string]*setting
	prelude bool
	doc     string
	broken  bool // it has errors, so its uses report no further ones
}

func newDefinition(kind, name string) *definition {
	return &definition{kind: kind, name: name, attrs: make(map[string]*setting)}
}

func (d *definition) add(name string, s *setting) {
	d.names = append(d.names, name)
	d.attrs[name] = s
}

func (d *definition) path() string { return d.kind + "." + d.name }

// attr returns the path of an attribute.
func (d *definition) attr(name string) string { return d.path() + "." + name }

// learned reports whether an attribute is a learned parameter.
func (d *definition) learned(name string) bool {
	s := d.attrs[name]
	return s != nil && name != "value" && s.value.Kind == dsl.Call && s.value.Text == "learned"
}

// params lists the definitions that arguments can replace, in order. These are the ones
// that contain no names.
func (d *definition) params() []string {
	var out []string
	for _, n := range d.names {
		if n != "value" && !d.learned(n) && len(names(d.attrs[n].value)) == 0 {
			out = append(out, n)
		}
	}
	return out
}

// names lists the names in an expression.
func names(e *dsl.Expr) []string {
	if e.Kind == dsl.Name {
		return []string{e.Text}
	}
	var out []string
	for _, a := range e.Args {
		out = append(out, names(a.Value)...)
	}
	return out
}

// collect reads the definitions of the spec and checks all of them, used or not.
func (c *checker) collect() {
	for _, path := range c.order {
		parts := strings.SplitN(path, ".", 3)
		if len(parts) == 3 && slices.Contains(kinds, parts[0]) {
			if d := c.declare(parts[0], parts[1]); d != nil {
				d.add(parts[2], c.settings[path])
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.places)) {
		if kind, name, ok := strings.Cut(path, "."); ok && slices.Contains(kinds, kind) {
			c.declare(kind, name)
		}
	}
	for _, d := range c.defined {
		c.complement(d)
		c.probe(d)
		if !d.broken {
			c.checkRead(d)
		}
	}
}

// complement completes a definition that is written as paths and changes a definition of
// the prelude with the same name. Attributes that
// nothing reads any more are dropped. A block replaces the prelude's definition entirely.
func (c *checker) complement(d *definition) {
	p := c.lang.preludeOf(d.name)
	if p == nil || p.kind != d.kind || c.blocks[d.kind+"."+d.name] {
		return
	}
	for _, n := range p.names {
		if d.attrs[n] == nil {
			d.attrs[n] = p.attrs[n]
		}
	}
	needed := d.needed(append([]string{"value"}, d.names...))
	own := d.names
	d.names = nil
	for _, n := range append(slices.Clone(p.names), own...) {
		if needed[n] {
			addNew(&d.names, n)
		}
	}
}

// needed returns some attributes and all that they read.
func (d *definition) needed(some []string) map[string]bool {
	out := make(map[string]bool)
	for len(some) > 0 {
		n := some[0]
		some = some[1:]
		if s := d.attrs[n]; s != nil && !out[n] {
			out[n] = true
			some = append(some, names(s.value)...)
		}
	}
	return out
}

// checkRead reports attributes that are not the value and that no other attribute reads.
// Attributes read only by an overridden setting are allowed.
func (c *checker) checkRead(d *definition) {
	var read []string
	for _, n := range d.names {
		read = append(read, names(d.attrs[n].value)...)
	}
	for _, e := range c.written.of(c.lang, d.path()) {
		read = append(read, names(e)...)
	}
	var useful []string
	for _, n := range d.names {
		if n == "value" || slices.Contains(read, n) {
			useful = append(useful, n)
		}
	}
	for _, n := range d.names {
		if slices.Contains(useful, n) {
			continue
		}
		c.report("E0220", d.attrs[n].name, "nothing in the %s %s reads %q", d.kind, d.name, n).
			WithHelp("%s", diag.DidYouMean(n, useful, "use it in value, or leave it out; the others are"))
	}
}

// declare returns the definition of a name, and adds it if it is new. Definitions of
// different kinds cannot share a name.
func (c *checker) declare(kind, name string) *definition {
	if d := c.definitions[name]; d != nil {
		if d.kind == kind {
			return d
		}
		c.report("E0217", c.where(kind+"."+name), "%s is the name of a %s", name, d.kind).WithHelp("choose another name")
		return nil
	}
	d := newDefinition(kind, name)
	d.at = c.where(kind + "." + name)
	c.definitions[name] = d
	c.defined = append(c.defined, d)
	return d
}

// probe checks a definition by itself, without arguments. It claims no parameter names.
func (c *checker) probe(d *definition) {
	p := c.separate()
	for _, n := range d.names {
		if d.taken(n) {
			p.report("E0217", d.attrs[n].name, "the name %s has a meaning in expressions", n).WithHelp("choose another name")
		}
	}
	in := p.newInstance(d, "", nil)
	p.open[d] = true
	for _, n := range d.names {
		if p.param(in, n) == nil {
			p.define(in, n)
		}
	}
	delete(p.open, d)
	if !slices.Contains(d.names, "value") {
		p.report("E0311", d.at, "%s %s has no value", d.kind, d.name).WithHelp("%s", c.valueHelp(d))
	}
	d.broken = p.list.HasErrors()
	for _, f := range p.list {
		if f.Range.Start.File == preludeFile {
			d.blame(f, d.at)
		}
	}
	c.list, c.nodes = append(c.list, p.list...), p.nodes
}

// valueHelp suggests how to repair a definition without a value.
func (c *checker) valueHelp(d *definition) string {
	written := c.blocks[d.path()]
	p := c.lang.preludeOf(d.name)
	switch {
	case slices.ContainsFunc(d.names, func(n string) bool { return diag.Nearest(n, []string{"value"}) != "" }):
		return `did you mean "value"?`
	case written && p != nil:
		n := p.names[0]
		if len(d.names) > 0 {
			n = cmp.Or(diag.Nearest(d.names[0], p.names), n)
		}
		return fmt.Sprintf("a block replaces the prelude's %s: add value = …, or change a part of it by its path, as in %s.%s.%s = …", p.name, p.kind, p.name, n)
	case !written && p == nil:
		var known []string
		for _, p := range c.lang.prelude {
			known = append(known, p.name)
		}
		if near := c.lang.preludeOf(diag.Nearest(d.name, known)); near != nil {
			return fmt.Sprintf("did you mean %q?", near.path())
		}
	}
	return "add value = …"
}

// separate returns a checker of the same settings with its own findings and parameter
// names.
func (c *checker) separate() *checker {
	p := c.variant(c.merged)
	p.kind, p.values, p.definitions, p.defined, p.nodes = c.kind, c.values, c.definitions, c.defined, c.nodes
	p.facts, p.constants = c.facts, c.constants
	return p
}

// taken reports whether a name has a meaning in the expressions of a definition.
func (d *definition) taken(name string) bool {
	known := indices
	if d.kind == "table" {
		known = tableIndices
	}
	return slices.Contains(known, name) || name == "true" || name == "false"
}

// uses holds the instances of definitions, in order of first use.
type uses struct {
	all      []*instance
	byKey    map[*definition]map[string]*instance
	prefixes map[string]bool       // of all instances
	numbers  map[*definition]int   // used in prefixes so far
	params   map[string]*BiasParam // of all instances, by name
}

func newUses() *uses {
	return &uses{byKey: make(map[*definition]map[string]*instance), prefixes: make(map[string]bool),
		numbers: make(map[*definition]int), params: make(map[string]*BiasParam)}
}

// An instance is a definition with its arguments. Uses with equal arguments are one
// instance and share its parameters.
type instance struct {
	*definition
	prefix string // of its parameters: the definition's name, with a number from the second instance on
	params map[string]*BiasParam
	texts  map[string]string     // learned parameters as they are printed
	values map[string]*expr.Expr // arguments, local definitions and value; nil after an error
	busy   map[string]bool       // being translated: a second visit is a cycle
}

// find returns the instance with the given arguments, or nil.
func (u *uses) find(d *definition, key string) *instance { return u.byKey[d][key] }

// newInstance adds an instance. The first instance of a definition names its parameters
// after it. Later ones add a number, as do definitions whose name is taken. The result is
// never another name in the spec.
func (c *checker) newInstance(d *definition, key string, given map[string]*expr.Expr) *instance {
	in := &instance{definition: d, prefix: d.name, params: make(map[string]*BiasParam),
		texts: make(map[string]string), values: make(map[string]*expr.Expr), busy: make(map[string]bool)}
	maps.Copy(in.values, given)
	if c.uses.byKey[d] == nil {
		c.uses.byKey[d] = make(map[string]*instance)
	}
	for c.uses.prefixes[in.prefix] || slices.Contains(siteParams, in.prefix) || in.prefix != d.name && c.definition(in.prefix) != nil {
		c.uses.numbers[d]++
		in.prefix = d.name + strconv.Itoa(c.uses.numbers[d]+1)
	}
	c.uses.prefixes[in.prefix] = true
	c.uses.byKey[d][key] = in
	c.uses.all = append(c.uses.all, in)
	return in
}

// siteParams are package model's names for the parameters of an attention site.
// Parameters of biases stand next to them.
var siteParams = []string{"q", "k", "v", "o", "norm"}

// define translates an attribute of an instance once.
func (c *checker) define(in *instance, name string) *expr.Expr {
	if x, ok := in.values[name]; ok {
		return x
	}
	set := in.attrs[name]
	if in.busy[name] {
		c.report("E0215", set.name, "%s is defined by itself", in.attr(name)).WithHelp("a definition may use parameters and other definitions")
		return nil
	}
	in.busy[name] = true
	defer delete(in.busy, name)
	s := &scope{checker: c, path: in.attr(name), mask: in.kind == "mask", rows: in.kind == "table", in: in}
	in.values[name] = s.attribute(name, set.value)
	return in.values[name]
}

// attribute translates the value of a definition, or one of its other attributes.
func (s *scope) attribute(name string, e *dsl.Expr) *expr.Expr {
	switch {
	case name == "value" && s.mask:
		x, _ := s.boolean(e)
		return x
	case name == "value":
		return s.number(e)
	}
	if x := s.expr(e); x != nil && s.small(x, e) {
		return x
	}
	return nil
}

// local resolves a name inside a block: another attribute, or a parameter without axes.
func (s *scope) local(e *dsl.Expr) (*expr.Expr, bool) {
	if param := s.param(s.in, e.Text); param != nil {
		return s.element(param, e, nil), true
	}
	if s.in.attrs[e.Text] == nil {
		return nil, false
	}
	return s.define(s.in, e.Text), true
}

// definition returns the definition of a name, from the spec or else from the prelude.
func (c *checker) definition(name string) *definition {
	if d := c.definitions[name]; d != nil {
		return d
	}
	return c.lang.preludeOf(name)
}

// use returns the value of a definition with the arguments of e.
func (s *scope) use(d *definition, e *dsl.Expr) *expr.Expr {
	if s.rows != (d.kind == "table") {
		s.report("E0209", e.Head, "%s is a %s, and does not belong in %s", e.Text, d.kind, s.path).WithHelp("%s", s.sees())
		return nil
	}
	if s.mask && d.kind == "bias" {
		s.report("E0209", e.Head, "%s is a bias, and %s is a mask", e.Text, s.path).WithHelp("a mask sees %s", s.indexHelp())
		return nil
	}
	if s.open[d] {
		s.report("E0215", e.Head, "the %s %s uses itself", d.kind, d.name).WithHelp("a definition may use others, but not in a circle")
		return nil
	}
	given, ok := s.given(d, e)
	if !ok || d.broken || d.attrs["value"] == nil {
		return nil
	}
	s.used[d] = true
	before := len(s.list)
	s.open[d] = true
	in := s.instance(d, given)
	x := s.define(in, "value")
	delete(s.open, d)
	if d.prelude || len(given) > 0 {
		for _, f := range s.list[before:] {
			d.blame(f, e.Range)
		}
	}
	return x
}

// given translates arguments, which replace attributes.
func (s *scope) given(d *definition, e *dsl.Expr) (map[string]*expr.Expr, bool) {
	o := &dsl.Option{Name: d.name}
	for _, n := range d.params() {
		o.Args = append(o.Args, dsl.Row{Path: n})
	}
	args, ok := s.arguments(o, e)
	out := make(map[string]*expr.Expr)
	for _, row := range o.Args {
		a := args[row.Path]
		if a == nil {
			continue
		}
		x := s.expr(a)
		if x == nil || !s.charge(s.fact(x).size, a) {
			ok = false
			continue
		}
		out[row.Path] = x
	}
	return out, ok
}

// instance returns the instance of the given arguments, and adds it if it is new. An
// argument equal to the default counts as none.
func (s *scope) instance(d *definition, given map[string]*expr.Expr) *instance {
	var key strings.Builder
	for _, n := range d.params() {
		x := given[n]
		if x == nil {
			continue
		}
		k := expr.Key(expr.Simplify(x))
		if c := s.literal(d.attrs[n].value); c != nil && expr.Key(c) == k {
			delete(given, n)
			continue
		}
		key.WriteString(n + " = " + k + "\n")
	}
	if in := s.uses.find(d, key.String()); in != nil {
		return in
	}
	return s.newInstance(d, key.String(), given)
}

// literal returns the value of a number, or nil for other expressions.
func (s *scope) literal(e *dsl.Expr) *expr.Expr {
	if e.Kind != dsl.Number || e.Unit != "" {
		return nil
	}
	return s.constant(e)
}

// blame moves a finding inside a definition to the place that caused it: the use with its
// arguments, or the change to the prelude.
func (d *definition) blame(f *diag.Diagnostic, at diag.Range) {
	if f.Range.Start.File == preludeFile {
		f.WithNote(diag.Pos{}, "in %s of the prelude", d.name)
	} else {
		f.WithNote(f.Range.Start, "in the %s %s", d.kind, d.name)
	}
	f.Range = at
}
