package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A norm is a row x, normalised: (x[e] - mean) / sqrt(mean of squares + eps) of layer
// norm (Ba, Kiros and Hinton 2016, equation 3), or the same without taking the mean
// off, of RMS norm (Zhang and Sennrich 2019, equation 4).
type norm struct {
	*row
	centred bool
	hat     element
	rstd    *expr.Expr // 1 / sqrt(…)
}

// mean is the mean of a row, with the name of its sum.
func (r *row) mean(sum string, x element) *expr.Expr {
	return div(r.reduce(sum, expr.Add, r.width, x), toF32(r.width))
}

// normalised emits the statistics of a row.
func (r *row) normalised(v *ir.Value, x element) *norm {
	n := &norm{row: r, centred: v.Op == ir.LayerNorm || v.Op == ir.LayerNormGrad}
	if n.centred {
		whole, mean := x, r.let("mean", r.mean("sum", x))
		x = func(e *expr.Expr) *expr.Expr { return sub(whole(e), mean) }
	}
	square := r.mean("squares", func(e *expr.Expr) *expr.Expr { return mul(x(e), x(e)) })
	n.rstd = r.let("rstd", div(expr.F(1), expr.New(expr.Sqrt, add(square, expr.F(v.Attr.Eps)))))
	n.hat = func(e *expr.Expr) *expr.Expr { return mul(x(e), n.rstd) }
	return n
}

// lowerNorm computes gamma times the normalised row, plus beta of layer norm.
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

// lowerNormGrad computes the gradient of x row by row, or those of gamma and beta as
// sums over all rows in one cell. With g = dy*gamma and the normalised row h,
// dx = rstd * (g - mean(g) - h*mean(g*h)), without mean(g) of RMS norm.
func lowerNormGrad(e *emitter, v *ir.Value) {
	if v.Attr.Result != "x" {
		e.normParams(v)
		return
	}
	r := e.cellRow()
	x, gamma, dy := r.read(v.Args[0], "x"), r.read(v.Args[1], "gamma"), r.read(v.Args[2], "dy")
	n := r.normalised(v, x)
	g := func(e *expr.Expr) *expr.Expr { return mul(dy(e), gamma(e)) }
	rest := g
	if n.centred {
		m1 := r.let("m1", r.mean("sum1", g))
		rest = func(e *expr.Expr) *expr.Expr { return sub(g(e), m1) }
	}
	m2 := r.let("m2", r.mean("sum2", func(e *expr.Expr) *expr.Expr { return mul(g(e), n.hat(e)) }))
	r.value[v] = func(e *expr.Expr) *expr.Expr { return mul(n.rstd, sub(rest(e), mul(n.hat(e), m2))) }
	r.afterwards(v)
}

// afterwards computes the members on the normalised row, which they read from a tile.
func (r *row) afterwards(v *ir.Value) {
	if len(r.group.Members) > 0 {
		r.keep("t", v)
	}
	r.members()
}

func (e *emitter) normParams(v *ir.Value) {
	shape := v.Args[0].Type.Shape
	e.group.Shape = shape
	d := size(shape[len(shape)-1])
	sums := map[string]string{}
	for _, a := range e.group.Anchors {
		sums[a.Attr.Result] = e.accumulator(a, a.Attr.Result, d)
	}
	e.loop("r", e.rowsOf(shape), func(i *expr.Expr) {
		r := e.newRow(i)
		x, dy := r.read(v.Args[0], "x"), r.read(v.Args[2], "dy")
		n := r.normalised(v, x)
		if t, ok := sums["gamma"]; ok {
			r.accumulate(t, func(e *expr.Expr) *expr.Expr { return mul(dy(e), n.hat(e)) })
		}
		if t, ok := sums["beta"]; ok {
			r.accumulate(t, dy)
		}
	})
	for _, a := range e.group.Anchors {
		e.copyOut(sums[a.Attr.Result], e.buffers[a], same)
	}
}
