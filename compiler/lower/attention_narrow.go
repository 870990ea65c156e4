package lower

import (
	"fmt"
	"math"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A narrow attention has a window of few keys. Key n of query t is lo(t) + n, clipped to the
// keys that exist. Tiles are [W, T]: queries are lanes, and the keys of a window are unrolled.
type narrow struct {
	*attention
	lo      *expr.Expr // over i
	width   int
	open    *expr.Expr // over i and j: the mask's condition besides the window
	weights string     // tile of scores, then probabilities
}

func (a *attention) narrow(w *ir.Narrow) *narrow {
	n := &narrow{attention: a, lo: a.bound(w.Lo), width: w.Width, open: a.bound(w.Rest)}
	n.weights = n.columns("p")
	return n
}

// columns declares a tile [W, T].
func (a *narrow) columns(name string) string {
	return a.tile(name, expr.F32, num(a.width), a.own.rows)
}

// each runs f for each key of a window.
func (a *narrow) each(f func(n *expr.Expr)) {
	for n := range a.width {
		f(num(n))
	}
}

// mapKeys sets a tile [W, T].
func (a *narrow) mapKeys(tile string, f func(n, t *expr.Expr) *expr.Expr) {
	a.each(func(n *expr.Expr) {
		a.mapRow(tile, n, a.own.rows, func(t *expr.Expr) *expr.Expr { return f(n, t) })
	})
}

// fold combines one term per key, in order.
func (a *narrow) fold(op expr.Op, f func(n *expr.Expr) *expr.Expr) *expr.Expr {
	var x *expr.Expr
	a.each(func(n *expr.Expr) {
		if term := f(n); x == nil {
			x = term
		} else {
			x = expr.New(op, x, term)
		}
	})
	return x
}

// key returns the key that query t reads as key n, and the condition for it to be open.
func (a *narrow) key(t, n *expr.Expr) (j, open *expr.Expr) {
	i := queryOf(t)
	free := add(expr.Subst(a.lo, map[string]*expr.Expr{"i": i}), n)
	last := sub(a.keyed.rows, expr.Int(1))
	j = expr.Simplify(expr.New(expr.Max, expr.New(expr.Min, free, last), expr.Int(0)))
	open = expr.New(expr.And, le(expr.Int(0), free), lt(free, a.keyed.rows))
	if a.open != nil {
		open = expr.New(expr.And, open, at(a.open, i, j))
	}
	return j, open
}

// A query is a row of queries and the keys of its window, with their places.
type query struct {
	t      *expr.Expr
	row    *headRow
	keys   exprs
	places []*headRow // of the keys
}

// queries runs f for each query.
func (a *narrow) queries(f func(q *query)) {
	a.loop("t", a.own.rows, func(t *expr.Expr) {
		q := &query{t: t, row: a.place("query", a.own, t)}
		q.row.in(a.q)
		a.each(func(n *expr.Expr) {
			j, _ := a.key(t, n)
			q.keys = append(q.keys, a.let(fmt.Sprintf("j%d", n.I), j))
			q.places = append(q.places, a.place(fmt.Sprintf("key%d", n.I), a.keyed, q.keys[n.I]))
			q.places[n.I].in(a.k)
		})
		f(q)
	})
}

// vectors loads the rows of a buffer at a query's keys.
func (a *narrow) vectors(name string, s source, q *query) []string {
	var tiles []string
	for n, place := range q.places {
		tiles = append(tiles, a.vector(fmt.Sprintf("%s%d", name, n), s, place))
	}
	return tiles
}

// product names the product of two vectors.
func (a *narrow) product(name string, x, y string) *expr.Expr {
	return a.reduce(name, expr.Add, a.dh, func(e *expr.Expr) *expr.Expr { return mul(a.widened(x, e), a.widened(y, e)) })
}

// factor returns a tile [W, T] as a factor of products with vectors, rounded if the vectors
// are.
func (a *narrow) factor(name, tile string) string {
	if !a.elem.Narrow() {
		return tile
	}
	r := a.columns(name)
	a.mapKeys(r, func(n, t *expr.Expr) *expr.Expr { return expr.New(expr.ToF32, expr.New(expr.ToBF16, elem(tile, n, t))) })
	return r
}

// scores stores the scores of a query in the tile of weights: the scaled products with its
// keys, plus relative scores and the bias of a table or line. biased adds the rest.
func (a *narrow) scores(q *query) {
	query := a.vector("qt", a.q, q.row)
	for n, key := range a.vectors("k", a.k, q) {
		s := a.product(fmt.Sprintf("s%d", n), query, key)
		if a.relative != "" {
			far := at(a.attr.Distance(), queryOf(q.t), q.keys[n])
			s = add(s, a.element("relative", expr.F32, a.relative, add(a.distance(q.t), far)))
		}
		s = a.scaled(s)
		if a.table != "" {
			s = add(s, a.element("bias", expr.F32, a.table, a.h, q.t, q.keys[n]))
		}
		if a.byLine != "" {
			s = add(s, a.element("bias", expr.F32, a.byLine, a.h, a.lineIndex(queryOf(q.t), q.keys[n])))
		}
		a.set(a.weights, s, num(n), q.t)
	}
}

// biased returns the score of key n of query t with its bias, or -Inf if the key is closed.
func (a *narrow) biased(n, t *expr.Expr) *expr.Expr {
	j, open := a.key(t, n)
	s := elem(a.weights, n, t)
	if a.bias != nil {
		s = add(s, at(a.bias, queryOf(t), j))
	}
	return where(open, s, expr.F(math.Inf(-1)))
}

// softmax turns scores into exponentials and returns the tile of factors from exponentials to
// probabilities.
func (a *narrow) softmax() (norm string) {
	p, minusInf := a.weights, expr.F(math.Inf(-1))
	a.mapKeys(p, a.biased)
	largest := a.row("largest", func(t *expr.Expr) *expr.Expr {
		m := a.fold(expr.Max, func(n *expr.Expr) *expr.Expr { return elem(p, n, t) })
		return where(eq(m, minusInf), expr.F(0), m)
	})
	a.mapKeys(p, func(n, t *expr.Expr) *expr.Expr {
		return expr.New(expr.Exp, sub(elem(p, n, t), elem(largest, t)))
	})
	norm = a.row("norm", func(t *expr.Expr) *expr.Expr {
		return softmaxScale(a.fold(expr.Add, func(n *expr.Expr) *expr.Expr { return elem(p, n, t) }))
	})
	if a.norm != "" {
		a.loop("t", a.own.rows, func(t *expr.Expr) {
			a.leave(a.largest, t, elem(largest, t))
			a.leave(a.norm, t, elem(norm, t))
		})
	}
	return norm
}

// row makes a tile of one value a query.
func (a *narrow) row(name string, f element) string {
	tile := a.tile(name, expr.F32, a.own.rows)
	a.mapTo(tile, func(t exprs) *expr.Expr { return f(t[0]) })
	return tile
}

// words draws the random words of key n: (h W + n) T' + t for query t, with the T of
// AttnAttr.CountedBy.
func (a *narrow) words(n *expr.Expr) string {
	if a.v.Attr.Rate == 0 {
		return ""
	}
	column := add(mul(a.h, num(a.width)), n)
	rows, _ := a.attr.CountedBy(a.rows, a.keys)
	return a.draw(a.own.rows, mul(column, ir.WholeBlocks(rows)))
}

// forward computes the results of all queries of a cell.
func (a *narrow) forward() {
	a.queries(a.scores)
	norm, p := a.softmax(), a.weights
	a.each(func(n *expr.Expr) {
		words := a.words(n)
		a.mapRow(p, n, a.own.rows, func(t *expr.Expr) *expr.Expr { return a.drop(mul(elem(p, n, t), elem(norm, t)), words, t) })
	})
	p = a.factor("pr", p)
	a.queries(func(q *query) { a.storeWeighted(a.v, "y", p, q, a.vectors("v", a.val, q)) })
}

// storeWeighted stores the sum of vectors by the weights of a query. Adding 0 makes a sum of
// zeros +0 for any signs of the closed keys' products.
func (a *narrow) storeWeighted(v *ir.Value, name, weights string, q *query, vectors []string) {
	a.storeFlat(v, name, exprs{a.dh}, from(q.row.in(a.result)), func(i exprs) *expr.Expr {
		sum := a.fold(expr.Add, func(n *expr.Expr) *expr.Expr { return mul(elem(weights, n, q.t), a.widened(vectors[n.I], i[0])) })
		return expr.New(expr.Add, sum, expr.F(0))
	})
}

// backward computes the gradients of one head of one example. dk and dv are sums in ascending
// order of the queries.
func (a *narrow) backward(g *attentionGrad) {
	dp := a.columns("ds")
	column := func(name string) string { return a.tile(name, expr.F32, a.own.rows) }
	largest, norm, delta := column("largest"), column("norm"), ""
	if g.y.buf != "" {
		delta = column("delta")
	}
	a.queries(func(q *query) {
		a.scores(q)
		do := a.vector("go", g.dout, q.row)
		if g.y.buf != "" {
			a.set(delta, a.product("along", do, a.vector("yt", g.y, q.row)), q.t)
		}
		a.set(largest, a.left("top", a.largest, q.t), q.t)
		a.set(norm, a.left("factor", a.norm, q.t), q.t)
		for n, value := range a.vectors("v", a.val, q) {
			a.set(dp, a.product(fmt.Sprintf("d%d", n), do, value), num(n), q.t)
		}
	})
	dropped := a.factor("pr", a.scoreGrads(dp, delta, largest, norm, g.dtable))
	ds := a.factor("dsr", dp)
	keys := a.keyed.rows
	if a.env.rows.at[kernel.KeyStart] != nil {
		keys = greater(keys, expr.Int(1)) // key 0, even if there is none
	}
	g.begin(keys)
	a.queries(func(q *query) {
		if v := g.result["q"]; v != nil {
			a.storeWeighted(v, "dq", ds, q, a.vectors("k", a.k, q))
		}
		a.spread(g.dk, ds, q, a.q)
		a.spread(g.dv, dropped, q, g.dout)
		if g.result["relative"] != nil {
			a.relativeGrad(g, q, dp)
		}
		if g.dline != "" {
			for n, j := range q.keys {
				at := a.lineIndex(queryOf(q.t), j)
				a.set(g.dline, add(elem(g.dline, at), elem(dp, num(n), q.t)), at)
			}
		}
	})
	g.end()
}

// scoreGrads replaces the gradients of dropped probabilities by the gradients of the products
// q·k. It returns the tile of dropped probabilities.
func (a *narrow) scoreGrads(dp, delta, largest, norm, dtable string) string {
	p := a.weights
	a.mapKeys(p, func(n, t *expr.Expr) *expr.Expr {
		return probability(a.biased(n, t), elem(largest, t), elem(norm, t))
	})
	dropped := p
	if a.v.Attr.Rate > 0 {
		dropped = a.columns("weight")
		a.each(func(n *expr.Expr) {
			words := a.words(n)
			a.mapRow(dropped, n, a.own.rows, func(t *expr.Expr) *expr.Expr { return a.drop(elem(p, n, t), words, t) })
			a.mapRow(dp, n, a.own.rows, func(t *expr.Expr) *expr.Expr { return a.drop(elem(dp, n, t), words, t) })
		})
	}
	if delta == "" {
		delta = a.row("delta", func(t *expr.Expr) *expr.Expr {
			return a.fold(expr.Add, func(n *expr.Expr) *expr.Expr { return mul(elem(p, n, t), elem(dp, n, t)) })
		})
	}
	ds := func(n, t *expr.Expr) *expr.Expr { return mul(elem(p, n, t), sub(elem(dp, n, t), elem(delta, t))) }
	if dtable != "" {
		a.queries(func(q *query) {
			for n, j := range q.keys {
				a.set(dtable, add(elem(dtable, q.t, j), ds(num(n), q.t)), q.t, j)
			}
		})
	}
	a.mapKeys(dp, func(n, t *expr.Expr) *expr.Expr { return a.scaled(ds(n, t)) })
	return dropped
}

// spread adds a query's row of a buffer, times its weights, to the rows of its keys
// in a matrix tile.
func (a *narrow) spread(sum, weights string, q *query, s source) {
	if sum == "" {
		return
	}
	x := a.vector("x", s, q.row)
	for n, j := range q.keys {
		row := func(i exprs) exprs { return exprs{j, i[0]} }
		a.addTo(sum, exprs{a.dh}, row, func(i exprs) *expr.Expr { return mul(elem(weights, num(n), q.t), a.widened(x, i[0])) })
	}
}

// relativeGrad stores the gradients of a query's relative scores. Each gradient is the sum over
// the keys at its distance.
func (a *narrow) relativeGrad(g *attentionGrad, q *query, ds string) {
	t := a.tile("apart", expr.F32, a.distances)
	a.zero(t)
	for n, j := range q.keys {
		far := at(a.attr.Distance(), queryOf(q.t), j)
		a.set(t, add(elem(t, far), elem(ds, num(n), q.t)), far)
	}
	g.storeDistances(q.t, t)
}
