package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
)

// blockRows is the number of queries in a block where targets do not choose it: in a gradient,
// and in a window with a lower bound, whose sums begin at the first key that the block sees.
const blockRows = kernel.Queries

// A dense attention processes the queries in blocks. Scores and sums over keys are matrix
// products, over the keys that the mask can leave open to the block.
type dense struct {
	*attention
	first, height *expr.Expr // the block's queries
	lo, count     *expr.Expr // the block's keys
	queries, open *headRow   // the places of both
	weights       string     // tile of scores, then probabilities
}

func (a *attention) dense() *dense { return &dense{attention: a} }

// enterCell names the queries and keys of a cell.
func (d *dense) enterCell() {
	if len(d.window.Lows) > 0 {
		d.block(d.grid("m", kernel.CeilDiv(d.rows, blockRows)), d.rows)
	} else {
		d.first, d.height = d.span(d.rows)
	}
	empty := !expr.Equal(d.own.rows, d.rows) // cells behind the end of a shorter example
	if empty {
		inside := lt(d.first, d.own.rows)
		left := where(inside, sub(d.own.rows, d.first), expr.Int(0))
		d.first = d.let("own_first", where(inside, d.first, expr.Int(0)))
		d.height = d.let("own_height", lesser(d.height, left))
	}
	d.keysOfBlock(empty)
}

// block names the queries of block m, of so many rows in all.
func (d *dense) block(m, rows *expr.Expr) {
	size := expr.Int(blockRows)
	d.first = d.let("first", mul(m, size))
	d.height = d.let("height", lesser(size, sub(rows, d.first)))
}

// keysOfBlock names the keys of a block, which may be empty.
func (d *dense) keysOfBlock(empty bool) {
	first := queryOf(d.first)
	last := sub(add(first, d.height), expr.Int(1))
	lo, hi := d.openKeys(d.window, d.keyed.rows, first, last)
	if len(d.window.Lows) > 0 {
		together := expr.Int(kernel.Neighbours) // in every block
		lo = mul(div(lo, together), together)
	}
	d.lo = d.let("lo", expr.Simplify(lo))
	count := greater(sub(hi, d.lo), expr.Int(0))
	if empty {
		count = where(lt(expr.Int(0), d.height), count, expr.Int(0))
	}
	d.count = d.let("count", count)
	d.queries, d.open = d.place("queries", d.own, d.first), d.place("open", d.keyed, d.lo)
	d.queries.in(d.q)
	d.open.in(d.k)
}

// cell returns the query and the key of a cell of the block.
func (d *dense) cell(r, e *expr.Expr) (i, j *expr.Expr) {
	return add(queryOf(d.first), r), add(d.lo, e)
}

// mapCells sets a tile [height, count].
func (d *dense) mapCells(tile string, f func(r, e *expr.Expr) *expr.Expr) {
	d.mapTo(tile, func(i exprs) *expr.Expr { return f(i[0], i[1]) })
}

// lines moves elements that a bias reads along lines of cells into tiles with one element per
// line, filled once per block.
func (d *dense) lines(bias *expr.Expr) *expr.Expr {
	return expr.Rewrite(bias, func(x *expr.Expr) *expr.Expr {
		last := len(x.Args) - 1
		if x.Op != expr.Elem || slices.ContainsFunc(x.Args[:max(last, 0)], ir.OverCells) {
			return x
		}
		slope, ok := int64(0), false
		if last >= 0 {
			slope, ok = ir.LineOf(x.Args[last])
		}
		if !ok {
			return x
		}
		return d.line(x, slope)
	})
}

// line returns an element that is the same for all cells with equal j + slope i.
func (d *dense) line(x *expr.Expr, slope int64) *expr.Expr {
	bent := max(slope, -slope)
	number := func(i, j *expr.Expr) *expr.Expr {
		if slope < 0 {
			return sub(j, mul(expr.Int(bent), i))
		}
		return add(j, mul(expr.Int(slope), i))
	}
	lowest := queryOf(d.first)
	if slope < 0 {
		lowest = add(lowest, sub(d.height, expr.Int(1)))
	}
	t := d.tile("line", expr.F32, add(d.count, mul(expr.Int(bent), d.height)))
	start := d.let(t+"_start", number(lowest, d.lo))
	// A block without keys has no lines: their numbers could lie outside the parameter.
	others := mul(lesser(d.count, expr.Int(1)), mul(expr.Int(bent), sub(d.height, expr.Int(1))))
	d.fill(t, exprs{add(d.count, others)}, same, func(n exprs) *expr.Expr {
		return at(x, expr.Int(0), add(start, n[0]))
	})
	return elem(t, sub(number(ivar("i"), ivar("j")), start))
}

// products computes the products of queries and keys. It returns the score as a function of the
// cell: scale (q·k + relative) + bias, or -Inf if the cell is closed.
func (d *dense) products() (score func(r, e *expr.Expr) *expr.Expr) {
	q := d.matrix("qs", d.q, d.queries, d.height)
	k := d.transposed("ks", d.k, d.open, d.count)
	p := d.product("p", d.height, d.count, q, k)
	d.weights = p
	biases, distances, bias := "", "", d.bias
	if d.table != "" {
		biases = d.load("biases", expr.F32, d.table, exprs{d.height, d.count}, func(i exprs) exprs {
			return exprs{d.h, add(d.first, i[0]), add(d.lo, i[1])}
		})
	}
	switch {
	case d.byLine != "":
		bias = expr.NewElem(d.byLine, expr.F32, d.h, d.bound(ir.LineIndex()))
	case bias != nil:
		bias = d.lines(bias)
	}
	if d.relative != "" {
		distances = d.load("distances", expr.F32, d.relative, exprs{d.height, d.attention.distances}, func(i exprs) exprs {
			return exprs{add(d.distance(add(d.first, i[0])), i[1])}
		})
	}
	return func(r, e *expr.Expr) *expr.Expr {
		i, j := d.cell(r, e)
		s := elem(p, r, e)
		if distances != "" {
			s = add(s, elem(distances, r, at(d.attr.Distance(), i, j)))
		}
		s = d.scaled(s)
		switch {
		case biases != "":
			s = add(s, elem(biases, r, e))
		case bias != nil:
			s = add(s, at(bias, i, j))
		}
		return whereOpen(at(d.mask, i, j), s, expr.F(math.Inf(-1)))
	}
}

// scores computes the scores of all cells of the block.
func (d *dense) scores() {
	score := d.products()
	d.mapCells(d.weights, score)
}

// softmax replaces each score of row r by exp(score - largest). It returns the largest score
// and the factor from exponentials to probabilities.
func (d *dense) softmax(r *expr.Expr) (largest, norm *expr.Expr) {
	p := func(e *expr.Expr) *expr.Expr { return elem(d.weights, r, e) }
	largest = d.reduce("largest", expr.Max, d.count, p)
	if d.mask != nil || d.table != "" { // a table may have -Inf
		largest = d.let("shift", where(eq(largest, expr.F(math.Inf(-1))), expr.F(0), largest))
	}
	d.mapRow(d.weights, r, d.count, func(e *expr.Expr) *expr.Expr { return expr.New(expr.Exp, sub(p(e), largest)) })
	return largest, d.let("norm", softmaxScale(d.reduce("total", expr.Add, d.count, p)))
}

// words draws the random words of row r. Query t and key j use word (h T + t) J' + j, with T
// and J from AttnAttr.CountedBy. J' is J rounded up to whole blocks.
func (d *dense) words(r *expr.Expr) string {
	if d.v.Attr.Rate == 0 {
		return ""
	}
	rows, keys := d.attr.CountedBy(d.rows, d.keys)
	row := add(mul(d.h, rows), add(d.first, r))
	return d.draw(d.count, add(mul(row, ir.WholeBlocks(keys)), d.lo))
}

// factor returns a tile of weights as a factor of products: rounded if the other factors are.
func (d *dense) factor(name, tile string) string {
	if !d.elem.Narrow() {
		return tile
	}
	r := d.tile(name, d.elem, d.shape(tile)...)
	d.mapTo(r, func(i exprs) *expr.Expr { return expr.New(expr.ToBF16, elem(tile, i...)) })
	return r
}

// forward computes the results of a cell.
func (d *dense) forward() {
	d.enterCell()
	d.scores()
	d.loop("r", d.height, func(r *expr.Expr) {
		largest, norm := d.softmax(r)
		d.leave(d.largest, add(d.first, r), largest)
		d.leave(d.norm, add(d.first, r), norm)
		words := d.words(r)
		d.mapRow(d.weights, r, d.count, func(e *expr.Expr) *expr.Expr {
			return d.drop(mul(elem(d.weights, r, e), norm), words, e)
		})
	})
	p := d.factor("pr", d.weights)
	v := d.matrix("vs", d.val, d.open, d.count)
	o := d.product("o", d.height, d.dh, p, v)
	d.storeMatrix(d.v, "y", d.queries, d.height, o)
}

// backward computes the gradients of one head of one example, block by block.
func (d *dense) backward(g *attentionGrad) {
	g.begin(d.keyed.rows)
	d.loop("m", kernel.CeilDiv(d.own.rows, blockRows), func(m *expr.Expr) {
		d.block(m, d.own.rows)
		d.keysOfBlock(false)
		score := d.products()
		do, y := d.matrix("dos", g.dout, d.queries, d.height), ""
		if g.y.buf != "" {
			y = d.matrix("ys", g.y, d.queries, d.height)
		}
		v := d.transposed("vs", d.val, d.open, d.count)
		ds := d.product("ds", d.height, d.count, do, v)
		dropped := d.weights
		if d.v.Attr.Rate > 0 {
			dropped = d.tile("weight", expr.F32, d.height, d.count)
		}
		d.loop("r", d.height, func(r *expr.Expr) { d.scoreGrads(g, r, score, do, y, ds, dropped) })
		if g.dline != "" {
			d.lineGrad(g.dline, ds)
		}
		if g.result["q"] != nil || g.dk != "" {
			ds = d.factor("dsr", ds)
		}
		if dq := g.result["q"]; dq != nil {
			k := d.matrix("kr", d.k, d.open, d.count)
			sum := d.product("sum_q", d.height, d.dh, ds, k)
			d.storeMatrix(dq, "dq", d.queries, d.height, sum)
		}
		if g.dk != "" {
			d.dotFrom(d.lo, d.count, g.dk, ds, swapped, d.matrix("qr", d.q, d.queries, d.height))
		}
		if g.dv != "" {
			d.dotFrom(d.lo, d.count, g.dv, d.factor("pr", dropped), swapped, do)
		}
	})
	g.end()
}

// scoreGrads turns row r of the products into probabilities, and the row's gradients from
// dropped probabilities into gradients of the products.
func (d *dense) scoreGrads(g *attentionGrad, r *expr.Expr, score func(r, e *expr.Expr) *expr.Expr, do, y, ds, dropped string) {
	p := func(e *expr.Expr) *expr.Expr { return elem(d.weights, r, e) }
	dp := func(e *expr.Expr) *expr.Expr { return elem(ds, r, e) }
	largest, norm := d.left("largest", d.largest, add(d.first, r)), d.left("norm", d.norm, add(d.first, r))
	var delta *expr.Expr
	if y != "" {
		delta = d.reduce("delta", expr.Add, d.dh, func(e *expr.Expr) *expr.Expr { return mul(d.widened(do, r, e), d.widened(y, r, e)) })
	}
	d.mapRow(d.weights, r, d.count, func(e *expr.Expr) *expr.Expr { return probability(score(r, e), largest, norm) })
	if words := d.words(r); words != "" {
		d.mapRow(dropped, r, d.count, func(e *expr.Expr) *expr.Expr { return d.drop(p(e), words, e) })
		d.mapRow(ds, r, d.count, func(e *expr.Expr) *expr.Expr { return d.drop(dp(e), words, e) })
	}
	if y == "" {
		delta = d.reduce("delta", expr.Add, d.count, func(e *expr.Expr) *expr.Expr { return mul(p(e), dp(e)) })
	}
	grad := func(e *expr.Expr) *expr.Expr { return mul(p(e), sub(dp(e), delta)) }
	if g.dtable != "" {
		row := func(i exprs) exprs { return exprs{add(d.first, r), add(d.lo, i[0])} }
		d.addTo(g.dtable, exprs{d.count}, row, func(i exprs) *expr.Expr { return grad(i[0]) })
	}
	d.mapRow(ds, r, d.count, func(e *expr.Expr) *expr.Expr { return d.scaled(grad(e)) })
	if g.result["relative"] != nil {
		d.relativeGrad(g, r, ds)
	}
}

// lineGrad adds the gradients of the block's products to sums by distance, row by row.
func (d *dense) lineGrad(dline, ds string) {
	d.loop("r", d.height, func(r *expr.Expr) {
		i, j := d.cell(r, expr.Int(0))
		first := d.lineIndex(i, j)
		d.addTo(dline, exprs{d.count}, from(first), func(n exprs) *expr.Expr { return elem(ds, r, n[0]) })
	})
}

// relativeGrad stores the gradients of the relative scores of row r. ds holds the gradients of
// the products. Each end distance sums all keys that are so far away. Every other distance has
// one key, or none in the block.
func (d *dense) relativeGrad(g *attentionGrad, r *expr.Expr, ds string) {
	most := num(2 * d.attr.Relative)
	i, _ := d.cell(r, expr.Int(0))
	t := d.tile("apart", expr.F32, d.attention.distances)
	d.zero(t)
	lead := d.let("lead", sub(add(d.lo, num(d.attr.Relative)), i)) // the distance of the first key, before clipping
	near := d.let("near", lesser(greater(lead, expr.Int(1)), most))
	far := d.let("far", lesser(add(lead, d.count), most))
	d.when(lt(near, far), func() { // otherwise near may exceed the tile
		d.fill(t, exprs{greater(sub(far, near), expr.Int(0))}, from(near), func(n exprs) *expr.Expr {
			return elem(ds, r, sub(add(near, n[0]), lead))
		})
	})
	for _, end := range (exprs{expr.Int(0), most}) {
		sum := d.reduce(fmt.Sprintf("end%d", end.I), expr.Add, d.count, func(e *expr.Expr) *expr.Expr {
			return where(eq(at(d.attr.Distance(), i, add(d.lo, e)), end), elem(ds, r, e), expr.F(0))
		})
		d.set(t, sum, end)
	}
	g.storeDistances(add(d.first, r), t)
}
