package ptx_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
)

var all = flag.Bool("all", false, "check every kernel of every shipped spec in every launch")

func shipped(t *testing.T) []ptxtest.Spec {
	t.Helper()
	specs, err := ptxtest.Shipped("../../specs")
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

// TestShippedKernels holds the kernels of shipped specs to the interpreter: by
// default those of the small spec, which have all the forms of the others, and
// with -all every one that differs from them.
func TestShippedKernels(t *testing.T) {
	specs := ptxtest.Distinct(shipped(t))
	for _, s := range specs {
		name := filepath.Base(s.Path)
		if !*all && name != "tiny.arith" {
			continue
		}
		t.Run(name, func(t *testing.T) { ptxtest.Compare(t, s.Kernels, ptx.Options{}) })
	}
}

// TestRandomKernels does the same with kernels that no spec asks for.
func TestRandom(t *testing.T) {
	n := uint64(40)
	if *all {
		n = 400
	}
	var ks []*kernel.Kernel
	for seed := range n {
		ks = append(ks, kerneltest.Random(seed))
	}
	ptxtest.Compare(t, ks, ptx.Options{})
}

// TestCorners does the same with the kernels that try the corners of the printer
// of Go, and the examples of package kernel.
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
		t.Run(filepath.Base(path), func(t *testing.T) { ptxtest.Compare(t, ks, ptx.Options{}) })
	}
}

// TestAssembles wants every module accepted by NVIDIA's assembler.
func TestAssembles(t *testing.T) {
	for _, s := range shipped(t) {
		out, err := ptx.Module(s.Kernels, ptx.Options{})
		if err != nil {
			t.Errorf("%s: %v", s.Path, err)
			continue
		}
		for _, arch := range []string{"sm_80", "sm_86", "sm_90"} {
			usage, err := ptxas.Assemble(out.Text, arch)
			if errors.Is(err, ptxas.ErrMissing) {
				t.Skip(err)
			}
			if err != nil {
				t.Errorf("%s: %v", s.Path, err)
				break
			}
			for _, e := range out.Kernels {
				if u, ok := usage[e.Name]; !ok || u.Shared != e.Static {
					t.Errorf("%s: %s is said to take %d bytes of static shared memory, %s gives it %d", s.Path, e.Name, e.Static, arch, u.Shared)
				}
			}
		}
	}
}
