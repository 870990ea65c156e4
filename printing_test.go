package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clause is the package clause of a Go file, as a line of a text.
var clause = regexp.MustCompile(`(?m)^package [\w%]`)

// TestGoIsPrintedInOnePlace checks that codegen/gocode makes all generated Go: only tests format
// Go themselves or hold a Go file as text.
func TestGoIsPrintedInOnePlace(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); err == nil && d.IsDir() && name != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || clause.MatchString(text) || slices.Contains([]string{"go/format", "go/printer"}, text) {
				t.Errorf("%s prints Go by itself: use codegen/gocode (%v)", fset.Position(lit.Pos()), err)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 500 {
		t.Errorf("read %d files: %v", files, err)
	}
}
