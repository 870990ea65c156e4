package look

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/arithlang/mlc/codegen"
)

// A goFile is a file of generated Go with its functions by name. If it has the kernel
// table, kernels maps kernels to their functions.
type goFile struct {
	path    string
	text    []string
	set     *token.FileSet
	funcs   map[string]*ast.FuncDecl
	order   []string // of funcs
	kernels map[string]string
}

func parseGo(files []codegen.File, path string) (*goFile, error) {
	f := files[slices.IndexFunc(files, func(f codegen.File) bool { return f.Path == path })]
	g := &goFile{path: path, text: textLines(string(f.Data)), set: token.NewFileSet(),
		funcs: map[string]*ast.FuncDecl{}, kernels: map[string]string{}}
	tree, err := parser.ParseFile(g.set, path, f.Data, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("BUG: generated Go does not parse: %w", err)
	}
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			g.funcs[fn.Name.Name] = fn
			g.order = append(g.order, fn.Name.Name)
		}
	}
	ast.Inspect(tree, g.tableRow)
	return g, nil
}

// tableRow records a row of the kernel table: {Name: "…", Run: func(…) { function(…) }, …}.
func (g *goFile) tableRow(n ast.Node) bool {
	row, ok := n.(*ast.CompositeLit)
	if !ok || len(row.Elts) < 2 {
		return true
	}
	name, ok1 := valueIn(row.Elts[0], "Name").(*ast.BasicLit)
	run, ok2 := valueIn(row.Elts[1], "Run").(*ast.FuncLit)
	if !ok1 || !ok2 {
		return true
	}
	ast.Inspect(run.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.Ident); ok {
			g.kernels[strings.Trim(name.Value, `"`)] = f.Name
		}
		return false
	})
	return false
}

// valueIn returns the value of a literal's element if it has the key, or nil.
func valueIn(e ast.Expr, key string) ast.Expr {
	if kv, ok := e.(*ast.KeyValueExpr); ok {
		if id, ok := kv.Key.(*ast.Ident); ok && id.Name == key {
			return kv.Value
		}
	}
	return nil
}

// span returns the first and last line of a function with its comment, from 1.
func (g *goFile) span(name string) (first, last int) {
	fn := g.funcs[name]
	if fn == nil {
		panic("BUG: " + g.path + " has no function " + name)
	}
	from := fn.Pos()
	if fn.Doc != nil {
		from = fn.Doc.Pos()
	}
	return g.set.Position(from).Line, g.set.Position(fn.End()).Line
}

// function returns the text of a function with its comment.
func (g *goFile) function(name string) string {
	first, last := g.span(name)
	return strings.Join(g.text[first-1:last], "\n") + "\n"
}

// section returns the text of a function with line numbers.
func (g *goFile) section(name string) section {
	first, last := g.span(name)
	s := section{head: fmt.Sprintf("%s:%d-%d %s", g.path, first, last, name)}
	for n := first; n <= last; n++ {
		s.lines = append(s.lines, line{text: fmt.Sprintf("%5d  %s", n, strings.ReplaceAll(g.text[n-1], "\t", "    "))})
	}
	return s
}

// launches lists the lines of a section that launch kernels, in order, from 0.
func (g *goFile) launches(name string) []int {
	var out []int
	first, _ := g.span(name)
	ast.Inspect(g.funcs[name], func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Launch" || f.Sel.Name == "Join") {
				out = append(out, g.set.Position(call.Pos()).Line-first)
			}
		}
		return true
	})
	return out
}
