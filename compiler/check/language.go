package check

import (
	"slices"
	"strings"
	"sync"

	"github.com/arithlang/mlc/dsl"
)

// A language is shared by all specs: the schema, its defaults as trees, and the prelude.
// It never changes.
type language struct {
	schema   *dsl.Schema
	rows     map[string]*dsl.Row
	blocks   map[string]*dsl.BlockRow
	learned  *dsl.Option // the arguments of learned(…)
	table    *dsl.Option // the arguments of table(…)
	weights  *dsl.Row    // a projection's own matrix
	inits    *dsl.Row    // the choices for its init, besides a number
	defaults map[*dsl.Row]*dsl.Expr
	parsed   map[string]*dsl.Expr // the defaults by text: many rows share one
	prelude  []*definition
}

var newLanguage = sync.OnceValue(func() *language {
	l := &language{
		schema:   dsl.NewSchema(),
		rows:     make(map[string]*dsl.Row),
		blocks:   make(map[string]*dsl.BlockRow),
		learned:  learnedOption(),
		table:    tableOption(),
		weights:  weightOptions(),
		inits:    &dsl.Row{Type: dsl.Choice, Choices: initOptions()},
		defaults: make(map[*dsl.Row]*dsl.Expr),
		parsed:   make(map[string]*dsl.Expr),
	}
	for i := range l.schema.Rows {
		row := &l.schema.Rows[i]
		l.rows[row.Path] = row
		l.parseDefaults(row)
	}
	for i := range l.schema.Blocks {
		l.blocks[l.schema.Blocks[i].Path] = &l.schema.Blocks[i]
	}
	for _, k := range l.schema.Kinds {
		for i := range k.Args {
			l.parseDefaults(&k.Args[i])
		}
	}
	for _, o := range []*dsl.Option{l.learned, l.table} {
		for i := range o.Args {
			l.parseDefaults(&o.Args[i])
		}
	}
	l.parseDefaults(l.inits)
	l.parseDefaults(l.weights)
	l.prelude = parsePrelude()
	return l
})

func (l *language) parseDefaults(row *dsl.Row) {
	if row.Default != "" && row.Default[0] != '=' {
		if l.parsed[row.Default] == nil {
			l.parsed[row.Default] = dsl.ParseExpr(row.Default)
		}
		l.defaults[row] = l.parsed[row.Default]
	}
	for i := range row.Choices {
		args := row.Choices[i].Args
		for k := range args {
			l.parseDefaults(&args[k])
		}
	}
}

// root reports whether a block of this name may stand at the top of a file with a model.
// Another name can be an axis.
func (l *language) root(name string) bool { return l.blocks[name] != nil && name != "attention" }

// overlay splits the path of a setting into the stage, sweep or sweep case that contains
// it, and the rest. in is empty for other paths.
func (l *language) overlay(path string) (in, meaning string) {
	names := strings.Split(path, ".")
	n := 0
	switch {
	case names[0] == "stage", names[0] == "calibrate":
		n = 2
	case names[0] == "sweep" && len(names) > 1 && l.rows["sweep."+names[1]] != nil: // the sweep's own attribute
	case names[0] == "sweep" && len(names) > 1 && !l.root(names[1]):
		n = 3
	case names[0] == "sweep":
		n = 1
	}
	n = min(n, len(names))
	return strings.Join(names[:n], "."), strings.Join(names[n:], ".")
}

// isCase reports whether a block is a case of a sweep.
func (l *language) isCase(block string) bool {
	in, meaning := l.overlay(block)
	return meaning == "" && strings.HasPrefix(in, "sweep.") && strings.Count(in, ".") == 2
}

// row returns the schema row of an attribute. It returns nil for an unknown one, and for
// definitions in biases and masks.
func (l *language) row(path string) *dsl.Row {
	in, meaning := l.overlay(path)
	kind := kindOf(in)
	if row := l.rows[kind+"."+meaning]; row != nil && kind != "sweep" {
		return row
	}
	if in != "" && !overridable(meaning) || kind == "calibrate" {
		return nil
	}
	return l.rows[meaning]
}

// block returns the schema row of a block, or nil.
func (l *language) block(path string) *dsl.BlockRow {
	in, meaning := l.overlay(path)
	switch kind := kindOf(in); {
	case meaning == "":
		return l.blocks[in]
	case kind == "calibrate":
		return l.blocks["calibrate."+meaning]
	case in != "" && !overridable(meaning):
		return nil
	}
	return l.blocks[meaning]
}

// kindOf returns the kind of the block that a path in it begins with: stage, calibrate,
// sweep, or "".
func kindOf(in string) string {
	kind, _, _ := strings.Cut(in, ".")
	return kind
}

// renamed returns help for a path of version 1 of the language, or "".
func (l *language) renamed(path string) string {
	in, meaning := l.overlay(path)
	if kind := kindOf(in); kind == "stage" {
		if help := dsl.Renamed(kind + "." + meaning); help != "" {
			return help
		}
	}
	return dsl.Renamed(meaning)
}

// overridable reports whether stages and sweeps may change a path.
func overridable(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return first != "stage" && first != "calibrate" && first != "sweep" && first != "vet" && first != "attention"
}

// names lists the attributes and blocks that a block may contain.
func (l *language) names(block string) []string {
	in, meaning := l.overlay(block)
	kind := kindOf(in)
	var out []string
	switch {
	case kind == "calibrate":
		return l.schema.Names(strings.TrimSuffix("calibrate."+meaning, "."))
	case meaning == "" && in != "":
		if kind == "stage" || in == "sweep" {
			out = l.schema.Names(kind)
		}
		for _, n := range l.schema.Names("") {
			if overridable(n) {
				out = append(out, n)
			}
		}
		return out
	}
	return l.schema.Names(meaning)
}

// naming reports whether the spec chooses the names of blocks inside this one: biases,
// masks, tables, stages, calibrations, and the axes and cases of a sweep.
func (l *language) naming(block, name string) bool {
	if row := l.block(block); row != nil && row.Label == dsl.NameLabel {
		return true
	}
	in, meaning := l.overlay(block)
	if meaning != "" || !strings.HasPrefix(in+".", "sweep.") {
		return false
	}
	return in == "sweep" && !l.root(name) && l.rows["sweep."+name] == nil || strings.Count(in, ".") == 1
}

// defines reports whether a block is a bias, a mask or a table.
func (l *language) defines(block string) bool {
	_, meaning := l.overlay(block)
	kind, _, ok := strings.Cut(meaning, ".")
	return ok && slices.Contains(kinds, kind)
}
