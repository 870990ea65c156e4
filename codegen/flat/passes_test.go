package flat

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/internal/golden"
)

// TestPasses shows what each pass does, and what it leaves alone, on small kernels:
// testdata/passes.txtar has pairs PASS.in and PASS.out, with a remark behind the pass.
func TestPasses(t *testing.T) {
	passes := slices.Concat(GPU(64), GPUProduct(), GPUAttention(64), Processor())
	seen := map[string]bool{}
	golden.Archives(t, "testdata/passes.txtar", func(t *testing.T, a *txtar.Archive) {
		for i, f := range a.Files {
			name, in := strings.CutSuffix(f.Name, ".in")
			if !in {
				continue
			}
			id, _, _ := strings.Cut(name, " ")
			at := slices.IndexFunc(passes, func(p Pass) bool { return p.Name == id })
			ks, err := kernel.Parse(string(f.Data))
			if at < 0 || err != nil {
				t.Fatalf("%s: no pass, or %v", name, err)
			}
			seen[id] = true
			if err := kernel.Verify(ks[0]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			k := passes[at].run(ks[0])
			if err := kernel.Verify(k); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if i+1 == len(a.Files) || a.Files[i+1].Name != name+".out" {
				t.Fatalf("%s has no output behind it", name)
			}
			a.Files[i+1].Data = []byte(k.String())
		}
	})
	for _, p := range passes {
		if !seen[p.Name] {
			t.Errorf("no kernel shows what %s does", p.Name)
		}
	}
}
