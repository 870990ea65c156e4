package dsl

import (
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// TokenKind tells tokens apart.
type TokenKind uint8

// The kinds of tokens.
const (
	OpToken TokenKind = iota // an operator or bracket
	IdentToken
	NumberToken // with its unit
	StringToken // with its quotes
	CommentToken
	StrayToken // a character without meaning, or the start of an unclosed string
)

// A Token is a piece of a source file.
type Token struct {
	Kind   TokenKind
	Text   string
	Offset int // of its first byte
}

// End returns the offset after the token.
func (t Token) End() int { return t.Offset + len(t.Text) }

// tokenKinds maps the kinds of the lexer. White space has none.
var tokenKinds = map[lexer.TokenType]TokenKind{
	tokens.Symbols()["Op"]:      OpToken,
	tokens.Symbols()["Ident"]:   IdentToken,
	tokens.Symbols()["Number"]:  NumberToken,
	tokens.Symbols()["String"]:  StringToken,
	tokens.Symbols()["Comment"]: CommentToken,
}

// Tokens splits any text into tokens, for tools that read text while it is typed.
func Tokens(src string) []Token {
	var out []Token
	for at := 0; at < len(src); {
		lx, err := tokens.LexString("", src[at:])
		if err != nil {
			panic("BUG: " + err.Error())
		}
		base := at
		t, err := lx.Next()
		for ; err == nil && !t.EOF(); t, err = lx.Next() {
			if kind, ok := tokenKinds[t.Type]; ok {
				out = append(out, Token{kind, t.Value, base + t.Pos.Offset})
			}
			at = base + t.Pos.Offset + len(t.Value)
		}
		if err == nil {
			break
		}
		_, size := utf8.DecodeRuneInString(src[at:])
		out = append(out, Token{StrayToken, src[at : at+size], at})
		at += size
	}
	return out
}
