// Package gocode prints the common parts of all generated Go: names, values, scalar
// expressions, and files. It builds code with jennifer, which imports the packages that the
// code names.
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

// A Package is the import path of a package that generated Go names. The path ends with the
// package's name.
type Package string

// The packages that generated Go calls.
const (
	Runtime     Package = "github.com/arithlang/mlc/runtime"
	Calibrate           = Runtime + "/calibrate"
	Calibration         = Runtime + "/calibration"
	Continuing          = Runtime + "/continuing"
	Cores               = Runtime + "/cores"
	CPU                 = Runtime + "/cpu"
	BF16                = CPU + "/bf16"
	Split               = CPU + "/split"
	CUDA                = Runtime + "/cuda"
	Device              = Runtime + "/device"
	Program             = Runtime + "/program"
	Several             = Runtime + "/several"
	Stages              = Runtime + "/stages"
	Task                = Runtime + "/task"
	Thinking            = Runtime + "/thinking"
	Sequence            = Task + "/sequence"
	CPUTest     Package = "github.com/arithlang/mlc/codegen/cpu/cputest"
)

// Qual returns a qualified name of the package.
func (p Package) Qual(name string) *jen.Statement { return jen.Qual(string(p), name) }

// A File is a Go file. It imports the packages that its declarations name, and embed if needed.
type File struct {
	Package string
	Path    Package // import path, if declarations name the package itself
	Header  string  // first line, without the slashes
	Build   string  // architecture; "": all
	Doc     string  // one line on the package
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

// plainImports removes the name of an import if its path ends with the name. Jennifer writes
// the names of packages that it does not know.
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

// Name returns the Go name for a dotted or underscored name: self.q.w is selfQW.
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
