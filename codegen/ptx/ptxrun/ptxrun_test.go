package ptxrun

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/runtime/cuda"
)

// reverse needs scratch for a tile that is as long as a row.
const reverse = `kernel reverse row
	in     x f32[B, T]
	out    y f32[B, T]
	scalar B, T
	grid   b < B
	tile   a f32[T]
	set    a[j] = x[b, j]
	set    a[j] = a[j] * 2.0
	set    y[b, j] = a[T - 1 - j] for j < T
	end`

// machine has kernels, all but one random, on a simulated device.
func machine(t *testing.T, edit func(*ptx.Output)) (*Machine, []*kernel.Kernel) {
	t.Helper()
	ks, err := kernel.Parse(reverse)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(10) {
		ks = append(ks, kerneltest.Random(seed))
	}
	code, err := ptx.Module(ks, ptx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	edit(&code)
	m, err := New(Simulator, code)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m, ks
}

// TestRun wants the interpreter's results, from several goroutines, with tiles in any memory.
func TestRun(t *testing.T) {
	for name, edit := range map[string]func(*ptx.Output){
		"as it is": func(*ptx.Output) {},
		"tiles in shared memory that must be allowed": func(o *ptx.Output) { enlarge(t, o, 60<<10) },
		"tiles beyond shared memory":                  func(o *ptx.Output) { enlarge(t, o, 200<<10) },
	} {
		t.Run(name, func(t *testing.T) {
			m, ks := machine(t, edit)
			var all sync.WaitGroup
			for _, k := range ks {
				all.Go(func() {
					for i, s := range kerneltest.Launches()[:3] {
						if err := kerneltest.Check(k, s, kerneltest.Signed, uint64(i), m.Run, nil); err != nil {
							t.Errorf("%s: %v", k.Name, err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// enlarge asks for more scratch than kernels need.
func enlarge(t *testing.T, o *ptx.Output, bytes int64) {
	n := 0
	for i, e := range o.Kernels {
		if e.Scratch != nil {
			o.Kernels[i].Scratch = expr.New(expr.Add, e.Scratch, expr.Int(bytes))
			n++
		}
	}
	if n == 0 {
		t.Error("no kernel takes scratch")
	}
}

// TestLost wants a kernel that breaks the device to be named, and the next one to
// run all the same.
func TestLost(t *testing.T) {
	m, ks := machine(t, func(o *ptx.Output) {
		bad := strings.Replace(string(o.Text), "{\n\t.reg", "{\n\t.reg .b64 %nowhere;\n\t.reg", 1)
		bad = strings.Replace(bad, "\tmov.u32 %r1,", "\tmov.b64 %nowhere, 64;\n\tst.global.u32 [%nowhere], 1;\n\tmov.u32 %r1,", 1)
		o.Text = []byte(bad)
	})
	s := kerneltest.Launches()[1]
	for range 2 {
		err := kerneltest.Check(ks[0], s, kerneltest.Signed, 1, m.Run, nil)
		e, ok := errors.AsType[*cuda.Error](err)
		if !ok || !e.Lost() || !strings.Contains(err.Error(), "out of bounds: kernel "+ks[0].Name) {
			t.Fatal(err)
		}
		if err := kerneltest.Check(ks[1], s, kerneltest.Signed, 1, m.Run, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestNew wants the errors of a device that cannot be had, and of a module that it
// does not take.
func TestNew(t *testing.T) {
	broken := errors.New("no such device")
	if _, err := New(func() (cuda.Driver, error) { return nil, broken }, ptx.Output{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := New(Simulator, ptx.Output{Text: []byte(".version 7.8\nnonsense")}); err == nil {
		t.Error("nonsense is loaded")
	}
}
