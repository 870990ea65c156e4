// Package cpu prints kernels as Go for the processor. It takes the kernel IR of
// package lower and gives package codegen the file kernels.go of a generated
// program; the printed code calls package runtime/cpu for scratch, matrix
// products and random words.
//
// A kernel is first brought into flat form (package flat). Stretches of it without
// matrix products become leaves (leaves.go), assembly functions that package
// vector writes; the rest, and the leaves once more for other processors, is
// printed statement by statement. The result computes the bits of the kernel
// interpreter.
package cpu

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Options say how the file looks.
type Options struct {
	Package string // name of the package; "main" if empty
	Header  string // first line, without the slashes
	// Reserved are names of the package that kernels must not take.
	Reserved []string
}

// Files prints the files of kernels, by name: kernels.go with one function a
// kernel and the table
//
//	var kernels = []cpu.Kernel{…}
//
// in the order of ks; costs.go, which counts what each has to do; and the assembly
// that the functions call, with its declarations. They are deterministic and
// formatted.
func Files(ks []*kernel.Kernel, opt Options) (map[string][]byte, error) {
	pkg := opt.Package
	if pkg == "" {
		pkg = "main"
	}
	f := jen.NewFile(pkg)
	f.ImportName(runtimePath, "cpu")
	f.ImportName(devicePath, "device")
	if opt.Header != "" {
		f.HeaderComment(opt.Header)
	}
	funcs := newNames(append([]string{"cpu", "device", "math", "kernels", "main", "init"}, opt.Reserved...)...)
	rows := make([]jen.Code, len(ks))
	for i, k := range ks {
		rows[i] = tableRow(k, funcs.id(k.Name), funcs.id(costName(k)))
	}
	f.Comment("kernels is the kernel table: a launch names a kernel by its index.")
	f.Var().Id("kernels").Op("=").Index().Qual(runtimePath, "Kernel").Custom(lines, rows...)
	leaves := vector.NewAssembly()
	for _, k := range ks {
		f.Line()
		for _, line := range doc(k, funcs.id(k.Name)) {
			f.Comment(line)
		}
		f.Add(function(k, funcs.id(k.Name), leaves))
	}
	var buf bytes.Buffer
	if err := f.Render(&buf); err != nil {
		return nil, fmt.Errorf("BUG: printing kernels: %w", err)
	}
	counts, err := costs(ks, funcs, pkg, opt.Header)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"kernels.go": buf.Bytes(), "costs.go": counts}
	if leaves.Empty() {
		return files, nil
	}
	asm, stubs, other, err := leaves.Files(pkg, opt.Header)
	if err != nil {
		return nil, fmt.Errorf("BUG: printing leaves: %w", err)
	}
	files["kernels_amd64.s"], files["kernels_amd64.go"], files["kernels_other.go"] = asm, stubs, other
	return files, nil
}

// lines puts every element of a composite literal on a line of its own.
var lines = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}

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

// tableRow prints a kernel's entry in the table, which finds its buffers.
func tableRow(k *kernel.Kernel, name, cost string) jen.Code {
	args := []jen.Code{jen.Id("worker"), jen.Id("env")}
	for i, p := range buffers(k) {
		args = append(args, jen.Id("worker").Dot(spaces[p.Type]).Call(jen.Id("args").Index(jen.Lit(i))))
	}
	run := jen.Func().Params(
		jen.Id("worker").Op("*").Qual(runtimePath, "Worker"),
		jen.Id("env").Op("*").Qual(devicePath, "Env"),
		jen.Id("args").Index().Qual(devicePath, "Ref"),
	).Block(jen.Id(name).Call(args...))
	return jen.Custom(lines,
		jen.Id("Name").Op(":").Lit(k.Name),
		jen.Id("Run").Op(":").Add(run),
		jen.Id("Cost").Op(":").Id(cost),
	)
}

// spaces are the Worker's methods for buffers.
var spaces = map[expr.Type]string{expr.F32: "F32", expr.I32: "I32", expr.BF16: "U16", expr.F16: "U16"}

// doc says what a kernel is, where the spec asked for it, and what it reads and writes.
func doc(k *kernel.Kernel, name string) []string {
	first := fmt.Sprintf("%s is a kernel of the %s family", name, k.Op.Family())
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
	return []string{first + ":", text + "."}
}

func shape(extents []*expr.Expr) string {
	s := make([]string, len(extents))
	for i, e := range extents {
		s[i] = e.String()
	}
	return "[" + strings.Join(s, ", ") + "]"
}
