package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// An attention is shared by the forward and backward kernels. There are two lowerings: narrow
// windows use the queries as lanes, and all others use matrix products over blocks of queries.
// In both, the bits of a query's result do not depend on the launch's other queries.
type attention struct {
	*site
	window    ir.Window
	q, k, val string     // buffers, each flat: see place
	table     string     // buffer of the bias table, "" without one
	byLine    string     // buffer of the bias by distance [H, L], "" without one
	relative  string     // flat buffer of the relative scores, "" without them
	distances *expr.Expr // the number of relative scores of a query and head
	width, dh *expr.Expr
	largest   string    // flat buffers of the statistics that turn a row's scores into probabilities,
	norm      string    // "" if the kernel neither reads nor writes them
	elem      expr.Type // F32 or BF16: the type of queries, keys, values and factors of products

	b          *expr.Expr
	own, keyed example // the rows and keys of example b, at most rows and keys of them
}

// newAttention declares the inputs of the scores: queries, keys, relative scores, bias table,
// mask and bias.
func newAttention(e *emitter, v *ir.Value) *attention {
	q, k, attr := v.Args[0], v.Args[1], v.Attr.Attn
	a := &attention{window: ir.WindowOf(attr.Mask), elem: q.Type.Elem, q: e.flat(q, "q"), k: e.flat(k, "k")}
	a.width, a.dh = size(q.Type.Shape[2]), num(q.Type.Shape[2].N/attr.Heads)
	relative, table, params := v.SiteArgs()
	if relative != nil {
		a.relative = e.flat(relative, "relative")
	}
	switch {
	case attr.Line:
		a.byLine = e.in(table, "line", sizes(table.Type.Shape)...)
	case table != nil:
		a.table = e.in(table, "table", sizes(table.Type.Shape)...)
		e.bounded(q.Type.Shape[1], table.Type.Shape[1])
		e.bounded(k.Type.Shape[1], table.Type.Shape[2])
	}
	a.site = newSite(e, v, q.Type.Shape[1], k.Type.Shape[1], params)
	if attr.Relative > 0 {
		a.distances = num(2*attr.Relative + 1)
	}
	return a
}

// bounded says that an extent of a launch is at most one of a table, if that is constant.
func (e *emitter) bounded(extent, most ir.Dim) {
	if extent.Sym != "" && most.Sym == "" {
		e.k.AtMost(extent.Sym, int64(most.N))
	}
}

// flat declares the buffer of an input as one axis.
func (e *emitter) flat(v *ir.Value, name string) string {
	return e.in(v, name, e.elements(v.Type.Shape))
}

// cells declares the grid: heads and, if examples is set, examples. Otherwise each cell loops
// over the examples.
func (a *attention) cells(examples bool) {
	if examples {
		a.enter(a.grid("b", ivar("B")))
	}
	a.h = a.grid("h", a.heads)
}

// enter starts example b.
func (a *attention) enter(b *expr.Expr) {
	rows, keys := a.v.Args[0].Type.Shape[1], a.v.Args[1].Type.Shape[1]
	a.b, a.own = b, a.example(b, rows)
	if a.keyed = a.own; keys != rows {
		a.keyed = a.example(b, keys)
	}
	a.site.enter(b, func(n ir.Dim) example {
		switch n {
		case rows:
			return a.own
		case keys:
			return a.keyed
		}
		return a.example(b, n)
	})
}

// place names the start of one head's part of row n of an example. The name is computed once
// for all uses.
func (a *attention) place(name string, of example, n *expr.Expr) *expr.Expr {
	return a.let(name, add(mul(add(of.first, n), a.width), mul(a.h, a.dh)))
}

// ofRow returns the head's index for row n of an example, in an array of rows by heads.
func (a *attention) ofRow(n *expr.Expr) *expr.Expr {
	return add(mul(add(a.own.first, n), a.heads), a.h)
}

// distance returns the index of the first relative score of row n of an example.
func (a *attention) distance(n *expr.Expr) *expr.Expr {
	return mul(a.ofRow(n), a.distances)
}

// vector loads one head's part of a row.
func (a *attention) vector(tile, buf string, place *expr.Expr) string {
	return a.load(tile, a.elem, buf, exprs{a.dh}, from(place))
}

// part returns the place of one head's part of consecutive rows.
func (a *attention) part(place *expr.Expr) place {
	return func(i exprs) exprs { return exprs{add(add(place, mul(i[0], a.width)), i[1])} }
}

// matrix loads one head's part of some rows.
func (a *attention) matrix(tile, buf string, place, rows *expr.Expr) string {
	return a.load(tile, a.elem, buf, exprs{rows, a.dh}, a.part(place))
}

// transposed loads one head's part of some rows as columns.
func (a *attention) transposed(tile, buf string, place, rows *expr.Expr) string {
	return a.load(tile, a.elem, buf, exprs{a.dh, rows}, func(i exprs) exprs { return a.part(place)(swapped(i)) })
}

// widened returns an element of a tile of queries, keys or values in F32.
func (a *attention) widened(tile string, at ...*expr.Expr) *expr.Expr {
	x := expr.NewElem(tile, a.elem, at...)
	if a.elem.Narrow() {
		return expr.New(expr.ToF32, x)
	}
	return x
}

// lineIndex returns the place, in a line, of query i of the sequence and key j.
func (a *attention) lineIndex(i, j *expr.Expr) *expr.Expr { return at(a.bound(ir.LineIndex()), i, j) }

// scaled returns x times the site's scale.
func (a *attention) scaled(x *expr.Expr) *expr.Expr { return mul(x, expr.F(a.attr.Scale)) }

// draw fills a tile with n random words of the example, starting at word base.
func (a *attention) draw(n, base *expr.Expr) string {
	words := a.tile("bits", expr.U32, n)
	example := expr.New(expr.Add, firstExample, expr.New(expr.AsU32, a.b))
	a.random(words, base, example, a.v.Attr.Stream)
	return words
}

// drop applies dropout to the value x with word n, if there are words.
func (a *attention) drop(x *expr.Expr, words string, n *expr.Expr) *expr.Expr {
	if words == "" {
		return x
	}
	return dropped(x, expr.NewElem(words, expr.U32, n), a.v.Attr.Rate)
}

// mapRow sets row r of a matrix tile of n columns.
func (a *attention) mapRow(tile string, r, n *expr.Expr, f element) {
	a.fill(tile, exprs{n}, func(i exprs) exprs { return exprs{r, i[0]} }, func(i exprs) *expr.Expr { return f(i[0]) })
}

// addTo adds a value to an element of a tile for all values of axes.
func (e *emitter) addTo(tile string, shape exprs, at place, value func(i exprs) *expr.Expr) {
	e.fill(tile, shape, at, func(i exprs) *expr.Expr { return add(elem(tile, at(i)...), value(i)) })
}

// storeFlat writes a part of the flat buffer of v, and of each group member that is computed
// from v elementwise.
func (a *attention) storeFlat(v *ir.Value, name string, shape exprs, at place, value func(i exprs) *expr.Expr) {
	a.stored(v, value, func(w *ir.Value, value func(i exprs) *expr.Expr) {
		a.store(w, a.out(w, name, a.elements(w.Type.Shape)), shape, at, value)
	})
}

// storeMatrix writes a tile [rows, dh] to one head's part of rows in the buffer of v.
func (a *attention) storeMatrix(v *ir.Value, name string, place, rows *expr.Expr, tile string) {
	a.storeFlat(v, name, exprs{rows, a.dh}, a.part(place), func(i exprs) *expr.Expr { return elem(tile, i...) })
}

// softmaxScale returns the factor from a row's exponentials, whose sum is total, to
// probabilities: 0 if no key is open.
func softmaxScale(total *expr.Expr) *expr.Expr {
	return where(lt(expr.F(0), total), div(expr.F(1), total), expr.F(0))
}

// probability returns the probability of a score from the statistics of its row.
func probability(score, largest, norm *expr.Expr) *expr.Expr {
	return mul(expr.New(expr.Exp, sub(score, largest)), norm)
}

// statistic declares the buffer of a result with one number per row and head, if the group has
// that result.
func (a *attention) statistic(name string) string {
	v := a.results()[name]
	if v == nil {
		return ""
	}
	return a.out(v, name+"_", a.elements(v.Type.Shape))
}

// left names a statistic of row n of an example.
func (a *attention) left(name, statistic string, n *expr.Expr) *expr.Expr {
	return a.element(name, expr.F32, statistic, a.ofRow(n))
}

// leave stores a statistic of row n of an example.
func (a *attention) leave(statistic string, n, value *expr.Expr) {
	if statistic != "" {
		a.set(statistic, value, a.ofRow(n))
	}
}

// lowerAttention computes softmax(scale q·k + bias) v over the open keys of each query. A query
// without open keys gives zeros. For the gradient, it stores the largest score and the norm of
// each row: the gradient then recomputes probabilities without a sum. Their one logarithm would
// take half the memory, and cost a logarithm per row.
func lowerAttention(e *emitter, v *ir.Value) {
	a := newAttention(e, v)
	a.val = e.flat(a.v.Args[2], "v")
	a.largest, a.norm = a.statistic("largest"), a.statistic("norm")
	a.cells(true)
	if w := a.window.Narrow; w != nil {
		a.narrow(w).forward()
		return
	}
	a.dense().forward()
}

// lowerAttentionWeights stores the probabilities or the scores of all cells, in blocks of
// queries. Closed cells have results too, so all keys are computed.
func lowerAttentionWeights(e *emitter, v *ir.Value) {
	a := newAttention(e, v)
	a.window = ir.Window{}
	a.cells(true)
	d := a.dense()
	d.enterCell()
	d.scores()
	if a.v.Attr.Result == "weights" {
		d.loop("r", d.height, func(r *expr.Expr) {
			_, norm := d.softmax(r)
			d.mapRow(d.weights, r, d.count, func(e *expr.Expr) *expr.Expr { return mul(elem(d.weights, r, e), norm) })
		})
	}
	buf := e.out(a.v, "y", sizes(a.v.Type.Shape)...)
	e.copyOut(d.weights, buf, func(i exprs) exprs { return exprs{a.b, a.h, add(d.first, i[0]), i[1]} })
}
