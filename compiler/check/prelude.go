package check

import (
	_ "embed"
	"strings"

	"github.com/arithlang/mlc/dsl"
)

// preludeFile names the prelude in places.
const preludeFile = "prelude"

//go:embed prelude.arith
var preludeText string

// Prelude returns the masks and biases that every spec sees: the file name in
// diagnostics, and the text.
func Prelude() (name string, text []byte) { return preludeFile, []byte(preludeText) }

// parsePrelude returns the definitions of the prelude.
func parsePrelude() []*definition {
	tree, list := dsl.Parse(preludeFile, []byte(preludeText))
	if len(list) > 0 {
		panic("BUG: the prelude: " + list[0].Message)
	}
	lines := strings.Split(preludeText, "\n")
	var out []*definition
	for _, e := range tree.Entries {
		d := newDefinition(e.Path[0].Name, e.Block.Label.Name)
		d.prelude, d.at = true, e.Block.Label.Range
		d.doc = commentAbove(lines, e.Range.Start.Line)
		for _, a := range e.Block.Entries {
			d.add(a.Path[0].Name, &setting{name: a.Path[0].Range, value: a.Value})
		}
		out = append(out, d)
	}
	return out
}

// commentAbove returns the text of the comment that ends just before a line.
func commentAbove(lines []string, line int) string {
	first := line - 1
	for first > 0 && strings.HasPrefix(lines[first-1], "//") {
		first--
	}
	var words []string
	for _, l := range lines[first : line-1] {
		words = append(words, strings.TrimSpace(strings.TrimPrefix(l, "//")))
	}
	return strings.Join(words, " ")
}

// preludeOf returns the prelude's definition of a name, or nil.
func (l *language) preludeOf(name string) *definition {
	for _, d := range l.prelude {
		if d.name == name {
			return d
		}
	}
	return nil
}
