package check

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// choice checks the name and the arguments of a Choice.
func (c *checker) choice(row *dsl.Row, path string, e *dsl.Expr) *value {
	names := make([]string, len(row.Choices))
	for i, o := range row.Choices {
		names[i] = o.Name
	}
	if e.Kind != dsl.Name && e.Kind != dsl.Call {
		c.report("E0206", e.Range, "%s is a name, not %s", path, text(e)).WithHelp("one of %s", strings.Join(names, ", "))
		return nil
	}
	for i := range row.Choices {
		o := &row.Choices[i]
		if o.Name != e.Text {
			continue
		}
		if !c.ofKind(o.Kinds, e.Head, path+" = "+o.Name) {
			return nil
		}
		return c.option(o, path, e)
	}
	c.report("E0208", e.Head, "%s cannot be %q", path, e.Text).WithHelp("%s", diag.DidYouMean(e.Text, names, "one of"))
	return nil
}

// option checks the arguments of a choice and fills in missing ones.
func (c *checker) option(o *dsl.Option, path string, e *dsl.Expr) *value {
	given, ok := c.arguments(o, e)
	v := &value{word: o.Name, text: o.Name, args: make(map[string]*value)}
	var texts []string
	for i := range o.Args {
		row := &o.Args[i]
		arg := given[row.Path]
		if arg != nil && !c.ofKind(row.Kinds, arg.Range, path+"."+row.Path) {
			ok = false
			continue
		}
		switch {
		case !c.hasKind(row.Kinds):
			continue
		case arg == nil && row.Default == "":
			c.report("E0210", e.Range, "%s needs %s", o.Name, row.Path).WithHelp("write %s(%s = …)", o.Name, row.Path)
			ok = false
			continue
		case arg == nil:
			arg = c.lang.defaults[row]
		}
		x := c.value(row, path+"."+row.Path, arg)
		if x == nil {
			ok = false
			continue
		}
		v.args[row.Path] = x
		if !row.Later || x.text != row.Default {
			texts = append(texts, row.Path+" = "+x.text)
		}
	}
	if len(texts) > 0 {
		v.text += "(" + strings.Join(texts, ", ") + ")"
	}
	if !ok {
		return nil
	}
	return v
}

// arguments returns the arguments of a call by name. Arguments without a name come first,
// in the order of the schema.
func (c *checker) arguments(o *dsl.Option, e *dsl.Expr) (given map[string]*dsl.Expr, ok bool) {
	given, ok = make(map[string]*dsl.Expr), true
	names := make([]string, len(o.Args))
	for i, a := range o.Args {
		names[i] = a.Path
	}
	for i, a := range e.Args {
		known := i < len(names)
		var name string
		switch {
		case a.Name == nil && (!known || i > 0 && e.Args[i-1].Name != nil):
			c.report("E0210", a.Value.Range, "%s takes no argument without a name here", o.Name).WithHelp("%s", argHelp(names))
			ok = false
			continue
		case a.Name == nil:
			name = names[i]
		default:
			name = a.Name.Name
			if len(names) == 0 {
				c.report("E0203", a.Name.Range, "%s has no arguments", o.Name).WithHelp("write %s alone", o.Name)
				ok = false
				continue
			}
			if !slices.Contains(names, name) {
				c.report("E0203", a.Name.Range, "%s has no argument %q", o.Name, name).WithHelp("%s", diag.DidYouMean(name, names, "it has"))
				ok = false
				continue
			}
		}
		if given[name] != nil {
			c.report("E0204", a.Value.Range, "%s of %s is set twice", name, o.Name).
				WithHelp("first set at %d:%d", given[name].Range.Start.Line, given[name].Range.Start.Col)
			ok = false
		}
		given[name] = a.Value
	}
	return given, ok
}

func argHelp(names []string) string {
	if len(names) == 0 {
		return "it takes none"
	}
	return "its arguments are " + strings.Join(names, ", ")
}
