package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A norm is a normalised row x. Layer norm is (x[e] - mean) / sqrt(mean of squares + eps) (Ba,
// Kiros and Hinton 2016, equation 3). RMS norm does not subtract the mean (Zhang and Sennrich
// 2019, equation 4).
type norm struct {
	*row
	centred bool
	hat     element
	centre  *expr.Expr // the mean, if it is subtracted
	rstd    *expr.Expr // 1 / sqrt(…)
}

// mean returns the mean of a row, and names its sum.
func (r *row) mean(sum string, x element) *expr.Expr {
	return div(r.reduce(sum, expr.Add, r.width, x), toF32(r.width))
}

// normalised emits the statistics of a row.
func (r *row) normalised(v *ir.Value, x element) *norm {
	n := &norm{row: r, centred: v.Op == ir.LayerNorm || v.Op == ir.LayerNormGrad}
	if n.centred {
		whole := x
		n.centre = r.let("mean", r.mean("sum", x))
		x = func(e *expr.Expr) *expr.Expr { return sub(whole(e), n.centre) }
	}
	square := r.mean("squares", func(e *expr.Expr) *expr.Expr { return mul(x(e), x(e)) })
	n.rstd = r.let("rstd", div(expr.F(1), expr.New(expr.Sqrt, add(square, expr.F(v.Attr.Eps)))))
	n.hat = func(e *expr.Expr) *expr.Expr { return mul(x(e), n.rstd) }
	return n
}

// lowerNorm computes gamma times the normalised row. Layer norm adds beta.
func lowerNorm(e *emitter, v *ir.Value) {
	r := e.cellRow()
	var args []element
	for i, name := range []string{"x", "gamma", "beta"}[:len(v.Args)] {
		args = append(args, r.read(v.Args[i], name))
	}
	n := r.normalised(v, args[0])
	r.value[v] = func(e *expr.Expr) *expr.Expr {
		y := mul(n.hat(e), args[1](e))
		if n.centred {
			y = add(y, args[2](e))
		}
		return y
	}
	r.afterwards(v)
}

// lowerNormGrad computes the gradient of x row by row, and the requested statistics of each
// row. With g = dy*gamma and the normalised row h, dx = rstd * (g - mean(g) - h*mean(g*h)). RMS
// norm has no mean(g).
func lowerNormGrad(e *emitter, v *ir.Value) {
	e.group.Shape = v.Args[0].Type.Shape
	r := e.cellRow()
	n := r.normalised(v, r.read(v.Args[0], "x"))
	for _, a := range e.group.Anchors {
		switch a.Attr.Result {
		case "x":
			n.gradient(a)
		case "mean":
			r.value[a] = func(*expr.Expr) *expr.Expr { return n.centre }
		case "rstd":
			r.value[a] = func(*expr.Expr) *expr.Expr { return n.rstd }
		}
	}
	r.afterwards(v)
}

// gradient computes the gradient of the row.
func (n *norm) gradient(v *ir.Value) {
	gamma, dy := n.read(v.Args[1], "gamma"), n.read(v.Args[2], "dy")
	g := func(e *expr.Expr) *expr.Expr { return mul(dy(e), gamma(e)) }
	rest := g
	if n.centred {
		m1 := n.let("m1", n.mean("sum1", g))
		rest = func(e *expr.Expr) *expr.Expr { return sub(g(e), m1) }
	}
	m2 := n.let("m2", n.mean("sum2", func(e *expr.Expr) *expr.Expr { return mul(g(e), n.hat(e)) }))
	n.value[v] = func(e *expr.Expr) *expr.Expr { return mul(n.rstd, sub(rest(e), mul(n.hat(e), m2))) }
}

// afterwards computes the members on the normalised row, which they read from a tile.
func (r *row) afterwards(v *ir.Value) {
	if len(r.group.Members) > 0 {
		r.keep("t", v)
	}
	r.members()
}
