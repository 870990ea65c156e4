package vector

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/cpu/cputest/served"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/internal/full"
)

// refused is a part of the error for a kernel that gathers elements of 16 bits.
const refused = "of 16 bits, does not lie in a row"

// narrowRows are kernels over rows of width %[1]d with elements of 16 bits. They round and
// widen rows and single elements, in and out of scalar code, copy elements, and read elements
// that they stored.
const narrowRows = `
kernel narrow_%[1]d map
  in     x f32[B * T, %[1]d]
  in     scales bf16[%[1]d]
  out    y bf16[B * T, %[1]d]
  out    z f16[B * T, %[1]d]
  out    back f32[B * T, %[1]d]
  out    bits bf16[B * T, %[1]d]
  out    sum f32[B * T, %[1]d]
  out    first bf16[B * T]
  scalar B, T
  grid   r < B * T
  tile   t bf16[%[1]d]
  tile   u bf16[%[1]d]
  let    s = f32(scales[0])
  set    t[e] = bf16(x[r, e] * s)
  set    y[r, e] = t[e]
  set    back[r, e] = f32(t[e]) * f32(scales[e])
  set    z[r, e] = f16(f32(t[0]) + x[r, e])
  set    u[e] = as_bf16(as_u32(e) * 40503u + 0x38000u)
  set    bits[r, e] = u[e]
  set    sum[r, e] = f32(as_u32(u[e]) + as_u32(scales[e]))
  set    first[r] = bf16(s + f32(t[%[1]d - 1]))
end
`

// TestRefusesNarrow checks the error for elements of 16 bits without code.
func TestRefusesNarrow(t *testing.T) {
	e, n := expr.NewVar("e", expr.I32), expr.NewVar("n", expr.I32)
	for _, typ := range []expr.Type{expr.BF16, expr.F16} {
		for _, c := range []struct {
			index  *expr.Expr
			values []Value
			want   string
		}{
			{expr.New(expr.Add, e, n), []Value{{"n", expr.I32}}, ""},
			{expr.New(expr.Mul, e, expr.Int(2)), nil, refused},
			{expr.New(expr.Min, e, expr.Int(7)), nil, refused},
			{e, []Value{{"v", typ}}, fmt.Sprintf("value v is %v", typ)},
		} {
			body := &kernel.Set{
				Axes: []kernel.Axis{{Var: "e", Size: expr.Int(9)}},
				Dst:  expr.NewElem("y", expr.F32, e), Value: expr.New(expr.ToF32, expr.NewElem("x", typ, c.index)),
			}
			l := &Kernel{Name: "vector", Doc: "is a test.", Body: []kernel.Stmt{body}, Slices: []Slice{{"x", typ}, {"y", expr.F32}}, Values: c.values}
			err := NewAssembly().Add(l)
			if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v[%s]: error %v, want %q", typ, c.index, err, c.want)
			}
		}
	}
}

// between is a test of a program with vector kernels. Kernel double takes any number of
// elements, double1 takes 1 element, double2 takes 2, and so on.
const between = `package main

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/arithlang/mlc/runtime/cpu"
)

// room returns n elements right behind a page that faults, and n right before one.
func room(t *testing.T, n int) [2][]uint16 {
	page := syscall.Getpagesize()
	m, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	for _, part := range [][]byte{m[:page], m[2*page:]} {
		if err := syscall.Mprotect(part, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	words := unsafe.Slice((*uint16)(unsafe.Pointer(&m[page])), page/2)
	return [2][]uint16{words[:n], words[len(words)-n:]}
}

func TestBetween(t *testing.T) {
	frame := cpu.NewWorker(nil, cpu.Go, cpu.Memory{}).Frame()
	for name, calls := range map[string][]func(frame *byte, x, y *uint16, n int){"avx2": onAVX2, "avx512": onAVX512, "neon": onNEON} {
		if _, err := cpu.ParseISA(name); err != nil {
			continue
		}
		for n := 1; n < len(calls); n++ {
			xs, ys := room(t, n), room(t, n)
			for _, double := range []func(frame *byte, x, y *uint16, n int){calls[0], calls[n]} {
				for side, x := range xs {
					y := ys[side]
					for i := range n {
						x[i], y[i] = uint16(0x3f80+i), 0
					}
					double(frame, &x[0], &y[0], n)
					for i := range n {
						if want := cpu.RoundBF16(2 * cpu.WidenBF16(x[i])); y[i] != want {
							t.Errorf("%s: element %d of %d is %04x, want %04x", name, i, n, y[i], want)
						}
					}
				}
			}
		}
	}
}
`

// TestStaysBetween runs vector kernels on elements of 16 bits next to memory that must not be
// touched.
func TestStaysBetween(t *testing.T) {
	e, size := expr.NewVar("e", expr.I32), expr.NewVar("n", expr.I32)
	double := func(name string, size *expr.Expr) *Kernel {
		value := expr.New(expr.Mul, expr.F(2), expr.New(expr.ToF32, expr.NewElem("x", expr.BF16, e)))
		return &Kernel{
			Name: name, Doc: "is a test.",
			Body:   []kernel.Stmt{&kernel.Set{Axes: []kernel.Axis{{Var: "e", Size: size}}, Dst: expr.NewElem("y", expr.BF16, e), Value: expr.New(expr.ToBF16, value)}},
			Slices: []Slice{{"x", expr.BF16}, {"y", expr.BF16}}, Values: []Value{{"n", expr.I32}},
		}
	}
	ls := []*Kernel{double("double", size)}
	for n := 1; n <= 40; n++ {
		ls = append(ls, double(fmt.Sprintf("double%d", n), expr.Int(int64(n))))
	}
	code, err := files("Code generated by a test. DO NOT EDIT.", ls)
	if err != nil {
		t.Fatal(err)
	}
	table := "package main\n\nfunc main() {}\n"
	for _, isa := range InstructionSets() {
		table += "\nvar on" + isa + " = []func(frame *byte, x, y *uint16, n int){"
		for _, l := range ls {
			table += l.Name + isa + ", "
		}
		table += "}\n"
	}
	code["main.go"], code["between_linux_test.go"] = []byte(table), []byte(between)
	dir := full.Folder(t, "testdata/program-between")
	for name, data := range code {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(env []string, args ...string) {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	run(nil, "go", "test", "-vet=off", ".")
	emulator, ok := served.Emulator()
	if !ok {
		t.Log("left out: linux/arm64 needs qemu-aarch64")
		return
	}
	program := filepath.Join(t.TempDir(), "between")
	run(served.ForARM64(), "go", "test", "-vet=off", "-c", "-o", program, ".")
	run(nil, emulator, program)
}
