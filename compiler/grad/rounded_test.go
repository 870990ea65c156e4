package grad_test

import (
	"math"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
)

// roundedLayer is relu(x w) v with rounded factors.
const roundedLayer = `func f
v0 = param x input : f32[B, 3]
v1 = param w weight : f32[3, 4]
v2 = param v weight : f32[4, 2]
v3 = map v0 {expr = bf16(x0)} : bf16[B, 3]
v4 = map v1 {expr = bf16(x0)} : bf16[3, 4]
v5 = matmul v3 v4 : f32[B, 4]
v6 = map v5 {expr = max(x0, 0.0)} : f32[B, 4]
v7 = map v6 {expr = bf16(x0)} : bf16[B, 4]
v8 = map v2 {expr = bf16(x0)} : bf16[4, 2]
v9 = matmul v7 v8 : f32[B, 2]
result y v9
end
`

// A matrix is a slice of rows.
type matrix [][]float64

// of returns a matrix of the given size.
func of(rows, cols int, f func(i, j int) float64) matrix {
	m := make(matrix, rows)
	for i := range m {
		for j := range cols {
			m[i] = append(m[i], f(i, j))
		}
	}
	return m
}

func (m matrix) each(f func(x float64) float64) matrix {
	return of(len(m), len(m[0]), func(i, j int) float64 { return f(m[i][j]) })
}

func (m matrix) t() matrix {
	return of(len(m[0]), len(m), func(i, j int) float64 { return m[j][i] })
}

func (m matrix) times(n matrix) matrix {
	return of(len(m), len(n[0]), func(i, j int) float64 {
		sum := 0.0
		for k := range n {
			sum += m[i][k] * n[k][j]
		}
		return sum
	})
}

// rounded rounds to float32 and then to 8 significant bits.
func rounded(x float64) float64 {
	x = float64(float32(x))
	if x == 0 {
		return 0
	}
	_, e := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(x, 8-e)), e-8)
}

func matrixOf(t ir.Tensor) matrix {
	return of(t.Shape[0], t.Shape[1], func(i, j int) float64 { return t.F[i*t.Shape[1]+j] })
}

// TestRoundedGradients compares with gradients computed by hand for a layer of rounded
// products. Roundings pass gradients on, and a gradient is rounded where it is a factor.
func TestRoundedGradients(t *testing.T) {
	f := irtest.Parse(t, roundedLayer)
	fwd, bwd := backward(t, f)
	e := env(map[string]int{"B": 5})
	args := irtest.Args(t, f, e, 3)
	for _, a := range args {
		for k := range a.F {
			a.F[k] = float64(float32(a.F[k])) // roundings take a float32
		}
	}
	results := irtest.Eval(t, fwd, e, args)
	dy := ir.Tensor{Shape: results[0].Shape}
	for k := range results[0].F {
		dy.F = append(dy.F, float64(float32(math.Sin(float64(1+k)))))
	}
	got := map[string]ir.Tensor{}
	for i, g := range irtest.Eval(t, bwd, e, bind(t, f, fwd, bwd, args, results, map[string]ir.Tensor{"d.y": dy})) {
		if bwd.Results[i].Value.Type.Elem != expr.F32 {
			t.Errorf("%s is %s", bwd.Results[i].Name, bwd.Results[i].Value.Type)
		}
		got[bwd.Results[i].Name] = g
	}

	x, w, v := matrixOf(args[0]).each(rounded), matrixOf(args[1]).each(rounded), matrixOf(args[2]).each(rounded)
	h := x.times(w).each(func(x float64) float64 { return max(x, 0) })
	hr, dyr := h.each(rounded), matrixOf(dy).each(rounded)
	dh := dyr.times(v.t())
	dhr := of(len(h), len(h[0]), func(i, j int) float64 {
		if h[i][j] > 0 {
			return rounded(dh[i][j])
		}
		return 0
	})
	for name, want := range map[string]matrix{"d.x": dhr.times(w.t()), "d.w": x.t().times(dhr), "d.v": hr.t().times(dyr)} {
		for i, row := range want {
			for j, d := range row {
				if g := got[name].F[i*len(row)+j]; math.Abs(g-d) > 1e-12 {
					t.Errorf("%s[%d, %d] is %g, want %g", name, i, j, g, d)
				}
			}
		}
	}
}

// TestRoundedAttention compares with an attention and its gradients computed by hand, for
// rounded queries, keys and values. Weights and the gradients of scores are rounded only
// where they are factors.
func TestRoundedAttention(t *testing.T) {
	f := irtest.Parse(t, `func f
v0 = param q input : f32[B, T, 3]
v1 = param k input : f32[B, T, 3]
v2 = param v input : f32[B, T, 3]
v3 = map v0 {expr = bf16(x0)} : bf16[B, T, 3]
v4 = map v1 {expr = bf16(x0)} : bf16[B, T, 3]
v5 = map v2 {expr = bf16(x0)} : bf16[B, T, 3]
v9 = attention v3 v4 v5 {heads = 1; scale = 0.7; self; mask = j <= i} : f32[B, T, 3]
result y v9
end
`)
	fwd, bwd := backward(t, f)
	e := env(map[string]int{"B": 1, "T": 5, "S": 5, "C": 5, "P": 0})
	args := irtest.Args(t, f, e, 5)
	results := irtest.Eval(t, fwd, e, args)
	dy := ir.Tensor{Shape: results[0].Shape}
	for k := range results[0].F {
		dy.F = append(dy.F, math.Sin(float64(1+k)))
	}
	got := map[string]ir.Tensor{"y": results[0]}
	for i, g := range irtest.Eval(t, bwd, e, bind(t, f, fwd, bwd, args, results, map[string]ir.Tensor{"d.y": dy})) {
		got[bwd.Results[i].Name] = g
	}

	of3 := func(x ir.Tensor) matrix { return of(5, 3, func(i, j int) float64 { return rounded(x.F[i*3+j]) }) }
	q, k, v, dout := of3(args[0]), of3(args[1]), of3(args[2]), of3(dy)
	scale := float64(float32(0.7))
	s := q.times(k.t())
	p := of(5, 5, func(i, j int) float64 {
		if j > i {
			return 0
		}
		total := 0.0
		for l := range i + 1 {
			total += math.Exp(scale * (s[i][l] - s[i][j]))
		}
		return 1 / total
	})
	y := p.each(rounded).times(v)
	dp := dout.times(v.t())
	ds := of(5, 5, func(i, j int) float64 {
		delta := 0.0
		for e := range 3 {
			delta += dout[i][e] * rounded(y[i][e])
		}
		return rounded(scale * p[i][j] * (dp[i][j] - delta))
	})
	for name, want := range map[string]matrix{
		"y": y, "d.q": ds.times(k), "d.k": ds.t().times(q), "d.v": p.each(rounded).t().times(dout),
	} {
		for i, row := range want {
			for j, d := range row {
				if g := got[name].F[i*len(row)+j]; math.Abs(g-d) > 1e-12 {
					t.Errorf("%s[%d, %d] is %g, want %g", name, i, j, g, d)
				}
			}
		}
	}
}

// TestRoundedIsSaved: rounded values are saved for the gradient, and rounded parameters
// are recomputed.
func TestRoundedIsSaved(t *testing.T) {
	fwd, bwd := backward(t, irtest.Parse(t, roundedLayer))
	saved := 0
	for i, p := range bwd.Params {
		if bwd.Roles[i] == ir.Saved && p.Type.Elem == expr.BF16 {
			saved++
		}
	}
	if saved != 2 {
		t.Errorf("%d values of bf16 are saved, want the factors x and relu(x w):\n%s%s", saved, fwd, bwd)
	}
}
