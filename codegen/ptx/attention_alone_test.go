package ptx_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/internal/full"
)

// TestAttentionAlone compares the kernels of attention alone with the interpreter: with few queries
// and keys, and with more keys than are in registers at once. Heads have widths with different room
// in shared memory. One bias has all masks: it is a line or a table.
func TestAttentionAlone(t *testing.T) {
	seen := map[string]bool{}
	for _, width := range full.Some([]int{16, 8, 64, 128}, 1) {
		pick := ptxtest.Sparse("kerple")
		if width != 16 { // with a sum by distance, and with a table
			pick = func(bias, mask string, causal bool) bool {
				return bias == "kerple" && (mask == "stripes" || mask == "late" && !causal)
			}
		}
		specs, err := ptxtest.Attentions(2, 1, width, pick)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range specs {
			for i, p := range []*lower.Program{a.F32, a.BF16} {
				launches := launchesAlone[i:][:2]
				if !strings.HasPrefix(a.Name, "kerple") {
					launches = full.Some(launches, 1)
				}
				var dense, packed []*kernel.Kernel
				for _, k := range p.Kernels {
					same := *k
					same.Name = ""
					switch text := same.String(); {
					case seen[text]:
					case k.Packed() && !strings.HasPrefix(a.Name, "kerple"): // kerple alone has all launches of these
						packed = append(packed, k)
						seen[text] = true
					default:
						dense = append(dense, k)
						seen[text] = true
					}
				}
				t.Run(fmt.Sprintf("%s_%d", a.Name, width), func(t *testing.T) {
					ptxtest.Compare(t, dense, codegen.ModuleOptions(p), *all, launches...)
					ptxtest.Compare(t, packed, codegen.ModuleOptions(p), *all, launchesAlone[1:2]...)
				})
			}
		}
	}
}

// launchesAlone are a launch of F32 with several blocks, one of few rows, and one of BF16 with more
// than 128 keys. Packed, the second example of the few rows has one query and six keys.
var launchesAlone = sampled([]kernel.Scalars{
	{"B": 1, "T": 38, "S": 50, "C": 38, "P": 0},
	{"B": 2, "T": 6, "S": 9, "C": 6, "P": 0},
	{"B": 1, "T": 70, "S": 133, "C": 70, "P": 0},
})

// sampled adds samples of the other scalars to launches of attention alone.
func sampled(launches []kernel.Scalars) (all []kernel.Scalars) {
	for _, s := range launches {
		full := kernel.Samples()
		maps.Copy(full, s)
		all = append(all, full)
	}
	return all
}
