package lsp

import "github.com/arithlang/mlc/dsl/diag"

// A finding is a diagnostic as it is shown in one file.
type finding struct {
	*diag.Diagnostic
	at    diag.Range // in the file that is shown
	limit bool       // right, but not compiled yet
}

// findings gives the diagnostics of a text. One about a file that it includes is
// shown at the include.
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

// shownAt is the place of a diagnostic in the file itself: its own, that of the
// include that leads to it, or the start of the file.
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
