package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// An attention is what its forward and backward kernels share. There are two
// lowerings: one for narrow windows, with the queries as lanes, and one for all
// others, with matrix products over blocks of queries. In both a query's result
// is the same to the last bit whatever other queries a launch computes.
type attention struct {
	*site
	window    ir.Window
	q, k, val string // buffers, each flat: see place
	table     string // buffer of the bias table, if there is one
	relative  string // buffer of the relative scores, if there are any, flat
	width, dh *expr.Expr
	b         *expr.Expr
}

// newAttention declares the buffers of queries, keys and what makes scores of them.
func newAttention(e *emitter) *attention {
	v := e.group.Anchors[0]
	q, k := v.Args[0], v.Args[1]
	at := &attention{window: ir.WindowOf(v.Attr.Attn.Mask)}
	at.width, at.dh = size(q.Type.Shape[2]), expr.Int(int64(q.Type.Shape[2].N/v.Attr.Attn.Heads))
	at.q = e.in(q, "q", product(q.Type.Shape))
	at.k = e.in(k, "k", product(k.Type.Shape))
	relative, table, leaves := v.SiteArgs()
	if relative != nil {
		at.relative = e.in(relative, "relative", product(relative.Type.Shape))
	}
	if table != nil {
		at.table = e.in(table, "table", sizes(table.Type.Shape)...)
	}
	at.site = newSite(e, q.Type.Shape[1], k.Type.Shape[1], leaves)
	return at
}

// values declares the buffer of the values.
func (at *attention) values() {
	v := at.v.Args[2]
	at.val = at.in(v, "v", product(v.Type.Shape))
}

// cells makes the grid: examples, unless they are summed over in each cell, and
// heads.
func (at *attention) cells(examples bool) {
	if examples {
		at.b = at.grid("b", ivar("B"))
	}
	at.h = at.grid("h", expr.Int(int64(at.v.Attr.Attn.Heads)))
}

// place names where one head's part of row n of an example begins in a buffer of
// that many rows, so that it is computed once for all that read there.
func (at *attention) place(name string, rows, n *expr.Expr) *expr.Expr {
	return at.let(name, add(mul(add(mul(at.b, rows), n), at.width), mul(at.h, at.dh)))
}

// distance is where the relative scores of row n of an example begin.
func (at *attention) distance(n *expr.Expr) *expr.Expr {
	attr := at.v.Attr.Attn
	row := add(mul(add(mul(at.b, at.rows), n), expr.Int(int64(attr.Heads))), at.h)
	return mul(row, expr.Int(int64(2*attr.Relative+1)))
}

// vector loads one head's part of a row.
func (at *attention) vector(tile, buf string, place *expr.Expr) string {
	return at.load(tile, expr.F32, buf, []*expr.Expr{at.dh}, func(a []*expr.Expr) []*expr.Expr {
		return []*expr.Expr{add(place, a[0])}
	})
}

// matrix loads one head's part of some rows, transposed or not.
func (at *attention) matrix(tile, buf string, place, rows *expr.Expr, transposed bool) string {
	shape := []*expr.Expr{rows, at.dh}
	if transposed {
		shape = []*expr.Expr{at.dh, rows}
	}
	return at.load(tile, expr.F32, buf, shape, func(a []*expr.Expr) []*expr.Expr {
		if transposed {
			a = []*expr.Expr{a[1], a[0]}
		}
		return at.element(place, a)
	})
}

// element is the index of an element of a matrix of one head's parts of rows.
func (at *attention) element(place *expr.Expr, a []*expr.Expr) []*expr.Expr {
	return []*expr.Expr{add(add(place, mul(a[0], at.width)), a[1])}
}

// scaled is x times the site's scale.
func (at *attention) scaled(x *expr.Expr) *expr.Expr { return mul(x, expr.F(at.v.Attr.Attn.Scale)) }

// draw fills a tile of n random words from word base of the example on.
func (at *attention) draw(n, base *expr.Expr) string {
	words := at.tile("bits", expr.U32, n)
	example := expr.New(expr.Add, firstExample, expr.New(expr.AsU32, at.b))
	at.random(words, base, example, at.v.Attr.Stream)
	return words
}

// drop applies dropout to the value x with word n, if there are words.
func (at *attention) drop(x *expr.Expr, words string, n *expr.Expr) *expr.Expr {
	if words == "" {
		return x
	}
	return dropped(x, expr.NewElem(words, expr.U32, n), at.v.Attr.Rate)
}

// mapRow sets row r of a matrix tile of n columns.
func (at *attention) mapRow(tile string, r, n *expr.Expr, f element) {
	as, vs := axes([]*expr.Expr{n})
	at.setOver(as, tile, []*expr.Expr{r, vs[0]}, f(vs[0]))
}

// addRow adds to row r of a matrix tile of n columns.
func (at *attention) addRow(tile string, r, n *expr.Expr, f element) {
	at.mapRow(tile, r, n, func(e *expr.Expr) *expr.Expr { return add(elem(tile, r, e), f(e)) })
}

// storeVector writes one head's part of a row of the buffer of v.
func (at *attention) storeVector(v *ir.Value, name string, place *expr.Expr, value element) {
	buf := at.out(v, name, product(v.Type.Shape))
	as, vs := axes([]*expr.Expr{at.dh})
	x := value(vs[0])
	if at.env.accumulate[v] {
		x = add(elem(at.vector("old", buf, place), vs...), x)
	}
	at.setOver(as, buf, []*expr.Expr{add(place, vs[0])}, x)
}

// storeMatrix writes a tile [rows, dh] to one head's part of rows of the buffer of v.
func (at *attention) storeMatrix(v *ir.Value, name string, place, rows *expr.Expr, tile string) {
	buf := at.out(v, name, product(v.Type.Shape))
	as, vs := axes([]*expr.Expr{rows, at.dh})
	x := elem(tile, vs...)
	if at.env.accumulate[v] {
		x = add(elem(at.matrix("old", buf, place, rows, false), vs...), x)
	}
	at.setOver(as, buf, at.element(place, vs), x)
}

// softmaxScale is the factor that turns the exponentials of a row, which sum to
// total, into probabilities: 0 where no key is open.
func softmaxScale(total *expr.Expr) *expr.Expr {
	return where(lt(expr.F(0), total), div(expr.F(1), total), expr.F(0))
}

// lowerAttention computes softmax(scale q·k + bias) v over the open keys of each
// query; a query without open keys gives zeros.
func lowerAttention(e *emitter) error {
	at := newAttention(e)
	at.values()
	at.cells(true)
	if w := at.window.Narrow; w != nil {
		at.narrow(w).forward()
		return nil
	}
	d := at.dense()
	d.forward(at.grid("m", ceilDiv(at.rows, blockRows)))
	return nil
}

// lowerAttentionWeights stores the probabilities or the scores of all cells, in
// blocks of queries. Closed cells have a result too, so that no key is left out.
func lowerAttentionWeights(e *emitter) error {
	at := newAttention(e)
	at.window = ir.Window{}
	at.cells(true)
	d := at.dense()
	d.block(at.grid("m", ceilDiv(at.rows, blockRows)))
	d.scores()
	if at.v.Attr.Result == "weights" {
		d.loop("r", d.height, func(r *expr.Expr) {
			norm := d.softmax(r)
			d.mapRow(d.weights, r, d.count, func(e *expr.Expr) *expr.Expr { return mul(elem(d.weights, r, e), norm) })
		})
	}
	buf := e.out(at.v, "y", sizes(at.v.Type.Shape)...)
	as, vs := axes([]*expr.Expr{d.height, d.count})
	e.setOver(as, buf, []*expr.Expr{at.b, at.h, add(d.first, vs[0]), vs[1]}, elem(d.weights, vs...))
	return nil
}
