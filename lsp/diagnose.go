package lsp

import "github.com/arithlang/mlc/dsl/diag"

// A finding is a diagnostic with its place in one file.
type finding struct {
	*diag.Diagnostic
	at    diag.Range // in the file that shows it
	limit bool       // valid, but not compiled yet
}

// findings returns the diagnostics of a text. A diagnostic in an included file is shown at
// the include.
func (v *view) findings() []finding {
	var out []finding
	add := func(list diag.List, limit bool) {
		for _, d := range list {
			out = append(out, finding{d, v.shownAt(d), limit})
		}
	}
	add(v.doc.List, false)
	add(v.doc.Limits, true)
	return out
}

// shownAt returns where the file shows a diagnostic: at its own place, at the include that
// leads to it, or at the start of the file.
func (v *view) shownAt(d *diag.Diagnostic) diag.Range {
	if d.Range.Start.IsValid() && d.Range.Start.File == v.path {
		return d.Range
	}
	for _, n := range d.Notes {
		for _, i := range v.doc.Includes {
			if n.Pos.File == v.path && i.At.Start.File == v.path && i.At.Start.Line == n.Pos.Line {
				return i.At
			}
		}
	}
	start := diag.Pos{File: v.path, Line: 1, Col: 1}
	return diag.Range{Start: start, End: start}
}
