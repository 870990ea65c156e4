package grad

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A rule returns the gradients of v's arguments from dy, the gradient of v. args are the
// kept arguments. An entry is nil if the argument has no gradient. The tape drops
// gradients that nothing needs.
type rule struct {
	names string // short names of the arguments, for labels; further arguments use the last
	apply gradients
}

type gradients func(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value

// rules is keyed by op. Ops without a row have no gradient: ops with I32 results, caches,
// and gradients.
var rules = map[ir.Op]rule{
	ir.Map:          {"x", mapRule},
	ir.Dropout:      {"x", dropoutRule},
	ir.MatMul:       {"xw", matMulRule},
	ir.Outer:        {"xy", outerRule},
	ir.Sum:          {"x", sumRule},
	ir.Max:          {"x", maxRule},
	ir.Reshape:      {"x", reshapeRule},
	ir.Transpose:    {"x", transposeRule},
	ir.Gather:       {"w", gatherRule},
	ir.Scatter:      {"ix", scatterRule},
	ir.ScaleGrad:    {"x", scaleGradRule},
	ir.LayerNorm:    {"xgb", normRule(ir.LayerNormGrad)},
	ir.RMSNorm:      {"xg", normRule(ir.RMSNormGrad)},
	ir.Rotate:       {"x", rotateRule},
	ir.RepeatHeads:  {"x", repeatHeadsRule},
	ir.SumHeads:     {"x", sumHeadsRule},
	ir.HeadProduct:  {"xw", headProductRule},
	ir.Attention:    {"qkvr", attentionRule},
	ir.BiasTable:    {"r", tableRule},
	ir.CrossEntropy: {"x", crossEntropyRule},
}

// arg returns the short name of argument k.
func (r rule) arg(v *ir.Value, k int) string {
	if v.Op == ir.Attention && k >= 3 || v.Op == ir.BiasTable {
		return "." + v.ArgNames()[k]
	}
	return r.names[min(k, len(r.names)-1):][:1]
}

// dropoutRule drops the same elements. If only relus read the result, dy is already 0
// there, because a relu passes no gradient at 0.
func dropoutRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	if t.onlyRelus(v) {
		return []*ir.Value{t.b.Map(times(ir.X(0, expr.F32), expr.F(1/(1-v.Attr.Rate))), dy)}
	}
	attr := v.Attr
	attr.Name = ""
	return []*ir.Value{t.b.Emit(ir.Dropout, attr, dy)}
}

func scaleGradRule(t *tape, v, dy *ir.Value, _ []*ir.Value) []*ir.Value {
	return []*ir.Value{t.b.Map(times(ir.X(0, expr.F32), v.Attr.Expr), dy)}
}

// onlyRelus reports whether v is read, and only by max(v, 0).
func (t *tape) onlyRelus(v *ir.Value) bool {
	relu := expr.New(expr.Max, ir.X(0, expr.F32), expr.F(0))
	read := false
	for _, u := range t.f.Values {
		if !slices.Contains(u.Args, v) {
			continue
		}
		if u.Op != ir.Map || !expr.Equal(u.Attr.Expr, relu) {
			return false
		}
		read = true
	}
	return read && !slices.ContainsFunc(t.f.Results, func(r ir.Result) bool { return r.Value == v })
}

// matMulRule is for y = a' b', where a' and b' are the operands as multiplied: da' = dy
// b'^T and db' = a'^T dy, each transposed back if its operand was. If b is unbatched, db'
// sums over all rows of a batch. dy gets the precision of the operands.
func matMulRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	a, b := args[0], args[1]
	dy = t.b.Like(a, dy)
	ta, tb := v.Attr.TransA, v.Attr.TransB
	matMul, outer := t.products(v)
	var da, db *ir.Value
	switch {
	case !ta:
		da = matMul(dy, b, false, !tb)
	case a.Type.Rank() == b.Type.Rank():
		da = matMul(b, dy, tb, true)
	default:
		da = t.flip(matMul(dy, b, false, !tb))
	}
	switch {
	case b.Type.Rank() == 2:
		if ta {
			a = t.flip(a)
		}
		if tb {
			db = outer(dy, a)
		} else {
			db = outer(a, dy)
		}
	case tb:
		db = matMul(dy, a, true, ta)
	default:
		db = matMul(a, dy, !ta, false)
	}
	return []*ir.Value{da, db}
}

// products returns matrix products in the precision of the product of.
func (t *tape) products(of *ir.Value) (matMul func(x, y *ir.Value, ta, tb bool) *ir.Value, outer func(x, y *ir.Value) *ir.Value) {
	split := of.Attr.Split
	matMul = func(x, y *ir.Value, ta, tb bool) *ir.Value {
		return t.b.Emit(ir.MatMul, ir.Attr{TransA: ta, TransB: tb, Split: split}, x, y)
	}
	return matMul, func(x, y *ir.Value) *ir.Value { return t.b.Emit(ir.Outer, ir.Attr{Split: split}, x, y) }
}

// flip transposes the last two axes.
func (t *tape) flip(x *ir.Value) *ir.Value {
	perm := make([]int, x.Type.Rank())
	for k := range perm {
		perm[k] = k
	}
	n := len(perm)
	perm[n-2], perm[n-1] = n-1, n-2
	return t.b.Transpose(x, perm...)
}

func outerRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	dy = t.b.Like(args[0], dy)
	matMul, _ := t.products(v)
	return []*ir.Value{matMul(args[1], dy, false, true), matMul(args[0], dy, false, false)}
}

func sumRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	x := v.Args[0]
	kept := t.b.Keep(dy, x, v.Attr.Axes...)
	return []*ir.Value{t.b.MapShape(ir.X(0, expr.F32), x.Type.Shape, kept)}
}

// maxRule shares the gradient among equal maxima.
func maxRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	x, axes := args[0], v.Attr.Axes
	keep := func(r *ir.Value) *ir.Value { return t.b.Keep(r, x, axes...) }
	top := keep(t.kept[v])
	is := expr.New(expr.Eq, ir.X(0, expr.F32), ir.X(1, expr.F32))
	hits := t.b.Map(expr.New(expr.Where, is, expr.F(1), expr.F(0)), x, top)
	share := expr.New(expr.Div, ir.X(2, expr.F32), ir.X(3, expr.F32))
	e := expr.New(expr.Where, is, share, expr.F(0))
	return []*ir.Value{t.b.Map(e, x, top, keep(dy), keep(t.b.Sum(hits, axes...)))}
}

func reshapeRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	return []*ir.Value{t.b.Reshape(dy, v.Args[0].Type.Shape...)}
}

func transposeRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	back := make([]int, len(v.Attr.Axes))
	for k, a := range v.Attr.Axes {
		back[a] = k
	}
	return []*ir.Value{t.b.Transpose(dy, back...)}
}

func gatherRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	rows := v.Args[0].Type.Shape[0].N
	return []*ir.Value{t.b.Scatter(args[1], dy, rows), nil}
}

func scatterRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	return []*ir.Value{nil, t.b.Gather(dy, args[0])}
}

// normRule is for a norm whose gradient is an op of its own. The gradient of gamma is the
// sum over rows of dy times the normalised row, and the op also gives the row's
// statistics. The gradient of beta, which only a norm that subtracts the mean has, is the
// sum of dy.
func normRule(grad ir.Op) gradients {
	return func(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
		result := func(name string) *ir.Value {
			return t.b.Emit(grad, ir.Attr{Eps: v.Attr.Eps, Result: name}, args[0], args[1], dy)
		}
		dx, x, from := result("x"), ir.X(0, expr.F32), []*ir.Value{args[0], dy, result("rstd")}
		if len(args) > 2 {
			x, from = expr.New(expr.Sub, x, ir.X(3, expr.F32)), append(from, result("mean"))
		}
		hat := expr.New(expr.Mul, x, ir.X(2, expr.F32))
		dgamma := t.b.Map(expr.New(expr.Mul, ir.X(1, expr.F32), hat), from...)
		out := []*ir.Value{dx}
		for i, dy := range []*ir.Value{dgamma, dy}[:len(args)-1] {
			out = append(out, t.b.SumTo(dy, args[1+i].Type.Shape))
		}
		return out
	}
}

// rotateRule rotates back. Angles depend only on positions, which have no gradient.
func rotateRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	if t.active[v.Args[1]] || t.active[v.Args[2]] {
		t.err = fmt.Errorf("%s: v%d: angles have no gradient", t.f.Name, v.ID)
	}
	back := t.b.Map(expr.New(expr.Neg, ir.X(0, expr.F32)), args[2])
	return []*ir.Value{t.b.Rotate(dy, args[1], back, v.Attr.Attn.Heads), nil, nil}
}

func repeatHeadsRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	return []*ir.Value{t.b.SumHeads(dy, v.Attr.Attn.Heads, v.Attr.Group)}
}

func sumHeadsRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	return []*ir.Value{t.b.RepeatHeads(dy, v.Attr.Attn.Heads, v.Attr.Group)}
}

// headProductRule is for y = x w, or x wᵀ, of each head's part.
func headProductRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	x, w := args[0], args[1]
	heads, transposed := v.Attr.Attn.Heads, v.Attr.TransB
	dx := t.b.HeadProduct(dy, w, !transposed, heads)
	if transposed {
		return []*ir.Value{dx, t.b.HeadOuter(dy, x, heads)}
	}
	return []*ir.Value{dx, t.b.HeadOuter(x, dy, heads)}
}

// attentionRule computes the gradients of an attention from values that the attention leaves: the
// largest score and the sum of each row. With factors of BF16 it also needs the rounded result.
func attentionRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	given := append(slices.Clone(args[:3]), t.b.Like(args[0], dy))
	for _, left := range t.left[v] {
		given = append(given, t.kept[left])
	}
	if args[0].Type.Elem.Narrow() {
		given = append(given, t.rounded(v))
	}
	return t.ofSite(ir.AttentionGrad, v, args, append(given, args[3:]...))
}

// tableRule gives gradients of the parameters of a bias table.
func tableRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	return t.ofSite(ir.BiasTableGrad, v, args, slices.Insert(slices.Clone(args), 0, dy))
}

// ofSite computes the gradients of v's arguments, which are kept as args, by op grad of given.
// Gradients of parameters are summed over examples and heads.
func (t *tape) ofSite(grad ir.Op, v *ir.Value, args, given []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(args))
	attr := ir.Attr{Attn: v.Attr.Attn, Rate: v.Attr.Rate, Stream: v.Attr.Stream}
	for k, name := range v.ArgNames() {
		if t.active[v.Args[k]] {
			attr.Result = name
			out[k] = t.b.SumTo(t.b.Emit(grad, attr, given...), args[k].Type.Shape)
		}
	}
	return out
}

// rounded is v rounded to BF16: what f rounds is not rounded again.
func (t *tape) rounded(v *ir.Value) *ir.Value {
	round := expr.New(expr.ToBF16, ir.X(0, expr.F32))
	for _, u := range t.f.Values {
		if u.Op == ir.Map && slices.Equal(u.Args, []*ir.Value{v}) && expr.Equal(u.Attr.Expr, round) {
			return t.kept[u]
		}
	}
	return t.b.Round(t.kept[v])
}

func crossEntropyRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	return []*ir.Value{t.b.Emit(ir.CrossEntropyGrad, ir.Attr{Rate: v.Attr.Rate}, args[0], args[1], dy), nil}
}
