package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// attribute returns the path of the attribute that a setting at path sets. A path to an
// argument loses its argument names.
func (s *setting) attribute(path string) string {
	for range s.args {
		path = path[:strings.LastIndexByte(path, '.')]
	}
	return path
}

// options lists the calls that an attribute or argument may have as its value, except
// masks and biases.
func (l *language) options(path string) []dsl.Option {
	row := l.meaning(path)
	switch {
	case l.isDefined(path):
		return []dsl.Option{*l.learned, *l.table}
	case row == nil:
		return nil
	case row.Type == dsl.Condition || row.Type == dsl.Bias:
		return []dsl.Option{*l.table}
	case row.Path == "init" && row.Type == dsl.Any:
		return l.inits.Choices
	}
	return row.Choices
}

// meaning returns the schema row of an attribute or argument. It returns nil for an
// unknown one, and for definitions in masks and biases.
func (l *language) meaning(path string) *dsl.Row {
	if row := l.row(path); row != nil {
		return row
	}
	return l.argument(path)
}

// isDefined reports whether a path is an attribute of a mask, bias or table.
func (l *language) isDefined(path string) bool {
	_, meaning := l.overlay(path)
	return l.defines(path) && strings.Count(meaning, ".") == 2
}

// argument returns the schema row of an argument. It returns nil for an unknown one, and
// for arguments of masks and biases. Choices that share an argument's name share its
// meaning.
func (l *language) argument(path string) *dsl.Row {
	n := strings.LastIndexByte(path, '.')
	if n < 0 {
		return nil
	}
	for _, o := range l.options(path[:n]) {
		for i := range o.Args {
			if o.Args[i].Path == path[n+1:] {
				return &o.Args[i]
			}
		}
	}
	return nil
}

// callable reports whether the value of an attribute may be a call with named
// arguments.
func (l *language) callable(path string) bool {
	return slices.ContainsFunc(l.options(path), func(o dsl.Option) bool { return len(o.Args) > 0 })
}

// split divides the names of an entry of a block into an attribute and an argument of its
// value.
func (l *language) split(block string, names []dsl.Ident) (attr, args []dsl.Ident) {
	path := block
	for n, id := range names {
		if path = join(path, id.Name); l.callable(path) {
			return names[:n+1], names[n+1:]
		}
	}
	return names, nil
}

// fold moves arguments that are set by their paths into the calls they belong to. Stages
// fold their own settings.
func (c *checker) fold() {
	m := c.merged.clone()
	for _, path := range c.order {
		s := c.settings[path]
		if in, _ := c.lang.overlay(path); in != "" || len(s.args) == 0 {
			continue
		}
		m.forget(path)
		attr := s.attribute(path)
		whole := setting{name: s.name, value: c.expression(attr)}
		if old := c.settings[attr]; old != nil {
			whole.name = old.name
		}
		if whole.value == nil {
			c.noAttribute(attr, s.name)
			continue
		}
		m.put(attr, &whole)
	}
	c.merged = m
}

// noAttribute reports an argument of an attribute that a mask or bias does not define.
func (c *checker) noAttribute(attr string, at diag.Range) {
	block, name := attr[:strings.LastIndexByte(attr, '.')], last(attr)
	help := "write " + attr + " = …"
	if d := c.sketch(last(block)); d != nil {
		help = diag.DidYouMean(name, d.names, "it has")
	}
	c.report("E0202", at, "%s has no attribute %q", block, name).WithHelp("%s", help)
}

// expression returns the value of an attribute, or its default, including the arguments
// that are set by their paths. It returns nil if there is neither.
func (c *checker) expression(attr string) *dsl.Expr {
	e := c.unset(attr)
	if whole := c.settings[attr]; whole != nil {
		e = whole.value
	}
	for _, path := range c.order {
		if s := c.settings[path]; e != nil && len(s.args) > 0 && s.attribute(path) == attr {
			e = c.withArgument(attr, e, s)
		}
	}
	return e
}

// unset returns the value of an attribute that no setting changes, or nil.
func (c *checker) unset(attr string) *dsl.Expr {
	if row := c.lang.row(attr); row != nil {
		if of, ok := strings.CutPrefix(row.Default, "="); ok {
			return c.expression(of)
		}
		return c.defaultOf(row)
	}
	names := strings.SplitN(attr, ".", 3)
	if d := c.lang.preludeOf(names[1]); d != nil && d.kind == names[0] && !c.blocks[d.path()] && d.attrs[names[2]] != nil {
		return d.attrs[names[2]].value
	}
	return nil
}

// withArgument returns the value e of an attribute or argument after replacing or adding
// the argument that s sets, at any depth.
func (c *checker) withArgument(path string, e *dsl.Expr, s *setting) *dsl.Expr {
	id := s.args[0]
	params, ok := c.parameters(path, e)
	if !ok {
		c.report("E0203", id.Range, "%s = %s has no argument %q", path, text(e), id.Name).WithHelp("%s", c.argumentHelp(path, id.Name))
		return e
	}
	call := *e
	call.Kind, call.Args = dsl.Call, slices.Clone(e.Args)
	if e.Range.Start.File == "" { // a default
		call.Range, call.Head = id.Range, id.Range
	}
	n := argumentAt(e, params, id.Name)
	if n < 0 {
		n = len(call.Args)
		call.Args = append(call.Args, dsl.Arg{Name: &id, Value: c.lang.defaults[c.lang.argument(join(path, id.Name))]})
	}
	arg := &call.Args[n].Value
	switch {
	case len(s.args) == 1:
		*arg = s.value
	case *arg == nil:
		deeper := s.args[1]
		c.report("E0203", deeper.Range, "%s is no call and has no argument %q", join(path, id.Name), deeper.Name).WithHelp("write %s = …", join(path, id.Name))
		return e
	default:
		*arg = c.withArgument(join(path, id.Name), *arg, &setting{name: s.name, value: s.value, args: s.args[1:]})
	}
	return &call
}

// argumentAt returns the index of an argument in a call, or -1 if the call does not give
// it.
func argumentAt(e *dsl.Expr, params []string, name string) int {
	for n, a := range e.Args {
		if a.Name != nil && a.Name.Name == name || a.Name == nil && n < len(params) && params[n] == name {
			return n
		}
	}
	return -1
}

// given returns the argument that a call in e gives, at the depth of names. It returns
// nil if the argument is left out.
func (c *checker) given(path string, e *dsl.Expr, names []dsl.Ident) *dsl.Expr {
	for _, id := range names {
		params, _ := c.parameters(path, e)
		n := argumentAt(e, params, id.Name)
		if n < 0 {
			return nil
		}
		path, e = join(path, id.Name), e.Arg(n)
	}
	return e
}

// parameters lists the arguments of the function that an attribute's or argument's value
// calls. ok is false if the value is no call.
func (c *checker) parameters(path string, e *dsl.Expr) (params []string, ok bool) {
	if e.Kind != dsl.Name && e.Kind != dsl.Call {
		return nil, false
	}
	for _, o := range c.lang.options(path) {
		if o.Name == e.Text {
			for _, a := range o.Args {
				params = append(params, a.Path)
			}
			return params, len(params) > 0
		}
	}
	if d := c.sketch(e.Text); d != nil {
		return d.params(), true
	}
	return nil, false
}

// sketch returns a mask or bias before all definitions are checked, or nil for an unknown
// name.
func (c *checker) sketch(name string) *definition {
	for _, kind := range kinds {
		d := newDefinition(kind, name)
		for _, path := range c.order {
			if n, ok := strings.CutPrefix(path, d.path()+"."); ok && len(c.settings[path].args) == 0 {
				d.add(n, c.settings[path])
			}
		}
		if len(d.names) > 0 {
			c.complement(d)
			return d
		}
	}
	return c.lang.preludeOf(name)
}

// argumentHelp names a value that has the argument.
func (c *checker) argumentHelp(path, name string) string {
	if row := c.lang.meaning(path); row != nil && row.Type == dsl.Choice {
		var names []string
		for _, o := range row.Choices {
			for _, a := range o.Args {
				names = append(names, a.Path)
			}
		}
		near := diag.Nearest(name, names)
		for _, o := range row.Choices {
			if slices.ContainsFunc(o.Args, func(a dsl.Row) bool { return a.Path == near }) {
				return fmt.Sprintf("write %s = %s(%s = …)", path, o.Name, near)
			}
		}
	}
	return fmt.Sprintf("write %s = …", path)
}
