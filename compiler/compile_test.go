package compiler

import (
	"os"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/kernel"
)

// passOrder lists pairs of passes, of which the first must run before the second.
var passOrder = [][2]string{
	{"model", "verify"}, {"verify", "simplify"}, {"simplify", "cse"}, {"cse", "dce"},
	{"dce", "verify-optimized"}, {"verify-optimized", "lower"}, {"lower", "batches"}, {"lower", "lanes"},
}

func TestPassesAreInOrder(t *testing.T) {
	at := func(name string) int {
		i := slices.IndexFunc(passes, func(p pass) bool { return p.name == name })
		if i < 0 {
			t.Fatalf("passOrder names %q, which is no pass", name)
		}
		return i
	}
	for _, o := range passOrder {
		if at(o[0]) >= at(o[1]) {
			t.Errorf("pass %s must come before %s", o[0], o[1])
		}
	}
}

// TestShippedSpecsCompile compiles every spec twice and compares the kernels.
func TestShippedSpecsCompile(t *testing.T) {
	for _, name := range []string{"successor", "addition", "kerple", "tiny"} {
		var texts [2]string
		for i := range texts {
			p, found, err := Compile(check.Options{Path: "../specs/" + name + ".arith", Read: os.ReadFile})
			if err != nil || len(found) > 0 {
				t.Fatalf("%s: %v %v", name, err, found)
			}
			texts[i] = kernel.Format(p.Lowered.Kernels)
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: two compilations differ", name)
		}
	}
}
