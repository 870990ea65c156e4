package serve

import (
	"fmt"
	"html/template"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template/parse"
)

// A checker checks the names in a template against the types of its data.
type checker struct {
	all   *template.Template
	where string
	vars  map[string]reflect.Type
	wrong []string
	seen  map[string]bool // templates that were checked, with their types
}

func (c *checker) fail(format string, args ...any) {
	c.wrong = append(c.wrong, c.where+": "+fmt.Sprintf(format, args...))
}

// template checks a template whose data has a given type.
func (c *checker) template(name string, data reflect.Type) {
	t := c.all.Lookup(name)
	if t == nil || t.Tree == nil {
		c.fail("there is no template %s", name)
		return
	}
	if key := fmt.Sprint(name, data); c.seen[key] {
		return
	} else {
		c.seen[key] = true
	}
	where, vars := c.where, c.vars
	c.where, c.vars = name, map[string]reflect.Type{"$": data}
	c.node(t.Tree.Root, data)
	c.where, c.vars = where, vars
}

func (c *checker) node(n parse.Node, dot reflect.Type) {
	switch n := n.(type) {
	case nil, *parse.TextNode, *parse.BreakNode, *parse.ContinueNode:
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			c.node(child, dot)
		}
	case *parse.ActionNode:
		c.pipe(n.Pipe, dot)
	case *parse.IfNode:
		c.truth(n.Pipe, c.pipe(n.Pipe, dot))
		c.node(n.List, dot)
		c.node(n.ElseList, dot)
	case *parse.WithNode:
		of := c.pipe(n.Pipe, dot)
		c.truth(n.Pipe, of)
		c.node(n.List, of)
		c.node(n.ElseList, dot)
	case *parse.RangeNode:
		c.ranges(n, dot)
	case *parse.TemplateNode:
		var data reflect.Type
		if n.Pipe != nil {
			data = c.pipe(n.Pipe, dot)
		}
		c.template(n.Name, data)
	default:
		c.fail("%T is not known to this test", n)
	}
}

func (c *checker) ranges(n *parse.RangeNode, dot reflect.Type) {
	of := indirect(c.value(n.Pipe.Cmds[0], dot))
	if of == nil {
		return
	}
	key, elem := reflect.TypeFor[int](), of
	switch of.Kind() {
	case reflect.Slice, reflect.Array:
		elem = of.Elem()
	case reflect.Map:
		key, elem = of.Key(), of.Elem()
	default:
		c.fail("%s ranges over a %v", n.Pipe, of)
		return
	}
	for i, v := range n.Pipe.Decl {
		c.vars[v.Ident[0]] = elem
		if i == 0 && len(n.Pipe.Decl) == 2 {
			c.vars[v.Ident[0]] = key
		}
	}
	c.node(n.List, elem)
	c.node(n.ElseList, dot)
}

// truth refuses conditions on pointers to anything but structs: such a condition tests
// whether there is a value, but reads as a test of the value.
func (c *checker) truth(n parse.Node, of reflect.Type) {
	if of != nil && of.Kind() == reflect.Pointer && of.Elem().Kind() != reflect.Struct {
		c.fail("%s asks whether there is a %v, and not what it is", n, of.Elem())
	}
}

// pipe returns the type of a pipeline and declares its variables. It returns nil if the
// type is not known.
func (c *checker) pipe(p *parse.PipeNode, dot reflect.Type) (out reflect.Type) {
	for _, cmd := range p.Cmds {
		out = c.value(cmd, dot)
	}
	for _, v := range p.Decl {
		c.vars[v.Ident[0]] = out
	}
	return out
}

func (c *checker) value(n parse.Node, dot reflect.Type) reflect.Type {
	switch n := n.(type) {
	case *parse.PipeNode:
		return c.pipe(n, dot)
	case *parse.CommandNode:
		return c.command(n, dot)
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return c.fields(n, dot, n.Ident)
	case *parse.VariableNode:
		of, known := c.vars[n.Ident[0]]
		if !known {
			c.fail("%s is no variable", n)
		}
		return c.fields(n, of, n.Ident[1:])
	case *parse.ChainNode:
		return c.fields(n, c.value(n.Node, dot), n.Field)
	case *parse.StringNode:
		return reflect.TypeFor[string]()
	case *parse.NumberNode:
		return reflect.TypeFor[int]()
	case *parse.BoolNode:
		return reflect.TypeFor[bool]()
	}
	c.fail("%s, a %T, is not known to this test", n, n)
	return nil
}

func (c *checker) command(n *parse.CommandNode, dot reflect.Type) reflect.Type {
	name, called := n.Args[0].(*parse.IdentifierNode)
	if !called {
		return c.value(n.Args[0], dot)
	}
	var args []reflect.Type
	for _, a := range n.Args[1:] {
		args = append(args, c.value(a, dot))
	}
	switch name.Ident {
	case "and", "or", "not":
		for i, a := range args {
			c.truth(n.Args[1+i], a)
		}
		if name.Ident == "not" {
			return reflect.TypeFor[bool]()
		}
		return args[len(args)-1]
	case "eq":
		return reflect.TypeFor[bool]()
	case "len":
		return reflect.TypeFor[int]()
	case "index":
		if of := indirect(args[0]); of != nil && (of.Kind() == reflect.Map || of.Kind() == reflect.Slice) {
			return of.Elem()
		}
		c.fail("%s: %v has no index", n, args[0])
		return nil
	}
	f, known := functions[name.Ident]
	if !known {
		c.fail("%s is no function that this test knows", name.Ident)
		return nil
	}
	of := reflect.TypeOf(f)
	for i, a := range args {
		if i >= of.NumIn() || a != nil && !a.AssignableTo(of.In(i)) {
			c.fail("%s: argument %d is a %v", n, i+1, a)
		}
	}
	return of.Out(0)
}

// fields resolves a chain of fields and methods.
func (c *checker) fields(n parse.Node, of reflect.Type, names []string) reflect.Type {
	for _, name := range names {
		if of == nil {
			return nil
		}
		if m, there := of.MethodByName(name); there {
			if m.Type.NumIn() != 1 {
				c.fail("%s: %s of %v wants arguments", n, name, of)
			}
			of = m.Type.Out(0)
			continue
		}
		to := indirect(of)
		switch {
		case to.Kind() == reflect.Map:
			of = to.Elem()
			continue
		case to.Kind() == reflect.Struct:
			if f, there := to.FieldByName(name); there && f.IsExported() {
				of = f.Type
				continue
			}
		}
		c.fail("%s: a %v has no %s", n, of, name)
		return nil
	}
	return of
}

func indirect(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// check checks all templates that have a shape.
func check(all *template.Template, shapes map[string]reflect.Type) *checker {
	c := &checker{all: all, seen: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		c.template(name, shapes[name])
	}
	return c
}

// TestTemplates wants every field in a template to exist in the type of its data, even
// where no test renders it, and every template to be checked.
func TestTemplates(t *testing.T) {
	all := template.Must(template.New("").Funcs(functions).ParseFS(files, "pages/*.html")) // executing pages changes it
	c := check(all, shapes)
	for _, w := range c.wrong {
		t.Error(w)
	}
	for _, of := range all.Templates() {
		if name := of.Name(); name != "" && !strings.Contains(name, ".html") && !slices.ContainsFunc(slices.Collect(maps.Keys(c.seen)), func(key string) bool { return strings.HasPrefix(key, name) }) {
			t.Errorf("nothing says which data the template %s gets", name)
		}
	}
}

// TestTemplatesAreChecked wants the checker to find mistakes.
func TestTemplatesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{{with .Fraction}}{{.}}{{end}}`:                                   "has no Fraction",
		`{{if eq .State "never"}}{{.Nothing}}{{end}}`:                      "has no Nothing",
		`{{range .Facts}}{{.Name}}{{.Names}}{{end}}`:                       "has no Names",
		`{{$l := .Length}}{{range $l}}{{.Title}}{{.T}}{{end}}`:             "has no T",
		`{{if .Loss}}{{.Loss}}{{end}}`:                                     "asks whether there is a float64",
		`{{if and .Static .InitSeed}}x{{end}}`:                             "asks whether there is a uint64",
		`{{range $i, $f := .Facts}}{{add $i $f.Value}}{{end}}`:             "argument 2 is a string",
		`{{.Dir}}{{.Facts}}{{index .Settings "model.decoder_only.times"}}`: "",
	} {
		c := check(template.Must(template.New("t").Funcs(functions).Parse(text)), map[string]reflect.Type{"t": reflect.TypeFor[*view]()})
		if got := strings.Join(c.wrong, "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
