package ir_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
)

func readAll(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/all.ir")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, _ := strings.Cut(string(text), "\n")
	return text2
}

func TestRoundTrip(t *testing.T) {
	text := readAll(t)
	f := irtest.Parse(t, text)
	if diff := cmp.Diff(text, f.String()); diff != "" {
		t.Errorf("printing what was parsed (-text +printed):\n%s", diff)
	}
	again := irtest.Parse(t, f.String())
	equal := cmp.Comparer(func(a, b *expr.Expr) bool { return a == b || a != nil && b != nil && expr.Equal(a, b) })
	if diff := cmp.Diff(f, again, equal); diff != "" {
		t.Errorf("parsing what was printed:\n%s", diff)
	}
}

func TestEveryOpIsInTheCorpus(t *testing.T) {
	seen := map[ir.Op]bool{}
	for _, v := range irtest.Parse(t, readAll(t)).Values {
		seen[v.Op] = true
	}
	for op := ir.Param; op <= ir.Noise; op++ {
		if !seen[op] {
			t.Errorf("testdata/all.ir does not use %s", op)
		}
	}
}

func TestDecompose(t *testing.T) {
	f, err := ir.Decompose(irtest.Parse(t, readAll(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range f.Values {
		if v.Op.Composite() {
			t.Errorf("still composite: %s", v)
		}
	}
	if again := irtest.Parse(t, f.String()); again.String() != f.String() {
		t.Errorf("the expansion does not round trip:\n%s", f)
	}
}

// bad are functions that must be refused, and why. Lines replace the body of a
// function with parameters x : f32[B, 4], w : f32[4, 3] and ids : i32[B].
var bad = []struct{ body, want string }{
	{"v1 = param y input : f32[0]", `bad extent "0"`},
	{"v1 = param y input : f32[J]", `bad extent "J"`},
	{"v1 = param x input : f32[B]", "declared twice"},
	{"v1 = param 9 input : f32[B]", `bad name "9"`},
	{"v1 = param y output : f32[B]", `no role "output"`},
	{"v1 = param y input : u32[B]", "must be F32 or I32"},
	{"v1 = param y input : f64[B]", "is no type"},
	{"v1 = softmax v9 : f32[B, 4]", "v1 after v11"},
	{"v11 = softmax v9 : f32[B, 4]\nv11 = softmax v9 : f32[B, 4]", "v11 after v11"},
	{"v12 = softmax v9 : f32[B, 5]", "has type f32[B, 5], not f32[B, 4]"},
	{"v12 = softmax v9 v9 : f32[B, 4]", "softmax takes no 2 arguments"},
	{"v12 = softmax v9 {rows = 3} : f32[B, 4]", "softmax carries no rows"},
	{"v12 = softmax v9 {row = 3} : f32[B, 4]", `no attribute "row"`},
	{"v12 = softmax v20 : f32[B, 4]", "v20 is not defined"},
	{"v12 = soft v9 : f32[B, 4]", `no op "soft"`},
	{"v12 = softmax v9", "has no type"},
	{"x12 = softmax v9 : f32[B, 4]", "is no value name"},
	{"v12 = matmul v9 v9 : f32[B, 4]", "inner extents 4 and B differ"},
	{"v12 = matmul v9 v11 : f32[B, 4]", "argument 1 is i32[B], not F32"},
	{"v12 = matmul v9 v10 {transb = yes} : f32[B, 4]", "only true is possible"},
	{"v12 = outer v9 v10 : f32[4, 3]", "leading extents"},
	{"v12 = map v9 v10 {expr = x0 + x1} : f32[B, 4]", "do not broadcast"},
	{"v12 = map v9 {shape = [4]; expr = x0} : f32[4]", "does not broadcast to [4]"},
	{"v12 = map v9 {expr = x1} : f32[B, 4]", "x1"},
	{"v12 = map v9 {expr = x0 + y} : f32[B, 4]", "y"},
	{"v12 = map v9 {expr = x0 + f32(d2)} : f32[B, 4]", "d2"},
	{"v12 = map v9 {expr = x0[1]} : f32[B, 4]", "1 indices for rank 2"},
	{"v12 = map v9 {expr = x0 < 1.0} : f32[B, 4]", "must be F32 or I32"},
	{"v12 = map v9 {expr = x0 + 1} : f32[B, 4]", "expr"},
	{"v12 = map v9 : f32[B, 4]", "has no expression"},
	{"v12 = dropout v9 {rate = 1} : f32[B, 4]", "not in [0, 1)"},
	{"v12 = sum v9 : f32[]", "has no axes"},
	{"v12 = sum v9 {axes = 1 0} : f32[]", "not ascending"},
	{"v12 = max v9 {axes = 2} : f32[]", "not ascending and in range"},
	{"v12 = reshape v9 {shape = [B, 2, 3]} : f32[B, 2, 3]", "another number of elements"},
	{"v12 = transpose v9 {axes = 0 0} : f32[B, B]", "not a permutation"},
	{"v12 = transpose v9 {axes = 0} : f32[B]", "1 axes for rank 2"},
	{"v12 = gather v10 v9 : f32[B, 3]", "needs a matrix and I32 ids"},
	{"v12 = scatter v11 v9 : f32[5, 4]", "has no rows"},
	{"v12 = append v9 v11 : f32[B, 4]", "does not hold rows"},
	{"v12 = runs v9 {shape = [B, T]; expr = x0 < 2.0} : i32[B, T]", "needs I32 tokens"},
	{"v12 = reshape v11 {shape = [B, 1]} : i32[B, 1]\nv13 = runs v12 {shape = [B, T]} : i32[B, T]", "has no condition"},
	{"v12 = reshape v11 {shape = [B, 1]} : i32[B, 1]\nv13 = runs v12 {shape = [B, T]; expr = x0 < P} : i32[B, T]", "variable P"},
	{"v12 = draw {shape = [B]; rows = 3; group = 2} : i32[B]", "two axes or more"},
	{"v12 = draw {shape = [B, T]; rows = 3} : i32[B, T]", "3 numbers for 0 examples"},
	{"v12 = subset {shape = [B, T]; rows = 3; size = 2; group = 2} : i32[B, T]", "not that of a sequence"},
	{"v12 = subset {shape = [T]; rows = 3; group = 2} : i32[T]", "chooses 0 of 3 numbers"},
	{"v12 = subset {shape = [T]; rows = 3; size = 4; group = 2} : i32[T]", "chooses 4 of 3 numbers"},
	{"v12 = noise {shape = [T, 3]} : f32[T, 3]", "not that of rows"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = rotate v12 v9 v9 {heads = 2} : f32[B, 1, 4]", "x, cos, sin are"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = map {shape = [1, 2]; expr = 0.5} : f32[1, 2]\nv14 = rotate v12 v13 v13 {heads = 2} : f32[B, 1, 4]", "2 pairs do not fit"},
	{"v12 = rmsnorm v9 v10 {eps = 1e-05} : f32[B, 4]", "not f32[4]"},
	{"v12 = sum v10 {axes = 1} : f32[4]\nv13 = rmsnorm_grad v9 v12 v9 {result = beta} : f32[4]", `no gradient "beta"`},
	{"v12 = layernorm v9 v10 v10 {eps = 1e-05} : f32[B, 4]", "not f32[4]"},
	{"v12 = cross_entropy v9 v10 : f32[B]", "labels are"},
	{"v12 = attention v9 v9 v9 {heads = 2} : f32[B, 4]", "q and k are"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = reshape v9 {shape = [B, 4, 1]} : f32[B, 4, 1]\nv14 = attention v12 v12 v13 {heads = 2} : f32[B, 1, 4]", "q, k, v are"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 3} : f32[B, 1, 4]", "3 heads do not divide"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; mask = k < i} : f32[B, 1, 4]", "mask"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v10 {heads = 2} : f32[B, 1, 4]", "0 parameters, 1 arguments"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v10 {heads = 2; parameters = r; bias = r[h]} : f32[B, 1, 4]", "1 indices for rank 2"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; mask = i - j} : f32[B, 1, 4]", "mask is not Bool"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; bias = i - j} : f32[B, 1, 4]", "bias is not F32"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v9 {heads = 2; parameters = r} : f32[B, 1, 4]", "not F32 of constant shape or positions"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v10 {heads = 2; parameters = q} : f32[B, 1, 4]", `bad parameter name "q"`},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; rate = -1} : f32[B, 1, 4]", "not in [0, 1)"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 : f32[B, 1, 4]", "has no description"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; relative = 1} : f32[B, 1, 4]", "no argument for its relative scores"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v12 {heads = 2; relative = 1} : f32[B, 1, 4]", "relative scores are f32[B, 1, 4], not f32[B, 1, 6]"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v12 {heads = 2; relative = -1} : f32[B, 1, 4]", "is negative"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention_weights v12 v12 {heads = 2} : f32[B, 2, 1, 1]", `no result ""`},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention_weights v12 v12 {rate = 0.5; heads = 2; result = weights} : f32[B, 2, 1, 1]", "carries no rate"},
	{"v12 = head_product v9 v10 {heads = 3} : f32[B, 9]", "3 heads do not divide"},
	{"v12 = head_product v9 v10 {heads = 2} : f32[B, 6]", "inner extents 2 and 4 differ"},
	{"v12 = head_product v9 v9 {heads = 2} : f32[B, 6]", "right operand is f32[B, 4]"},
	{"v12 = head_outer v9 v9 {heads = 3} : f32[2, 2]", "3 heads do not divide"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = head_outer v9 v12 {heads = 2} : f32[2, 2]", "leading extents"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention_grad v12 v12 v12 v9 {heads = 2} : f32[B, 1, 4]", "output gradient is f32[B, 4]"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention_grad v12 v12 v12 v12 {heads = 2; result = r} : f32[B, 1, 4]", `no gradient "r"`},
	{"v12 = sum v10 {axes = 1} : f32[4]\nv13 = layernorm_grad v9 v12 v9 {result = y} : f32[4]", `no gradient "y"`},
	{"v12 = sum v10 {axes = 1} : f32[4]\nv13 = layernorm_grad v9 v12 v12 {result = x} : f32[4]", "x, gamma, dy are"},
	{"v12 = cross_entropy v9 v11 : f32[B]\nv13 = cross_entropy_grad v9 v11 v9 : f32[B, 4]", "loss gradient is"},
	{"v12 = sum v9 {axes = 0 1} : f32[]\nv13 = softmax v12 : f32[]", "needs an axis"},
	{"v12 = sum v9 {axes = 0 1} : f32[]\nv13 = dropout v12 {rate = 0.5} : f32[]", "needs an axis of examples"},
	{"v12 = dropout v9 {rate = 0.5; expr = 1.0} : f32[B, 4]", "not I32"},
	{"v12 = dropout v9 {rate = 0.5; expr = d3} : f32[B, 4]", "d3"},
	{"v12 = dropout v11 {rate = 0.5} : i32[B]", "not F32"},
	{"v12 = argmax v11 : i32[]", "not F32"},
	{"v12 = matmul v9 v11 v9 : f32[]", "takes no 3 arguments"},
	{"v12 = sum v9 {axes = a} : f32[]", "axes"},
	{"result y v9\nresult y v9", "repeated result name"},
	{"result y v13", "v13 is not defined"},
	{"result y", "a result is"},
	{"func g", "has no end"},
	{"v12 = softmax v9 : f32[B, 4] @here", "is no position"},
}

func TestBadText(t *testing.T) {
	for _, c := range bad {
		text := "func f\nv9 = param x input : f32[B, 4]\nv10 = param w weight : f32[4, 3]\nv11 = param ids input : i32[B]\n" + c.body + "\nend\n"
		_, err := ir.Parse(text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n  gives %v\n  want  %s", c.body, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(readAll(f))
	for _, c := range bad {
		f.Add("func f\nv9 = param x input : f32[B, 4]\n" + c.body + "\nend\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		fs, err := ir.Parse(text)
		if err != nil {
			return
		}
		for _, fn := range fs {
			if again := irtest.Parse(t, fn.String()); again.String() != fn.String() {
				t.Errorf("%s\nprints and parses as\n%s", fn, again)
			}
		}
	})
}
