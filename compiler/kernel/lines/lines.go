// Package lines reads and writes the lines of the kernel IR's text (package kernel),
// which has one statement a line.
package lines

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// A Reader reads one line at a time; Keyword and Rest are those of line number At.
type Reader struct {
	At            int
	Keyword, Rest string

	lines []string
}

// NewReader returns a reader before the first line of a text.
func NewReader(text string) *Reader { return &Reader{lines: strings.Split(text, "\n")} }

// Next steps to the next line that says something: neither a blank one nor one that
// begins with //. At the end of the text there is no keyword.
func (r *Reader) Next() bool {
	r.Keyword, r.Rest = "", ""
	for r.At < len(r.lines) {
		line := strings.TrimSpace(r.lines[r.At])
		r.At++
		if line != "" && !strings.HasPrefix(line, "//") {
			r.Keyword = strings.Fields(line)[0]
			r.Rest = strings.TrimSpace(line[len(r.Keyword):])
			return true
		}
	}
	return false
}

// Format is one line: a keyword, padded so that what follows lines up, and the rest.
func Format(depth int, keyword, rest string) string {
	return fmt.Sprintf("%s%-6s %s\n", strings.Repeat("  ", depth), keyword, rest)
}

// End is the line that ends a body.
func End(depth int) string { return strings.Repeat("  ", depth) + "end\n" }

// Split splits a text at its commas outside of brackets; an empty text has no
// items.
func Split(text string) []string {
	var items []string
	for text = strings.TrimSpace(text); text != ""; {
		item, rest, more := Cut(text, ',')
		items = append(items, item)
		if text = rest; more && text == "" {
			items = append(items, "")
		}
	}
	return items
}

// Cut cuts a text around the first sep outside of brackets, and trims both parts.
func Cut(text string, sep byte) (before, after string, found bool) {
	depth := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == sep && depth == 0:
			return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:]), true
		}
	}
	return strings.TrimSpace(text), "", false
}

// Pos is a position as text, which follows something on its line.
func Pos(p diag.Pos) string {
	if p == (diag.Pos{}) {
		return ""
	}
	return fmt.Sprintf(" // %s:%d:%d", p.File, p.Line, p.Col)
}

// ParsePos reads file:line:col; the file's name may hold colons.
func ParsePos(text string) (diag.Pos, error) {
	rest, col, ok1 := cutLast(text, ":")
	file, line, ok2 := cutLast(rest, ":")
	l, err1 := strconv.Atoi(line)
	c, err2 := strconv.Atoi(col)
	if !ok1 || !ok2 || err1 != nil || err2 != nil {
		return diag.Pos{}, fmt.Errorf("%q is no position: it wants the form file:line:column", text)
	}
	return diag.Pos{File: file, Line: l, Col: c}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Expr is expr.String also for the missing expressions of an invalid kernel.
func Expr(e *expr.Expr) string {
	if e == nil {
		return "?"
	}
	return e.String()
}

// Exprs lists expressions.
func Exprs(es []*expr.Expr) string {
	texts := make([]string, len(es))
	for i, e := range es {
		texts[i] = Expr(e)
	}
	return strings.Join(texts, ", ")
}

// Random reads "stream of example from base".
func Random(text string) (stream uint32, example, base string, err error) {
	number, rest, ok1 := strings.Cut(text, " of ")
	example, base, ok2 := strings.Cut(rest, " from ")
	n, err := strconv.ParseUint(number, 10, 32)
	if !ok1 || !ok2 || err != nil {
		return 0, "", "", fmt.Errorf("%q wants the form stream of example from base", text)
	}
	return uint32(n), example, base, nil
}
