package dsl

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The grammar for participle. These types mirror the productions of the language.
// build.go turns them into the syntax tree.

type gFile struct {
	Version string    `parser:"'arith' @Number"`
	Entries []*gEntry `parser:"@@*"`
}

type gEntry struct {
	Pos, EndPos lexer.Position
	Include     *gInclude `parser:"( 'include' @@"`
	Path        *gPath    `parser:"| (?! 'include' ) @@"`
	Value       *gExpr    `parser:"( '=' @@"`
	Block       *gBlock   `parser:"| @@ ) )"`
}

type gInclude struct {
	File *gText    `parser:"@@"`
	Body []*gEntry `parser:"( '{' @@* '}' )?"`
}

type gText struct {
	Pos, EndPos lexer.Position
	Text        string `parser:"@String"`
}

type gBlock struct {
	Label   *gIdent   `parser:"@@? '{'"`
	Entries []*gEntry `parser:"@@* '}'"`
}

type gIdent struct {
	Pos, EndPos lexer.Position
	Name        string `parser:"@Ident"`
}

type gPath struct {
	Idents []*gIdent `parser:"@@ ( '.' @@ )*"`
}

type gExpr struct {
	First *gAnd   `parser:"@@"`
	Rest  []*gAnd `parser:"( '||' @@ )*"`
}

type gAnd struct {
	First *gCmp   `parser:"@@"`
	Rest  []*gCmp `parser:"( '&&' @@ )*"`
}

type gCmp struct {
	Left  *gRange `parser:"@@"`
	Op    string  `parser:"( @( '==' | '!=' | '<=' | '>=' | '<' | '>' )"`
	Right *gRange `parser:"@@ )?"`
}

type gRange struct {
	Low  *gSum `parser:"@@"`
	High *gSum `parser:"( '..' @@ )?"`
}

type gSum struct {
	First *gProduct `parser:"@@"`
	Rest  []*gTerm  `parser:"@@*"`
}

type gTerm struct {
	Op    string    `parser:"@( '+' | '-' )"`
	Value *gProduct `parser:"@@"`
}

type gProduct struct {
	First *gUnary    `parser:"@@"`
	Rest  []*gFactor `parser:"@@*"`
}

type gFactor struct {
	Op    string  `parser:"@( '*' | '/' )"`
	Value *gUnary `parser:"@@"`
}

type gUnary struct {
	Pos   lexer.Position
	Op    string    `parser:"@( '-' | '!' )?"`
	Value *gPostfix `parser:"@@"`
}

type gPostfix struct {
	Value   *gPrimary `parser:"@@"`
	Indices []*gIndex `parser:"@@*"`
}

type gIndex struct {
	Pos, EndPos lexer.Position
	Args        []*gExpr `parser:"'[' @@ ( ',' @@ )* ']'"`
}

type gPrimary struct {
	Pos, EndPos lexer.Position
	Number      string  `parser:"@Number"`
	String      *gText  `parser:"| @@"`
	Ref         *gRef   `parser:"| @@"`
	List        *gList  `parser:"| @@"`
	Paren       *gParen `parser:"| @@"`
}

type gRef struct {
	Path *gPath `parser:"@@"`
	Call *gCall `parser:"@@?"`
}

type gCall struct {
	Open string  `parser:"@'('"`
	Args []*gArg `parser:"( @@ ( ',' @@ )* ','? )? ')'"`
}

type gArg struct {
	Name  *gIdent `parser:"( @@ '=' )?"`
	Value *gExpr  `parser:"@@"`
}

type gList struct {
	Open string   `parser:"@'['"`
	Args []*gExpr `parser:"( @@ ( ',' @@ )* ','? )? ']'"`
}

type gParen struct {
	Value *gExpr `parser:"'(' @@ ')'"`
}

// tokens is the lexical grammar. A unit is part of its number. Longer operators come
// before their prefixes.
var tokens = lexer.MustSimple([]lexer.SimpleRule{
	{Name: "Space", Pattern: `[ \t\r\n]+`},
	{Name: "Comment", Pattern: `//[^\n]*`},
	{Name: "Number", Pattern: `[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?(%|[A-Za-z]+)?`},
	{Name: "String", Pattern: `"(\\.|[^"\\\n])*"`},
	{Name: "Ident", Pattern: `[A-Za-z_][A-Za-z_0-9]*`},
	{Name: "Op", Pattern: `\.\.|==|!=|<=|>=|&&|\|\||[-+*/<>=!.,(){}\[\]]`},
})

var newParser = sync.OnceValue(func() *participle.Parser[gFile] {
	return participle.MustBuild[gFile](
		participle.Lexer(tokens),
		participle.Elide("Space", "Comment"),
		participle.UseLookahead(2),
	)
})
