package grad_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/grad"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
)

// sites are attention sites whose keys have the given dimension.
var sites = []struct{ name, keys, attrs string }{
	{"cross", "S", "heads = 2; scale = 0.5"},
	{"cross window", "S", "heads = 2; scale = 0.5; mask = abs(i - j) <= 1"},
	{"causal", "T", "heads = 2; scale = 0.5; self; mask = j <= i"},
	{"window", "T", "heads = 2; scale = 0.5; self; mask = j <= i && i - j <= 1"},
	{"closed rows", "S", "heads = 2; scale = 0.5; mask = i % 2 == 1 && j + h < J"},
	{"all closed", "S", "heads = 1; scale = 0.5; mask = i < 0; bias = r[0]; parameters = r table gain"},
	{"kerple", "T", "heads = 2; scale = 0.5; self; parameters = r table gain; mask = j <= i; bias = -abs(r[h]) * log(1.0 + gain[] * gain[] * f32(i - j))"},
	{"table", "T", "heads = 2; scale = 0.5; self; parameters = r table gain; mask = j <= i && i - j < 4; bias = table[h, i - j] * r[0] + table[0, 0]"},
	{"network", "S", "heads = 2; scale = 0.5; parameters = r table gain; bias = max(table[0, 0] * f32(i - j) + table[0, 1], 0.0) * r[h] + tanh(table[1, 1] * f32(j)) * gain[]"},
	{"dropout", "T", "rate = 0.4; stream = 5; heads = 2; scale = 0.5; self; mask = j <= i"},
	{"dropout and bias", "S", "rate = 0.4; stream = 5; heads = 2; scale = 0.5; parameters = r table gain; bias = r[h] * f32(j) - table[h, min(j, 3)]"},
}

func site(t *testing.T, keys, attrs string) *ir.Func {
	t.Helper()
	params := "v3 = param r weight : f32[2]\nv4 = param table weight : f32[2, 4]\nv5 = param gain weight : f32[]\n"
	args := "v0 v1 v2 v3 v4 v5"
	// A site without parameters takes none.
	if !strings.Contains(attrs, "parameters") {
		params, args = "", "v0 v1 v2"
	}
	return irtest.Parse(t, fmt.Sprintf("func f\nv0 = param q input : f32[B, T, 6]\nv1 = param k input : f32[B, %[1]s, 6]\nv2 = param v input : f32[B, %[1]s, 6]\n%[2]s"+
		"v9 = attention %[3]s {%[4]s} : f32[B, T, 6]\nresult y v9\nend\n", keys, params, args, attrs))
}

func TestAttentionDifferences(t *testing.T) {
	launches := append(shapes, map[string]int{"B": 2, "T": 5, "S": 4, "C": 5, "P": 0})
	for _, c := range sites {
		t.Run(c.name, func(t *testing.T) {
			f := site(t, c.keys, c.attrs)
			for seed, dims := range launches {
				if err := compare(t, f, env(dims), uint64(seed)); err != nil {
					t.Errorf("%v: %v", dims, err)
				}
			}
		})
	}
}

// TestComposites compares the gradient of each composite op with the gradient of its
// decomposition, which uses only the rules of primitive ops.
func TestComposites(t *testing.T) {
	dims := map[string]int{"B": 3, "T": 5, "S": 4, "C": 5, "P": 0}
	for _, c := range sites {
		t.Run(c.name, func(t *testing.T) { sameAsDecomposed(t, site(t, c.keys, c.attrs), env(dims)) })
	}
	for _, c := range cases {
		if strings.Contains(c.body, "relative") {
			continue // the decomposition reads elements [B, ..] by index, which has no rule
		}
		f := irtest.Parse(t, "func f\n"+c.params+"\n"+c.body+"\nresult y v9\nend\n")
		for _, v := range f.Values {
			if v.Op.Composite() {
				t.Run(c.name, func(t *testing.T) { sameAsDecomposed(t, f, env(dims)) })
				break
			}
		}
	}
}

func sameAsDecomposed(t *testing.T, f *ir.Func, e ir.Env) {
	t.Helper()
	parts, err := ir.Decompose(f)
	if err != nil {
		t.Fatal(err)
	}
	args := irtest.Args(t, f, e, 8)
	got, want := gradients(t, f, e, args), gradients(t, parts, e, args)
	for name, w := range want {
		// Derivatives fold constants in float32.
		if err := irtest.Same(got[name], w, 1e-7); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && nonzero(got[name]) {
			t.Errorf("%s is not a gradient of the decomposition", name)
		}
	}
}

func nonzero(x ir.Tensor) bool {
	for _, f := range x.F {
		if f != 0 {
			return true
		}
	}
	return false
}

// gradients returns gradients by parameter, for the loss of half the sum of squared
// results.
func gradients(t *testing.T, f *ir.Func, e ir.Env, args []ir.Tensor) map[string]ir.Tensor {
	t.Helper()
	fwd, bwd, err := grad.Backward(f)
	if err != nil {
		t.Fatal(err)
	}
	results := irtest.Eval(t, fwd, e, args)
	dy := map[string]ir.Tensor{}
	for i, r := range f.Results {
		dy["d."+r.Name] = results[i]
	}
	out := map[string]ir.Tensor{}
	for i, g := range irtest.Eval(t, bwd, e, bind(t, f, fwd, bwd, args, results, dy)) {
		out[bwd.Results[i].Name] = g
	}
	return out
}
