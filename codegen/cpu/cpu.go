// Package cpu prints kernels as Go for the processor. It takes the kernel IR of
// package lower and gives package codegen the file kernels.go of a generated
// program; the printed code calls package runtime/cpu for scratch, matrix
// products and random words.
//
// A kernel is first brought into flat form (package flat). Stretches of it without
// matrix products become vector kernels (cutter.go), assembly functions that package
// vector writes; the rest, and the vector kernels once more for other processors, is
// printed statement by statement. The result computes the bits of the kernel
// interpreter.
package cpu

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/codegen/gotext"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Options say how the file looks.
type Options struct {
	Package string // name of the package
	Header  string // first line, without the slashes
	// Reserved are names of the package that kernels must not take.
	Reserved []string
	// Table names the table of the kernels and, with .go behind it, their file; "" is
	// kernels.
	Table string
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
	return printed(ks, true, opt)
}

// Table is Files without costs. Where there is no kernel, but nil, the table has a row
// without a function.
func Table(ks []*kernel.Kernel, opt Options) (map[string][]byte, error) {
	return printed(ks, false, opt)
}

func printed(ks []*kernel.Kernel, counts bool, opt Options) (map[string][]byte, error) {
	table := cmp.Or(opt.Table, "kernels")
	funcs := newNames(append([]string{"cpu", "device", "math", table, "main", "init"}, opt.Reserved...)...)
	var rows, code strings.Builder
	assembly := vector.NewAssembly()
	fmt.Fprintf(&rows, "// %s is the kernel table: a launch names a kernel by its index.\nvar %[1]s = []cpu.Kernel{\n", table)
	for _, k := range ks {
		if k == nil {
			rows.WriteString("{},\n")
			continue
		}
		name, cost := funcs.id(k.Name), ""
		if counts {
			cost = funcs.id(costName(k))
		}
		rows.WriteString(tableRow(k, name, cost))
		fmt.Fprintf(&code, "\n%s%s\n", doc(k, name), function(k, name, assembly))
	}
	files, err := assembly.Files(opt.Package, opt.Header, table)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{table + ".go": rows.String() + "}\n" + code.String()}
	if counts {
		texts["costs.go"] = costs(ks, funcs)
	}
	for name, decls := range texts {
		files[name], err = gotext.File{Package: opt.Package, Header: opt.Header, Decls: decls}.Format()
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

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

// tableRow prints a kernel's entry in the table, which finds its buffers. cost is what
// counts what it has to do; "": nothing does.
func tableRow(k *kernel.Kernel, name, cost string) string {
	args := "worker, env"
	for i, p := range buffers(k) {
		args += fmt.Sprintf(", worker.%s(args[%d])", spaces[p.Type], i)
	}
	if cost != "" {
		cost = "Cost: " + cost + ",\n"
	}
	return fmt.Sprintf("{\nName: %q,\nRun: func(worker *cpu.Worker, env *device.Env, args []device.Ref) {\n%s(%s)\n},\n%s},\n", k.Name, name, args, cost)
}

// spaces are the Worker's methods for buffers.
var spaces = map[expr.Type]string{expr.F32: "F32", expr.I32: "I32", expr.BF16: "U16", expr.F16: "U16"}

// doc says what a kernel is, where the spec asked for it, and what it reads and writes.
func doc(k *kernel.Kernel, name string) string {
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
	return "// " + first + ":\n// " + text + ".\n"
}

func shape(extents []*expr.Expr) string {
	s := make([]string, len(extents))
	for i, e := range extents {
		s[i] = e.String()
	}
	return "[" + strings.Join(s, ", ") + "]"
}
