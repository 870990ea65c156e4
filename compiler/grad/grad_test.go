package grad_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/grad"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/internal/golden"
)

// cases cover every op that has a gradient. Inputs are named p0, p1, …, weights w and
// results y.
var cases = []struct {
	name   string
	params string
	body   string
}{
	{"map", "v0 = param p0 input : f32[B, T, 3]", "v9 = map v0 {expr = x0 * tanh(x0) + exp(x0 * 0.5) + sin(x0) * f32(d1 + 1)} : f32[B, T, 3]"},
	{"map of results", "v0 = param p0 input : f32[B, T]", "v1 = map v0 {expr = exp(x0)} : f32[B, T]\nv2 = map v1 {expr = sigmoid(x0)} : f32[B, T]\nv9 = map v2 {expr = tanh(x0)} : f32[B, T]"},
	{"map broadcasts", "v0 = param p0 input : f32[B, T, 3]\nv1 = param w weight : f32[3]\nv2 = param p1 input : f32[T, 1]\nv3 = param p2 input : f32[]\nv4 = param p3 input : f32[1, 1, 3]",
		"v9 = map v0 v1 v2 v3 v4 {expr = x0 * x1 - x2 * x0 + x3 * x4 * x1} : f32[B, T, 3]"},
	{"map of one value twice", "v0 = param p0 input : f32[B]", "v1 = map v0 v0 {expr = x0 * x1 + x1} : f32[B]\nv9 = map v1 v0 {expr = x0 * x1} : f32[B]"},
	{"map to a shape", "v0 = param p0 input : f32[T, 1]", "v9 = map v0 {shape = [B, T, 2]; expr = x0 * x0 * f32(d2 + d0)} : f32[B, T, 2]"},
	{"map by branches", "v0 = param p0 input : f32[B, T]\nv1 = param p1 input : f32[B, T]",
		"v9 = map v0 v1 {expr = where(x0 < x1, x0 * x1, max(x0, 0.25)) + min(abs(x1), x0 / (x1 * x1 + 1.0))} : f32[B, T]"},
	{"map with integers", "v0 = param p0 input : f32[B, T]\nv1 = param ids input : i32[B, T]", "v2 = map v1 {expr = x0 + 1} : i32[B, T]\nv9 = map v0 v2 {expr = x0 * f32(x1)} : f32[B, T]"},
	{"map by index", "v0 = param p0 weight : f32[3, 2]\nv1 = param ids input : i32[B, T]\nv2 = param p1 input : f32[B, T]",
		"v9 = map v0 v1 v2 {expr = x0[x1, d1 % 2] * x2 + x0[0, 1] * x0[x1, 0]} : f32[B, T]"},
	{"relu", "v0 = param p0 input : f32[B, T, 4]\nv1 = param w weight : f32[4]", "v9 = map v0 v1 {expr = max(x0 + x1, 0.0)} : f32[B, T, 4]"},
	{"gelu", "v0 = param p0 input : f32[B, T, 4]", "v9 = map v0 {expr = 0.5 * x0 * (1.0 + erf(x0 * 0.70710677))} : f32[B, T, 4]"},
	{"dropout", "v0 = param p0 input : f32[B, T, 4]", "v1 = dropout v0 {rate = 0.4; stream = 3} : f32[B, T, 4]\nv9 = map v1 v0 {expr = x0 * x1} : f32[B, T, 4]"},
	{"dropout by number", "v0 = param p0 input : f32[B, T, 4]", "v9 = dropout v0 {rate = 0.4; expr = d2 * 7 + d1} : f32[B, T, 4]"},
	{"relu of dropout", "v0 = param p0 input : f32[B, T, 4]", "v1 = dropout v0 {rate = 0.4; stream = 3} : f32[B, T, 4]\nv9 = map v1 {expr = max(x0, 0.0)} : f32[B, T, 4]"},
	{"relu and square of dropout", "v0 = param p0 input : f32[B, T, 4]", "v1 = dropout v0 {rate = 0.4; stream = 3} : f32[B, T, 4]\nv2 = map v1 {expr = max(x0, 0.0)} : f32[B, T, 4]\nv9 = map v1 v2 {expr = x0 * x0 + x1} : f32[B, T, 4]"},
	{"linear", "v0 = param p0 input : f32[B, T, 3]\nv1 = param w weight : f32[3, 5]", "v9 = matmul v0 v1 : f32[B, T, 5]"},
	{"linear transposed", "v0 = param p0 input : f32[B, T, 3]\nv1 = param w weight : f32[5, 3]", "v9 = matmul v0 v1 {transb} : f32[B, T, 5]"},
	{"linear of transposed", "v0 = param p0 input : f32[B, 3, T]\nv1 = param w weight : f32[3, 5]", "v9 = matmul v0 v1 {transa} : f32[B, T, 5]"},
	{"linear of transposed transposed", "v0 = param p0 input : f32[B, 3, T]\nv1 = param w weight : f32[5, 3]", "v9 = matmul v0 v1 {transa; transb} : f32[B, T, 5]"},
	{"matrix", "v0 = param p0 input : f32[T, 3]\nv1 = param w weight : f32[3, 5]", "v9 = matmul v0 v1 : f32[T, 5]"},
	{"matrix transposed", "v0 = param p0 input : f32[3, T]\nv1 = param w weight : f32[5, 3]", "v9 = matmul v0 v1 {transa; transb} : f32[T, 5]"},
	{"batched", "v0 = param p0 input : f32[B, 2, T, 3]\nv1 = param p1 input : f32[B, 2, 3, S]", "v9 = matmul v0 v1 : f32[B, 2, T, S]"},
	{"batched a", "v0 = param p0 input : f32[B, 3, T]\nv1 = param p1 input : f32[B, 3, S]", "v9 = matmul v0 v1 {transa} : f32[B, T, S]"},
	{"batched b", "v0 = param p0 input : f32[B, T, 3]\nv1 = param p1 input : f32[B, S, 3]", "v9 = matmul v0 v1 {transb} : f32[B, T, S]"},
	{"batched ab", "v0 = param p0 input : f32[B, 3, T]\nv1 = param p1 input : f32[B, S, 3]", "v9 = matmul v0 v1 {transa; transb} : f32[B, T, S]"},
	{"square", "v0 = param p0 input : f32[B, T, T]", "v9 = matmul v0 v0 : f32[B, T, T]"},
	{"outer", "v0 = param p0 input : f32[B, T, 3]\nv1 = param p1 input : f32[B, T, 5]", "v9 = outer v0 v1 : f32[3, 5]"},
	{"sum", "v0 = param p0 input : f32[B, T, 3]", "v8 = map v0 {expr = x0 * x0} : f32[B, T, 3]\nv9 = sum v8 {axes = 0 2} : f32[T]"},
	{"max", "v0 = param p0 input : f32[B, T, 3]", "v9 = max v0 {axes = 0 2} : f32[T]"},
	{"reshape", "v0 = param p0 input : f32[B, T, 6]", "v8 = reshape v0 {shape = [B, T, 2, 3]} : f32[B, T, 2, 3]\nv9 = map v8 {expr = x0 * x0} : f32[B, T, 2, 3]"},
	{"transpose", "v0 = param p0 input : f32[B, T, 6]", "v8 = transpose v0 {axes = 1 2 0} : f32[T, 6, B]\nv9 = map v8 {expr = x0 * x0} : f32[T, 6, B]"},
	{"gather", "v0 = param w weight : f32[4, 3]\nv1 = param ids input : i32[B, T]", "v9 = gather v0 v1 : f32[B, T, 3]"},
	{"scatter", "v0 = param ids input : i32[B, T]\nv1 = param p0 input : f32[B, T, 3]", "v9 = scatter v0 v1 {rows = 4} : f32[4, 3]"},
	{"layernorm", "v0 = param p0 input : f32[B, T, 5]\nv1 = param w weight : f32[5]\nv2 = param w2 weight : f32[5]", "v9 = layernorm v0 v1 v2 {eps = 1e-05} : f32[B, T, 5]"},
	{"rmsnorm", "v0 = param p0 input : f32[B, T, 5]\nv1 = param w weight : f32[5]", "v9 = rmsnorm v0 v1 {eps = 1e-05} : f32[B, T, 5]"},
	{"rotate", "v0 = param p0 input : f32[B, T, 10]", "v1 = map {shape = [T, 2]; expr = cos(f32((P + d0) * (d1 + 1)))} : f32[T, 2]\n" +
		"v2 = map {shape = [T, 2]; expr = sin(f32((P + d0) * (d1 + 1)))} : f32[T, 2]\nv9 = rotate v0 v1 v2 {heads = 2} : f32[B, T, 10]"},
	{"repeat heads", "v0 = param p0 input : f32[B, T, 6]", "v1 = repeat_heads v0 {group = 2; heads = 6} : f32[B, T, 12]\nv9 = map v1 {expr = x0 * x0} : f32[B, T, 12]"},
	{"sum heads", "v0 = param p0 input : f32[B, T, 12]", "v1 = sum_heads v0 {group = 3; heads = 6} : f32[B, T, 4]\nv9 = map v1 {expr = x0 * x0} : f32[B, T, 4]"},
	{"noise and drawn rows", "v0 = param p0 input : f32[B, T, 3]\nv1 = param w weight : f32[9, 3]\nv2 = param tokens input : i32[B, T]",
		"v3 = noise {shape = [B, T, 3]; stream = 4} : f32[B, T, 3]\nv4 = runs v2 {shape = [B, T]; expr = x0 < 2} : i32[B, T]\n" +
			"v5 = draw {shape = [B, T]; stream = 7; rows = 3; group = 2} : i32[B, T]\nv6 = subset {shape = [T]; stream = 8; rows = 5; size = 4; group = 2} : i32[T]\n" +
			"v7 = map v4 v5 v6 {expr = (x0 + x1 + x2) % 9} : i32[B, T]\nv8 = gather v1 v7 : f32[B, T, 3]\nv9 = map v0 v3 v8 {expr = (x0 + 0.5 * x1) * x2} : f32[B, T, 3]"},
	{"bias table", "v0 = param r weight : f32[2]\nv1 = param w weight : f32[2, 4]\nv2 = param p0 input : f32[2, T, S]",
		"v3 = bias_table v0 v1 {shape = [2, T, S]; heads = 2; parameters = r w; mask = j <= i + 1; bias = r[h] * log(1.0 + r[1] * r[1] * f32(abs(i - j))) - w[h, min(j, 3)]} : f32[2, T, S]\n" +
			"v9 = map v3 v2 {expr = x0 * x1} : f32[2, T, S]"},
	{"bias table over positions", "v0 = param r weight : f32[2]\nv1 = param w weight : f32[2, 4]\nv2 = param p0 input : f32[2, T, T]",
		"v3 = subset {shape = [T]; stream = 4; rows = 9; size = 7; group = 2} : i32[T]\n" +
			"v4 = bias_table v0 v1 v3 {shape = [2, T, T]; heads = 2; self; parameters = r w pi; mask = j <= i; bias = r[h] * log(1.0 + r[1] * r[1] * f32(pi[i] - pi[j])) - w[h, min(pi[j], 3)]} : f32[2, T, T]\n" +
			"v9 = map v4 v2 {expr = x0 * x1} : f32[2, T, T]"},
	{"attention with a table", "v0 = param q input : f32[B, T, 6]\nv1 = param k input : f32[B, S, 6]\nv2 = param v input : f32[B, S, 6]\nv3 = param r weight : f32[2]",
		"v4 = bias_table v3 {shape = [2, T, S]; heads = 2; parameters = r; mask = j <= i + 1; bias = r[h] * f32(i - j)} : f32[2, T, S]\n" +
			"v9 = attention v0 v1 v2 v4 {rate = 0.3; stream = 4; heads = 2; scale = 0.5; table; mask = j <= i + 1} : f32[B, T, 6]"},
	{"head product", "v0 = param p0 input : f32[B, T, 6]\nv1 = param w weight : f32[3, 4]", "v9 = head_product v0 v1 {heads = 2} : f32[B, T, 8]"},
	{"head product transposed", "v0 = param p0 input : f32[B, T, 6]\nv1 = param w weight : f32[4, 3]", "v9 = head_product v0 v1 {transb; heads = 2} : f32[B, T, 8]"},
	{"attention with relative scores", "v0 = param q input : f32[B, T, 6]\nv1 = param k input : f32[B, S, 6]\nv2 = param v input : f32[B, S, 6]\nv3 = param w weight : f32[5, 3]",
		"v4 = head_product v0 v3 {transb; heads = 2} : f32[B, T, 10]\nv9 = attention v0 v1 v2 v4 {rate = 0.3; stream = 4; heads = 2; scale = 0.5; relative = 2; mask = j <= i + 1} : f32[B, T, 6]"},
	{"attention with relative scores and a table", "v0 = param q input : f32[B, T, 6]\nv1 = param k input : f32[B, T, 6]\nv2 = param r weight : f32[2]\nv3 = param w weight : f32[3, 3]",
		"v4 = head_product v0 v3 {transb; heads = 2} : f32[B, T, 6]\nv5 = bias_table v2 {shape = [2, T, T]; heads = 2; self; parameters = r; bias = r[h] * f32(i - j)} : f32[2, T, T]\n" +
			"v9 = attention v0 v1 v1 v4 v5 {heads = 2; scale = 0.5; self; table; relative = 1} : f32[B, T, 6]"},
	{"a fixed and a learned parameter", "v0 = param q input : f32[B, T, 6]\nv1 = param line fixed : f32[2, 3]\nv2 = param r weight : f32[2]",
		"v3 = bias_table v1 v2 {shape = [2, T, T]; heads = 2; self; parameters = line r; bias = max(line[h, min(j, 2)], r[h] * f32(i - j))} : f32[2, T, T]\n" +
			"v9 = attention v0 v0 v0 v3 {heads = 2; scale = 0.5; self; table} : f32[B, T, 6]"},
	{"fixed parameters", "v0 = param q input : f32[B, T, 6]\nv1 = param line fixed : f32[2, 3]",
		"v9 = attention v0 v0 v0 v1 {heads = 2; scale = 0.5; self; fixed; parameters = line; mask = j <= i; bias = line[h, max(min(j - i + 1, 2), 0)]} : f32[B, T, 6]"},
	{"cross entropy", "v0 = param p0 input : f32[B, T, 5]\nv1 = param labels input : i32[B, T]", "v9 = cross_entropy v0 v1 : f32[B, T]"},
	{"parameter as a result", "v0 = param p0 input : f32[B]", "v9 = map v0 {expr = x0} : f32[B]\nresult z v0"},
	{"two results", "v0 = param p0 input : f32[B, T]\nv1 = param w weight : f32[T]", "v8 = map v0 v1 {expr = x0 * x1} : f32[B, T]\nresult z v8\nv9 = map v8 {expr = exp(x0)} : f32[B, T]"},
	{"residual block", "v0 = param p0 input : f32[B, T, 4]\nv1 = param w weight : f32[4, 6]\nv2 = param b weight : f32[6]\nv3 = param w2 weight : f32[6, 4]",
		"v4 = matmul v0 v1 : f32[B, T, 6]\nv5 = map v4 v2 {expr = max(x0 + x1, 0.0)} : f32[B, T, 6]\nv6 = dropout v5 {rate = 0.3; stream = 1} : f32[B, T, 6]\n" +
			"v7 = matmul v6 v3 : f32[B, T, 4]\nv8 = dropout v7 {rate = 0.3; stream = 2} : f32[B, T, 4]\nv9 = map v8 v0 {expr = x0 + x1} : f32[B, T, 4]"},
}

// shapes are launches with odd sizes, and with size 1.
var shapes = []map[string]int{
	{"B": 1, "T": 1, "S": 1, "C": 1, "P": 0},
	{"B": 2, "T": 3, "S": 5, "C": 3, "P": 0},
	{"B": 3, "T": 2, "S": 1, "C": 2, "P": 0},
}

func env(dims map[string]int) ir.Env { return ir.Env{Dims: dims, Seed: 99, Step: 4, Example: 6} }

func TestDifferences(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := irtest.Parse(t, "func f\n"+c.params+"\n"+c.body+"\nresult y v9\nend\n")
			for seed, dims := range shapes {
				if err := compare(t, f, env(dims), uint64(seed)); err != nil {
					t.Errorf("%v: %v", dims, err)
				}
			}
		})
	}
}

// TestEveryOp fails if no case uses an op that has a rule.
func TestEveryOp(t *testing.T) {
	var text strings.Builder
	for _, c := range cases {
		text.WriteString(c.body + "\n")
	}
	for op := ir.Map; op < ir.ArgMax; op++ {
		if op == ir.Append || op == ir.SegmentSum || op == ir.Attention || op == ir.AttentionWeights || op == ir.HeadOuter || strings.HasSuffix(op.String(), "_grad") {
			continue // has no gradient, or a test of its own
		}
		if !strings.Contains(text.String(), "= "+op.String()+" ") {
			t.Errorf("no case differentiates %s", op)
		}
	}
}

// compare checks the gradients of Backward against central differences of a random
// combination of f's results.
func compare(t *testing.T, f *ir.Func, e ir.Env, seed uint64) error {
	t.Helper()
	fwd, bwd := backward(t, f)
	args := irtest.Args(t, f, e, seed)
	results := irtest.Eval(t, fwd, e, args)
	rng := rand.New(rand.NewPCG(seed, 2))
	loss := map[string]ir.Tensor{} // the combination, by result
	for i, r := range f.Results {
		if r.Value.Type.Elem == expr.F32 {
			w := ir.Tensor{Shape: results[i].Shape}
			for range results[i].F {
				w.F = append(w.F, rng.NormFloat64())
			}
			loss["d."+r.Name] = w
		}
	}
	grads := irtest.Eval(t, bwd, e, bind(t, f, fwd, bwd, args, results, loss))
	for i, r := range bwd.Results {
		p := slices.IndexFunc(f.Params, func(p *ir.Value) bool { return "d."+p.Attr.Name == r.Name })
		if want := f.Roles[p] == ir.Weight; r.Accumulate != want {
			return fmt.Errorf("%s: accumulate = %v", r.Name, r.Accumulate)
		}
		want := differences(t, f, e, args, p, loss)
		if err := irtest.Same(grads[i], want, 2e-7); err != nil {
			return fmt.Errorf("%s: %w\n%s%s", r.Name, err, fwd, bwd)
		}
	}
	for i, p := range f.Params {
		missing := !slices.ContainsFunc(bwd.Results, func(r ir.Result) bool { return r.Name == "d."+p.Attr.Name })
		if !missing && f.Roles[i] == ir.Fixed {
			return fmt.Errorf("%s is fixed and has a gradient", p.Attr.Name)
		}
		if missing && p.Type.Elem == expr.F32 && f.Roles[i] != ir.Fixed {
			for _, d := range differences(t, f, e, args, i, loss).F {
				if d != 0 {
					return fmt.Errorf("%s has no gradient", p.Attr.Name)
				}
			}
		}
	}
	return nil
}

func backward(t *testing.T, f *ir.Func) (fwd, bwd *ir.Func) {
	t.Helper()
	before := f.String()
	fwd, bwd, err := grad.Backward(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*ir.Func{fwd, bwd} {
		if err := ir.Verify(g); err != nil {
			t.Fatal(err)
		}
	}
	if f.String() != before {
		t.Errorf("Backward changed its argument")
	}
	return fwd, bwd
}

// bind collects bwd's arguments by name.
func bind(t *testing.T, f, fwd, bwd *ir.Func, args, results []ir.Tensor, grads map[string]ir.Tensor) []ir.Tensor {
	t.Helper()
	known := map[string]ir.Tensor{}
	for i, p := range f.Params {
		known[p.Attr.Name] = args[i]
	}
	for i, r := range fwd.Results {
		if strings.HasPrefix(r.Name, "save.") {
			known[r.Name] = results[i]
		}
	}
	for name, g := range grads {
		known[name] = g
	}
	var out []ir.Tensor
	for _, p := range bwd.Params {
		x, ok := known[p.Attr.Name]
		if !ok {
			t.Fatalf("nothing to bind to %s in\n%s", p.Attr.Name, bwd)
		}
		out = append(out, x)
	}
	return out
}

// differences returns central differences of sum(loss * results) by argument p.
func differences(t *testing.T, f *ir.Func, e ir.Env, args []ir.Tensor, p int, loss map[string]ir.Tensor) ir.Tensor {
	t.Helper()
	const h = 1e-5
	at := func(k int, d float64) float64 {
		moved := slices.Clone(args)
		moved[p].F = slices.Clone(args[p].F)
		moved[p].F[k] += d
		sum := 0.0
		for i, y := range irtest.Eval(t, f, e, moved) {
			for n, w := range loss["d."+f.Results[i].Name].F {
				sum += w * y.F[n]
			}
		}
		return sum
	}
	out := ir.Tensor{Shape: args[p].Shape}
	for k := range args[p].F {
		out.F = append(out.F, (at(k, h)-at(k, -h))/(2*h))
	}
	return out
}

func TestErrors(t *testing.T) {
	cases := []struct{ body, want string }{
		{"v9 = append v0 v0 : f32[B, T, 2]", "append has no gradient"},
		{"v1 = map v0 {shape = [T, 1]; expr = x0[0, d0, 0]} : f32[T, 1]\nv9 = rotate v0 v1 v1 {heads = 1} : f32[B, T, 2]", "angles have no gradient"},
		{"v1 = reshape v0 {shape = [T, B, 2]} : f32[T, B, 2]\nv9 = map v0 v1 {shape = [B]; expr = x0[0, 0, 1] * x1[0, d0, 0]} : f32[B]", "read by index"},
	}
	for _, c := range cases {
		f := irtest.Parse(t, "func f\nv0 = param x input : f32[B, T, 2]\n"+c.body+"\nresult y v9\nend\n")
		if _, _, err := grad.Backward(f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s gives %v, want %s", c.body, err, c.want)
		}
	}
}

func TestCorpus(t *testing.T) {
	golden.Archives(t, "testdata/*.txtar", func(t *testing.T, a *txtar.Archive) {
		in := irtest.Parse(t, string(a.Files[0].Data))
		fwd, bwd := backward(t, in)
		if err := compare(t, in, env(shapes[1]), 3); err != nil {
			t.Error(err)
		}
		a.Files = append(a.Files[:1], txtar.File{Name: "fwd.ir", Data: []byte(fwd.String())}, txtar.File{Name: "bwd.ir", Data: []byte(bwd.String())})
	})
}

func TestRandomFunctions(t *testing.T) {
	for seed := range uint64(25) {
		if err := compare(t, irtest.Random(seed, 6), env(shapes[1]), seed); err != nil {
			t.Error(err)
		}
	}
}

// TestMaxTies: equal maxima share the gradient.
func TestMaxTies(t *testing.T) {
	f := irtest.Parse(t, "func f\nv0 = param x input : f32[4]\nv9 = max v0 {axes = 0} : f32[]\nresult y v9\nend\n")
	fwd, bwd := backward(t, f)
	args := []ir.Tensor{{Shape: []int{4}, F: []float64{2, -1, 2, 1}}}
	results := irtest.Eval(t, fwd, ir.Env{}, args)
	dy := map[string]ir.Tensor{"d.y": {Shape: []int{}, F: []float64{3}}}
	got := irtest.Eval(t, bwd, ir.Env{}, bind(t, f, fwd, bwd, args, results, dy))[0]
	if err := irtest.Same(got, ir.Tensor{Shape: []int{4}, F: []float64{1.5, 0, 1.5, 0}}, 0); err != nil {
		t.Error(err)
	}
}
