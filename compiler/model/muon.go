package model

import (
	"math"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// muon is Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon) on a
// matrix [in, out], as in torch.optim.Muon: with decoupled decay. It iterates in float32,
// torch.optim.Muon in bfloat16.
func muon(b *ir.Builder, t check.Train, p, g *ir.Value, states []*ir.Value) (*ir.Value, []*ir.Value) {
	averaged := average(t.Muon.Momentum, x0, x1)
	momentum := b.Map(averaged, states[0], g)
	direction := momentum
	if t.Muon.Nesterov {
		direction = b.Map(averaged, momentum, g)
	}
	size := stepSize(t.Muon.Adjust, p.Type.Shape[0].N, p.Type.Shape[1].N)
	step := expr.New(expr.Mul, expr.F(size), x0)
	return b.Map(descended(x1, step), orthogonal(b, direction, t.Muon.Steps), p), []*ir.Value{momentum}
}

// stepSize returns the factor of an orthogonal step for a matrix [in, out]. PyTorch
// stores it as [out, in].
func stepSize(adjust string, in, out int) float64 {
	if adjust == "original" { // Jordan et al. 2024
		return math.Sqrt(max(1, float64(out)/float64(in)))
	}
	return 0.2 * math.Sqrt(float64(max(in, out))) // Liu et al. 2025 (arXiv:2502.16982), section 2.2
}

// orthogonal returns the matrix with the singular vectors of x and singular values near
// 1, except those near 0. It does the given number of Newton-Schulz steps with the
// coefficients of Jordan et al. 2024. The Gram matrix of a step belongs to the smaller
// side.
func orthogonal(b *ir.Builder, x *ir.Value, steps int) *ir.Value {
	rows, cols := x.Type.Shape[0].N, x.Type.Shape[1].N
	squares := b.Sum(b.Map(expr.New(expr.Mul, x0, x0), x), 0, 1)
	norm := expr.New(expr.Max, expr.New(expr.Sqrt, x1), expr.F(1e-7))
	x = b.Map(expr.New(expr.Div, x0, norm), x, squares)
	for range steps {
		if rows <= cols {
			x = b.Map(weighted(1, 3.4445), b.MatMul(quintic(b, b.MatMul(x, x, false, true)), x, false, false), x)
		} else {
			x = b.Map(weighted(1, 3.4445), b.MatMul(x, quintic(b, b.Outer(x, x)), false, false), x)
		}
	}
	return x
}

// quintic returns the terms of a Newton-Schulz step in the Gram matrix.
func quintic(b *ir.Builder, gram *ir.Value) *ir.Value {
	return b.Map(weighted(2.0315, -4.7750), b.MatMul(gram, gram, false, false), gram)
}

// weighted returns v*x0 + w*x1.
func weighted(v, w float64) *expr.Expr {
	return expr.New(expr.Add, expr.New(expr.Mul, expr.F(v), x0), expr.New(expr.Mul, expr.F(w), x1))
}
