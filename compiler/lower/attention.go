package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/scalars"
)

// An attention is shared by the forward and backward kernels. There are two lowerings: narrow
// windows use the queries as lanes, and all others use matrix products over blocks of queries.
// In both, the bits of a query's result do not depend on the launch's other queries.
type attention struct {
	*site
	window    ir.Window
	q, k, val source
	result    source     // the layout of results
	table     string     // buffer of the bias table, "" without one
	byLine    string     // buffer of the bias by distance [H, L], "" without one
	relative  string     // flat buffer of the relative scores, "" without them
	distances *expr.Expr // the number of relative scores of a query and head
	dh        *expr.Expr
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
	a := &attention{window: ir.WindowOf(attr.Mask), elem: q.Type.Elem, dh: num(q.Type.Shape[2].N / attr.Heads)}
	a.q, a.k = a.source(e, q, "q", 1), a.source(e, k, "k", v.Attr.Group)
	a.result = source{rows: size(q.Type.Shape[2]), heads: a.dh}
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

// A source is a flat buffer with a row of each head. Elements of such a row are adjacent.
type source struct {
	buf                   string
	layout                string     // sources of equal layouts have rows at equal places; "": as results
	examples, rows, heads *expr.Expr // distances of neighbours; examples is nil if all rows are consecutive
	group                 *expr.Expr // consecutive heads of queries that share a head; nil: 1
}

// source declares an input with a head for each group of so many heads of queries.
func (a *attention) source(e *emitter, v *ir.Value, name string, group int) source {
	width := v.Type.Shape[2]
	s := source{rows: size(width), heads: a.dh}
	if group > 1 {
		s.group, s.layout = num(group), name
	}
	apart := e.env.apart[v]
	if apart == nil {
		s.buf = e.flat(v, name)
		return s
	}
	names := scalars.Distances(apart.Name)
	distance := func(n int) *expr.Expr { return mul(ivar(names[n]), num(apart.Unit())) }
	s.rows, s.heads, s.layout = distance(1), distance(2), name
	extents := e.env.rows.extents(v.Type.Shape[:2])
	if len(extents) == 2 {
		s.examples = distance(0)
	}
	last := mul(sub(num(width.N/int(a.dh.I)), expr.Int(1)), s.heads)
	for k, each := range []*expr.Expr{s.examples, s.rows}[2-len(extents):] {
		last = add(last, mul(sub(extents[k], expr.Int(1)), each))
	}
	s.buf = e.in(v, name, add(last, a.dh))
	return s
}

// A headRow is row n of an example, in all sources.
type headRow struct {
	*attention
	name string
	of   example
	n    *expr.Expr
	at   map[string]*expr.Expr // the start of the cell's head, by layout
}

// in names the start of one head's part of the row. The name is computed once for all uses.
func (r *headRow) in(s source) *expr.Expr {
	if r.at[s.layout] == nil {
		head, name := r.h, r.name
		if s.group != nil {
			head = div(head, s.group)
		}
		if s.layout != "" {
			name += "_" + s.layout
		}
		place := mul(add(r.of.first, r.n), s.rows)
		if s.examples != nil {
			place = add(mul(r.b, s.examples), mul(r.n, s.rows))
		}
		r.at[s.layout] = r.let(name, add(place, mul(head, s.heads)))
	}
	return r.at[s.layout]
}

// place returns row n of an example. The name is for starts of the row.
func (a *attention) place(name string, of example, n *expr.Expr) *headRow {
	return &headRow{a, name, of, n, map[string]*expr.Expr{}}
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
	a.site.enter(func(n ir.Dim) example {
		switch n {
		case rows:
			return a.own
		case keys:
			return a.keyed
		}
		return a.example(b, n)
	})
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
func (a *attention) vector(tile string, s source, r *headRow) string {
	return a.load(tile, a.elem, s.buf, exprs{a.dh}, from(r.in(s)))
}

// part returns the place of one head's part of consecutive rows.
func part(s source, first *headRow) place {
	at := first.in(s)
	return func(i exprs) exprs { return exprs{add(add(at, mul(i[0], s.rows)), i[1])} }
}

// matrix loads one head's part of some rows.
func (a *attention) matrix(tile string, s source, first *headRow, rows *expr.Expr) string {
	return a.load(tile, a.elem, s.buf, exprs{rows, a.dh}, part(s, first))
}

// transposed loads one head's part of some rows as columns.
func (a *attention) transposed(tile string, s source, first *headRow, rows *expr.Expr) string {
	at := part(s, first)
	return a.load(tile, a.elem, s.buf, exprs{a.dh, rows}, func(i exprs) exprs { return at(swapped(i)) })
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
func (a *attention) storeMatrix(v *ir.Value, name string, first *headRow, rows *expr.Expr, tile string) {
	a.storeFlat(v, name, exprs{rows, a.dh}, part(a.result, first), func(i exprs) *expr.Expr { return elem(tile, i...) })
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
	a.val = a.source(e, v.Args[2], "v", v.Attr.Group)
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
