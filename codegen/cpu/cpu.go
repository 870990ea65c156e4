// Package cpu prints kernels as Go for the processor. It takes the kernel IR of package lower
// and gives package codegen the file kernels.go of a generated program. The printed code calls
// package runtime/cpu for scratch, matrix products and random words.
//
// Package flat first lowers a kernel to flat form. Stretches without matrix products become
// vector kernels (cutter.go): assembly functions that package vector writes. The rest is
// printed as Go, statement by statement, and so are the vector kernels for other processors.
// The printed code computes the bits of the kernel interpreter.
package cpu

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Options describe the printed files.
type Options struct {
	Package string // name of the package
	Header  string // first line, without the slashes
	// Reserved are names of the package that kernels must not take.
	Reserved []string
}

// Files prints kernels and returns the files by name. kernels.go has a function for each
// kernel and the table
//
//	var kernels = []cpu.Kernel{…}
//
// in the order of ks. costs.go counts the work of each kernel. Assembly files have the
// functions that kernels.go calls. The files are deterministic and formatted.
func Files(ks []*kernel.Kernel, opt Options) (map[string][]byte, error) {
	t := newTable("kernels", ks, opt)
	for _, k := range ks {
		t.add(k, flat.Of(k, flat.Processor()), jen.Id(t.funcs.id(costName(k))))
	}
	files, err := t.files()
	if err != nil {
		return nil, err
	}
	files["costs.go"], err = t.costs(ks).Format()
	return files, err
}

// Lanes prints the kernels of n models at once: lanes.go, with the table lanes, and its
// assembly. many[i] is ks[i] for n models. If it is nil, row i of the table has no function.
func Lanes(ks, many []*kernel.Kernel, n int, opt Options) (map[string][]byte, error) {
	t := newTable("lanes", nil, opt)
	for i, k := range many {
		if k == nil {
			t.rows = append(t.rows, jen.Values())
			continue
		}
		t.add(k, flat.Of(ks[i], flat.Lanes(n)), nil)
	}
	return t.files()
}

// A table collects the kernels of a file and their assembly.
type table struct {
	Options
	name         string
	funcs        *names
	rows, code   []jen.Code
	assembly     *vector.Assembly
	instructions map[*kernel.Kernel]map[string]cost.Tally
}

func newTable(name string, ks []*kernel.Kernel, opt Options) *table {
	t := &table{Options: opt, name: name, assembly: vector.NewAssembly(), instructions: map[*kernel.Kernel]map[string]cost.Tally{}}
	t.funcs = newNames(append([]string{"cpu", "device", "math", name, "main", "init"}, opt.Reserved...)...)
	for _, k := range ks {
		t.funcs.id(k.Name)
		t.funcs.id(costName(k))
	}
	return t
}

// add prints a kernel from its flat form.
func (t *table) add(k, flat *kernel.Kernel, cost jen.Code) {
	name := t.funcs.id(k.Name)
	t.rows = append(t.rows, tableRow(k, name, cost))
	code, counts := function(k, flat, name, t.assembly)
	t.instructions[k] = counts
	t.code = append(t.code, doc(k, name).Line().Add(code))
}

// files returns the printed table and its assembly.
func (t *table) files() (map[string][]byte, error) {
	files, err := t.assembly.Files(t.Package, t.Header, t.name)
	if err != nil {
		return nil, err
	}
	f := t.file()
	f.Add(jen.Commentf("%s is the kernel table: a launch names a kernel by its index.", t.name))
	f.Add(jen.Var().Id(t.name).Op("=").Index().Add(gocode.CPU.Qual("Kernel"), gocode.Lines(t.rows...)))
	f.Add(t.code...)
	files[t.name+".go"], err = f.Format()
	return files, err
}

func (t *table) file() *gocode.File { return &gocode.File{Package: t.Package, Header: t.Header} }

// buffers returns the parameters of a kernel that are arguments of a launch.
func buffers(k *kernel.Kernel) []kernel.Param {
	var out []kernel.Param
	for _, p := range k.Params {
		if p.Mode != kernel.Scalar {
			out = append(out, p)
		}
	}
	return out
}

// tableRow prints a kernel's entry in the table. Its function looks up the kernel's buffers.
// cost counts the kernel's work, or is nil.
func tableRow(k *kernel.Kernel, name string, cost jen.Code) jen.Code {
	args := []jen.Code{jen.Id("worker"), jen.Id("env")}
	for i, p := range buffers(k) {
		args = append(args, worker(spaces[p.Type], jen.Id("args").Index(jen.Lit(i))))
	}
	params := append(launched(), jen.Id("args").Index().Add(gocode.Device.Qual("Ref")))
	run := jen.Func().Params(params...).Block(jen.Id(name).Call(args...))
	return gocode.Lines(gocode.Field("Name", k.Name), gocode.Field("Run", run), gocode.Field("Cost", cost))
}

// spaces are the Worker's methods for buffers.
var spaces = map[expr.Type]string{expr.F32: "F32", expr.I32: "I32", expr.BF16: "U16", expr.F16: "U16"}

// doc prints a kernel's comment: its family, its position in the spec, its outputs and inputs.
func doc(k *kernel.Kernel, name string) *jen.Statement {
	first := fmt.Sprintf("%s is a kernel of the %s family", name, k.Family())
	if k.Pos.File != "" {
		first += fmt.Sprintf(" (%s:%d)", k.Pos.File, k.Pos.Line)
	}
	var in, out []string
	for _, p := range buffers(k) {
		text := p.Name + shape(p.Shape)
		if p.Mode != kernel.In {
			out = append(out, text)
		}
		if p.Mode != kernel.Out {
			in = append(in, text)
		}
	}
	text := strings.Join(out, ", ")
	if len(in) > 0 {
		text += " from " + strings.Join(in, ", ")
	}
	return jen.Line().Comment(first + ":").Line().Comment(text + ".")
}

func shape(extents []*expr.Expr) string {
	s := make([]string, len(extents))
	for i, e := range extents {
		s[i] = e.String()
	}
	return "[" + strings.Join(s, ", ") + "]"
}
