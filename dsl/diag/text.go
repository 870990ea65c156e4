package diag

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// The colors of the text form, as terminal escapes.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	blue   = "\x1b[34m"
	reset  = "\x1b[0m"
)

// Text writes the first Limit diagnostics for people: place, code and message, the source
// line with a caret under the exact span, help, notes. read returns the text of a file
// that a diagnostic names. If it fails, the line is left out. Text returns the error of
// w.
func (l List) Text(w io.Writer, read func(path string) ([]byte, error), color bool) error {
	var b strings.Builder
	shown, more := l.shown()
	lines := lineReader(read)
	for i, d := range shown {
		if i > 0 {
			b.WriteByte('\n')
		}
		d.text(&b, lines, color)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n%d more not shown\n", more)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lineReader returns a function for single lines that reads each file once.
func lineReader(read func(string) ([]byte, error)) func(Pos) (string, bool) {
	files := make(map[string][][]byte)
	return func(p Pos) (string, bool) {
		lines, ok := files[p.File]
		if !ok {
			if src, err := read(p.File); err == nil {
				lines = bytes.Split(src, []byte("\n"))
			}
			files[p.File] = lines
		}
		if p.Line < 1 || p.Line > len(lines) {
			return "", false
		}
		return strings.TrimRight(string(lines[p.Line-1]), "\r"), true
	}
}

func (d *Diagnostic) text(b *strings.Builder, lines func(Pos) (string, bool), color bool) {
	paint := func(c, s string) string {
		if !color {
			return s
		}
		return c + s + reset
	}
	level := red
	if d.Severity == Warning {
		level = yellow
	}
	p := d.Range.Start
	fmt.Fprintf(b, "%s %s %s\n", paint(bold, printable(p.String())+":"), paint(level, fmt.Sprintf("%v[%s]:", d.Severity, d.Label())), printable(d.Message))
	line, ok := d.Source, d.Source != ""
	if !ok && p.IsValid() {
		line, ok = lines(p)
	}
	if ok {
		text, caret := snippet(line, d.Range)
		fmt.Fprintf(b, "%s %s\n", paint(blue, fmt.Sprintf("%4d |", p.Line)), text)
		fmt.Fprintf(b, "%s %s\n", paint(blue, "     |"), paint(level, caret))
	}
	if d.Help != "" {
		fmt.Fprintf(b, "     %s %s\n", paint(blue, "= help:"), printable(d.Help))
	}
	for _, n := range d.Notes {
		at := ""
		if n.Pos.IsValid() {
			at = " at " + n.Pos.String()
		}
		fmt.Fprintf(b, "     %s %s%s\n", paint(blue, "= note:"), printable(n.Message), printable(at))
	}
}

// String returns file:line:col, or the known parts.
func (p Pos) String() string {
	switch {
	case !p.IsValid() && p.File == "":
		return "spec"
	case !p.IsValid():
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// The longest source line that is printed whole, and the length of text before the caret
// that a longer line keeps.
const (
	maxLine = 160
	before  = 60
)

// snippet returns the printable form of a line and the carets under r. Long lines are cut
// around the caret. Tabs become one space and control characters a question mark, so that
// the caret stays in its column.
func snippet(line string, r Range) (text, caret string) {
	start := min(max(r.Start.Col-1, 0), len(line))
	end := len(line)
	if r.End.Line == r.Start.Line {
		end = min(max(r.End.Col-1, start), len(line))
	}
	lead := ""
	if len(line) > maxLine {
		from := max(start-before, 0)
		to := min(from+maxLine, len(line))
		if from > 0 {
			lead = "…"
		}
		line, start, end = line[from:to], start-from, min(end, to)-from
	}
	wide := utf8.RuneCountInString(lead + line[:start])
	n := max(utf8.RuneCountInString(line[start:max(start, end)]), 1)
	return lead + printable(line), strings.Repeat(" ", wide) + strings.Repeat("^", n)
}

// printable replaces control characters, which a terminal would obey. File names can
// contain them, too.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return '?'
		}
		return r
	}, s)
}
