package lsp

import (
	"path"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// A view holds the facts about a text that hover, completion and the other features read.
// It holds no state of the protocol.
type view struct {
	*source
	path string // of the file, as check.Options takes it
	doc  *check.Document
}

// newView checks a text; read reads included files. A text with an open bracket or string
// does not parse. Then the view keeps the kind, the settings and the definitions of the last
// view.
func newView(file, text string, read func(string) ([]byte, error), last *view) *view {
	file = path.Clean(file)
	doc := check.Inspect(check.Options{Path: file, Read: func(name string) ([]byte, error) {
		if name == file {
			return []byte(text), nil
		}
		return read(name)
	}})
	nothing := func(d *diag.Diagnostic) bool {
		return d.Range.Start.File == file && (d.Code == "E0102" || d.Code == "E0106")
	}
	if last != nil && slices.ContainsFunc(doc.List, nothing) {
		doc.Alone, doc.Settings, doc.Definitions, doc.Includes = last.doc.Alone, last.doc.Settings, last.doc.Definitions, last.doc.Includes
	}
	return &view{newSource(text), file, doc}
}

// tokenRange returns the range of a token.
func (v *view) tokenRange(t dsl.Token) diag.Range {
	return diag.Range{Start: v.pos(v.path, t.Offset), End: v.pos(v.path, t.End())}
}

// row describes an attribute or argument.
func row(attr string) *dsl.Row {
	if r := check.Row(attr); r != nil {
		return r
	}
	kind, rest, _ := strings.Cut(attr, ".")
	if _, name, ok := strings.Cut(rest, "."); ok && check.Defines(kind) {
		return definitionRow(kind, name)
	}
	return nil
}

// definitionRow describes an attribute of a bias, mask or table block.
func definitionRow(kind, name string) *dsl.Row {
	switch {
	case name != "value":
		return &dsl.Row{Path: name, Type: dsl.Bias, Doc: "a definition, or a learned tensor, of this " + kind}
	case kind == "mask":
		return &dsl.Row{Path: name, Type: dsl.Condition, Doc: "which keys a query sees"}
	}
	if kind == "table" {
		return &dsl.Row{Path: name, Type: dsl.Table, Doc: "the value in row n and column c"}
	}
	return &dsl.Row{Path: name, Type: dsl.Bias, Doc: "the value added to the scores"}
}

// A spot is the schema's description of a point within a value.
type spot struct {
	row    *dsl.Row    // describes the value or argument at the point; may be nil
	option *dsl.Option // the point is among its arguments
	call   *call       // the innermost call, of the option or of a function
}

// spot follows the open calls of a place down the schema.
func (v *view) spot(p place) spot {
	s := spot{row: row(p.attr)}
	for n := range p.calls {
		c := &p.calls[n]
		if c.list || c.name == "" {
			continue
		}
		s.call, s.option = c, nil
		switch {
		case c.name == "learned":
			s.option = check.Learned()
		case s.row != nil:
			s.option = option(s.row, c.name)
		}
		if s.option != nil {
			s.row = argument(s.option, *c)
		}
	}
	return s
}

// option returns the choice of a row with a name, or nil.
func option(row *dsl.Row, name string) *dsl.Option {
	n := slices.IndexFunc(row.Choices, func(o dsl.Option) bool { return o.Name == name })
	if n < 0 {
		return nil
	}
	return &row.Choices[n]
}

// argument returns the argument of an option that a call is at, or nil.
func argument(o *dsl.Option, c call) *dsl.Row {
	n := c.arg
	if c.key != "" {
		n = slices.IndexFunc(o.Args, func(r dsl.Row) bool { return r.Path == c.key })
	}
	if n < 0 || n >= len(o.Args) {
		return nil
	}
	return &o.Args[n]
}

// definition returns the bias, mask or stage with a name, or nil. The spec's own come
// before the prelude's.
func (v *view) definition(name string, kinds ...string) *check.Definition {
	for n := range v.doc.Definitions {
		d := &v.doc.Definitions[n]
		if d.Name == name && (len(kinds) == 0 || slices.Contains(kinds, d.Kind)) {
			return d
		}
	}
	return nil
}
