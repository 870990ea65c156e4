package kernel

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// A lineReader reads one line at a time; keyword and rest are those of line number at.
type lineReader struct {
	at            int
	keyword, rest string

	lines []string
}

// newLineReader returns a reader before the first line of a text.
func newLineReader(text string) *lineReader { return &lineReader{lines: strings.Split(text, "\n")} }

// next steps to the next line that says something: neither a blank one nor one that
// begins with //. At the end of the text there is no keyword.
func (r *lineReader) next() bool {
	r.keyword, r.rest = "", ""
	for r.at < len(r.lines) {
		line := strings.TrimSpace(r.lines[r.at])
		r.at++
		if line != "" && !strings.HasPrefix(line, "//") {
			r.keyword = strings.Fields(line)[0]
			r.rest = strings.TrimSpace(line[len(r.keyword):])
			return true
		}
	}
	return false
}

// formatLine is one line: a keyword, padded so that what follows lines up, and the rest.
func formatLine(depth int, keyword, rest string) string {
	return fmt.Sprintf("%s%-6s %s\n", strings.Repeat("  ", depth), keyword, rest)
}

// endLine is the line that ends a body.
func endLine(depth int) string { return strings.Repeat("  ", depth) + "end\n" }

// splitList splits a text at its commas outside of brackets; an empty text has no
// items.
func splitList(text string) []string {
	var items []string
	for text = strings.TrimSpace(text); text != ""; {
		item, rest, more := cutOutside(text, ',')
		items = append(items, item)
		if text = rest; more && text == "" {
			items = append(items, "")
		}
	}
	return items
}

// cutOutside cuts a text around the first sep outside of brackets, and trims both parts.
func cutOutside(text string, sep byte) (before, after string, found bool) {
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

// posText is a position as text, which follows something on its line.
func posText(p diag.Pos) string {
	if p == (diag.Pos{}) {
		return ""
	}
	return fmt.Sprintf(" // %s:%d:%d", p.File, p.Line, p.Col)
}

// parsePos reads file:line:col; the file's name may hold colons.
func parsePos(text string) (diag.Pos, error) {
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

// exprText is expr.String also for the missing expressions of an invalid kernel.
func exprText(e *expr.Expr) string {
	if e == nil {
		return "?"
	}
	return e.String()
}

// exprTexts lists expressions.
func exprTexts(es []*expr.Expr) string {
	texts := make([]string, len(es))
	for i, e := range es {
		texts[i] = exprText(e)
	}
	return strings.Join(texts, ", ")
}

// cutRandom reads "stream of example from base".
func cutRandom(text string) (stream uint32, example, base string, err error) {
	number, rest, ok1 := strings.Cut(text, " of ")
	example, base, ok2 := strings.Cut(rest, " from ")
	n, err := strconv.ParseUint(number, 10, 32)
	if !ok1 || !ok2 || err != nil {
		return 0, "", "", fmt.Errorf("%q wants the form stream of example from base", text)
	}
	return uint32(n), example, base, nil
}
