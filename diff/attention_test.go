package diff

import (
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/lower"
)

// TestAttentionAlone holds the kernels of attention alone to their tensor functions, for each bias
// and mask. Packed programs are compared with the others in package lower.
func TestAttentionAlone(t *testing.T) {
	all, err := ptxtest.Attentions(4, 2, 16, ptxtest.Each)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range all {
		for _, p := range []*lower.Program{a.F32, a.BF16} {
			for _, c := range casesOf(t, p) {
				k := *c.Kernel
				if k.Name = ""; p.Entry(c.Program).Memory.Packed {
					continue
				}
				if seen[k.String()] {
					continue
				}
				seen[k.String()] = true
				for _, s := range []Shape{{Batch: 2, Length: 7}, {Batch: 1, Length: 34}} {
					r, err := c.Compare(s, nil)
					if err != nil {
						t.Fatalf("%s: %s: %v", a.Name, c.Kernel.Name, err)
					}
					if r.Out() || r.Elements == 0 {
						t.Errorf("%s: %+v\n%s", a.Name, r, c.Kernel)
					}
				}
			}
		}
	}
}
