package ptx_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/internal/full"
)

var all = flag.Bool("all", false, "check every kernel of every shipped spec, in every way")

// either checks kernels with buffers anywhere, and with several sets of aligned ones: half of
// them with each, and with -tags full all with both.
func either(t *testing.T, ks []*kernel.Kernel) {
	some := ks
	if n := len(ks) / 2; !full.Tests && n > 0 {
		some, ks = ks[:n], ks[n:]
	}
	t.Run("anywhere", func(t *testing.T) { ptxtest.Compare(t, some, ptx.Options{}, *all) })
	t.Run("aligned", func(t *testing.T) {
		o := ptx.Options{Aligned: func(*kernel.Kernel, int) bool { return true }, Sets: func(*kernel.Kernel) int { return ptxtest.Sets + 1 }}
		ptxtest.Compare(t, ks, o, *all)
	})
}

// TestShippedKernels compares the kernels of shipped specs with the interpreter. Without -all it
// takes the small spec, which has all forms of kernels, with -all every distinct kernel.
func TestShippedKernels(t *testing.T) {
	path := "../../specs/tiny.arith"
	if *all {
		path = "../../specs"
	}
	specs, err := ptxtest.Shipped(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range ptxtest.Distinct(specs) {
		t.Run(filepath.Base(s.Path), func(t *testing.T) { ptxtest.Compare(t, s.Kernels, s.Options, *all) })
	}
}

// TestRandom does the same with kernels that no spec asks for.
func TestRandom(t *testing.T) {
	n := uint64(10)
	if *all {
		n = 400
	}
	var ks []*kernel.Kernel
	for seed := range n {
		ks = append(ks, kerneltest.Random(seed))
	}
	either(t, ks)
}

// TestCorners does the same with the test kernels of codegen/cpu, and the examples of package
// kernel.
func TestCorners(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"../cpu/testdata/*.txtar", "../../compiler/kernel/testdata/kernels/*.kir"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
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
		t.Run(filepath.Base(path), func(t *testing.T) { either(t, ks) })
	}
}
