package lsp

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl"
)

// A place is the context of a point in a text. It may be incomplete while the user types.
type place struct {
	word   dsl.Token // the word at or just before the point: a name, number or text; else empty
	inside bool      // in a comment, which needs no explanation
	block  string    // path of the innermost block, with its name if it is a bias, mask or stage
	label  string    // label of the innermost block
	head   []string  // names in the entry's path before the word
	title  bool      // the word is, or would be, the label of a block
	attr   string    // path of the attribute whose value the point is in; "" in the head of an entry
	calls  []call    // open calls and lists of the value, outermost first
}

// A call is an open bracket of a value.
type call struct {
	name string // name of the function; "" for a list, an index or parentheses
	list bool   // square brackets
	arg  int    // index of the argument
	key  string // its name, if it has one
}

// locate returns the place of an offset.
func locate(src string, offset int) place {
	l := &locator{src: src, blocks: []frame{{}}}
	for _, t := range dsl.Tokens(src) {
		switch t.Kind {
		case dsl.IdentToken, dsl.NumberToken, dsl.StringToken:
			if t.Offset <= offset && offset <= t.End() {
				return l.place(t)
			}
		case dsl.CommentToken:
			if t.Offset < offset && offset <= t.End() {
				return place{inside: true, word: dsl.Token{Offset: offset}}
			}
			continue
		}
		if t.End() > offset {
			return l.place(dsl.Token{Offset: offset})
		}
		l.step(t)
	}
	return l.place(dsl.Token{Offset: offset})
}

// A locator follows the tokens of a text up to a point. It recovers from syntax errors: an
// entry without a value ends where a line begins with a name.
type locator struct {
	src    string
	blocks []frame   // the file itself is the first
	prev   dsl.Token // the last token
	path   []string  // names of the entry so far
	label  string
	run    []string // the dotted name that ends with prev
	attr   string   // as in place
	calls  []call
}

type frame struct{ path, label string }

func (l *locator) block() frame { return l.blocks[len(l.blocks)-1] }

// place returns the place of word t, or of a point between words if t has no text.
func (l *locator) place(t dsl.Token) place {
	if t.Kind == dsl.IdentToken || t.Text == "" {
		l.begin(t)
	}
	p := place{word: t, block: l.block().path, label: l.block().label, attr: l.attr, calls: l.calls}
	if l.attr == "" {
		p.head = l.path
		p.title = len(l.path) > 0 && l.prev.Text != "."
	}
	return p
}

// begin starts a new entry if word t cannot belong to the last one: after a complete value,
// or after a path on another line.
func (l *locator) begin(t dsl.Token) {
	switch {
	case l.attr != "" && len(l.calls) == 0 && ends(l.prev):
	case l.attr == "" && len(l.path) > 0 && l.prev.Text != "." && (l.label != "" || strings.Contains(l.src[l.prev.End():t.Offset], "\n")):
	default:
		return
	}
	l.clear()
}

func (l *locator) clear() { l.path, l.label, l.attr, l.calls = nil, "", "", nil }

// ends reports whether an operand may end with t.
func ends(t dsl.Token) bool {
	return t.Text != "" && (t.Kind != dsl.OpToken || t.Text == ")" || t.Text == "]")
}

// step reads a token before the point.
func (l *locator) step(t dsl.Token) {
	if t.Kind == dsl.IdentToken {
		l.begin(t)
		if l.prev.Text != "." {
			l.run = nil
		}
		l.run = append(l.run[:len(l.run):len(l.run)], t.Text)
	}
	switch {
	case t.Text == "{" || t.Text == "}":
		l.brace(t)
	case l.attr == "":
		l.inHead(t)
	default:
		l.inValue(t)
	}
	l.prev = t
}

// brace enters or leaves a block, even after an unfinished value.
func (l *locator) brace(t dsl.Token) {
	switch {
	case t.Text == "}" && len(l.blocks) > 1:
		l.blocks = l.blocks[:len(l.blocks)-1]
	case t.Text == "{":
		path := l.path
		if l.attr != "" {
			path = l.run
		}
		l.blocks = append(l.blocks, l.enter(path))
	}
	l.clear()
}

// enter returns the block that the head of an entry opens. The body of an include is like
// the file. The label is a part of the path, except for the kind of a task.
func (l *locator) enter(path []string) frame {
	if len(path) == 1 && path[0] == "include" {
		return l.block()
	}
	f := frame{path: join(l.block().path, strings.Join(path, ".")), label: l.label}
	if row := check.BlockRow(f.path); l.label != "" && (row == nil || row.Label == dsl.NameLabel) {
		f.path = join(f.path, l.label)
	}
	return f
}

func (l *locator) inHead(t dsl.Token) {
	switch {
	case t.Kind == dsl.IdentToken && (len(l.path) == 0 || l.prev.Text == "."):
		l.path = append(l.path[:len(l.path):len(l.path)], t.Text)
	case t.Kind == dsl.IdentToken:
		l.label = t.Text
	case t.Text == "=" && l.label != "": // an unfinished entry precedes it
		l.attr = join(l.block().path, l.label)
	case t.Text == "=":
		l.attr = join(l.block().path, strings.Join(l.path, "."))
	}
}

func (l *locator) inValue(t dsl.Token) {
	switch top := len(l.calls) - 1; {
	case t.Text == "(" || t.Text == "[":
		c := call{list: t.Text == "["}
		if !c.list && l.prev.Kind == dsl.IdentToken {
			c.name = strings.Join(l.run, ".")
		}
		l.calls = append(l.calls[:len(l.calls):len(l.calls)], c)
	case top < 0:
		if t.Text == "=" { // the previous entry has no value
			l.attr = join(l.block().path, strings.Join(l.run, "."))
		}
	case t.Text == ")" || t.Text == "]":
		l.calls = l.calls[:top]
	case t.Text == ",":
		l.calls = slices.Clone(l.calls)
		l.calls[top].arg++
		l.calls[top].key = ""
	case t.Text == "=":
		l.calls = slices.Clone(l.calls)
		l.calls[top].key = l.prev.Text
	}
}

func join(parent, name string) string {
	if parent == "" || name == "" {
		return parent + name
	}
	return parent + "." + name
}
