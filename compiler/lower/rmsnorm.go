package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
)

// scaled emits 1 / sqrt(mean(x²) + eps) of a row and returns the row times it, and
// it. Zhang and Sennrich 2019, equation 4.
func (r *row) scaled(x element, eps float64) (hat element, inv *expr.Expr) {
	squares := r.reduce("squares", expr.Add, r.width, func(e *expr.Expr) *expr.Expr { return mul(x(e), x(e)) })
	mean := div(squares, toF32(r.width))
	inv = r.let("inv", div(expr.F(1), expr.New(expr.Sqrt, add(mean, expr.F(eps)))))
	return func(e *expr.Expr) *expr.Expr { return mul(x(e), inv) }, inv
}

func lowerRMSNorm(e *emitter) error {
	v := e.group.Anchors[0]
	r := e.newRow(e.grid("r", e.cells()))
	x, gamma := r.read(v.Args[0], "x"), r.read(v.Args[1], "gamma")
	hat, _ := r.scaled(x, v.Attr.Eps)
	r.value[v] = func(e *expr.Expr) *expr.Expr { return mul(hat(e), gamma(e)) }
	r.materialize(v)
	r.members()
	return nil
}

// lowerRMSNormGrad computes the gradient of x row by row, or that of gamma as a sum
// over all rows in one cell. With g = dy*gamma and the scaled row h,
// dx = inv * (g - h*mean(g*h)).
func lowerRMSNormGrad(e *emitter) error {
	v := e.group.Anchors[0]
	if v.Attr.Result == "gamma" {
		return e.gainGrad()
	}
	r := e.newRow(e.grid("r", e.cells()))
	x, gamma, dy := r.read(v.Args[0], "x"), r.read(v.Args[1], "gamma"), r.read(v.Args[2], "dy")
	hat, inv := r.scaled(x, v.Attr.Eps)
	g := func(e *expr.Expr) *expr.Expr { return mul(dy(e), gamma(e)) }
	sum := r.reduce("sum", expr.Add, r.width, func(e *expr.Expr) *expr.Expr { return mul(g(e), hat(e)) })
	mean := r.let("mean", div(sum, toF32(r.width)))
	r.value[v] = func(e *expr.Expr) *expr.Expr { return mul(inv, sub(g(e), mul(hat(e), mean))) }
	r.materialize(v)
	r.members()
	return nil
}

func (e *emitter) gainGrad() error {
	v := e.group.Anchors[0]
	shape := v.Args[0].Type.Shape
	e.group.Shape = shape
	d := size(shape[len(shape)-1])
	sum := e.accumulator(v, "gamma", d)
	e.loop("r", rowsOf(shape), func(i *expr.Expr) {
		r := e.newRow(i)
		x, dy := r.read(v.Args[0], "x"), r.read(v.Args[2], "dy")
		hat, _ := r.scaled(x, v.Attr.Eps)
		r.accumulate(sum, func(e *expr.Expr) *expr.Expr { return mul(dy(e), hat(e)) })
	})
	e.storeTile(v, sum, d)
	return nil
}
