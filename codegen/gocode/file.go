// Package gocode is what all generated Go has in common: names, values, scalar expressions,
// and files. Code is jennifer's, whose files import what it names.
package gocode

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"
)

// A Package is the import path of a package that generated Go names, whose name is the
// end of its path.
type Package string

// The packages that generated Go calls.
const (
	Runtime     Package = "github.com/arithlang/mlc/runtime"
	Calibrate           = Runtime + "/calibrate"
	Calibration         = Runtime + "/calibration"
	Cores               = Runtime + "/cores"
	CPU                 = Runtime + "/cpu"
	CUDA                = Runtime + "/cuda"
	Device              = Runtime + "/device"
	Program             = Runtime + "/program"
	Several             = Runtime + "/several"
	Stages              = Runtime + "/stages"
	Task                = Runtime + "/task"
	Sequence            = Task + "/sequence"
	CPUTest     Package = "github.com/arithlang/mlc/codegen/cpu/cputest"
)

// Qual is what a package declares by a name.
func (p Package) Qual(name string) *jen.Statement { return jen.Qual(string(p), name) }

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
	return plainImports(b.Bytes()), nil
}

// plainImports leaves out of imports the names that their paths end with. Jennifer writes
// the name of each package that it was not told the name of.
func plainImports(text []byte) []byte {
	end := len(text)
	if i := declaration.FindIndex(text); i != nil {
		end = i[0]
	}
	return append(named.ReplaceAllFunc(text[:end:end], func(line []byte) []byte {
		if m := named.FindSubmatch(line); string(m[2]) == path.Base(string(m[3])) {
			return fmt.Appendf(nil, "%s%q", m[1], m[3])
		}
		return line
	}), text[end:]...)
}

var (
	named       = regexp.MustCompile(`(?m)^(import |\t)(\w+) "(.+)"$`)
	declaration = regexp.MustCompile(`(?m)^(const|var|func|type) `)
)

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
