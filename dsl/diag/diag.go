// Package diag holds diagnostics as data: code, severity, range, message, help and notes.
// It prints them as text and JSON, and documents each code with an example. The parser
// and the checker make diagnostics, and the command line prints them.
package diag

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Severity says whether compilation can continue.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText writes the severity as its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Diagnostic is one finding about a spec.
type Diagnostic struct {
	Code     string   // the ID of a Code
	Severity Severity // Warning for the codes that begin with V
	Range    Range    // the text under the caret
	Message  string   // lower case, no full stop
	Help     string   // how to repair it; may be empty
	Notes    []Note
	Source   string // the line of Range.Start if it is in no file (--set), else empty
}

// A Note points at another place that belongs to a diagnostic.
type Note struct {
	Pos     Pos
	Message string
}

// New returns a diagnostic. Its severity follows from the code. An unknown code is a bug
// in the compiler and panics.
func New(code string, r Range, format string, args ...any) *Diagnostic {
	if _, ok := Lookup(code); !ok {
		panic("BUG: no diagnostic code " + code)
	}
	d := &Diagnostic{Code: code, Range: r, Message: fmt.Sprintf(format, args...)}
	if code[0] == 'V' {
		d.Severity = Warning
	}
	return d
}

// Label returns the code as findings print it: with the name of a warning.
func (d *Diagnostic) Label() string {
	c, _ := Lookup(d.Code)
	return c.Label()
}

// WithHelp sets the help text and returns d. An empty format changes nothing.
func (d *Diagnostic) WithHelp(format string, args ...any) *Diagnostic {
	if format != "" {
		d.Help = fmt.Sprintf(format, args...)
	}
	return d
}

// WithNote adds a note and returns d.
func (d *Diagnostic) WithNote(p Pos, format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Note{p, fmt.Sprintf(format, args...)})
	return d
}

// A List is diagnostics in order of their places.
type List []*Diagnostic

// Limit is the largest number of diagnostics that Text and JSON print.
const Limit = 20

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d *Diagnostic) bool { return d.Severity == Error })
}

// Sort orders the list by place, code and message, and drops repetitions.
func (l List) Sort() List {
	slices.SortStableFunc(l, func(a, b *Diagnostic) int {
		return cmp.Or(a.Range.Start.compare(b.Range.Start), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(l, func(a, b *Diagnostic) bool {
		return a.Code == b.Code && a.Range == b.Range && a.Message == b.Message
	})
}

// shown returns the diagnostics within Limit, errors before warnings, and the number of
// the others.
func (l List) shown() (List, int) {
	if len(l) <= Limit {
		return l, 0
	}
	room := Limit
	keep := make(map[*Diagnostic]bool)
	for _, s := range []Severity{Error, Warning} {
		for _, d := range l {
			if d.Severity == s && room > 0 {
				keep[d] = true
				room--
			}
		}
	}
	out := make(List, 0, Limit)
	for _, d := range l {
		if keep[d] {
			out = append(out, d)
		}
	}
	return out, len(l) - len(out)
}

// jsonDiagnostic fixes the keys of the JSON form.
type jsonDiagnostic struct {
	Code     string     `json:"code"`
	Name     string     `json:"name,omitempty"`
	Severity Severity   `json:"severity"`
	File     string     `json:"file"`
	Line     int        `json:"line"`
	Col      int        `json:"col"`
	EndLine  int        `json:"end_line"`
	EndCol   int        `json:"end_col"`
	Message  string     `json:"message"`
	Help     string     `json:"help,omitempty"`
	Notes    []jsonNote `json:"notes,omitempty"`
}

type jsonNote struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
	Message string `json:"message"`
}

// JSON writes one object per line for each of the first Limit diagnostics. It returns the
// error of w.
func (l List) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	shown, _ := l.shown()
	for _, d := range shown {
		page, _ := Lookup(d.Code)
		j := jsonDiagnostic{
			Code: d.Code, Name: page.Name, Severity: d.Severity, File: d.Range.Start.File,
			Line: d.Range.Start.Line, Col: d.Range.Start.Col,
			EndLine: d.Range.End.Line, EndCol: d.Range.End.Col,
			Message: d.Message, Help: d.Help,
		}
		for _, n := range d.Notes {
			j.Notes = append(j.Notes, jsonNote{n.Pos.File, n.Pos.Line, n.Pos.Col, n.Message})
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return nil
}
