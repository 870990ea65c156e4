package dsl

import (
	"errors"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
	"github.com/arithlang/mlc/dsl/diag"
)

// Bounds that are checked before parsing. The parser recurses, and hostile input would
// overflow its stack.
const (
	MaxBytes = 1 << 20
	MaxDepth = 64
	maxChain = 1 << 12 // tokens of one attribute's value
)

// version is the version of the language.
const version = "2"

// Parse parses a source file. After a syntax error the file contains the entries before
// the error. The file is nil if none can be parsed.
func Parse(name string, src []byte) (*File, diag.List) {
	return parse(newSource(name, src), src, version)
}

// ParseSetting parses one "path = value", as for --set. Its places are on the given line
// of a file with the given name.
func ParseSetting(name string, line int, text string) (*Entry, diag.List) {
	src := []byte("arith " + version + "\n" + text)
	s := newSource(name, src)
	s.skip = 2 - line
	var file *File
	single := strings.Contains(text, "=") && !strings.Contains(text, "\n")
	if single {
		var list diag.List
		if file, list = parse(s, src, version); len(list) > 0 {
			return nil, list
		}
	}
	if !single || len(file.Entries) != 1 || file.Entries[0].Value == nil {
		r := diag.Range{Start: diag.Pos{File: name, Line: line, Col: 1}, End: diag.Pos{File: name, Line: line, Col: len(text) + 1}}
		return nil, diag.List{diag.New("E0216", r, "this is not one path=value").WithHelp("write --set train.seed=2")}
	}
	return file.Entries[0], nil
}

// ParseExpr parses an expression that is part of the compiler, such as a default. It
// panics on an error.
func ParseExpr(text string) *Expr {
	e, list := ParseSetting("", 1, "x = "+text)
	if len(list) > 0 {
		panic("BUG: " + text + ": " + list[0].Message)
	}
	return e.Value
}

func parse(s *source, src []byte, version string) (*File, diag.List) {
	name := s.name
	if len(src) > MaxBytes {
		return nil, diag.List{diag.New("E0103", diag.Range{Start: diag.Pos{File: name}},
			"the file has %d bytes, more than %d", len(src), MaxBytes).
			WithHelp("a spec is a page or two; data belongs in separate files")}
	}
	toks, d := lex(s, src)
	if d == nil {
		d = checkHeader(s, toks, version)
	}
	if d == nil {
		d = checkBrackets(s, toks)
	}
	if d != nil {
		return nil, diag.List{d}
	}
	tree, err := newParser().ParseBytes(name, src)
	b := &builder{source: s, partial: err != nil}
	if err != nil {
		b.list = append(b.list, syntaxError(s, toks, err))
	}
	if tree == nil {
		return nil, b.list
	}
	return &File{Name: name, Entries: b.entries(tree.Entries)}, b.list
}

// lex splits a file into tokens without white space and comments. The last token is the
// end of the file.
func lex(s *source, src []byte) ([]lexer.Token, *diag.Diagnostic) {
	lx, err := tokens.LexString(s.name, string(src))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	skip := map[lexer.TokenType]bool{tokens.Symbols()["Space"]: true, tokens.Symbols()["Comment"]: true}
	var out []lexer.Token
	for {
		t, err := lx.Next()
		if err != nil {
			return nil, lexError(s, src, err)
		}
		if !skip[t.Type] {
			out = append(out, t)
		}
		if t.EOF() {
			return out, nil
		}
	}
}

func lexError(s *source, src []byte, err error) *diag.Diagnostic {
	var le *lexer.Error
	if !errors.As(err, &le) {
		panic("BUG: " + err.Error())
	}
	at := le.Pos.Offset
	rest := string(src[at:])
	r := diag.Range{Start: s.pos(at), End: s.pos(at + 1)}
	if rest[0] == '"' {
		line, _, _ := strings.Cut(rest, "\n")
		r.End = s.pos(at + len(line))
		return diag.New("E0106", r, "this string is never closed").WithHelp(`end it with " on the same line`)
	}
	c, size := utf8.DecodeRuneInString(rest)
	if c == utf8.RuneError && size == 1 {
		return diag.New("E0106", r, "the byte 0x%02x is no character of UTF-8", rest[0]).WithHelp("save the file as UTF-8")
	}
	r.End = s.pos(at + len(string(c)))
	help := "comments begin with //, conditions use && || !"
	if c == '#' || c == '\'' || c == ';' {
		help = map[rune]string{'#': "comments begin with //", '\'': `strings stand in "`, ';': "entries need no end mark"}[c]
	}
	return diag.New("E0106", r, "%q means nothing here", c).WithHelp("%s", help)
}

// checkHeader reports a file that does not begin with arith and the wanted version.
func checkHeader(s *source, toks []lexer.Token, want string) *diag.Diagnostic {
	const help = `a spec begins with "arith ` + version + `"`
	first := toks[0]
	switch {
	case first.EOF():
		return diag.New("E0104", diag.Range{Start: s.pos(0), End: s.pos(0)}, "the file is empty").WithHelp(help)
	case first.Value != "arith":
		return diag.New("E0104", s.token(first), "the first word is not arith").WithHelp(help)
	case toks[1].Value != want:
		r := s.token(toks[1])
		if toks[1].EOF() || toks[1].Type != tokens.Symbols()["Number"] {
			return diag.New("E0104", s.token(first), "arith lacks its version").WithHelp(help)
		}
		d := diag.New("E0105", r, "this compiler knows version "+version+", not %s", toks[1].Value).WithHelp(help)
		if toks[1].Value == "1" {
			d.WithHelp("mlc fmt %s turns it into version "+version, path.Base(s.name))
		}
		return d
	}
	return nil
}

var closer = map[string]string{"(": ")", "[": "]", "{": "}"}

// checkBrackets reports brackets that do not match or nest deeper than MaxDepth, and
// overlong expressions.
func checkBrackets(s *source, toks []lexer.Token) *diag.Diagnostic {
	var open []lexer.Token
	length := 0
	for _, t := range toks {
		length++
		switch t.Value {
		case "(", "[", "{":
			if len(open) == MaxDepth {
				return diag.New("E0103", s.token(t), "brackets nest deeper than %d", MaxDepth).
					WithHelp("name parts of the expression in a bias block")
			}
			open = append(open, t)
		case ")", "]", "}":
			if len(open) == 0 {
				return diag.New("E0102", s.token(t), "%q was never opened", t.Value).WithHelp("remove it")
			}
			last := open[len(open)-1]
			if closer[last.Value] != t.Value {
				return diag.New("E0102", s.token(t), "%q closes what %q opened", t.Value, last.Value).
					WithHelp("expected %q", closer[last.Value]).WithNote(s.pos(last.Pos.Offset), "%q opened", last.Value)
			}
			open = open[:len(open)-1]
		}
		if t.Value == "=" || t.Value == "{" || t.Value == "}" {
			length = 0
		}
		if length > maxChain {
			return diag.New("E0103", s.token(t), "an expression has more than %d symbols", maxChain).
				WithHelp("name parts of it in a bias block, or use sum(m = lo..hi, …)")
		}
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		return diag.New("E0102", s.token(last), "%q is never closed", last.Value).
			WithHelp("add %q", closer[last.Value])
	}
	return nil
}

// syntaxError turns an error of participle into a diagnostic.
func syntaxError(s *source, toks []lexer.Token, err error) *diag.Diagnostic {
	var pe participle.Error
	if !errors.As(err, &pe) {
		panic("BUG: " + err.Error())
	}
	n := 0
	for n < len(toks)-1 && toks[n].Pos.Offset < pe.Position().Offset {
		n++
	}
	if enclosing(toks[:n]) == "{" {
		n = behindPath(toks, n)
	}
	bad, prev := toks[n], toks[n-1]
	switch {
	case expectsValue(prev) && (bad.EOF() || strings.Contains(")]},", bad.Value)):
		return diag.New("E0101", s.token(prev), "a value is missing after %q", prev.Value).WithHelp("write name = value")
	case bad.EOF():
		end := s.token(prev).End
		return diag.New("E0101", diag.Range{Start: end, End: end}, "the file ends too early").WithHelp("%s", syntaxHelp(toks[:n], bad))
	}
	return diag.New("E0101", s.token(bad), "unexpected \"%s\"", bad.Value).WithHelp("%s", syntaxHelp(toks[:n], bad))
}

// enclosing returns the innermost bracket that is open after some tokens. The file counts
// as braces.
func enclosing(toks []lexer.Token) string {
	open := []string{"{"}
	for _, t := range toks {
		switch t.Value {
		case "(", "[", "{":
			open = append(open, t.Value)
		case ")", "]", "}":
			open = open[:len(open)-1]
		}
	}
	return open[len(open)-1]
}

// expectsValue reports whether a value must follow a token.
func expectsValue(t lexer.Token) bool {
	return t.Type == tokens.Symbols()["Op"] && !strings.Contains("()[]{}.,", t.Value)
}

// behindPath returns the index of the token after an entry's name. participle reports the
// start of the entry, but this token is the mistake.
func behindPath(toks []lexer.Token, n int) int {
	ident := tokens.Symbols()["Ident"]
	if prev := toks[n-1]; expectsValue(prev) || prev.Value == "." || prev.Value == "include" {
		return n
	}
	for toks[n].Type == ident {
		n++
		if toks[n].Value == "." && toks[n+1].Type == ident {
			n++
		} else if toks[n].Type == ident {
			return n
		}
	}
	return n
}

// syntaxHelp says what may stand at a token, given the tokens before it.
func syntaxHelp(before []lexer.Token, bad lexer.Token) string {
	compared := false // since the value or operand began
	for _, t := range before {
		compared = (compared || isComparison(t)) && t.Value != "=" && t.Value != "&&" && t.Value != "||"
	}
	prev, inside := before[len(before)-1], enclosing(before)
	switch {
	case isComparison(bad) && compared:
		return `comparisons do not chain; write "a <= b && b <= c"`
	case bad.Value == "=" && inside != "{":
		return `a comparison for equality is written "=="`
	case expectsValue(prev):
		return "expected a value"
	case prev.Value == "include":
		return `write include "file.arith"`
	case inside == "(":
		return `expected "," or ")"`
	case inside == "[":
		return `expected "," or "]"`
	}
	return `write "name = value" or "name { … }"`
}

func isComparison(t lexer.Token) bool {
	return slices.Contains([]string{"==", "!=", "<=", ">=", "<", ">"}, t.Value)
}
