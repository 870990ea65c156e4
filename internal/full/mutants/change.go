package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A change is a file with one change in it.
type change struct {
	file string
	line int
	from string // original text
	to   string // new text; "" if the original is removed
	text []byte // the whole file
}

func (c change) String() string {
	from, _, _ := strings.Cut(c.from, "\n")
	if c.to == "" {
		return fmt.Sprintf("%s:%d: without %s", c.file, c.line, from)
	}
	return fmt.Sprintf("%s:%d: %s instead of %s", c.file, c.line, c.to, from)
}

// others maps a comparison or an operator to its replacements: the opposite, and one that differs
// in a single case.
var others = map[token.Token][]token.Token{
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.GEQ, token.LEQ}, token.LEQ: {token.GTR, token.LSS},
	token.GTR: {token.LEQ, token.GEQ}, token.GEQ: {token.LSS, token.GTR},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD},
}

// changesOf lists the changes of a file: operators exchanged, whole numbers one larger, and
// statements that declare nothing removed.
func changesOf(path string) (all []change, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(parsed) {
		return nil, nil
	}
	change := func(at token.Pos, from int, to string) {
		where := files.Position(at)
		i := where.Offset
		all = append(all, change{path, where.Line, string(text[i : i+from]), to, slices.Concat(text[:i], []byte(to), text[i+from:])})
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.ArrayType:
			return false
		case *ast.CallExpr:
			return !blind(n)
		case *ast.BinaryExpr:
			for _, op := range others[n.Op] {
				change(n.OpPos, len(n.Op.String()), op.String())
			}
		case *ast.BasicLit:
			if x, err := strconv.Atoi(n.Value); n.Kind == token.INT && err == nil {
				change(n.Pos(), len(n.Value), strconv.Itoa(x+1))
			}
		case *ast.BlockStmt:
			for _, s := range n.List {
				if left(s) {
					change(s.Pos(), int(s.End()-s.Pos()), "")
				}
			}
		}
		return true
	})
	return all, nil
}

// blind reports whether a number in a call means the same if it is one larger: the sign of an
// infinity, and the size of a channel's buffer, which only changes who waits.
func blind(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		of, _ := f.X.(*ast.Ident)
		return of != nil && of.Name == "math" && f.Sel.Name == "Inf"
	case *ast.Ident:
		if f.Name == "make" {
			_, channel := call.Args[0].(*ast.ChanType)
			return channel
		}
	}
	return false
}

// left reports whether a statement can be left out: it declares nothing and does not jump.
func left(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.IfStmt:
		return s.Init == nil && s.Else == nil
	case *ast.ExprStmt, *ast.IncDecStmt:
		return true
	}
	return false
}
