package lsp

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// A proposalKind is a kind of proposals, which selects the icon.
type proposalKind uint8

const (
	blockProposal proposalKind = iota
	attributeProposal
	choiceProposal
	argumentProposal
	unitProposal
	variableProposal
	functionProposal
	definitionProposal
)

// A proposal is a text that may be inserted at a point.
type proposal struct {
	kind   proposalKind
	label  string // the shown text, which is inserted if insert is ""
	insert string
	detail string // one line
	doc    string // Markdown
}

// complete proposes texts for an offset. It also returns the range that a proposal
// replaces.
func (v *view) complete(offset int) ([]proposal, diag.Range) {
	p := locate(v.text, offset)
	at := v.pos(v.path, min(p.word.Offset, offset))
	r := diag.Range{Start: at, End: v.pos(v.path, offset)}
	switch {
	case p.inside || p.word.Kind == dsl.StringToken && p.word.Text != "":
		return nil, r
	case p.title:
		return v.labels(p), r
	case p.attr == "":
		return v.names(p), r
	case p.word.Kind == dsl.NumberToken && p.word.Text != "":
		return v.units(p, offset), r
	}
	return v.values(p), r
}

// labels proposes kinds of tasks.
func (v *view) labels(p place) []proposal {
	row := check.BlockRow(join(p.block, strings.Join(p.head, ".")))
	if row == nil || row.Label != dsl.KindLabel {
		return nil
	}
	var out []proposal
	for _, k := range dsl.NewSchema().Kinds {
		out = append(out, proposal{kind: choiceProposal, label: k.Name, detail: k.Doc, doc: about(k.Name, k.Doc)})
	}
	return out
}

// names proposes blocks and attributes.
func (v *view) names(p place) []proposal {
	path := join(p.block, strings.Join(p.head, "."))
	kind, name, _ := strings.Cut(path, ".")
	var out []proposal
	switch {
	case path == "":
		out = append(out, proposal{kind: blockProposal, label: "include", insert: `include "$0"`, detail: "another file"})
	case check.Defines(kind) && name != "" && !strings.Contains(name, "."):
		return []proposal{attribute("value", definitionRow(kind, "value"))}
	case check.Defines(path) || path == "stage" || path == "calibrate": // the user chooses the name
		return nil
	}
	for _, name := range check.Names(path) {
		if block := check.BlockRow(join(path, name)); block != nil {
			out = append(out, proposal{blockProposal, name, name + body(block), block.Doc, about(block.Path, block.Doc)})
		} else if r := check.Row(join(path, name)); r != nil && belongs(r.Kinds, p) {
			out = append(out, attribute(name, r))
		}
	}
	return out
}

// body is the snippet after the name of a block.
func body(block *dsl.BlockRow) string {
	if block.Label == dsl.KindLabel || block.Label == dsl.NameLabel {
		return " $1 {\n  $0\n}"
	}
	return " {\n  $0\n}"
}

// belongs reports whether the task at p is among kinds, which are those of an attribute, a
// choice or an argument.
func belongs(kinds string, p place) bool {
	return kinds == "" || p.block != "task" || p.label == "" || slices.Contains(strings.Fields(kinds), p.label)
}

func attribute(name string, row *dsl.Row) proposal {
	return proposal{attributeProposal, name, name + " = $0", row.Takes(), about(row.Path, row.Doc) + facts(row)}
}

// units proposes the units after the digits before an offset.
func (v *view) units(p place, offset int) []proposal {
	s := v.spot(p)
	if s.row == nil {
		return nil
	}
	digits := strings.TrimRight(v.text[p.word.Offset:offset], "%abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	var out []proposal
	for _, u := range s.row.Type.UnitNames() {
		out = append(out, proposal{kind: unitProposal, label: digits + u, detail: s.row.Doc})
	}
	return out
}

// values proposes values, or arguments of a value.
func (v *view) values(p place) []proposal {
	s := v.spot(p)
	var out []proposal
	if s.call != nil && s.call.key == "" {
		out = v.arguments(s, p)
	}
	if s.row == nil {
		return out
	}
	for _, o := range s.row.Choices {
		if !belongs(o.Kinds, p) {
			continue
		}
		out = append(out, proposal{choiceProposal, o.Name, o.Name + parentheses(len(o.Args)), o.Doc, about(o.Name, o.Doc)})
	}
	words := strings.Fields(s.row.Words)
	if s.row.Type == dsl.Bool {
		words = append(words, "true", "false")
	}
	for _, w := range words {
		out = append(out, proposal{kind: choiceProposal, label: w, detail: s.row.Doc})
	}
	return append(out, v.expression(p, s.row.Type)...)
}

// parentheses is the snippet for a call's arguments; "" if there are none.
func parentheses(args int) string {
	if args == 0 {
		return ""
	}
	return "($0)"
}

// arguments proposes the names of arguments.
func (v *view) arguments(s spot, p place) []proposal {
	var out []proposal
	if s.option != nil {
		for i := range s.option.Args {
			row := &s.option.Args[i]
			if !belongs(row.Kinds, p) {
				continue
			}
			out = append(out, proposal{argumentProposal, row.Path, row.Path + " = $0", row.Takes(),
				about(row.Path, row.Doc) + facts(row)})
		}
	} else if d := v.definition(s.call.name, "bias", "mask", "table"); d != nil {
		for _, a := range d.Params {
			out = append(out, proposal{kind: argumentProposal, label: a.Name, insert: a.Name + " = $0", detail: "default " + a.Default})
		}
	}
	return out
}

// expression proposes words of masks and biases, and names of stages and calibrations.
func (v *view) expression(p place, t dsl.Type) []proposal {
	kinds := map[dsl.Type][]string{dsl.Condition: {"mask"}, dsl.Bias: {"bias", "mask"}, dsl.Table: {"table"}, dsl.StageName: {"stage"}}[t]
	if t == dsl.Bias {
		kinds = append(kinds, "calibrate")
	}
	var out []proposal
	seen := make(map[string]bool)
	for n := range v.doc.Definitions {
		d := &v.doc.Definitions[n]
		if slices.Contains(kinds, d.Kind) && !seen[d.Name] {
			seen[d.Name] = true
			out = append(out, proposal{definitionProposal, d.Name, d.Name + parentheses(len(d.Params)), d.Kind + " " + d.Name + "(" + params(d) + ")",
				v.hoverName(d.Name, d.Kind)})
		}
	}
	if t != dsl.Condition && t != dsl.Bias && t != dsl.Table {
		return out
	}
	for _, s := range v.doc.Settings { // names that the block defines
		if name, ok := strings.CutPrefix(s.Path, p.block+"."); ok && s.Row == nil && !seen[name] && s.Path != p.attr {
			seen[name] = true
			out = append(out, proposal{kind: variableProposal, label: name, detail: s.Text})
		}
	}
	alone := v.doc.Alone || p.block == "attention" // even if the block does not parse
	for _, w := range check.Words() {
		if w.Kind != "function" && (w.Kind == "table variable") != (t == dsl.Table) || w.OfModel && alone {
			continue
		}
		kind, insert := variableProposal, w.Name
		if w.Kind == "function" {
			kind, insert = functionProposal, w.Name+"($0)"
		}
		out = append(out, proposal{kind, w.Name, insert, signature(w), w.Doc})
	}
	return out
}
