package ir_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// bad are functions that Parse must refuse, with the reason. body follows the parameters
// x : f32[B, 4], w : f32[4, 3] and ids : i32[B].
var bad = []struct{ body, want string }{
	{"v1 = param y input : f32[0]", `bad extent "0"`},
	{"v1 = param y input : f32[J]", `bad extent "J"`},
	{"v1 = param x input : f32[B]", "declared twice"},
	{"v1 = param 9 input : f32[B]", `bad name "9"`},
	{"v1 = param y output : f32[B]", `no role "output"`},
	{"v1 = param y input : u32[B]", "must be F32, BF16 or I32"},
	{"v1 = param y input : f64[B]", "is no type"},
	{"v1 = dropout v9 : f32[B, 4]", "v1 after v11"},
	{"v11 = dropout v9 : f32[B, 4]\nv11 = dropout v9 : f32[B, 4]", "v11 after v11"},
	{"v12 = dropout v9 : f32[B, 5]", "has type f32[B, 5], not f32[B, 4]"},
	{"v12 = dropout v9 v9 : f32[B, 4]", "dropout: takes no 2 arguments, but x[B *] -> x"},
	{"v12 = dropout v9 {rows = 3} : f32[B, 4]", "dropout: carries no rows"},
	{"v12 = dropout v9 {row = 3} : f32[B, 4]", `no attribute "row"`},
	{"v12 = dropout v20 : f32[B, 4]", "v20 is not defined"},
	{"v12 = soft v9 : f32[B, 4]", `no op "soft"`},
	{"v12 = dropout v9", "has no type"},
	{"x12 = dropout v9 : f32[B, 4]", "is no value name"},
	{"v12 = matmul v9 v9 : f32[B, 4]", "b is f32[B, 4], not f32[*? K N] where * = [], K = 4"},
	{"v12 = matmul v9 v11 : f32[B, 4]", "b is i32[B], not f32[*? K N]"},
	{"v12 = map v9 {expr = bf16(x0)} : bf16[B, 4]\nv13 = matmul v12 v10 : f32[B, 3]", "b is f32[4, 3], not bf16[*? K N]"},
	{"v12 = map v10 {expr = bf16(x0)} : bf16[4, 3]\nv13 = matmul v9 v12 : f32[B, 3]", "b is bf16[4, 3], not f32[*? K N]"},
	{"v12 = map v9 {expr = bf16(x0)} : bf16[B, 4]\nv13 = sum v12 {axes = 1} : bf16[B]", "which has to be widened first"},
	{"v12 = map v9 {expr = f16(x0)} : f16[B, 4]", "must be F32, BF16 or I32"},
	{"v12 = map v9 {expr = bf16(x0)} : bf16[B, 4]\nv13 = map v12 {expr = x0 + x0} : f32[B, 4]", "expr"},
	{"v12 = matmul v9 v10 {transb = yes} : f32[B, 4]", "only true is possible"},
	{"v12 = outer v9 v10 : f32[4, 3]", "b is f32[4, 3], not f32[M * N] where M = B"},
	{"v12 = map v9 v10 {expr = x0 + x1} : f32[B, 4]", "do not broadcast"},
	{"v12 = map v9 {shape = [4]; expr = x0} : f32[4]", "does not broadcast to [4]"},
	{"v12 = map v9 {expr = x1} : f32[B, 4]", "x1"},
	{"v12 = map v9 {expr = x0 + y} : f32[B, 4]", "y"},
	{"v12 = map v9 {expr = x0 + f32(d2)} : f32[B, 4]", "d2"},
	{"v12 = map v9 {expr = x0[1]} : f32[B, 4]", "1 indices for rank 2"},
	{"v12 = map v9 {expr = x0 < 1.0} : f32[B, 4]", "must be F32, BF16 or I32"},
	{"v12 = map v9 {expr = x0 + 1} : f32[B, 4]", "expr"},
	{"v12 = map v9 : f32[B, 4]", "has no expression"},
	{"v12 = dropout v9 {rate = 1} : f32[B, 4]", "not in [0, 1)"},
	{"v12 = sum v9 : f32[]", "has no axes"},
	{"v12 = sum v9 {axes = 1 0} : f32[]", "not ascending"},
	{"v12 = max v9 {axes = 2} : f32[]", "not ascending and in range"},
	{"v12 = reshape v9 {shape = [B, 2, 3]} : f32[B, 2, 3]", "another number of elements"},
	{"v12 = transpose v9 {axes = 0 0} : f32[B, B]", "not a permutation"},
	{"v12 = transpose v9 {axes = 0} : f32[B]", "1 axes for rank 2"},
	{"v12 = gather v10 v9 : f32[B, 3]", "ids is f32[B, 4], not i32[*]"},
	{"v12 = scatter v11 v9 : f32[5, 4]", `bad extent "0"`},
	{"v12 = append v9 v11 : f32[B, 4]", "row is i32[B], not any[B T *] where B = B"},
	{"v12 = runs v9 {shape = [B, T]; expr = x0 < 2.0} : i32[B, T]", "tokens is f32[B, 4], not i32[B K]"},
	{"v12 = reshape v11 {shape = [B, 1]} : i32[B, 1]\nv13 = runs v12 {shape = [B, T]} : i32[B, T]", "has no condition"},
	{"v12 = reshape v11 {shape = [B, 1]} : i32[B, 1]\nv13 = runs v12 {shape = [B, T]; expr = x0 < P} : i32[B, T]", "variable P"},
	{"v12 = draw {shape = [B]; rows = 3; group = 2} : i32[B]", "shape [B] is not i32[examples T *] where examples = B"},
	{"v12 = draw {shape = [B, T]; rows = 3} : i32[B, T]", "3 numbers for 0 examples"},
	{"v12 = subset {shape = [B, T]; rows = 3; size = 2; group = 2} : i32[B, T]", "is not [T] or [T, 1]"},
	{"v12 = subset {shape = [T]; rows = 3; group = 2} : i32[T]", "chooses 0 of 3 numbers"},
	{"v12 = subset {shape = [T]; rows = 3; size = 4; group = 2} : i32[T]", "chooses 4 of 3 numbers"},
	{"v12 = noise {shape = [T, 3]} : f32[T, 3]", "shape [T, 3] is not f32[B T D]"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = rotate v12 v9 v9 {heads = 2} : f32[B, 1, 4]", "cos is f32[B, 4], not f32[T R] where T = 1"},
	{"v12 = repeat_heads v9 {group = 3; heads = 4} : f32[B, 4]", "4 heads do not divide into groups of 3"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = map {shape = [1, 2]; expr = 0.5} : f32[1, 2]\nv14 = rotate v12 v13 v13 {heads = 2} : f32[B, 1, 4]", "2 pairs do not fit"},
	{"v12 = rmsnorm v9 v10 {eps = 1e-05} : f32[B, 4]", "gamma is f32[4, 3], not f32[D] where D = 4"},
	{"v12 = sum v10 {axes = 1} : f32[4]\nv13 = rmsnorm_grad v9 v12 v9 {result = beta} : f32[4]", `no result "beta"`},
	{"v12 = layernorm v9 v10 v10 {eps = 1e-05} : f32[B, 4]", "gamma is f32[4, 3], not f32[D] where D = 4"},
	{"v12 = cross_entropy v9 v10 : f32[B]", "labels is f32[4, 3], not i32[*] where * = [B]"},
	{"v12 = attention v9 v9 v9 {heads = 2} : f32[B, 4]", "q is f32[B, 4], not f32[B T heads*D] where heads = 2"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = reshape v9 {shape = [B, 4, 1]} : f32[B, 4, 1]\nv14 = attention v12 v12 v13 {heads = 2} : f32[B, 1, 4]", "v is f32[B, 4, 1], not f32[B J groups*D] where groups = 2, B = B, D = 2, J = 1"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 3} : f32[B, 1, 4]", "q is f32[B, 1, 4], not f32[B T heads*D] where heads = 3"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; mask = k < i} : f32[B, 1, 4]", "mask"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v10 {heads = 2} : f32[B, 1, 4]", "0 parameters, 1 arguments"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v10 {heads = 2; parameters = r; bias = r[h]} : f32[B, 1, 4]", "1 indices for rank 2"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; mask = i - j} : f32[B, 1, 4]", "mask: i - j is i32, not bool"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; bias = i - j} : f32[B, 1, 4]", "bias: i - j is i32, not f32"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v9 {heads = 2; parameters = r} : f32[B, 1, 4]", "not F32 of constant shape or positions"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v10 {heads = 2; parameters = q} : f32[B, 1, 4]", `bad parameter name "q"`},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; rate = -1} : f32[B, 1, 4]", "not in [0, 1)"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 : f32[B, 1, 4]", "heads*D] where heads = 0"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {heads = 2; relative = 1} : f32[B, 1, 4]", "takes no 3 arguments"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v12 {heads = 2; relative = 1} : f32[B, 1, 4]", "relative is f32[B, 1, 4], not f32[B T heads*spans] where heads = 2, spans = 3"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 v12 {heads = 2; relative = -1} : f32[B, 1, 4]", "spans = -1"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention_weights v12 v12 {heads = 2} : f32[B, 2, 1, 1]", `no result ""`},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention_weights v12 v12 {rate = 0.5; heads = 2; result = weights} : f32[B, 2, 1, 1]", "carries no rate"},
	{"v12 = head_product v9 v10 {heads = 3} : f32[B, 9]", "x is f32[B, 4], not f32[* heads*K] where heads = 3"},
	{"v12 = head_product v9 v10 {heads = 2} : f32[B, 6]", "w is f32[4, 3], not f32[K N] where K = 2"},
	{"v12 = head_product v9 v9 {heads = 2} : f32[B, 6]", "w is f32[B, 4], not f32[K N] where K = 2"},
	{"v12 = transpose v9 {axes = 1 0} : f32[4, B]\nv13 = head_product v9 v12 {heads = 1} : f32[B, B]", "N is not constant where heads = 1, * = [B], N = B"},
	{"v12 = matmul v9 v10 {transb} : f32[B, 4]", "b is f32[4, 3], not f32[*? K N] transposed"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {result = norm; heads = 2} : f32[B, 1, 2]\nv14 = attention_grad v12 v12 v12 v12 v13 v13 {heads = 2; result = ...} : f32[B, 2]", `no result "..."`},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {result = norm; heads = 2} : f32[B, 1, 2]\nv14 = attention_grad v12 v12 v12 v12 v13 v13 {heads = 2; result = relative} : f32[B, 1, 4]", `no result "relative"`},
	{"v12 = head_outer v9 v9 {heads = 3} : f32[2, 2]", "x is f32[B, 4], not f32[* heads*K] where heads = 3"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = head_outer v9 v12 {heads = 2} : f32[2, 2]", "y is f32[B, 1, 4], not f32[* heads*N] where heads = 2, * = [B]"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {result = norm; heads = 2} : f32[B, 1, 2]\nv14 = attention_grad v12 v12 v12 v9 v13 v13 {heads = 2} : f32[B, 1, 4]", "dout is f32[B, 4], not f32[B T heads*D]"},
	{"v12 = reshape v9 {shape = [B, 1, 4]} : f32[B, 1, 4]\nv13 = attention v12 v12 v12 {result = norm; heads = 2} : f32[B, 1, 2]\nv14 = attention_grad v12 v12 v12 v12 v13 v13 {heads = 2; result = r} : f32[B, 1, 4]", `no result "r"`},
	{"v12 = sum v10 {axes = 1} : f32[4]\nv13 = layernorm_grad v9 v12 v9 {result = y} : f32[4]", `no result "y"`},
	{"v12 = sum v10 {axes = 1} : f32[4]\nv13 = layernorm_grad v9 v12 v12 {result = x} : f32[4]", "dy is f32[4], not f32[* D] where * = [B], D = 4"},
	{"v12 = cross_entropy v9 v11 : f32[B]\nv13 = cross_entropy_grad v9 v11 v9 : f32[B, 4]", "dloss is f32[B, 4], not f32[*] where * = [B]"},
	{"v12 = sum v9 {axes = 0 1} : f32[]\nv13 = argmax v12 : i32[]", "logits is f32[], not f32[* V]"},
	{"v12 = sum v9 {axes = 0 1} : f32[]\nv13 = dropout v12 {rate = 0.5} : f32[]", "x is f32[], not f32[B *]"},
	{"v12 = dropout v9 {rate = 0.5; expr = 1.0} : f32[B, 4]", "not I32"},
	{"v12 = dropout v9 {rate = 0.5; expr = d3} : f32[B, 4]", "d3"},
	{"v12 = dropout v11 {rate = 0.5} : i32[B]", "x is i32[B], not f32[B *]"},
	{"v12 = argmax v11 : i32[]", "logits is i32[B], not f32[* V]"},
	{"v12 = matmul v9 v11 v9 : f32[]", "takes no 3 arguments"},
	{"v12 = sum v9 {axes = a} : f32[]", "axes"},
	{"result y v9\nresult y v9", "repeated result name"},
	{"result y v13", "v13 is not defined"},
	{"result y", "a result is"},
	{"func g", "has no end"},
	{"v12 = dropout v9 : f32[B, 4] @here", "is no position"},
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
