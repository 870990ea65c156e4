package ptx_test

import (
	"testing"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
)

// TestAttentionAlone compares the kernels of attention alone with the interpreter: with few queries
// and keys, and with more keys than are in registers at once.
func TestAttentionAlone(t *testing.T) {
	specs, err := ptxtest.Attentions(2, 1, 16)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range specs {
		for _, p := range []*lower.Program{a.F32, a.BF16} {
			var ks []*kernel.Kernel
			for _, k := range p.Kernels {
				same := *k
				same.Name = ""
				if !seen[same.String()] {
					ks = append(ks, k)
				}
				seen[same.String()] = true
			}
			t.Run(a.Name, func(t *testing.T) {
				ptxtest.Compare(t, ks, codegen.ModuleOptions(p), *all, launchesAlone...)
			})
		}
	}
}

var launchesAlone = []kernel.Scalars{
	{"B": 2, "T": 5, "S": 9, "C": 5, "P": 0},
	{"B": 1, "T": 70, "S": 133, "C": 70, "P": 0},
}
