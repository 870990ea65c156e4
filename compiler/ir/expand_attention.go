package ir

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// A cellular expands an attention. Its values [B, H, T, J] are over the cells (h, i, j).
// Parameters are further arguments of their Maps.
type cellular struct {
	b       *Builder
	v       *Value
	params  []*Value
	q, k    *Value     // [B, H, T or J, dh]
	keysDim Dim        // J
	mask    *expr.Expr // over cell variables; parameter n is x{n+base}
	bias    *expr.Expr
	scale   *expr.Expr
	scores  *Value // closed cells are -3e38
}

// paramBase is the number of arguments before the parameters in cell Maps.
const paramBase = 3

func expandAttention(b *Builder, v *Value, args []*Value) *Value {
	c := newCellular(b, v, args)
	e, largest, norm := c.softmax()
	switch v.Attr.Result {
	case "largest":
		return c.ofRows(largest)
	case "norm":
		return c.ofRows(norm)
	}
	return c.join(b.MatMul(c.factor(c.dropout(b.Mul(e, norm))), c.ofKeys(args[2]), false, false), args[0].Type.Shape)
}

func expandAttentionWeights(b *Builder, v *Value, args []*Value) *Value {
	c := newCellular(b, v, args)
	if v.Attr.Result == "weights" {
		e, _, norm := c.softmax()
		return b.Mul(e, norm)
	}
	return c.cells(expr.New(expr.Where, c.mask, x0, expr.F(math.Inf(-1))), c.scores)
}

func expandAttentionGrad(b *Builder, v *Value, args []*Value) *Value {
	c := newCellular(b, v, args)
	dout := c.split(args[3])
	probs := b.Mul(c.exponentials(c.split(args[4])), c.split(args[5]))
	if v.Attr.Result == "v" {
		return c.join(b.MatMul(c.factor(c.dropout(probs)), dout, true, false), v.Type.Shape)
	}
	dprobs := c.dropout(b.MatMul(dout, c.ofKeys(args[2]), false, true))
	delta := sumLast(b, c.along(dprobs, probs, dout, args))
	dscores := b.Map(bin(expr.Mul, x0, bin(expr.Sub, x1, x2)), probs, dprobs, delta)
	scaled := func() *Value { return c.factor(b.Map(bin(expr.Mul, x0, c.scale), dscores)) }
	switch v.Attr.Result {
	case "q":
		return c.join(b.MatMul(scaled(), c.k, false, false), v.Type.Shape)
	case "k":
		return c.join(b.MatMul(scaled(), c.q, true, false), v.Type.Shape)
	case "relative":
		relative, _, _ := v.siteArgs(args)
		return c.relativeGrad(dscores, relative)
	}
	switch a := v.Attr.Attn; {
	case a.Table:
		return c.tableGrad(dscores, v.Type.Shape)
	case a.Line:
		return c.lineGrad(dscores, v.Type.Shape)
	}
	for n, name := range v.Attr.Attn.Params {
		if name == v.Attr.Result {
			return c.paramGrad(n, dscores)
		}
	}
	panic("BUG: attention has no gradient " + v.Attr.Result)
}

// along is what adds up to the product of a query's result and its gradient dout. In F32 a
// row of one open key has no gradient of its score, since its term is the same number.
// Factors of BF16 are rounded by more than that, and products of rows need no probabilities.
func (c *cellular) along(dprobs, probs, dout *Value, args []*Value) *Value {
	if !c.v.narrow() {
		return c.b.Mul(dprobs, probs)
	}
	return c.b.Mul(c.b.Widen(dout), c.b.Widen(c.split(args[6])))
}

// expandBiasTable evaluates the bias at the cells of one example.
func expandBiasTable(b *Builder, v *Value, params []*Value) *Value {
	shape := cellsOf(v.Type)
	c := &cellular{b: b, v: v, params: params, keysDim: shape[3]}
	c.site()
	cell := b.MapShape(expr.F(0), shape)
	return b.Reshape(c.cells(expr.New(expr.Where, c.mask, c.bias, x0), cell), v.Type.Shape...)
}

// cellsOf returns the shape [1, H, T, J] of a table's cells.
func cellsOf(table Type) []Dim {
	return []Dim{N(1), table.Shape[0], TableRows(table), table.Shape[table.Rank()-1]}
}

func expandBiasTableGrad(b *Builder, v *Value, args []*Value) *Value {
	shape := cellsOf(args[0].Type)
	c := &cellular{b: b, v: v, params: args[1:], keysDim: shape[3]}
	c.site()
	cells := b.Reshape(args[0], shape...)
	n := slices.Index(v.Attr.Attn.Params, v.Attr.Result)
	return b.Reshape(c.paramGrad(n, cells), v.Type.Shape...)
}

func newCellular(b *Builder, v *Value, args []*Value) *cellular {
	c := &cellular{b: b, v: v, scale: expr.F(v.Attr.Attn.Scale)}
	c.q, c.k = c.split(args[0]), c.ofKeys(args[1])
	c.keysDim = c.k.Type.Shape[2]
	var relative, table *Value
	relative, table, c.params = v.siteArgs(args)
	c.site()
	parts := []*Value{b.MatMul(c.q, c.k, false, true)}
	if relative != nil {
		at := expr.NewElem("x1", expr.F32, D(0), D(1), D(2), c.distance())
		parts[0] = c.cells(bin(expr.Add, x0, at), parts[0], c.split(relative))
	}
	switch {
	case v.Attr.Attn.Line:
		parts, c.bias = append(parts, table), expr.NewElem("x1", expr.F32, D(1), c.overCells(LineIndex()))
	case table != nil:
		if parts, c.bias = append(parts, table), x1; !slices.Equal(table.Type.Shape[1:], []Dim{c.q.Type.Shape[2], c.keysDim}) {
			c.bias = expr.NewElem("x1", expr.F32, D(1), D(2), D(3)) // of a larger table
		}
	}
	// Closed cells get the score -3e38, so that a row's maximum is finite. After exp
	// their weight is set to 0.
	closed := expr.F(-3e38)
	biased := bin(expr.Add, bin(expr.Mul, x0, c.scale), c.bias)
	c.scores = c.cells(expr.New(expr.Where, c.mask, biased, closed), parts...)
	return c
}

// exponentials are those of what the scores differ from a row's largest; 0 at closed cells.
func (c *cellular) exponentials(largest *Value) *Value {
	e := expr.New(expr.Exp, bin(expr.Sub, x0, x1))
	return c.cells(expr.New(expr.Where, c.mask, e, expr.F(0)), c.scores, largest)
}

// softmax is, before dropout, the product of exponentials and norm; largest and norm are 0 in
// rows without open cells.
func (c *cellular) softmax() (e, largest, norm *Value) {
	top := maxLast(c.b, c.scores)
	if c.v.Attr.Attn.Table { // it may have -Inf at all keys of a query
		minusInf := expr.F(math.Inf(-1))
		top = c.b.Map(expr.New(expr.Where, bin(expr.Eq, x0, minusInf), expr.F(0), x0), top)
	}
	e = c.exponentials(top)
	total := sumLast(c.b, e)
	open := bin(expr.Lt, expr.F(0), x0)
	largest = c.b.Map(expr.New(expr.Where, open, x1, expr.F(0)), total, top)
	return e, largest, c.b.Map(expr.New(expr.Where, open, bin(expr.Div, expr.F(1), x0), expr.F(0)), total)
}

// ofRows makes [B, T, H] of [B, H, T, 1].
func (c *cellular) ofRows(x *Value) *Value {
	return c.b.Reshape(c.b.Transpose(x, 0, 2, 1, 3), c.v.Type.Shape...)
}

// factor returns x in the precision of the products.
func (c *cellular) factor(x *Value) *Value { return c.b.Like(c.q, x) }

// split returns [B, H, rows, dh] for x [B, rows, H*dh].
func (c *cellular) split(x *Value) *Value {
	return c.b.Transpose(splitHeads(c.b, x, c.v.Attr.Attn.Heads), 0, 2, 1, 3)
}

// ofKeys is split for keys or values, with a head for each head of queries.
func (c *cellular) ofKeys(x *Value) *Value {
	if group := c.v.Attr.Group; group > 1 {
		x = c.b.RepeatHeads(x, c.v.Attr.Attn.Heads, group)
	}
	return c.split(x)
}

// join undoes split.
func (c *cellular) join(x *Value, shape []Dim) *Value {
	return c.b.Reshape(c.b.Transpose(x, 0, 2, 1, 3), shape...)
}

// cells returns a Map over the cells, of up to paramBase values [B, H, T, J or 1] and the
// parameters. The first value has the full shape.
func (c *cellular) cells(e *expr.Expr, vs ...*Value) *Value {
	e, args := Compact(e, c.args(vs...))
	return c.b.MapShape(e, vs[0].Type.Shape, args...)
}

// args returns all arguments of a cell Map, including unused ones.
func (c *cellular) args(vs ...*Value) []*Value {
	for len(vs) < paramBase {
		vs = append(vs, vs[0])
	}
	return slices.Concat(vs, c.params)
}

// site translates mask and bias to cell Maps.
func (c *cellular) site() {
	a := c.v.Attr.Attn
	c.mask, c.bias = expr.B(true), expr.F(0)
	if a.Mask != nil {
		c.mask = c.overCells(a.Mask)
	}
	if a.Bias != nil {
		c.bias = c.overCells(a.Guarded())
	}
}

func (c *cellular) overCells(e *expr.Expr) *expr.Expr {
	a := c.v.Attr.Attn
	e = expr.Subst(e, map[string]*expr.Expr{
		"h": D(1), "i": c.row(), "j": D(3),
		"H": expr.Int(int64(a.Heads)), "I": c.total(), "J": c.keys(),
	})
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		for n, name := range a.Params {
			if e.Op == expr.Elem && e.Name == name {
				at := e.Args
				if ofExamples(c.params[n].Type) {
					at = slices.Concat([]*expr.Expr{D(0)}, at)
				}
				return expr.NewElem(X(paramBase+n, expr.F32).Name, e.Type, at...)
			}
		}
		return e
	})
}

// row returns i, the target row within the whole sequence.
func (c *cellular) row() *expr.Expr { return bin(expr.Add, Sym("P").Expr(), D(2)) }

// total returns I, the number of rows in the whole sequence. In self attention it equals
// the number of keys.
func (c *cellular) total() *expr.Expr {
	if c.v.Attr.Attn.Self {
		return c.keys()
	}
	return Sym("C").Expr()
}

// keys returns J.
func (c *cellular) keys() *expr.Expr { return c.keysDim.Expr() }

// dropout drops cells. Their random words are (h*T + t)*J' + j, where t is the row in
// this launch, or (h*W + n)*T' + t if j is key n of a narrow window with width W. T and J
// are the rows and keys of AttnAttr.CountedBy. J' and T' are rounded up to whole Philox
// blocks.
func (c *cellular) dropout(x *Value) *Value {
	rate, stream := c.v.Attr.Rate, c.v.Attr.Stream
	if rate == 0 {
		return x
	}
	rows, keys := c.v.Attr.Attn.CountedBy(c.q.Type.Shape[2].Expr(), c.keys())
	row := bin(expr.Add, bin(expr.Mul, D(1), rows), D(2))
	cell := bin(expr.Add, bin(expr.Mul, row, WholeBlocks(keys)), D(3))
	if w := WindowOf(c.v.Attr.Attn.Mask).Narrow; w != nil {
		n, width := bin(expr.Sub, D(3), c.overCells(w.Lo)), expr.Int(int64(w.Width))
		column := bin(expr.Add, bin(expr.Mul, D(1), width), n)
		cell = bin(expr.Add, bin(expr.Mul, column, WholeBlocks(rows)), D(2))
		inside := bin(expr.And, bin(expr.Le, expr.Int(0), n), bin(expr.Lt, n, width))
		cell = expr.New(expr.Where, inside, cell, expr.Int(0))
	}
	return c.b.Emit(Dropout, Attr{Rate: rate, Stream: stream, Expr: cell}, x)
}

// tableGrad sums the scores' gradients over the examples, at the cells of a table with
// the given shape. Cells outside the launch are 0.
func (c *cellular) tableGrad(dscores *Value, shape []Dim) *Value {
	sum := c.b.Sum(dscores, 0)
	if slices.Equal(sum.Type.Shape, shape) {
		return sum
	}
	rows, keys := sum.Type.Shape[1].Expr(), sum.Type.Shape[2].Expr()
	clamped := func(x, n *expr.Expr) *expr.Expr { return bin(expr.Min, x, bin(expr.Sub, n, expr.Int(1))) }
	inside := bin(expr.And, bin(expr.Lt, D(1), rows), bin(expr.Lt, D(2), keys))
	at := expr.NewElem("x0", expr.F32, D(0), clamped(D(1), rows), clamped(D(2), keys))
	return c.b.MapShape(expr.New(expr.Where, inside, at, expr.F(0)), shape, sum)
}

// lineGrad sums the scores' gradients of each example and head along the distances.
func (c *cellular) lineGrad(dscores *Value, shape []Dim) *Value {
	s := dscores.Type.Shape
	hit := bin(expr.Eq, c.overCells(LineIndex()), D(4))
	column := c.b.Reshape(dscores, slices.Concat(s, []Dim{N(1)})...)
	each := c.b.MapShape(expr.New(expr.Where, hit, x0, expr.F(0)), slices.Concat(s, shape[2:]), column)
	return c.b.Sum(each, 2, 3)
}

// distance returns the index of a cell's relative score.
func (c *cellular) distance() *expr.Expr { return c.overCells(c.v.Attr.Attn.Distance()) }

// relativeGrad returns the gradients of the products q·k, summed over the keys at each
// distance. It has the shape of like.
func (c *cellular) relativeGrad(dscores, like *Value) *Value {
	s := dscores.Type.Shape
	hit := bin(expr.Eq, c.distance(), D(4))
	column := c.b.Reshape(dscores, slices.Concat(s, []Dim{N(1)})...)
	shape := slices.Concat(s, []Dim{N(2*c.v.Attr.Attn.Relative + 1)})
	each := c.b.MapShape(expr.New(expr.Where, hit, bin(expr.Mul, x0, c.scale), expr.F(0)), shape, column)
	return c.join(c.b.Sum(each, 3), like.Type.Shape)
}

// paramGrad returns [B, H, parameter…]: dscores times the derivative of the bias with
// respect to each element of parameter n, summed over the cells of an example and head
// that read the element.
func (c *cellular) paramGrad(n int, dscores *Value) *Value {
	param := c.params[n].Type
	name := X(paramBase+n, expr.F32).Name
	var sum *Value
	for _, elem := range expr.Elems(c.bias) {
		if elem.Name != name {
			continue
		}
		slope := bin(expr.Mul, x0, expr.Diff(c.bias, elem))
		d := c.cells(expr.New(expr.Where, c.mask, slope, expr.F(0)), dscores)
		part := c.b.Sum(c.spread(d, elem, param), 2, 3)
		if sum != nil {
			part = c.b.Add(sum, part)
		}
		sum = part
	}
	shape := slices.Concat(dscores.Type.Shape[:2], param.Shape)
	if sum == nil {
		return c.b.Zeros(shape...)
	}
	return c.b.Reshape(sum, shape...)
}

// spread puts each cell's value at the element of the parameter that the cell reads as
// elem: [B, H, T, J, elements of the parameter].
func (c *cellular) spread(d *Value, elem *expr.Expr, param Type) *Value {
	size, at := 1, expr.Int(0)
	for a, dim := range param.Shape {
		size *= dim.N
		at = bin(expr.Add, bin(expr.Mul, at, dim.Expr()), elem.Args[a])
	}
	column := c.b.Reshape(d, slices.Concat(d.Type.Shape, []Dim{N(1)})...)
	e := expr.New(expr.Where, bin(expr.Eq, at, D(4)), x0, expr.F(0))
	e, args := Compact(e, c.args(column))
	return c.b.MapShape(e, slices.Concat(d.Type.Shape, []Dim{N(size)}), args...)
}
