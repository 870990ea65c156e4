package lsp

import (
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// define finds the definition of the word at an offset: the included file, a bias, mask or
// stage, or a definition in the same block. The range of a file is its first byte. ok is
// false if there is no definition.
func (v *view) define(offset int) (diag.Range, bool) {
	p := locate(v.text, offset)
	switch {
	case p.word.Text == "":
	case p.word.Kind == dsl.StringToken:
		at := v.pos(v.path, p.word.Offset)
		for _, i := range v.doc.Includes {
			if i.At.Start == at {
				start := diag.Pos{File: i.File, Line: 1, Col: 1}
				return diag.Range{Start: start, End: start}, true
			}
		}
	case p.attr != "":
		local := join(p.block, p.word.Text)
		for _, s := range v.doc.Settings {
			if s.Path == local && s.Row == nil && (strings.HasPrefix(local, "bias.") || strings.HasPrefix(local, "mask.")) {
				return s.Name, true
			}
		}
		if d := v.definition(p.word.Text); d != nil {
			return d.At, true
		}
	}
	return diag.Range{}, false
}
