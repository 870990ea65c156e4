// Package gocode is what all generated Go has in common: names, values, scalar expressions,
// and files. Code is jennifer's, whose files import what it names.
package gocode

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"sync"
	"unicode"

	"github.com/dave/jennifer/jen"
)

// A Package is the import path of a package that generated Go names, whose name is the
// end of its path.
type Package string

// The packages that generated Go calls.
const (
	Runtime   Package = "github.com/arithlang/mlc/runtime"
	Calibrate         = Runtime + "/calibrate"
	CPU               = Runtime + "/cpu"
	CUDA              = Runtime + "/cuda"
	Device            = Runtime + "/device"
	Task              = Runtime + "/task"
	CPUTest   Package = "github.com/arithlang/mlc/codegen/cpu/cputest"
)

// named are the packages that code names, by path. Jennifer wants to know their names
// before it prints a file, and cannot tell which the file needs.
var named sync.Map

// Qual is what a package declares by a name.
func (p Package) Qual(name string) *jen.Statement {
	named.LoadOrStore(string(p), path.Base(string(p)))
	return jen.Qual(string(p), name)
}

// A File is a Go file. It imports what its declarations name and embed.
type File struct {
	Package string
	Path    Package // import path, where declarations name what the package itself has
	Header  string  // first line, without the slashes
	Build   string  // what architecture it is for; "": for all
	Doc     string  // of the package, one line
	decls   []jen.Code
	embeds  bool
}

// Add adds declarations, and comments before them.
func (f *File) Add(decls ...jen.Code) { f.decls = append(f.decls, decls...) }

// Embed declares a variable with the text of a file.
func (f *File) Embed(variable, file string) {
	f.embeds = true
	f.Add(jen.Comment("//go:embed "+file), jen.Var().Id(variable).String())
}

// Format prints the file.
func (f *File) Format() ([]byte, error) {
	out := jen.NewFilePathName(string(f.Path), f.Package)
	for path, name := range named.Range {
		out.ImportName(path.(string), name.(string))
	}
	if f.Header != "" {
		out.HeaderComment(f.Header)
	}
	if f.Build != "" {
		out.PackageComment("//go:build " + f.Build)
	}
	if f.Doc != "" {
		out.PackageComment(f.Doc)
	}
	if f.embeds {
		out.Anon("embed")
	}
	for _, d := range f.decls {
		out.Add(d)
	}
	var b bytes.Buffer
	if err := out.Render(&b); err != nil {
		return nil, fmt.Errorf("BUG: printing package %s: %w", f.Package, err)
	}
	return b.Bytes(), nil
}

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
