package ptx_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
)

// alone matches the names of kernels that are a product, or a product and something that has no
// word.
var alone = regexp.MustCompile(`^(linear|head_linear|outer|head_outer)(_\d+x\d+)?(_source)?(_t)?(_acc)?(_\d+)?$`)

// TestGemms evaluates what modules say that a library can compute instead of kernels of specs, and
// holds it to what the kernels leave.
func TestGemms(t *testing.T) {
	specs, err := ptxtest.Shipped("../../specs")
	if err != nil {
		t.Fatal(err)
	}
	p, found, err := compiler.Compile(check.Options{Path: "../../specs/small/looped.arith", Read: os.ReadFile,
		Set: []string{"train.precision=bf16", "model.width=24", "model.heads=2"}})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	smallest := map[string]*kernel.Kernel{}
	gemms := map[string]*ptx.Gemm{}
	for _, s := range ptxtest.Distinct(append(specs, ptxtest.Spec{Kernels: p.Lowered.Kernels})) {
		for _, k := range s.Kernels {
			if k.Family() != "matmul" {
				continue
			}
			g := gemm(t, k)
			if g == nil {
				buffers := slices.IndexFunc(k.Params, func(p kernel.Param) bool { return p.Mode == kernel.Scalar })
				if buffers == 3 && alone.MatchString(k.Name) && k.Params[0].Type != expr.F16 {
					t.Errorf("no library computes\n%s", k)
				}
				continue
			}
			plus := map[bool]string{true: "nothing", false: "another"}[g.Plus < 0]
			if g.Plus == g.Out.Buffer {
				plus = "itself"
			}
			form := fmt.Sprintf("%s %v %v to %s plus %s", k.Params[g.Left.Buffer].Type, g.Left.Trans, g.Right.Trans, k.Params[g.Out.Buffer].Type, plus)
			if old := smallest[form]; old == nil || work(gemms[form]) > work(g) {
				smallest[form], gemms[form] = k, g
			}
		}
	}
	for form, k := range smallest {
		t.Run(form, func(t *testing.T) { holdGemm(t, k, gemms[form]) })
	}
	for _, form := range []string{
		"f32 false false to f32 plus nothing", "f32 false true to f32 plus nothing", "f32 false true to f32 plus another", "f32 true false to f32 plus itself",
		"bf16 false false to f32 plus another", "bf16 false false to bf16 plus nothing", "bf16 false true to f32 plus another",
		"bf16 false true to bf16 plus nothing", "bf16 true false to f32 plus itself",
	} {
		if smallest[form] == nil {
			t.Errorf("no kernel is %s", form)
		}
	}
}

// gemm is what a library can compute instead of a kernel.
func gemm(t *testing.T, k *kernel.Kernel) *ptx.Gemm {
	t.Helper()
	m, err := ptx.Module([]*kernel.Kernel{k}, ptx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Kernels[0].Gemm
}

// launch is the one of kerneltest that products are held in.
func launch() kernel.Scalars {
	s := kerneltest.Launches()[1]
	s["R"] = s["B"] * s["T"]
	return s
}

// work is how many products a Gemm adds.
func work(g *ptx.Gemm) int {
	n := 1
	for _, size := range g.Size {
		n *= cost.Value(size, launch())
	}
	return n
}

// holdGemm compares what a kernel leaves with the product in float64: K terms and one more
// that are added with a rounding each, and a result that may be rounded to BF16.
func holdGemm(t *testing.T, k *kernel.Kernel, g *ptx.Gemm) {
	const unit, narrow = 0x1p-24, 0x1p-8 // half the distances of 1 to the next float32 and BF16
	start, end, err := kerneltest.Interpret(k, launch(), kerneltest.Signed, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	var size [3]int
	for i, e := range g.Size {
		size[i] = cost.Value(e, launch())
	}
	m, n, depth := size[0], size[1], size[2]
	at := func(bufs []kernel.Buffer, buffer int, trans bool, i, j, rows, cols int) float64 {
		if trans {
			i, j, cols = j, i, rows
		}
		if b := bufs[buffer]; b.H != nil {
			return float64(expr.Widen(expr.BF16, b.H[i*cols+j]))
		} else {
			return float64(b.F[i*cols+j])
		}
	}
	for i := range m {
		for j := range n {
			want, sum := 0.0, 0.0
			add := func(x float64) { want, sum = want+x, sum+math.Abs(x) }
			for x := range depth {
				add(at(start, g.Left.Buffer, g.Left.Trans, i, x, m, depth) * at(start, g.Right.Buffer, g.Right.Trans, x, j, depth, n))
			}
			if g.Plus >= 0 {
				add(at(start, g.Plus, false, i, j, m, n))
			}
			off := float64(depth+2) * (unit*sum + 0x1p-149)
			if g.Out.Narrow {
				off += narrow * math.Abs(want)
			}
			if got := at(end, g.Out.Buffer, false, i, j, m, n); math.Abs(got-want) > off {
				t.Fatalf("[%d, %d] is %g, the product %g\n%s", i, j, got, want, k)
			}
		}
	}
}

// TestGemmsAreProductsAlone refuses kernels that leave more than a product, or less.
func TestGemmsAreProductsAlone(t *testing.T) {
	const (
		head    = "kernel k matmul\n in x f32[N, 4]\n in w f32[4, 6]\n"
		product = " tile c f32[N, 6]\n set c[i, j] = 0.0\n dot c[i, j] += x[i, k] * w[k, j]\n"
		rows    = product + " for r = 0 until N\n"
		end     = " end\nend\n"
	)
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a product", head + " out y f32[N, 6]\n scalar N\n dot y[i, j] = x[i, k] * w[k, j]\nend\n", true},
		{"added to what is there", head + " inout y f32[N, 6]\n scalar N\n dot y[i, j] += x[i, k] * w[k, j]\nend\n", true},
		{"an addition", head + " in z f32[N, 6]\n out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = z[r, e] + c[r, e] for e < 6\n" + end, true},
		{"a bias", head + " in b f32[6]\n out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = b[e] + c[r, e] for e < 6\n" + end, false},
		{"another place", head + " in z f32[N, 6]\n out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = z[r, 0] + c[r, e] for e < 6\n" + end, false},
		{"a larger addend", head + " in z f32[N, 9]\n out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = z[r, e] + c[r, e] for e < 6\n" + end, false},
		{"longer addends", head + " in z f32[N + 1, 6]\n out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = z[r + 1, e] + c[r, e] for e < 6\n" + end, false},
		{"an addend by id", head + " in z f32[N, 6]\n in ids i32[N]\n out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = z[ids[r], e] + c[r, e] for e < 6\n" + end, false},
		{"a difference", head + " in z f32[N, 6]\n out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = z[r, e] - c[r, e] for e < 6\n" + end, false},
		{"twice", head + " out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = c[r, e] + c[r, e] for e < 6\n" + end, false},
		{"a column of the product", head + " out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = c[r, 0] for e < 6\n" + end, false},
		{"half of the columns", head + " out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = c[r, e] for e < 3\n" + end, false},
		{"two results", head + " out y f32[N, 6]\n out z bf16[N, 6]\n scalar N\n" + rows + " set y[r, e] = c[r, e] for e < 6\n set z[r, e] = bf16(c[r, e]) for e < 6\n" + end, false},
		{"a result that is read", head + " inout y f32[N, 6]\n out z f32[N, 6]\n scalar N\n dot y[i, j] = x[i, k] * w[k, j]\n for r = 0 until N\n set z[r, e] = y[r, e] for e < 6\n" + end, false},
		{"a rounded sum", head + " in z f32[N, 6]\n out y bf16[N, 6]\n scalar N\n" + rows + " set y[r, e] = bf16(z[r, e] + c[r, e]) for e < 6\n" + end, false},
		{"an activation", head + " out y f32[N, 6]\n scalar N\n" + rows + " set y[r, e] = max(c[r, e], 0.0) for e < 6\n" + end, false},
		{"a part of a factor", "kernel k matmul\n in x f32[N, 9]\n in w f32[4, 6]\n out y f32[N, 6]\n scalar N\n dot y[i, j] = x[i, k] * w[k, j] for i < N, j < 6, k < 4\nend\n", false},
		{"a computed factor", "kernel k scatter\n in ids i32[N]\n in w f32[N, 6]\n out y f32[4, 6]\n scalar N\n tile a f32[4, N]\n set a[i, j] = where(ids[j] == i, 1.0, 0.0)\n dot y[i, j] = a[i, k] * w[k, j]\nend\n", false},
	} {
		k := parsed(t, c.text)
		if err := kernel.Verify(k); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if g := gemm(t, k); (g != nil) != c.want {
			t.Errorf("%s: %+v\n%s", c.name, g, ptx.Choose(k, ptx.Options{}).Flat)
		}
	}
}
