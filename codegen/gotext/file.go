// Package gotext is what all generated Go has in common: names, values, and files with
// the imports that they need.
package gotext

import (
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"path"
	"strings"
	"unicode"
)

// A File is a Go file. It imports what its declarations name, of the paths that generated
// Go may import, and what they embed; declarations that begin with an import say it all.
type File struct {
	Package string
	Header  string // first line, without the slashes
	Doc     string // of the package, one line
	Decls   string
	Imports []string // paths besides
}

// imports are what generated Go may import, by the last element of the path.
var imports = []string{
	"math", "testing",
	"github.com/arithlang/mlc/codegen/cpu/cputest",
	"github.com/arithlang/mlc/runtime",
	"github.com/arithlang/mlc/runtime/calibrate",
	"github.com/arithlang/mlc/runtime/config",
	"github.com/arithlang/mlc/runtime/cpu",
	"github.com/arithlang/mlc/runtime/cuda",
	"github.com/arithlang/mlc/runtime/device",
	"github.com/arithlang/mlc/runtime/eval",
	"github.com/arithlang/mlc/runtime/task",
	"github.com/arithlang/mlc/runtime/tokens",
	"github.com/arithlang/mlc/runtime/train",
}

// Format prints the file.
func (f File) Format() ([]byte, error) {
	var b Text
	if f.Header != "" {
		b.Line("// %s\n", f.Header)
	}
	if f.Doc != "" {
		b.Line("// %s", f.Doc)
	}
	b.Line("package %s\n", f.Package)
	if !strings.HasPrefix(f.Decls, "import ") {
		b.Line("import (%s\n)\n", f.imports())
	}
	b.WriteString(f.Decls)
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return nil, fmt.Errorf("BUG: printing package %s: %w", f.Package, err)
	}
	return text, nil
}

func (f File) imports() string {
	used := qualifiers(f.Decls)
	var b strings.Builder
	if strings.Contains(f.Decls, "//go:embed") {
		b.WriteString("\n_ \"embed\"")
	}
	for _, p := range imports {
		if used[path.Base(p)] {
			fmt.Fprintf(&b, "\n%q", p)
		}
	}
	for _, p := range f.Imports {
		fmt.Fprintf(&b, "\n%q", p)
	}
	return b.String()
}

// qualifiers are what stands before a dot.
func qualifiers(decls string) map[string]bool {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(decls)), []byte(decls), nil, 0)
	used := map[string]bool{}
	for before := ""; ; {
		_, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return used
		case token.PERIOD:
			used[before] = true
		}
		before = text
	}
}

// A Text is Go under construction.
type Text struct{ strings.Builder }

// Line adds a line, or several.
func (t *Text) Line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// Embed declares a variable with the text of a file.
func (t *Text) Embed(variable, file string) { t.Line("//go:embed %s\nvar %s string", file, variable) }

// Name is the Go name of a dotted or underscored name: self.q.w is selfQW.
func Name(s string) string {
	var b strings.Builder
	upper := false
	for _, r := range s {
		switch {
		case r == '.' || r == '_' || r == '-':
			upper = b.Len() > 0
		case upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
