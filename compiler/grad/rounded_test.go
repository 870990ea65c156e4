package grad_test

import (
	"math"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
)

// roundedLayer is relu(x w) v, the factors of both products rounded.
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

// A matrix is one of float64, by rows.
type matrix [][]float64

// of makes a matrix of rows and columns.
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

// rounded is the nearest number of 8 significant bits.
func rounded(x float64) float64 {
	if x == 0 {
		return 0
	}
	_, e := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(x, 8-e)), e-8)
}

func matrixOf(t ir.Tensor) matrix {
	return of(t.Shape[0], t.Shape[1], func(i, j int) float64 { return t.F[i*t.Shape[1]+j] })
}

// TestRoundedGradients computes the gradients of a layer whose products are rounded by
// hand: roundings pass gradients on, and a gradient is rounded where it is a factor.
func TestRoundedGradients(t *testing.T) {
	f := irtest.Parse(t, roundedLayer)
	fwd, bwd := backward(t, f)
	e := env(map[string]int{"B": 5})
	args := irtest.Args(t, f, e, 3)
	for _, a := range args {
		for k := range a.F {
			a.F[k] = float64(float32(a.F[k])) // what is rounded is a float32
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
	single := func(x float64) float64 { return float64(float32(x)) }
	h := x.times(w).each(func(x float64) float64 { return max(x, 0) })
	hr, dyr := h.each(single).each(rounded), matrixOf(dy).each(rounded)
	dh := dyr.times(v.t())
	dhr := of(len(h), len(h[0]), func(i, j int) float64 {
		if h[i][j] > 0 {
			return rounded(single(dh[i][j]))
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

// TestRoundedIsSaved wants what is rounded kept for the gradient, of parameters made again.
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
