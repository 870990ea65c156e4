package flat

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/compiler/kernel"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata")

// TestPasses shows what each pass does, and what it leaves alone, on small kernels:
// testdata/passes.txtar has pairs PASS.in and PASS.out, with a remark behind the pass.
func TestPasses(t *testing.T) {
	const path = "testdata/passes.txtar"
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	passes := slices.Concat(GPU(64), GPUProduct(), GPUAttention(64), Processor())
	seen := map[string]bool{}
	for i, f := range ar.Files {
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
		if i+1 == len(ar.Files) || ar.Files[i+1].Name != name+".out" {
			t.Fatalf("%s has no output behind it", name)
		}
		if d := cmp.Diff(string(ar.Files[i+1].Data), k.String()); d != "" && !*update {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
		ar.Files[i+1].Data = []byte(k.String())
	}
	for _, p := range passes {
		if !seen[p.Name] {
			t.Errorf("no kernel shows what %s does", p.Name)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
