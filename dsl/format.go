package dsl

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl/diag"
)

// FormatFile formats a source file. Each entry has its own line, indented by two spaces
// per block. Equal signs and trailing comments of neighboring lines are aligned.
// Expressions have the spacing of Format. At most one blank line separates entries.
//
// A block that was on one line with at most one entry stays there. A value that was
// broken after a bracket, comma or operator stays broken. Only white space changes,
// except that a comma before a bracket on the same line is removed. Comments, numbers and
// parentheses stay as written, the syntax tree stays the same, and formatting again
// changes nothing. A file of version 1 becomes version 2 first.
//
// A file with errors is returned unchanged, with its diagnostics. name is its name in
// them.
func FormatFile(name string, src []byte) ([]byte, diag.List) {
	now, list := Upgrade(name, src)
	if len(list) > 0 {
		return src, list
	}
	if _, list := Parse(name, now); len(list) > 0 {
		return src, list
	}
	f := &formatter{words: scan(string(now))}
	f.header = f.skip(f.skip(0)+1) + 1
	f.entries(0)
	if f.body < len(f.rows) {
		f.rows[f.body].blank = true
	}
	return layout(f.rows), nil
}

// A word is a token or a comment. The end of the file is a word without text.
type word struct {
	kind  TokenKind
	text  string
	lines int // line breaks before it
}

// scan splits a file into words. The last is its end.
func scan(src string) []word {
	var out []word
	end := 0
	add := func(kind TokenKind, text string, at int) {
		out = append(out, word{kind, strings.TrimRight(text, " \t\r"), strings.Count(src[end:at], "\n")})
		end = at + len(text)
	}
	for _, t := range Tokens(src) {
		add(t.Kind, t.Text, t.Offset)
	}
	add(OpToken, "", len(src))
	return out
}

func (w word) end() bool { return w.text == "" }

func (w word) is(ops ...string) bool {
	return w.kind == OpToken && slices.Contains(ops, w.text)
}

func (w word) comment() bool { return w.kind == CommentToken }

// ends reports whether an operand may end with w. If so, an operator of two operands or
// another entry follows.
func (w word) ends() bool { return w.kind != OpToken || w.is(")", "]") }

// A row is a line of output.
type row struct {
	level   int    // of indentation
	blank   bool   // a blank line goes before it
	name    string // of an attribute whose equal sign is on this row
	text    string // after the equal sign, or the whole row
	comment string // after the text
}

// A formatter turns the words of a file into rows.
type formatter struct {
	words  []word
	header int // index of the word after "arith 2"
	n      int // index of the next word
	rows   []row
	body   int // rows up to "arith 2"
}

// skip returns the index of the first word from n on that is not a comment.
func (f *formatter) skip(n int) int {
	for f.words[n].comment() {
		n++
	}
	return n
}

// entries formats the entries of a block or the file.
func (f *formatter) entries(level int) {
	start := len(f.rows)
	for {
		w, begin := f.words[f.n], len(f.rows)
		switch {
		case w.end() || w.is("}"):
			return
		case w.comment() && w.lines == 0 && begin > 0:
			f.rows[begin-1].comment = w.text
			f.n++
			continue
		case w.comment():
			f.rows = append(f.rows, row{level: level, text: w.text})
			f.n++
		default:
			f.entry(level)
		}
		f.rows[begin].blank = w.lines > 1 && begin > start
	}
}

func (f *formatter) entry(level int) {
	if f.n < f.header {
		f.fragment(level, f.header)
		f.body = len(f.rows)
		return
	}
	switch head := f.head(f.n); {
	case f.words[head].is("="):
		f.attribute(level, head)
	case f.words[head].is("{") && !f.oneLine(head):
		f.fragment(level, head+1)
		f.entries(level + 1)
		f.fragment(level, f.n+1)
	default:
		f.fragment(level, f.entryEnd(f.n))
	}
}

// attribute formats an attribute whose equal sign is word eq. Its name is formatted
// separately unless comments interrupt it.
func (f *formatter) attribute(level, eq int) {
	begin, end := len(f.rows), f.valueEnd(eq+1)
	if slices.ContainsFunc(f.words[f.n:eq], word.comment) {
		f.fragment(level, end)
		return
	}
	f.fragment(level, eq)
	name := f.rows[begin].text
	f.rows = f.rows[:begin]
	f.n = eq + 1
	f.fragment(level, end)
	f.rows[begin].name = name
}

// head returns the index of the word that ends the head of the entry at n: its equal
// sign, its brace, or the file of an include without a body.
func (f *formatter) head(n int) int {
	for !f.words[n].is("=", "{") {
		if f.words[n].kind == StringToken && !f.words[f.skip(n+1)].is("{") {
			break
		}
		n++
	}
	return n
}

// entryEnd returns the index after the entry at n.
func (f *formatter) entryEnd(n int) int {
	n = f.head(n)
	switch w := f.words[n]; {
	case w.is("="):
		return f.valueEnd(n + 1)
	case w.is("{"):
		return f.blockEnd(n)
	}
	return n + 1
}

// valueEnd returns the index after the value at n. A value ends outside of brackets,
// after an operand that no operator follows.
func (f *formatter) valueEnd(n int) int {
	for depth := 0; ; {
		n = f.skip(n)
		w := f.words[n]
		switch {
		case w.is("(", "["):
			depth++
		case w.is(")", "]"):
			depth--
		}
		n++
		next := f.words[f.skip(n)]
		if depth == 0 && w.ends() && (next.end() || next.kind == IdentToken || next.is("}")) {
			return n
		}
	}
}

// blockEnd returns the index after the block whose brace is word n.
func (f *formatter) blockEnd(n int) int {
	for depth := 0; ; n++ {
		switch w := f.words[n]; {
		case w.is("{"):
			depth++
		case w.is("}"):
			if depth--; depth == 0 {
				return n + 1
			}
		}
	}
}

// oneLine reports whether the block whose brace is word n goes on one line: it is empty,
// or it was on one line with one entry.
func (f *formatter) oneLine(n int) bool {
	if f.words[n+1].is("}") {
		return true
	}
	for _, w := range f.words[n+1 : f.blockEnd(n)] {
		if w.lines > 0 {
			return false
		}
	}
	head := f.head(n + 1)
	return f.words[f.entryEnd(n+1)].is("}") && (!f.words[head].is("{") || f.oneLine(head))
}
