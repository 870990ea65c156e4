package lower

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
)

// sumRows is the number of rows of a bias table that are summed together for the gradient of a
// parameter element. The order of sums depends on it.
const sumRows = 16

// A paramGrads holds the gradients of a site's learned parameters for one head.
//
// The cells of a block of rows are one axis named cell. They cover the keys that the mask's
// window leaves open to any of the rows. Tiles over this axis hold costly values and values
// that differ between cells, with 0 at closed cells. So the remaining expression is NaN only if
// a tile is.
type paramGrads struct {
	*site
	sums          map[string]string     // maps a parameter's tile to the tile of its gradient
	first, height *expr.Expr            // the block's rows
	lo, count     *expr.Expr            // the block's keys
	closing       *expr.Expr            // the mask; nil if all cells are open
	open          *expr.Expr            // 1 at open cells; computed on first use
	cells         map[string]string     // maps an expression that differs between cells to its tile
	holds         map[string]*expr.Expr // maps a tile of cells to its expression over i, j and cell
	order         []string              // these tiles, each after the tiles that it reads
}

// sum adds ds times the bias's derivative to each parameter element that the bias reads. An
// element shared by all cells sums over all cells as one axis; any other element is summed cell
// by cell. ds takes row and key.
func (g *paramGrads) sum(ds func(t, j *expr.Expr) *expr.Expr) {
	var whole, single exprs
	for _, x := range append(expr.Elems(g.bias), expr.Vars(g.bias)...) {
		switch _, learned := g.sums[x.Name]; {
		case !learned:
		case ir.OverCells(x):
			single = append(single, x)
		default:
			whole = append(whole, x)
		}
	}
	if len(whole) > 0 {
		g.loop("m", kernel.CeilDiv(g.rows, sumRows), func(m *expr.Expr) {
			g.block(m)
			g.wholes(whole, ds)
		})
	}
	if len(single) > 0 {
		g.loop("t", g.rows, func(t *expr.Expr) {
			i := g.let("i", queryOf(t))
			lo, hi, rest := g.openTo(i)
			j := ivar("j")
			g.emit(&kernel.For{Var: "j", Lo: lo, Hi: hi, Body: g.within(func() {
				g.when(at(rest, i, j), func() { g.single(single, i, j, ds(t, j)) })
			})})
		})
	}
}

// single adds to the parameter elements that the bias reads at one cell.
func (g *paramGrads) single(elems exprs, i, j, ds *expr.Expr) {
	for _, x := range elems {
		idx := make(exprs, len(x.Args))
		for k, e := range x.Args {
			idx[k] = at(e, i, j)
		}
		t := g.sums[x.Name]
		g.set(t, add(elem(t, idx...), mul(ds, at(expr.Diff(g.bias, x), i, j))), idx...)
	}
}

// block names the rows and keys of block m.
func (g *paramGrads) block(m *expr.Expr) {
	g.first = g.let("first", mul(m, expr.Int(sumRows)))
	g.height = g.let("height", lesser(expr.Int(sumRows), sub(g.rows, g.first)))
	first := queryOf(g.first)
	w := ir.WindowOf(g.attr.Mask)
	lo, hi := g.openKeys(w, g.keys, first, sub(add(first, g.height), expr.Int(1)))
	g.lo = g.let("lo", lo)
	g.count = g.let("count", greater(sub(hi, g.lo), expr.Int(0)))
	if !whole(w) {
		g.closing = g.mask
	}
}

// wholes adds to the parameter elements that the bias reads at all cells of the block.
func (g *paramGrads) wholes(elems exprs, ds func(t, j *expr.Expr) *expr.Expr) {
	open := g.perRow(func(t, j, _ *expr.Expr) *expr.Expr { return ds(t, j) })
	bias := g.spill(g.bias)
	made := g.order
	slopes := map[string]*expr.Expr{}
	g.pull(slopes, bias, elem(open, ivar("cell")))
	for n := len(made) - 1; n >= 0; n-- { // each tile after all tiles that read it
		if slope := slopes[made[n]]; slope != nil {
			g.pull(slopes, g.holds[made[n]], g.perCell(slope))
		}
	}
	for n, x := range elems {
		slope := slopes[x.String()]
		if slope == nil {
			continue
		}
		name := fmt.Sprintf("sum%d", n)
		g.emit(&kernel.Reduce{Name: name, Op: expr.Add, Axis: g.axis(), Value: slope})
		g.set(g.sums[x.Name], add(elem(g.sums[x.Name], x.Args...), expr.NewVar(name, expr.F32)), x.Args...)
	}
}

// pull adds the contributions of e to the slopes of the parameter elements and tiles that e
// reads. ct is the slope of e itself.
func (g *paramGrads) pull(slopes map[string]*expr.Expr, e, ct *expr.Expr) {
	for _, c := range expr.Pullback(e, ct) {
		key := c.Leaf.String()
		switch inner := g.holds[c.Leaf.Name]; {
		case inner != nil && g.learned(inner):
			key = c.Leaf.Name
		case inner != nil || g.sums[c.Leaf.Name] == "" || ir.OverCells(c.Leaf):
			continue
		}
		slope := g.spill(c.Value)
		if g.holds[ct.Name] != nil { // the derivative of a branch not taken may be NaN or infinite
			slope = where(eq(ct, expr.F(0)), expr.F(0), slope)
		}
		if old := slopes[key]; old != nil {
			slope = add(old, slope)
		}
		slopes[key] = slope
	}
}

// learned reports whether e depends on a parameter element shared by all cells.
func (g *paramGrads) learned(e *expr.Expr) bool {
	for _, x := range append(expr.Elems(e), expr.Vars(e)...) {
		if inner := g.holds[x.Name]; inner != nil && g.learned(inner) || g.sums[x.Name] != "" && !ir.OverCells(x) {
			return true
		}
	}
	return false
}

// spill moves parts of x into tiles if they are costly or differ between cells by themselves.
// The rest can run over the axis cell.
func (g *paramGrads) spill(x *expr.Expr) *expr.Expr {
	return expr.Rewrite(x, func(n *expr.Expr) *expr.Expr {
		costly := n.Op == expr.Div || n.Op.Transcendental()
		switch {
		case n.Type != expr.F32:
		case n.Op == expr.Where && ir.OverCells(n.Args[0]):
			open := g.perCell(where(n.Args[0], expr.F(1), expr.F(0)))
			return where(lt(expr.F(0), open), n.Args[1], n.Args[2])
		case ir.OverCells(n), costly && expr.Depends(n, "cell"):
			return g.perCell(n)
		}
		return n
	})
}

// perCell computes an expression over i, j and cell at every cell, and returns the element of
// the result at cell.
func (g *paramGrads) perCell(x *expr.Expr) *expr.Expr {
	if g.holds[x.Name] != nil {
		return x
	}
	key := x.String()
	if g.cells[key] == "" {
		var t string
		if ir.OverCells(x) {
			t = g.perRow(func(t, j, cell *expr.Expr) *expr.Expr {
				return expr.Simplify(expr.Subst(x, map[string]*expr.Expr{"i": queryOf(t), "j": j, "cell": cell}))
			})
		} else {
			t = g.tile("cells", expr.F32, mul(expr.Int(sumRows), g.keys))
			g.setOver([]kernel.Axis{g.axis()}, t, exprs{ivar("cell")}, g.guarded(x))
		}
		g.cells[key], g.holds[t], g.order = t, x, append(g.order, t)
	}
	return elem(g.cells[key], ivar("cell"))
}

// perRow computes a value for every row and key, with 0 at closed cells, and returns its tile.
func (g *paramGrads) perRow(value func(t, j, cell *expr.Expr) *expr.Expr) string {
	tile := g.tile("cells", expr.F32, mul(expr.Int(sumRows), g.keys))
	cell := func(i exprs) exprs { return exprs{add(mul(i[0], g.count), i[1])} }
	g.fill(tile, exprs{g.height, g.count}, cell, func(i exprs) *expr.Expr {
		t, j := add(g.first, i[0]), add(g.lo, i[1])
		return whereOpen(at(g.closing, queryOf(t), j), value(t, j, cell(i)[0]), expr.F(0))
	})
	return tile
}

// guarded returns x at cell, or 0 if the cell is closed.
func (g *paramGrads) guarded(x *expr.Expr) *expr.Expr {
	if g.closing == nil {
		return x
	}
	if g.open == nil {
		one := g.perRow(func(_, _, _ *expr.Expr) *expr.Expr { return expr.F(1) })
		g.open = elem(one, ivar("cell"))
	}
	return where(lt(expr.F(0), g.open), x, expr.F(0))
}

// size is the number of cells of the block, and axis is their axis.
func (g *paramGrads) size() *expr.Expr  { return mul(g.height, g.count) }
func (g *paramGrads) axis() kernel.Axis { return kernel.Axis{Var: "cell", Size: g.size()} }
