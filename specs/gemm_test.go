package specs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/sim/counted"
)

// TestGemmShare counts the FLOP of products in a training step that a library can compute, as a
// share of all products outside attention. docs/gpu.md has the numbers.
func TestGemmShare(t *testing.T) {
	full.Only(t)
	c, err := card.Find(launchesCard)
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, "../docs/gpu.md")
	for _, spec := range []struct{ file, precision string }{
		{"looped8x2.arith", "bf16"}, {"looped8x2.arith", "f32"}, {"addition.arith", "f32"}, {"addition.arith", "bf16"},
	} {
		p, found, err := compiler.Compile(check.Options{Path: spec.file, Read: os.ReadFile, Set: []string{"train.precision=" + spec.precision}})
		if err != nil || found.HasErrors() {
			t.Fatal(err, found)
		}
		m, err := live.New(p)
		if err != nil {
			t.Fatal(err)
		}
		counting <- struct{}{}
		r, err := m.Count(counted.Options{Card: c})
		<-counting
		if err != nil {
			t.Fatal(err)
		}
		flops := map[string]float64{}
		for _, k := range r.Kernels {
			flops[k.Name] = k.Flops
		}
		all, library, kernels, alone := 0.0, 0.0, 0, 0
		for i, k := range p.Lowered.Kernels {
			if k.Family() != "matmul" || flops[m.GPU.Kernels[i].Name] == 0 {
				continue
			}
			kernels, all = kernels+1, all+flops[m.GPU.Kernels[i].Name]
			if m.GPU.Kernels[i].Gemm != nil {
				alone, library = alone+1, library+flops[m.GPU.Kernels[i].Name]
			}
		}
		row := fmt.Sprintf("| `%s` | %s | %d of %d | %.1f %% |\n", spec.file, spec.precision, alone, kernels, 100*library/all)
		if !strings.Contains(page, row) {
			t.Errorf("docs/gpu.md has no row %s", row)
		}
	}
}
