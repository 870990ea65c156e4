package ptx

import (
	"fmt"
	"strings"
)

type tokenKind uint8

const (
	endToken tokenKind = iota
	nameToken
	dotToken // ".f32", ".L1::no_allocate": a dot and a word, possibly qualified
	numberToken
	stringToken
	markToken // one character, or two of << >> && || == != <= >=
)

type token struct {
	kind tokenKind
	text string
	line int
}

func (t token) String() string {
	if t.kind == endToken {
		return "the end of the text"
	}
	return fmt.Sprintf("%q", t.text)
}

// lexer splits the text into tokens.
type lexer struct {
	text []byte
	at   int
	line int
}

func (l *lexer) peek(ahead int) byte {
	if l.at+ahead < len(l.text) {
		return l.text[l.at+ahead]
	}
	return 0
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// next reads a token.
func (l *lexer) next() (token, error) {
	if err := l.skipSpace(); err != nil {
		return token{}, err
	}
	start, line := l.at, l.line
	kind := endToken
	switch c := l.peek(0); {
	case l.at >= len(l.text):
	case digit(c) || c == '.' && digit(l.peek(1)) && (l.at == 0 || !wordByte(l.text[l.at-1])):
		kind = numberToken // .5, but not the .1d of tex.1d
		l.number()
	case c == '%' && wordByte(l.peek(1)) || wordByte(c):
		kind = nameToken
		l.at++
		l.word()
	case c == '.' && wordByte(l.peek(1)):
		kind = dotToken
		l.at++
		l.word()
		for l.peek(0) == ':' && l.peek(1) == ':' && wordByte(l.peek(2)) {
			l.at += 2
			l.word()
		}
	case c == '"':
		kind = stringToken
		if err := l.quoted(); err != nil {
			return token{}, err
		}
	default:
		kind = markToken
		if strings.IndexByte("()[]{}<>,;:=+-*/%!~&|^?@.#", c) < 0 {
			return token{}, &Error{line, fmt.Sprintf("unexpected character %q", c)}
		}
		l.at++
		if two := string(c) + string(l.peek(0)); strings.Contains("<< >> && || == != <= >=", two) && l.peek(0) > ' ' {
			l.at++
		}
	}
	return token{kind, string(l.text[start:l.at]), line}, nil
}

func (l *lexer) word() {
	for wordByte(l.peek(0)) {
		l.at++
	}
}

// number reads a number with its prefix, fraction, exponent and suffix. Its value is computed
// later.
func (l *lexer) number() {
	l.word()
	if c := l.peek(1); l.peek(0) == '.' && (!wordByte(c) || digit(c) || c == 'e' || c == 'E') {
		l.at++
		l.word()
	}
	last := l.text[l.at-1]
	if (last == 'e' || last == 'E') && (l.peek(0) == '+' || l.peek(0) == '-') && digit(l.peek(1)) && !l.hexBehind() {
		l.at++
		l.word()
	}
}

// hexBehind reports whether the number just read has a hex prefix, so that its last e is a digit.
func (l *lexer) hexBehind() bool {
	start := l.at
	for start > 0 && (wordByte(l.text[start-1]) || l.text[start-1] == '.') {
		start--
	}
	return l.text[start] == '0' && start+1 < l.at && strings.IndexByte("xXfFdD", l.text[start+1]) >= 0
}

func (l *lexer) quoted() error {
	line := l.line
	for l.at++; l.peek(0) != '"'; l.at++ {
		if l.at >= len(l.text) || l.peek(0) == '\n' {
			return &Error{line, "a string without its end"}
		}
		if l.peek(0) == '\\' && l.peek(1) != '\n' {
			l.at++
		}
	}
	l.at++
	return nil
}

func (l *lexer) skipSpace() error {
	for l.at < len(l.text) {
		switch c := l.peek(0); {
		case c == '\n':
			l.line++
			l.at++
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			l.at++
		case c == 0 && l.at == len(l.text)-1: // the end of a C string
			l.at++
		case c == '/' && l.peek(1) == '/':
			for l.at < len(l.text) && l.peek(0) != '\n' {
				l.at++
			}
		case c == '/' && l.peek(1) == '*':
			if err := l.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) comment() error {
	line := l.line
	for l.at += 2; l.peek(0) != '*' || l.peek(1) != '/'; l.at++ {
		if l.at >= len(l.text) {
			return &Error{line, "a comment without its end"}
		}
		if l.peek(0) == '\n' {
			l.line++
		}
	}
	l.at += 2
	return nil
}
