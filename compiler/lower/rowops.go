package lower

import (
	"math"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// normalized loads a row x and emits the statistics of layer norm; it returns
// (x[e] - mean) / sqrt(variance + eps) and the factor 1/sqrt(…). Ba, Kiros and
// Hinton 2016, equation 3.
func (r *row) normalized(x element, eps float64) (hat element, rstd *expr.Expr) {
	n := toF32(r.width)
	mean := r.let("mean", div(r.reduce("sum", expr.Add, r.width, x), n))
	square := func(e *expr.Expr) *expr.Expr {
		d := sub(x(e), mean)
		return mul(d, d)
	}
	variance := div(r.reduce("squares", expr.Add, r.width, square), n)
	rstd = r.let("rstd", div(expr.F(1), expr.New(expr.Sqrt, add(variance, expr.F(eps)))))
	return func(e *expr.Expr) *expr.Expr { return mul(sub(x(e), mean), rstd) }, rstd
}

func lowerLayerNorm(e *emitter) error {
	v := e.group.Anchors[0]
	r := e.newRow(e.grid("r", e.cells()))
	x := r.read(v.Args[0], "x")
	gamma, beta := r.read(v.Args[1], "gamma"), r.read(v.Args[2], "beta")
	hat, _ := r.normalized(x, v.Attr.Eps)
	r.value[v] = func(e *expr.Expr) *expr.Expr { return add(mul(hat(e), gamma(e)), beta(e)) }
	r.materialize(v)
	r.members()
	return nil
}

// materialize puts the anchor into a tile when an epilogue reads it.
func (r *row) materialize(v *ir.Value) {
	if len(r.group.Members) == 0 {
		return
	}
	el := r.value[v]
	t := r.tile("t", v.Type.Elem, r.width)
	r.mapTo(t, []*expr.Expr{r.width}, func(i []*expr.Expr) *expr.Expr { return el(i[0]) })
	r.value[v] = func(e *expr.Expr) *expr.Expr { return expr.NewElem(t, v.Type.Elem, e) }
}

// lowerLayerNormGrad computes the gradient of x row by row, or those of gamma
// and beta as sums over all rows in one cell. With g = dy*gamma and the
// normalised row h, dx = rstd * (g - mean(g) - h*mean(g*h)).
func lowerLayerNormGrad(e *emitter) error {
	v := e.group.Anchors[0]
	if v.Attr.Result != "x" {
		return e.normParams(v)
	}
	r := e.newRow(e.grid("r", e.cells()))
	x, gamma, dy := r.read(v.Args[0], "x"), r.read(v.Args[1], "gamma"), r.read(v.Args[2], "dy")
	hat, rstd := r.normalized(x, v.Attr.Eps)
	n := toF32(r.width)
	g := func(e *expr.Expr) *expr.Expr { return mul(dy(e), gamma(e)) }
	m1 := r.let("m1", div(r.reduce("sum1", expr.Add, r.width, g), n))
	m2 := r.let("m2", div(r.reduce("sum2", expr.Add, r.width, func(e *expr.Expr) *expr.Expr { return mul(g(e), hat(e)) }), n))
	r.value[v] = func(e *expr.Expr) *expr.Expr {
		return mul(rstd, sub(sub(g(e), m1), mul(hat(e), m2)))
	}
	r.materialize(v)
	r.members()
	return nil
}

func (e *emitter) normParams(v *ir.Value) error {
	shape := v.Args[0].Type.Shape
	e.group.Shape = shape
	d := size(shape[len(shape)-1])
	sums := map[string]string{}
	for _, a := range e.group.Anchors {
		sums[a.Attr.Result] = e.accumulator(a, a.Attr.Result, d)
	}
	e.loop("r", rowsOf(shape), func(i *expr.Expr) {
		r := e.newRow(i)
		x, dy := r.read(v.Args[0], "x"), r.read(v.Args[2], "dy")
		hat, _ := r.normalized(x, v.Attr.Eps)
		if t, ok := sums["gamma"]; ok {
			r.accumulate(t, func(e *expr.Expr) *expr.Expr { return mul(dy(e), hat(e)) })
		}
		if t, ok := sums["beta"]; ok {
			r.accumulate(t, dy)
		}
	})
	for _, a := range e.group.Anchors {
		e.storeTile(a, sums[a.Attr.Result], d)
	}
	return nil
}

// accumulator declares the buffer of a rank-1 sum and a tile that starts at its
// old value, when it is added to, or at zero.
func (e *emitter) accumulator(v *ir.Value, name string, n *expr.Expr) string {
	buf := e.out(v, "d"+name, n)
	if e.env.accumulate[v] {
		return e.load("sum_"+name, expr.F32, buf, []*expr.Expr{n}, func(a []*expr.Expr) []*expr.Expr { return a })
	}
	t := e.tile("sum_"+name, expr.F32, n)
	e.zero(t)
	return t
}

// accumulate adds the elements of a row to a tile.
func (r *row) accumulate(t string, el element) {
	r.mapTo(t, []*expr.Expr{r.width}, func(i []*expr.Expr) *expr.Expr { return add(elem(t, i[0]), el(i[0])) })
}

// storeTile writes a rank-1 tile to the buffer of v.
func (e *emitter) storeTile(v *ir.Value, tile string, n *expr.Expr) {
	as, vs := axes([]*expr.Expr{n})
	e.setOver(as, e.buffers[v], vs, elem(tile, vs[0]))
}

// lowerSum sums over all leading axes, or over everything, in ascending order of
// rows; a whole row is summed canonically.
func lowerSum(e *emitter) error {
	v := e.group.Anchors[0]
	x := v.Args[0]
	e.group.Shape = x.Type.Shape
	if len(v.Type.Shape) == 0 {
		return e.sumAll(v, x)
	}
	for i, a := range v.Attr.Axes {
		if a != i {
			return unsupported(v, "sums over other than leading axes")
		}
	}
	lead := len(v.Attr.Axes)
	if lead == len(x.Type.Shape)-1 {
		d := size(v.Type.Shape[0])
		sum := e.accumulator(v, "y", d)
		e.loop("r", rowsOf(x.Type.Shape), func(i *expr.Expr) {
			r := e.newRow(i)
			r.prologue()
			r.accumulate(sum, r.operand(x))
		})
		e.storeTile(v, sum, d)
		return nil
	}
	return e.sumLeading(v, x, lead)
}

// sumLeading sums over the first lead axes where more than one axis is left:
// each cell makes one row of the result.
func (e *emitter) sumLeading(v, x *ir.Value, lead int) error {
	shape := x.Type.Shape
	rest := shape[lead : len(shape)-1]
	d := size(shape[len(shape)-1])
	cell := e.grid("c", product(rest))
	n := product(rest)
	buf := e.out(v, "dy", n, d)
	var sum string
	if e.env.accumulate[v] {
		sum = e.load("sum", expr.F32, buf, []*expr.Expr{d}, func(a []*expr.Expr) []*expr.Expr { return []*expr.Expr{cell, a[0]} })
	} else {
		sum = e.tile("sum", expr.F32, d)
		e.zero(sum)
	}
	e.loop("k", product(shape[:lead]), func(k *expr.Expr) {
		r := e.newRow(add(mul(k, n), cell))
		r.prologue()
		r.accumulate(sum, r.operand(x))
	})
	as, vs := axes([]*expr.Expr{d})
	e.setOver(as, buf, []*expr.Expr{cell, vs[0]}, elem(sum, vs[0]))
	return nil
}

func (e *emitter) sumAll(v, x *ir.Value) error {
	buf := e.out(v, "y")
	total := e.tile("total", expr.F32)
	e.zero(total)
	e.loop("r", e.cells(), func(i *expr.Expr) {
		r := e.newRow(i)
		r.prologue()
		s := r.reduce("sum", expr.Add, r.width, r.operand(x))
		r.set(total, add(elem(total), s))
	})
	value := elem(total)
	if e.env.accumulate[v] {
		old := e.load("old", expr.F32, buf, nil, func([]*expr.Expr) []*expr.Expr { return nil })
		value = add(elem(old), value)
	}
	e.set(buf, value)
	return nil
}

// prologue computes the members that a Sum has absorbed.
func (r *row) prologue() {
	for _, m := range r.group.Members {
		r.value[m] = r.member(m)
	}
}

// softmaxStats emits the maximum of a row of logits and the sum of exp(x - max).
func (r *row) softmaxStats(x element) (maximum, sum *expr.Expr) {
	maximum = r.reduce("largest", expr.Max, r.width, x)
	sum = r.reduce("total", expr.Add, r.width, func(e *expr.Expr) *expr.Expr {
		return expr.New(expr.Exp, sub(x(e), maximum))
	})
	return maximum, sum
}

// lowerCrossEntropy computes log(sum exp(x - max)) - (x[label] - max) for each
// row, and 0 where the label is -1.
func lowerCrossEntropy(e *emitter) error {
	v := e.group.Anchors[0]
	e.group.Shape = v.Args[0].Type.Shape
	rows := rowsOf(e.group.Shape)
	r := e.newRow(e.grid("r", rows))
	x, label := r.read(v.Args[0], "logits"), r.label(v.Args[1], rows)
	maximum, sum := r.softmaxStats(x)
	known := le(expr.Int(0), label)
	target := r.reduce("target", expr.Add, r.width, func(e *expr.Expr) *expr.Expr { return where(eq(e, label), x(e), expr.F(0)) })
	loss := sub(expr.New(expr.Log, sum), sub(target, maximum))
	buf := e.out(v, "loss", rows)
	e.set(buf, where(known, loss, expr.F(0)), r.index)
	return nil
}

// label loads the label of this row.
func (r *row) label(v *ir.Value, rows *expr.Expr) *expr.Expr {
	t := r.load("label", expr.I32, r.in(v, "labels", rows), nil, func([]*expr.Expr) []*expr.Expr { return []*expr.Expr{r.index} })
	return ielem(t)
}

// lowerCrossEntropyGrad computes (softmax(x) - onehot(label)) * dloss.
func lowerCrossEntropyGrad(e *emitter) error {
	v := e.group.Anchors[0]
	rows := rowsOf(e.group.Shape)
	r := e.newRow(e.grid("r", rows))
	x, label := r.read(v.Args[0], "logits"), r.label(v.Args[1], rows)
	dloss := elem(r.load("weight", expr.F32, r.in(v.Args[2], "dloss", rows), nil, func([]*expr.Expr) []*expr.Expr { return []*expr.Expr{r.index} }))
	maximum, sum := r.softmaxStats(x)
	r.value[v] = func(e *expr.Expr) *expr.Expr {
		p := div(expr.New(expr.Exp, sub(x(e), maximum)), sum)
		onehot := where(eq(e, label), expr.F(1), expr.F(0))
		return where(le(expr.Int(0), label), mul(sub(p, onehot), dloss), expr.F(0))
	}
	r.members()
	return nil
}

// lowerArgMax finds the first of the largest elements of each row: the smallest
// index among those equal to the maximum.
func lowerArgMax(e *emitter) error {
	v := e.group.Anchors[0]
	e.group.Shape = v.Args[0].Type.Shape
	rows := rowsOf(e.group.Shape)
	r := e.newRow(e.grid("r", rows))
	x := r.read(v.Args[0], "logits")
	largest := r.reduce("largest", expr.Max, r.width, x)
	first := r.reduce("first", expr.Min, r.width, func(e *expr.Expr) *expr.Expr {
		return where(eq(x(e), largest), toF32(e), expr.F(math.Inf(1)))
	})
	found := where(lt(first, toF32(r.width)), expr.New(expr.ToI32, lesser(first, toF32(r.width))), expr.Int(0))
	e.set(e.out(v, "pred", rows), found, r.index)
	return nil
}
