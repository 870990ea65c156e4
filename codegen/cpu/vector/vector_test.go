package vector

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/cpu/cputest/served"
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/compiler/scalars"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/abi"
)

// kernelOf makes a vector kernel of a whole kernel: the grid becomes loops, tiles become
// slices. It returns nil if there is a matrix product.
func kernelOf(k *kernel.Kernel) *Kernel {
	l := &Kernel{Name: k.Name, Doc: "is kernel " + k.Name + "."}
	for _, p := range k.Params {
		if p.Mode == kernel.Scalar {
			l.Values = append(l.Values, Value{p.Name, p.Type})
		} else {
			l.Slices = append(l.Slices, Slice{Name: p.Name, Type: p.Type})
		}
	}
	r := flat.Of(k, flat.Processor())
	body := l.withoutTiles(r.Body)
	l.withoutTiles(r.Once)
	for _, a := range slices.Backward(r.Grid) {
		body = []kernel.Stmt{&kernel.For{Var: a.Var, Lo: expr.Int(0), Hi: a.Size, Body: body}}
	}
	l.Body = body
	products, random := false, false
	for n := range kernel.All(body) {
		switch n.(type) {
		case *kernel.Dot:
			products = true
		case *kernel.Random:
			random = true
		}
	}
	if products {
		return nil
	}
	if random {
		for _, name := range []string{"seed0", "seed1", "step", "layer"} {
			if t, _ := kernel.ScalarType(name); !slices.Contains(l.Values, Value{name, t}) {
				l.Values = append(l.Values, Value{name, t})
			}
		}
	}
	return l
}

// withoutTiles takes the tiles out of statements.
func (l *Kernel) withoutTiles(nodes []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, n := range nodes {
		switch n := n.(type) {
		case *kernel.Tile:
			l.Slices = append(l.Slices, Slice{n.Name, n.Type})
			continue
		case *kernel.For:
			n.Body = l.withoutTiles(n.Body)
		case *kernel.If:
			n.Body = l.withoutTiles(n.Body)
		}
		out = append(out, n)
	}
	return out
}

// fields print a scalar of a launch in Go, from the name of its field.
var fields = map[abi.Half]string{abi.Whole: "e.%s", abi.Low: "uint32(e.%s)", abi.High: "uint32(e.%s >> 32)"}

var takers = map[expr.Type]string{
	expr.F32: "Tile", expr.I32: "TileI32", expr.U32: "TileU32", expr.BF16: "TileU16", expr.F16: "TileU16",
}

// program prints a kernel table that calls vector kernels. Its tiles are large enough for all.
func program(ls []*Kernel, buffers map[*Kernel]int) []byte {
	var b bytes.Buffer
	b.WriteString("package main\n\nimport (\n\t\"unsafe\"\n\n\t\"github.com/arithlang/mlc/codegen/cpu/cputest\"\n\t\"github.com/arithlang/mlc/runtime/cpu\"\n\t\"github.com/arithlang/mlc/runtime/device\"\n)\n\nvar kernels = []cpu.Kernel{\n")
	for _, l := range ls {
		args := []string{"w.Frame()"}
		for i, s := range l.Slices {
			switch {
			case i >= buffers[l]:
				args = append(args, fmt.Sprintf("&w.%s(1 << 17)[64]", takers[s.Type]))
			case s.Type == expr.I32:
				args = append(args, fmt.Sprintf("unsafe.SliceData(w.I32(a[%d]))", i))
			case s.Type.Narrow():
				args = append(args, fmt.Sprintf("unsafe.SliceData(w.U16(a[%d]))", i))
			default:
				args = append(args, fmt.Sprintf("unsafe.SliceData(w.F32(a[%d]))", i))
			}
		}
		for _, v := range l.Values {
			s, _ := scalars.Find(v.Name)
			args = append(args, fmt.Sprintf(fields[s.Half], s.Field))
		}
		list := strings.Join(args, ", ")
		calls := ""
		for _, isa := range InstructionSets() {
			calls += fmt.Sprintf("case cpu.%[2]s:\n%[1]s%[2]s(%[3]s)\n", l.Name, isa, list)
		}
		fmt.Fprintf(&b, "{Name: %q, Run: func(w *cpu.Worker, e *device.Env, a []device.Ref) {\nswitch w.ISA() {\n%s}\n}},\n", l.Name, calls)
	}
	b.WriteString("}\n\nfunc main() { cputest.Serve(kernels) }\n")
	return b.Bytes()
}

// texts returns the kernels of test data and of generated programs.
func texts(t testing.TB) []*kernel.Kernel {
	t.Helper()
	var ks []*kernel.Kernel
	add := func(data string) {
		more, err := kernel.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		ks = append(ks, more...)
	}
	for _, pattern := range []string{"../testdata/*.txtar", "testdata/*.kir", "../../../generated/*/kernels.kir"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			if strings.HasSuffix(path, ".txtar") {
				_, text, _ = strings.Cut(text, "-- kernels.kir --\n")
				text, _, _ = strings.Cut(text, "\n-- ")
			}
			add(text)
		}
	}
	return ks
}

// bodyOf returns the text of a kernel without the line of its name.
func bodyOf(k *kernel.Kernel) string {
	_, body, _ := strings.Cut(kernel.Format([]*kernel.Kernel{k}), "\n")
	return body
}

// TestAgreesWithInterpreter builds kernels without products into a test program and compares
// it with the interpreter on all instruction sets.
func TestAgreesWithInterpreter(t *testing.T) {
	ks := texts(t)
	for _, width := range full.Some([]int{7, 16, 30, 40, 64, 100, 200, 330}, 3) {
		more, err := kernel.Parse(fmt.Sprintf(rows, width))
		if err != nil {
			t.Fatal(err)
		}
		ks = append(ks, more...)
	}
	for width := 1; width <= 33; width += full.Either(5, 1) {
		more, err := kernel.Parse(fmt.Sprintf(narrowRows, width))
		if err != nil {
			t.Fatal(err)
		}
		ks = append(ks, more...)
	}
	for _, elements := range full.Some([]int{4, 8, 12, 16, 24, 32, 64, 128}, 4) {
		for sums := 1; sums <= 9; sums += full.Either(4, 1) {
			ks = append(ks, sumsBeside(t, sums, elements, false), sumsBeside(t, sums, elements, true))
		}
	}
	for seed := range uint64(full.Either(8, 100)) {
		ks = append(ks, kerneltest.Random(seed))
	}
	var ls []*Kernel
	var kept []*kernel.Kernel
	buffers := map[*Kernel]int{}
	seen, bodies := map[string]int{}, map[string]bool{}
	for _, k := range ks {
		body := bodyOf(k)
		if bodies[body] {
			continue
		}
		bodies[body] = true
		seen[k.Name]++
		if n := seen[k.Name]; n > 1 {
			k.Name = fmt.Sprintf("%s_n%d", k.Name, n)
		}
		l := kernelOf(k)
		if l == nil {
			continue
		}
		if err := NewAssembly().Add(l); err != nil {
			if !strings.Contains(err.Error(), refused) {
				t.Errorf("%s: %v", k.Name, err)
			}
			continue
		}
		for _, p := range k.Params {
			if p.Mode != kernel.Scalar {
				buffers[l]++
			}
		}
		ls, kept = append(ls, l), append(kept, k)
	}
	dir := write(t, ls, buffers)
	for _, arch := range []string{"amd64", "arm64", "riscv64"} {
		cmd := exec.Command("go", "vet", ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", arch, err, out)
		}
	}
	ends := served.Native(t, dir, "avx2", "avx512", "neon")
	kerneltest.Compare(t, kernel.Format(kept), append(ends, served.ARM64(t, dir, "neon")...))
}

// files prints vector kernels.
func files(header string, ls []*Kernel) (map[string][]byte, error) {
	a := NewAssembly()
	for _, l := range ls {
		if err := a.Add(l); err != nil {
			return nil, err
		}
	}
	return a.Files("main", header, "kernels")
}

// write writes a program that calls vector kernels, and returns its folder.
func write(t testing.TB, ls []*Kernel, buffers map[*Kernel]int) string {
	t.Helper()
	code, err := files("Code generated by a test. DO NOT EDIT.", ls)
	if err != nil {
		t.Fatal(err)
	}
	dir := full.Folder(t, "testdata/program-"+t.Name())
	code["main.go"] = program(ls, buffers)
	for name, data := range code {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAdd checks the error for each vector kernel that has no code.
func TestAdd(t *testing.T) {
	i, j, n := expr.NewVar("i", expr.I32), expr.NewVar("j", expr.I32), expr.NewVar("n", expr.I32)
	x, u := expr.NewElem("x", expr.F32, j), expr.NewElem("u", expr.U32, j)
	assign := func(value *expr.Expr) kernel.Stmt {
		return &kernel.Set{Axes: []kernel.Axis{{Var: "j", Size: n}}, Dst: expr.NewElem("y", expr.F32, j), Value: value}
	}
	good := &Kernel{Name: "good", Doc: "is a test.", Body: []kernel.Stmt{assign(expr.New(expr.Sqrt, x))}, Slices: []Slice{{"x", expr.F32}, {"y", expr.F32}}, Values: []Value{{"n", expr.I32}}}
	other := &Kernel{Name: "other", Doc: "is a test.", Body: []kernel.Stmt{assign(expr.New(expr.Mul, x, expr.F(3)))}, Slices: good.Slices, Values: good.Values}
	for _, c := range []struct {
		node kernel.Stmt
		want string
	}{
		{assign(expr.New(expr.Exp, x)), ""},
		{assign(expr.New(expr.ToF32, expr.New(expr.Div, u, expr.U(8)))), ""},
		{assign(expr.New(expr.ToF32, expr.New(expr.Div, u, expr.U(7)))), "no division of U32"},
		{assign(expr.NewElem("z", expr.F32, j)), "z is no slice"},
		{assign(expr.NewElem("x", expr.F32, expr.New(expr.ToI32, x))), ""},
		{&kernel.Set{Axes: []kernel.Axis{{Var: "j", Size: n}}, Dst: expr.NewElem("y", expr.F32, expr.New(expr.Mul, j, n)), Value: x}, "does not lie in a row"},
		{&kernel.Set{Dst: expr.NewElem("y", expr.F32, expr.New(expr.ToI32, expr.NewElem("x", expr.F32, n))), Value: expr.F(0)}, "depends on F32"},
		{assign(expr.New(expr.ToF32, i)), "i has no value"},
		{&kernel.Dot{Dst: x, A: x, B: x}, "no place in a vector kernel"},
		{&kernel.Tile{Name: "t", Type: expr.F32, Shape: []*expr.Expr{n}}, "no place in a vector kernel"},
		{&kernel.Set{Dst: expr.NewVar("s", expr.F32), Value: expr.F(0)}, "s has no value"},
		{&kernel.Random{Dst: "u", Size: n, Base: n, Example: expr.U(1)}, "seed0 has no value"},
		{&kernel.Let{Name: "q", Value: expr.NewVar("n", expr.F32)}, "n has no value"},
	} {
		l := &Kernel{
			Name: "vector", Doc: "is a test.", Body: []kernel.Stmt{c.node},
			Slices: []Slice{{"x", expr.F32}, {"y", expr.F32}, {"u", expr.U32}},
			Values: []Value{{"n", expr.I32}},
		}
		a, fresh := NewAssembly(), NewAssembly()
		printed(t, a, other)
		printed(t, fresh, other)
		err := a.Add(l)
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: got %v, want %q", c.node, err, c.want)
		}
		if err == nil {
			continue
		}
		if !maps.EqualFunc(printed(t, a, good), printed(t, fresh, good), bytes.Equal) {
			t.Errorf("%T: something is left of what has no code", c.node)
		}
	}
}

// printed adds a kernel and prints all.
func printed(t *testing.T, a *Assembly, l *Kernel) map[string][]byte {
	t.Helper()
	if err := a.Add(l); err != nil {
		t.Fatal(err)
	}
	files, err := a.Files("main", "Header.", "kernels")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFilesAreDeterministic compiles the same vector kernels twice.
func TestFilesAreDeterministic(t *testing.T) {
	var ls []*Kernel
	for _, k := range texts(t) {
		if l := kernelOf(k); l != nil && NewAssembly().Add(l) == nil {
			ls = append(ls, l)
		}
	}
	one, err := files("Header.", ls)
	if err != nil {
		t.Fatal(err)
	}
	two, err := files("Header.", ls)
	if err != nil {
		t.Fatal(err)
	}
	if len(one) != 6 || !maps.EqualFunc(one, two, bytes.Equal) {
		t.Error("the same vector kernels gave different files")
	}
}
