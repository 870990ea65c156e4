package opt_test

import (
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/internal/golden"
)

// rewrites are the passes that preserve results.
var rewrites = []struct {
	name string
	run  func(*ir.Func) *ir.Func
}{
	{"simplify", opt.Simplify},
	{"cse", opt.CSE},
	{"dce", opt.DCE},
}

var launch = ir.Env{Dims: map[string]int{"B": 2, "T": 3, "S": 3, "C": 3, "P": 0}, Seed: 5}

func TestRewrites(t *testing.T) {
	for _, p := range rewrites {
		t.Run(p.name, func(t *testing.T) {
			golden.Archives(t, "testdata/"+p.name+"/*.txtar", func(t *testing.T, a *txtar.Archive) {
				in := irtest.Parse(t, string(a.Files[0].Data))
				out := p.run(in)
				same(t, in, out, 1)
				a.Files = append(a.Files[:1], txtar.File{Name: "out.ir", Data: []byte(out.String())})
			})
		})
	}
}

func TestRandomFunctions(t *testing.T) {
	for seed := range uint64(100) {
		in := irtest.Random(seed, 12)
		before := in.String()
		all := in
		for _, p := range rewrites {
			same(t, in, p.run(in), seed)
			all = p.run(all)
		}
		same(t, in, all, seed)
		if in.String() != before {
			t.Errorf("a pass changed its argument:\n%s", before)
		}
		if t.Failed() {
			return
		}
	}
}

// TestTwice: a pass changes nothing the second time.
func TestTwice(t *testing.T) {
	for seed := range uint64(100) {
		for _, p := range rewrites {
			once := p.run(irtest.Random(seed, 12))
			if again := p.run(once); again.String() != once.String() {
				t.Fatalf("%s changes\n%sto\n%s", p.name, once, again)
			}
		}
	}
}

// same checks that two functions compute the same bits.
func same(t *testing.T, before, after *ir.Func, seed uint64) {
	t.Helper()
	if err := ir.Verify(after); err != nil {
		t.Fatal(err)
	}
	args := irtest.Args(t, before, launch, seed)
	want, got := irtest.Eval(t, before, launch, args), irtest.Eval(t, after, launch, args)
	for i, r := range before.Results {
		if err := irtest.Same(got[i], want[i], 0); err != nil {
			t.Errorf("%s: %v, before\n%safter\n%s", r.Name, err, before, after)
		}
	}
}
