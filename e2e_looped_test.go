package main

import (
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/compiler/peertest"
	"github.com/arithlang/mlc/internal/full"
)

// TestLoopedPrograms compares the programs of some decoder-only models with PyTorch: on the
// processor with each instruction set, and on the simulated GPU. Package compiler compares all
// other models before code is generated.
func TestLoopedPrograms(t *testing.T) {
	full.Only(t)
	const folder = "compiler/testdata/looped"
	cases, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lxr_abacus_rope", "lt_abacus_fire", "plain_learned", "plain_shifted", "swiglu"} {
		t.Run(name, func(t *testing.T) {
			c, err := peertest.Read(folder, name)
			if err != nil {
				t.Fatal(err)
			}
			dir := generateWith(t, []string{"looped_test.go"}, folder+"/looped.arith", c.Set...)
			command(t, dir, []string{"CASES=" + cases, "CASE=" + name}, "go", "test", "-vet=off", "-run", "PyTorch|Kernels", ".")
		})
	}
}
