package arm64

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/gocode"
)

// File is printed as one file of assembly and one of Go.
type File struct {
	Package, Header string // the header without its "//"
	Funcs           []*Func
	Data            []Data
}

// Data is read-only static data at a multiple of 16 bytes.
type Data struct {
	Name  string
	Words []uint32
}

// Assembly prints the functions and the data for Go's assembler.
func (f *File) Assembly() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\n//go:build arm64\n\n#include \"textflag.h\"\n", f.Header)
	known := map[string]int{}
	for _, d := range f.Data {
		known[d.Name] = 4 * len(d.Words)
		d.print(&b)
	}
	for _, fn := range f.Funcs {
		fn.check(known)
		fn.print(&b)
	}
	return b.Bytes()
}

func (d Data) print(b *bytes.Buffer) {
	// The linker aligns data of 16 bytes and more to 16 at least.
	size := (4*len(d.Words) + 15) &^ 15
	b.WriteByte('\n')
	for i, w := range d.Words {
		fmt.Fprintf(b, "DATA %s<>+%d(SB)/4, $0x%08x\n", d.Name, 4*i, w)
	}
	fmt.Fprintf(b, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", d.Name, size)
}

// check panics if the function names labels or data that do not exist.
func (f *Func) check(data map[string]int) {
	for i := range f.Insts() {
		for _, o := range i.Operands {
			switch o := o.(type) {
			case Label:
				if !f.marks[o] {
					panic(fmt.Sprintf("BUG: %s: label %s of %s is nowhere", i.Op, o, f.Name))
				}
			case Sym:
				if size, ok := data[o.Name]; !ok || o.Off >= size {
					panic(fmt.Sprintf("BUG: %s: the file of %s has no data %s+%d", i.Op, f.Name, o.Name, o.Off))
				}
			}
		}
	}
}

func (f *Func) print(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n// func %s\n", f.Signature())
	fmt.Fprintf(b, "TEXT ·%s(SB), NOSPLIT, $0-%d\n", f.Name, f.area)
	for _, l := range f.lines {
		if l.label != "" {
			fmt.Fprintf(b, "%s:\n", l.label)
			continue
		}
		fmt.Fprintf(b, "\t%s\n", l.inst.form.goText(l.inst.known))
	}
}

// Signature returns the function's declaration in Go, without its "func".
func (f *Func) Signature() string {
	var params []string
	for _, p := range f.params {
		params = append(params, p.Name+" "+p.GoType)
	}
	text := fmt.Sprintf("%s(%s)", f.Name, strings.Join(params, ", "))
	if r := f.result; r != nil {
		text += fmt.Sprintf(" (%s %s)", r.Name, r.GoType)
	}
	return text
}

// Stubs prints Go's declarations of the functions.
func (f *File) Stubs() ([]byte, error) {
	out := gocode.File{Package: f.Package, Header: f.Header, Build: "arm64"}
	for _, fn := range f.Funcs {
		out.Add(jen.Line())
		if fn.Doc != "" {
			for l := range strings.SplitSeq(strings.TrimSpace(fn.Doc), "\n") {
				out.Add(jen.Comment(strings.TrimSpace("// " + l)))
			}
		}
		out.Add(jen.Comment("//"), jen.Comment("//go:noescape"), jen.Func().Op(fn.Signature()))
	}
	return out.Format()
}
