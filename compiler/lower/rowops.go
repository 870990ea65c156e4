package lower

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
)

// accumulate adds the elements of a row to a tile.
func (r *row) accumulate(t string, el element) {
	r.mapTo(t, func(i exprs) *expr.Expr { return add(elem(t, i[0]), el(i[0])) })
}

// lowerSum sums over all leading axes, or over everything, in ascending order of rows. A whole
// row is summed canonically. If axes other than the last remain, each cell computes one row of
// the result. All sums of a group read the same rows and are computed together.
func lowerSum(e *emitter, v *ir.Value) {
	x := v.Args[0]
	shape := x.Type.Shape
	e.group.Shape = shape
	if len(v.Type.Shape) == 0 {
		e.sumAll(v, x)
		return
	}
	if len(shape) == 2 && slices.Equal(v.Attr.Axes, []int{1}) {
		e.sumRows(v)
		return
	}
	for i, a := range v.Attr.Axes {
		if a != i {
			e.unsupported(v, "sums over other than leading axes")
			return
		}
	}
	lead, last := len(v.Attr.Axes), len(shape)-1
	whole, row, at := sizes(shape[last:]), func(k *expr.Expr) *expr.Expr { return k }, place(same)
	if lead < last {
		n := kernel.Elements(sizes(shape[lead:last]))
		cell := e.grid("c", n)
		whole = append(exprs{n}, whole...)
		row = func(k *expr.Expr) *expr.Expr { return add(mul(k, n), cell) }
		at = func(i exprs) exprs { return exprs{cell, i[0]} }
	}
	var bufs, sums []string
	for _, a := range e.group.Anchors {
		buf := e.out(a, "dy", whole...)
		bufs, sums = append(bufs, buf), append(sums, e.sum("sum_y", a, buf, sizes(shape[last:]), at))
	}
	e.loop("r", e.elements(shape[:lead]), func(k *expr.Expr) {
		r := e.newRow(row(k))
		r.prologue()
		for i, a := range e.group.Anchors {
			r.accumulate(sums[i], r.operand(a.Args[0]))
		}
	})
	for i, sum := range sums {
		e.copyOut(sum, bufs[i], at)
	}
}

func (e *emitter) sumAll(v, x *ir.Value) {
	buf := e.out(v, "y")
	total := e.tile("total", expr.F32)
	e.zero(total)
	e.loop("r", e.cells(), func(i *expr.Expr) {
		r := e.newRow(i)
		r.prologue()
		s := r.reduce("sum", expr.Add, r.width, r.operand(x))
		r.set(total, add(elem(total), s))
	})
	e.store(v, buf, nil, same, func(exprs) *expr.Expr { return elem(total) })
}

// lowerReshape copies a tensor of one axis.
func lowerReshape(e *emitter, v *ir.Value) {
	x := v.Args[0]
	if x.Type.Rank() != 1 {
		e.unsupported(v, "other shapes of several axes")
		return
	}
	e.group.Shape = x.Type.Shape
	r := e.cellRow()
	el := r.read(x, "x")
	e.fill(e.out(v, "y", e.elements(v.Type.Shape)), exprs{r.width}, from(r.first), func(i exprs) *expr.Expr { return el(i[0]) })
}

// sumRows sums a row, or a segment of an arena, in each cell.
func (e *emitter) sumRows(v *ir.Value) {
	e.group.Shape = v.Args[0].Type.Shape
	r := e.cellRow()
	r.prologue()
	s := r.reduce("sum", expr.Add, r.width, r.operand(v.Args[0]))
	e.set(e.out(v, "y", sizes(v.Type.Shape)...), s, r.index)
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

// lowerCrossEntropy computes log(sum exp(x - max)) - (x[label] - max) for each row, or 0 if the label
// is -1. With smoothing, a share of the loss has the mean of x in place of x[label].
func lowerCrossEntropy(e *emitter, v *ir.Value) {
	e.group.Shape = v.Args[0].Type.Shape
	r := e.cellRow()
	x, label := r.read(v.Args[0], "logits"), r.one("label", v.Args[1], "labels")
	maximum, sum := r.softmaxStats(x)
	target := r.reduce("target", expr.Add, r.width, func(e *expr.Expr) *expr.Expr { return where(eq(e, label), x(e), expr.F(0)) })
	log := expr.New(expr.Log, sum)
	loss := sub(log, sub(target, maximum))
	if rate := v.Attr.Rate; rate > 0 {
		mean := div(r.reduce("logits_sum", expr.Add, r.width, x), toF32(r.width))
		loss = add(mul(expr.F(1-rate), loss), mul(expr.F(rate), sub(log, sub(mean, maximum))))
	}
	e.set(e.out(v, "loss", e.cells()), where(le(expr.Int(0), label), loss, expr.F(0)), r.index)
}

// one loads the element of a buffer for this row.
func (r *row) one(name string, v *ir.Value, buf string) *expr.Expr {
	return r.element(name, v.Type.Elem, r.in(v, buf, r.cells()), r.index)
}

// lowerCrossEntropyGrad computes (softmax(x) - onehot(label)) * dloss. Smoothing gives a share of the one to all.
func lowerCrossEntropyGrad(e *emitter, v *ir.Value) {
	r := e.cellRow()
	x, label, dloss := r.read(v.Args[0], "logits"), r.one("label", v.Args[1], "labels"), r.one("weight", v.Args[2], "dloss")
	maximum, sum := r.softmaxStats(x)
	r.value[v] = func(e *expr.Expr) *expr.Expr {
		p := div(expr.New(expr.Exp, sub(x(e), maximum)), sum)
		share := v.Attr.Rate / float64(v.Type.Shape[v.Type.Rank()-1].N)
		onehot := where(eq(e, label), expr.F(1-v.Attr.Rate+share), expr.F(share))
		return where(le(expr.Int(0), label), mul(sub(p, onehot), dloss), expr.F(0))
	}
	r.members()
}

// lowerArgMax finds the smallest index of an element equal to the maximum of each row.
func lowerArgMax(e *emitter, v *ir.Value) {
	e.group.Shape = v.Args[0].Type.Shape
	r := e.cellRow()
	x := r.read(v.Args[0], "logits")
	largest := r.reduce("largest", expr.Max, r.width, x)
	first := r.reduce("first", expr.Min, r.width, func(e *expr.Expr) *expr.Expr {
		return where(eq(x(e), largest), toF32(e), expr.F(math.Inf(1)))
	})
	found := where(lt(first, toF32(r.width)), expr.New(expr.ToI32, lesser(first, toF32(r.width))), expr.Int(0))
	e.set(e.out(v, "pred", e.cells()), found, r.index)
}
