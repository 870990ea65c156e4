package ptx_test

import (
	"fmt"
	"testing"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
)

// TestAttentionAlone compares the kernels of attention alone with the interpreter: with few queries
// and keys, and with more keys than are in registers at once. Heads have widths with different room
// in shared memory.
func TestAttentionAlone(t *testing.T) {
	seen := map[string]bool{}
	for _, width := range []int{16, 8, 64, 128} {
		var names []string
		if width != 16 {
			names = []string{"kerple"} // with a sum by distance
		}
		specs, err := ptxtest.Attentions(2, 1, width, names...)
		if err != nil {
			t.Fatal(err)
		}
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
				t.Run(fmt.Sprintf("%s_%d", a.Name, width), func(t *testing.T) {
					ptxtest.Compare(t, ks, codegen.ModuleOptions(p), *all, launchesAlone...)
				})
			}
		}
	}
}

var launchesAlone = []kernel.Scalars{
	{"B": 2, "T": 5, "S": 9, "C": 5, "P": 0},
	{"B": 1, "T": 70, "S": 133, "C": 70, "P": 0},
}
