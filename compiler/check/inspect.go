package check

import (
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// written records all that the sources say, in order, even if a later setting overrides
// it.
type written struct {
	blocks   []Block
	settings []Setting
	includes []Include
	values   []*dsl.Expr // of the settings
}

func (w *written) block(path string, name, whole diag.Range) {
	w.blocks = append(w.blocks, Block{path, name, whole})
}

func (w *written) setting(path string, s *setting, row *dsl.Row) {
	w.settings = append(w.settings, Setting{Path: path, Attr: s.attribute(path), Name: s.name, Value: s.value.Range, Row: row})
	w.values = append(w.values, s.value)
}

// of lists all values that settings give to attributes of a definition.
func (w *written) of(lang *language, definition string) []*dsl.Expr {
	var out []*dsl.Expr
	for i, s := range w.settings {
		if _, meaning := lang.overlay(s.Path); strings.HasPrefix(meaning, definition+".") {
			out = append(out, w.values[i])
		}
	}
	return out
}

// uses returns the places that name definitions and stages.
func (w *written) uses() map[string][]diag.Range {
	out := make(map[string][]diag.Range)
	for i, e := range w.values {
		if row := w.settings[i].Row; row != nil && row.Type != dsl.Condition && row.Type != dsl.Bias && row.Type != dsl.Table && row.Type != dsl.StageName {
			continue
		}
		dsl.Rewrite(e, func(e *dsl.Expr) *dsl.Expr {
			if e.Kind == dsl.Name || e.Kind == dsl.Call {
				name, _, _ := strings.Cut(e.Text, ".")
				r := e.Head
				r.End = r.Start
				r.End.Col += len(name)
				out[name] = append(out[name], r)
			}
			return e
		})
	}
	return out
}

func (w *written) include(at diag.Range, file string) {
	w.includes = append(w.includes, Include{at, file})
}

// A Block is a block in the spec or in a file that it includes.
type Block struct {
	Path string     // including the names of biases, stages and cases
	Name diag.Range // its label if it has one as its name, else its keyword
	Body diag.Range // the whole block
}

// A Setting is an attribute or argument that the spec, or a file that it includes, sets.
type Setting struct {
	Path        string
	Attr        string // for an argument, the path of the attribute it belongs to; else Path
	Name, Value diag.Range
	Row         *dsl.Row // nil for definitions in bias and mask blocks, and for their arguments
	Text        string   // the resolved value in canonical form, or ""
	Wins        bool     // no later setting overrides it
}

// An Include is the name of another file.
type Include struct {
	At   diag.Range // of the text
	File string     // as passed to Options.Read
}

// A Definition is a name that the spec or the prelude defines.
type Definition struct {
	Kind    string     // mask, bias, table, stage, calibrate
	Name    string     // of a stage or block
	At      diag.Range // of the name
	Prelude bool       // At is in the text of Prelude
	Doc     string
	Params  []Param
	Uses    []diag.Range // in all files of the spec
}

// A Param is an attribute of a definition that an argument can replace.
type Param struct{ Name, Default string }

// A Document is the information on a spec that tools show.
type Document struct {
	Spec        *Spec     // nil after errors, and for attention alone
	Alone       bool      // the spec is of attention alone
	List        diag.List // as from Resolve
	Limits      diag.List // as from Lowerable; empty after errors
	Blocks      []Block
	Settings    []Setting
	Definitions []Definition // of the spec in order, then of the prelude
	Includes    []Include
}

// Inspect resolves a spec for tools. After errors the document has all parts that parse
// and resolve.
func Inspect(opts Options) *Document {
	c := newChecker(opts)
	var spec *Spec
	alone := IsAttention(opts)
	if alone {
		c.merge()
		c.attention()
	} else {
		spec = c.resolveFirst()
	}
	if c.unparsed { // use the definitions that parsed
		v := c.separate()
		v.collect()
		c.defined, c.definitions = v.defined, v.definitions
	}
	doc := &Document{Spec: spec, Alone: alone, List: c.complete(c.list), Blocks: c.written.blocks, Settings: c.written.settings, Includes: c.written.includes}
	if spec != nil {
		doc.Limits = Lowerable(spec)
	}
	for i := range doc.Settings {
		s := &doc.Settings[i]
		set := c.wins(s)
		s.Wins = set != nil
		if v := c.values[s.Path]; v != nil {
			s.Text = v.text
		} else if s.Wins {
			s.Text = dsl.Format(set.value)
		}
	}
	doc.Definitions = c.describe()
	return doc
}

// wins returns the setting in the spec, or in the first training of its sweep, that s
// became. It returns nil if another setting overrides s.
func (c *checker) wins(s *Setting) *setting {
	for _, m := range []*merged{c.merged, c.first} {
		if m != nil && m.settings[s.Path] != nil && m.settings[s.Path].name == s.Name {
			return m.settings[s.Path]
		}
	}
	return nil
}

// describe lists the definitions with the places that use them.
func (c *checker) describe() []Definition {
	var out []Definition
	for _, d := range c.defined {
		out = append(out, d.describe())
	}
	for _, name := range c.stages {
		block := c.stageBlock(name)
		out = append(out, Definition{Kind: kindOf(block), Name: name, At: c.where(block)})
	}
	for _, d := range c.lang.prelude {
		if c.definitions[d.name] == nil {
			out = append(out, d.describe())
		}
	}
	uses := c.written.uses()
	for i := range out {
		out[i].Uses = uses[out[i].Name]
	}
	return out
}

func (d *definition) describe() Definition {
	out := Definition{Kind: d.kind, Name: d.name, At: d.at, Prelude: d.prelude, Doc: d.doc}
	for _, n := range d.params() {
		out.Params = append(out.Params, Param{n, dsl.Format(d.attrs[n].value)})
	}
	return out
}
