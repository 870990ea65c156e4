package lower_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
)

// TestGemms evaluates the products of all specs' kernels that a library can compute instead,
// and compares them with the kernels' results.
func TestGemms(t *testing.T) {
	seen := map[string]int{}
	for _, k := range append(operations(t), narrowOperations(t)...) {
		g, ok := k.Gemm()
		if !ok {
			if k.Op.Product() && len(k.Op.Steps) == 0 && k.Params[0].Type != expr.F16 {
				t.Errorf("no library computes\n%s", k)
			}
			continue
		}
		holdGemm(t, k, g)
		plus := map[bool]string{true: "nothing", false: "another"}[g.Plus < 0]
		if g.Plus == g.Out.Buffer {
			plus = "itself"
		}
		seen[fmt.Sprintf("%s %v %v to %s plus %s", k.Params[g.Left.Buffer].Type, g.Left.Trans, g.Right.Trans, k.Params[g.Out.Buffer].Type, plus)]++
	}
	for _, form := range []string{
		"f32 false false to f32 plus nothing", "f32 false true to f32 plus nothing", "f32 false true to f32 plus another", "f32 true false to f32 plus itself",
		"bf16 false false to f32 plus another", "bf16 false false to bf16 plus nothing", "bf16 false true to f32 plus another",
		"bf16 false true to bf16 plus nothing", "bf16 true false to f32 plus itself",
	} {
		if seen[form] == 0 {
			t.Errorf("no kernel is %s", form)
		}
	}
}

// holdGemm compares a kernel's result with the product in float64. The kernel adds K terms and
// one more with one rounding each, and may round the result to BF16.
func holdGemm(t *testing.T, k *kernel.Kernel, g kernel.Gemm) {
	t.Helper()
	const narrow = 0x1p-8 // half the distance of 1 to the next BF16
	o := newOracle(t, k, 1, kerneltest.Signed)
	m, n, depth := o.size("r"), o.size("e"), o.size("k")
	buffer := func(n int) *tensor { return o.tensor(k.Params[n].Name) }
	left, right, plus, out := buffer(g.Left.Buffer), buffer(g.Right.Buffer), &tensor{}, buffer(g.Out.Buffer)
	if g.Plus >= 0 {
		plus = buffer(g.Plus)
	}
	at := func(b *tensor, trans bool, i, j, rows, cols int) float64 {
		if trans {
			i, j, cols = j, i, rows
		}
		return element(b.start, i*cols+j)
	}
	for i := range m {
		for j := range n {
			want, sum := 0.0, 0.0
			add := func(x float64) { want, sum = want+x, sum+math.Abs(x) }
			for x := range depth {
				add(at(left, g.Left.Trans, i, x, m, depth) * at(right, g.Right.Trans, x, j, depth, n))
			}
			if g.Plus >= 0 {
				add(at(plus, false, i, j, m, n))
			}
			off := float64(depth+2) * unit * sum
			if g.Out.Narrow {
				off += narrow * math.Abs(want)
			}
			if got := element(out.end, i*n+j); math.Abs(got-want) > off {
				t.Fatalf("[%d, %d] is %g, the product %g\n%s", i, j, got, want, k)
			}
		}
	}
}

// element returns an element in F32 or BF16.
func element(b kernel.Buffer, i int) float64 {
	if b.H != nil {
		return float64(math.Float32frombits(uint32(b.H[i]) << 16))
	}
	return float64(b.F[i])
}

// narrowOperations returns the forms of a small model whose products have factors in BF16.
func narrowOperations(t *testing.T) []*kernel.Kernel {
	t.Helper()
	p, found, err := compiler.Compile(check.Options{Path: "../../specs/small/looped.arith", Read: os.ReadFile,
		Set: []string{"train.precision=bf16", "model.width=24", "model.heads=2"}})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	return forms(t, []ptxtest.Spec{{Kernels: p.Lowered.Kernels}})
}

// TestGemmsAreProductsAlone wants kernels refused that compute more than a product, or less.
func TestGemmsAreProductsAlone(t *testing.T) {
	const head = "kernel k matmul\n in x f32[N, 4]\n in w f32[4, 6]\n"
	for name, text := range map[string]string{
		"a bias":            head + " in b f32[6]\n out y f32[N, 6]\n scalar N\n op c = x * w for r < N, e < 6, k < 4\n with y = b[e] + c\n",
		"another place":     head + " in z f32[N, 6]\n out y f32[N, 6]\n scalar N\n op c = x * w for r < N, e < 6, k < 4\n with y = z[r, 0] + c\n",
		"a larger addend":   head + " in z f32[N, 9]\n out y f32[N, 6]\n scalar N\n op c = x * w for r < N, e < 6, k < 4\n with y = z[r, e] + c\n",
		"a difference":      head + " in z f32[N, 6]\n out y f32[N, 6]\n scalar N\n op c = x * w for r < N, e < 6, k < 4\n with y = z[r, e] - c\n",
		"twice":             head + " out y f32[N, 6]\n scalar N\n op c = x * w for r < N, e < 6, k < 4\n with y = c + c\n",
		"two results":       head + " out y f32[N, 6]\n out z bf16[N, 6]\n scalar N\n op y = x * w for r < N, e < 6, k < 4\n with z = bf16(y)\n",
		"a rounded sum":     head + " in z f32[N, 6]\n out y bf16[N, 6]\n scalar N\n op c = x * w for r < N, e < 6, k < 4\n with y = bf16(z[r, e] + c)\n",
		"an activation":     head + " out y f32[N, 6]\n scalar N\n op c = x * w for r < N, e < 6, k < 4\n with y = max(c, 0.0)\n",
		"a factor of a sum": "kernel k sum\n in x f32[N, 4]\n out y f32[4]\n scalar N\n op y = x for r < N, e < 4\n",
	} {
		ks, err := kernel.Parse(text + "end\n")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g, ok := ks[0].Gemm(); ok {
			t.Errorf("%s is a product: %+v", name, g)
		}
	}
}
