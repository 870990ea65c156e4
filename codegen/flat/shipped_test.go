package flat_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/internal/full"
)

// distinct are the kernels of all specs that differ by more than their names.
func distinct(t *testing.T) []*kernel.Kernel {
	t.Helper()
	specs, err := ptxtest.Shipped("../../specs")
	if err != nil {
		t.Fatal(err)
	}
	var ks []*kernel.Kernel
	for _, s := range ptxtest.Distinct(specs) {
		ks = append(ks, s.Kernels...)
	}
	if len(ks) < 400 {
		t.Fatalf("%d kernels are too few for all specs", len(ks))
	}
	return ks
}

// roundTrip holds a kernel to its printed form.
func roundTrip(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	text := k.String()
	again, err := kernel.Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if d := cmp.Diff(k, again[0], cmpopts.EquateEmpty(), cmp.Comparer(func(a, b *expr.Expr) bool {
		return a == b || a != nil && b != nil && expr.Equal(a, b)
	})); d != "" || again[0].String() != text {
		t.Errorf("(-made +parsed)\n%s", d)
	}
}

// tables are the passes of each target and schedule.
var tables = map[string][]flat.Pass{"processor": flat.Processor(), "gpu": flat.GPU(64), "gpu product": flat.GPUProduct(), "gpu attention": flat.GPUAttention(64)}

// TestShipped verifies kernels of some specs after each pass; with -tags full, of all specs. The last
// form must have no useless statements and must be readable. Some kernels are run.
func TestShipped(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	ks := distinct(t)
	for _, k := range full.Some(ks, len(ks)/2) {
		var before *kerneltest.Answers
		if draw.IntN(full.Either(80, 160)) == 0 {
			before = kerneltest.Answer(k, nil, kerneltest.Launches()[1])
		}
		for target, passes := range tables {
			if target != "processor" && k.Family() != "matmul" && (target != "gpu attention" || k.Family() != "attention") {
				continue // it has the processor's form
			}
			f := flat.Through(k, passes, func(p flat.Pass, f *kernel.Kernel) {
				if err := kernel.Verify(f); err != nil {
					t.Errorf("%s, after %s: %v in\n%s\n%s", target, p.Name, err, f, k)
				}
				if before != nil {
					agrees(t, before, f, p)
				}
			})
			roundTrip(t, f)
			for _, p := range passes {
				if p.Name == "prune" && flat.Of(f, []flat.Pass{p}).String() != f.String() {
					t.Errorf("%s: something is of no use in\n%s", target, f)
				}
			}
		}
	}
}

// agrees holds a kernel after a pass to what it was before all.
func agrees(t *testing.T, before *kerneltest.Answers, f *kernel.Kernel, p flat.Pass) {
	t.Helper()
	err := before.Check(func(_ string, s kernel.Scalars, bufs []kernel.Buffer) error { return kernel.Run(f, s, bufs) })
	if err != nil {
		t.Errorf("after %s: %v in\n%s", p.Name, err, f)
	}
}

// TestRandom does the same with kernels that no spec asks for, in all launches.
func TestRandom(t *testing.T) {
	for seed := range uint64(full.Either(6, 24)) {
		k := kerneltest.Random(seed)
		before := kerneltest.Answer(k, nil, kerneltest.Launches()...)
		for _, passes := range tables {
			flat.Through(k, passes, func(p flat.Pass, f *kernel.Kernel) {
				roundTrip(t, f)
				agrees(t, before, f, p)
			})
		}
	}
}

// TestCorners does the same with kernels that try the corners of the back ends, and
// the examples of package kernel.
func TestCorners(t *testing.T) {
	paths, err := filepath.Glob("../../compiler/kernel/testdata/kernels/*.kir")
	if err != nil || len(paths) == 0 {
		t.Fatal("no kernels:", err)
	}
	more, err := filepath.Glob("../cpu/testdata/*.txtar")
	if err != nil || len(more) == 0 {
		t.Fatal("no kernels:", err)
	}
	for _, path := range full.Some(append(paths, more...), 7) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(path) == ".txtar" {
			text = txtar.Parse(text).Files[0].Data
		}
		ks, err := kernel.Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range ks {
			before := kerneltest.Answer(k, nil, kerneltest.Launches()[1:3]...)
			for _, passes := range [][]flat.Pass{flat.GPU(64), flat.GPUProduct()} {
				flat.Through(k, passes, func(p flat.Pass, f *kernel.Kernel) {
					roundTrip(t, f)
					agrees(t, before, f, p)
				})
			}
		}
	}
}

// TestInOrder runs loops whose iterations only seem independent: neighbours write the same element,
// or an iteration adds to the result of an earlier one.
func TestInOrder(t *testing.T) {
	ks, err := kernel.Parse(`
kernel overlap row
  in     x f32[8]
  out    y f32[8]
  tile   a f32[8]
  tile   t f32[8]
  set    a[e] = x[e]
  set    t[e] = 0.0
  for    i = 0 until 7
    set    t[i + j] = a[i] + f32(j) for j < 2
  end
  set    y[e] = t[e]
end
kernel running row
  in     x f32[8]
  out    y f32[8]
  tile   a f32[8]
  var    u f32
  set    a[e] = x[e]
  for    i = 0 until 8
    if     i == 0
      set    u = 0.0
    end
    set    u = u + a[i]
    set    y[i] = u
  end
end`)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range ks {
		before := kerneltest.Answer(k, nil, kerneltest.Launches()[0])
		flat.Through(k, flat.Processor(), func(p flat.Pass, f *kernel.Kernel) { agrees(t, before, f, p) })
	}
}

// TestPassesAreInOrder wants each pass behind those that must come before it.
func TestPassesAreInOrder(t *testing.T) {
	for target, passes := range tables {
		done := map[string]bool{}
		for _, p := range passes {
			if p.Why == "" {
				t.Errorf("%s: %s has no reason", target, p.Name)
			}
			for _, before := range p.After {
				if !done[before] {
					t.Errorf("%s: %s comes before %s", target, p.Name, before)
				}
			}
			done[p.Name] = true
		}
	}
}

// TestThroughShowsValues wants no pass to change what the one before it left.
func TestThroughShowsValues(t *testing.T) {
	for seed := range uint64(20) {
		var shown []*kernel.Kernel
		var texts []string
		flat.Through(kerneltest.Random(seed), flat.GPU(64), func(_ flat.Pass, f *kernel.Kernel) {
			shown, texts = append(shown, f), append(texts, f.String())
		})
		for i, f := range shown {
			if f.String() != texts[i] {
				t.Errorf("a later pass changed\n%s\nto\n%s", texts[i], f)
			}
		}
	}
}
