package lsp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// hover explains the word at an offset, in Markdown. The text is empty if there is no
// explanation.
func (v *view) hover(offset int) (text string, at diag.Range) {
	p := locate(v.text, offset)
	switch {
	case p.word.Text == "":
	case p.title:
		text = v.hoverLabel(p)
	case p.attr == "":
		text = v.hoverHead(join(p.block, strings.Join(append(slices.Clone(p.head), p.word.Text), ".")), p)
	default:
		text = v.hoverValue(p)
	}
	return text, v.tokenRange(p.word)
}

// hoverLabel explains the kind of a task or the name of a bias, mask or stage.
func (v *view) hoverLabel(p place) string {
	block := join(p.block, strings.Join(p.head, "."))
	if row := check.BlockRow(block); row != nil && row.Label == dsl.KindLabel {
		for _, k := range dsl.NewSchema().Kinds {
			if k.Name == p.word.Text {
				return about(block+" "+k.Name, k.Doc)
			}
		}
	}
	return v.hoverName(p.word.Text, block)
}

// hoverHead explains a block or attribute at its definition.
func (v *view) hoverHead(path string, p place) string {
	if row := check.BlockRow(path); row != nil {
		return about(path, row.Doc)
	}
	if r := row(path); r != nil {
		return v.hoverAttribute(path, r, p.word)
	}
	return ""
}

func (v *view) hoverAttribute(path string, row *dsl.Row, word dsl.Token) string {
	text := about(path, row.Doc) + facts(row)
	at := v.pos(v.path, word.Offset)
	for _, s := range v.doc.Settings {
		if s.Name.Start == at && s.Text != "" {
			text += fmt.Sprintf("- here: `%s`\n", s.Text)
			if !s.Wins {
				text += "- a later setting overrides this one\n"
			}
		}
	}
	return text
}

// facts lists the form of a value, its units and its default.
func facts(row *dsl.Row) string {
	text := "- value: " + row.Takes() + "\n"
	if units := row.Type.UnitNames(); len(units) > 0 {
		text += "- units: " + strings.Join(units, ", ") + "\n"
	}
	if d := row.DefaultWords(); d != "" {
		text += "- default: " + d + "\n"
	}
	return text
}

// hoverValue explains a word of a value: a choice, an argument, a definition, a variable or
// a function.
func (v *view) hoverValue(p place) string {
	s, word := v.spot(p), p.word.Text
	if s.call != nil && v.followed(p.word, "=") {
		return v.hoverArgument(s, word)
	}
	if s.row != nil {
		if o := option(s.row, word); o != nil {
			text := about(s.row.Path+" = "+word, o.Doc)
			for _, a := range o.Args {
				text += fmt.Sprintf("- `%s`: %s; default %s\n", a.Path, cmp.Or(a.Doc, a.Takes()), a.DefaultWords())
			}
			return text
		}
	}
	if text := v.hoverName(word, ""); text != "" && p.word.Kind == dsl.IdentToken {
		return text
	}
	for _, w := range check.Words() {
		if w.Name == word {
			return about(signature(w), w.Doc)
		}
	}
	return ""
}

func (v *view) hoverArgument(s spot, name string) string {
	if s.option != nil {
		if row := argument(s.option, call{key: name}); row != nil {
			return about(s.option.Name+"("+name+")", row.Doc) + facts(row)
		}
	}
	if d := v.definition(s.call.name, "bias", "mask", "table"); d != nil {
		for _, a := range d.Params {
			if a.Name == name {
				return about(d.Name+"("+name+")", "an argument of the "+d.Kind) + "- default: " + a.Default + "\n"
			}
		}
	}
	return ""
}

// followed reports whether an operator follows a word directly.
func (v *view) followed(word dsl.Token, op string) bool {
	rest := strings.TrimLeft(v.text[word.End():], " \t\r\n")
	return strings.HasPrefix(rest, op) && !strings.HasPrefix(rest, op+"=")
}

// hoverName explains a bias, mask or stage, and shows its source.
func (v *view) hoverName(name string, kinds ...string) string {
	if len(kinds) == 1 && kinds[0] == "" {
		kinds = nil
	}
	d := v.definition(name, kinds...)
	if d == nil {
		return ""
	}
	head := d.Kind + " " + d.Name
	if len(d.Params) > 0 {
		head += "(" + params(d) + ")"
	}
	text := about(head, d.Doc)
	if src := v.definitionText(d); src != "" {
		text += "```arith\n" + src + "\n```\n"
	}
	return text
}

// definitionText returns the block of a definition as it is written.
func (v *view) definitionText(d *check.Definition) string {
	src := v.text
	switch name, prelude := check.Prelude(); {
	case d.Prelude && d.At.Start.File == name:
		src = string(prelude)
	case d.At.Start.File != v.path:
		return ""
	}
	file, _ := dsl.Parse(d.At.Start.File, []byte(src))
	if file == nil {
		return ""
	}
	for _, e := range file.Entries {
		if e.Block != nil && e.Range.Start.Line <= d.At.Start.Line && d.At.Start.Line <= e.Range.End.Line {
			s := newSource(src)
			return strings.TrimSpace(strings.Join(strings.Split(s.text, "\n")[e.Range.Start.Line-1:e.Range.End.Line], "\n"))
		}
	}
	return ""
}

func params(d *check.Definition) string {
	var out []string
	for _, p := range d.Params {
		out = append(out, p.Name+" = "+p.Default)
	}
	return strings.Join(out, ", ")
}

func signature(w check.Word) string {
	if w.Kind != "function" {
		return w.Name
	}
	return w.Name + "(" + w.Args + ")"
}

// about is the head of an explanation.
func about(name, doc string) string {
	text := "**" + name + "**\n\n"
	if doc != "" {
		text += doc + "\n\n"
	}
	return text
}
