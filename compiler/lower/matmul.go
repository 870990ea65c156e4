package lower

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
)

// lowerMatMul computes y = x W (or x Wᵀ) for a block of rows, and then the group's elementwise
// members on each row.
func lowerMatMul(e *emitter, v *ir.Value) {
	x, w := v.Args[0], v.Args[1]
	if v.Attr.TransA || len(w.Type.Shape) != 2 {
		e.unsupported(v, "batched or left-transposed products")
		return
	}
	e.group.Shape, e.split = v.Type.Shape, v.Attr.Split
	n, k := size(v.Type.Shape[len(v.Type.Shape)-1]), size(x.Type.Shape[len(x.Type.Shape)-1])
	rows := e.rowsOf(v.Type.Shape)
	first, height := e.span(rows)

	a := e.load("a", x.Type.Elem, e.in(x, "x", rows, k), exprs{height, k}, from(first))
	c := e.product("c", height, n, a, e.weight(v, k, n))
	e.loop("i", height, func(i *expr.Expr) {
		r := e.newRow(e.let("r", add(first, i)))
		r.value[v] = func(col *expr.Expr) *expr.Expr { return elem(c, i, col) }
		r.members()
	})
}

// weight loads a product's right factor [k, n].
func (e *emitter) weight(v *ir.Value, k, n *expr.Expr) string {
	w, at := v.Args[1], same
	if v.Attr.TransB {
		at = swapped
	}
	return e.load("b", w.Type.Elem, e.in(w, "w", sizes(w.Type.Shape)...), exprs{k, n}, at)
}

// lowerHeadProduct computes y = x W (or x Wᵀ) for a block of the heads' parts of rows. These
// parts are consecutive.
func lowerHeadProduct(e *emitter, v *ir.Value) {
	x, w := v.Args[0], v.Args[1]
	k, n := size(w.Type.Shape[0]), size(w.Type.Shape[1])
	if v.Attr.TransB {
		k, n = n, k
	}
	rows := e.parts(v, x)
	first, height := e.span(rows)
	a := e.load("a", expr.F32, e.in(x, "x", rows, k), exprs{height, k}, from(first))
	e.storeProduct(v, "y", exprs{rows, n}, exprs{height, n}, from(first), a, e.weight(v, k, n))
}

// parts returns how many parts x has in a product: one per row, or one per row and head.
func (e *emitter) parts(v, x *ir.Value) *expr.Expr {
	rows := e.rowsOf(x.Type.Shape)
	if v.Attr.Attn != nil {
		rows = mul(rows, num(v.Attr.Attn.Heads))
	}
	return rows
}

// span lets targets split rows into cells, and names the first row and the number of rows of a
// cell. Every element must be a sum by itself.
func (e *emitter) span(rows *expr.Expr) (first, height *expr.Expr) {
	e.k.Span = &kernel.Span{First: "first", Height: "height", Rows: rows}
	return ivar("first"), ivar("height")
}

// lowerOuter computes the gradient of a weight: xᵀ dy, summed over all rows or over all heads'
// parts of rows.
func lowerOuter(e *emitter, v *ir.Value) {
	x, dy := v.Args[0], v.Args[1]
	e.split = v.Attr.Split
	rows := e.parts(v, x)
	k, n := size(v.Type.Shape[0]), size(v.Type.Shape[1])
	first, height := e.span(k)
	columns := func(i exprs) exprs { return exprs{i[1], add(first, i[0])} }
	a := e.load("a", x.Type.Elem, e.in(x, "x", rows, k), exprs{height, rows}, columns)
	b := e.load("b", dy.Type.Elem, e.in(dy, "dy", rows, n), exprs{rows, n}, same)
	e.storeProduct(v, "dw", exprs{k, n}, exprs{height, n}, from(first), a, b)
}

// lowerGather reads a table's row for each id, then runs the epilogue.
func lowerGather(e *emitter, v *ir.Value) {
	r := e.cellRow()
	id, table := r.one("id", v.Args[1], "ids"), v.Args[0]
	buf := e.in(table, "table", sizes(table.Type.Shape)...)
	t := e.load("x", expr.F32, buf, exprs{r.width}, func(i exprs) exprs { return exprs{id, i[0]} })
	r.value[v] = func(col *expr.Expr) *expr.Expr { return elem(t, col) }
	r.members()
}

// lowerScatter sums, for each row of the table, the gradients of the rows that read it, in
// ascending order. It is a matrix product whose factors of 0 add nothing.
func lowerScatter(e *emitter, v *ir.Value) {
	ids, dy := v.Args[0], v.Args[1]
	rows := e.elements(ids.Type.Shape)
	n, d := size(v.Type.Shape[0]), size(v.Type.Shape[1])
	first, height := e.span(n)

	id := e.load("id", expr.I32, e.in(ids, "ids", rows), exprs{rows}, same)
	a := e.tile("a", expr.F32, height, rows)
	e.mapTo(a, func(i exprs) *expr.Expr {
		return where(eq(ielem(id, i[1]), add(first, i[0])), expr.F(1), expr.F(0))
	})
	b := e.load("b", expr.F32, e.in(dy, "dy", rows, d), exprs{rows, d}, same)
	e.storeProduct(v, "dtable", exprs{n, d}, exprs{height, d}, from(first), a, b)
}

// product makes a tile [rows, cols] with the product of tiles a and b.
func (e *emitter) product(name string, rows, cols *expr.Expr, a, b string) string {
	c := e.tile(name, expr.F32, rows, cols)
	e.zero(c)
	e.dot(c, a, b)
	return c
}

// storeProduct stores the product of tiles a and b at a place of v's buffer, or adds it if v
// accumulates. shape is the tile's shape, and whole the buffer's.
func (e *emitter) storeProduct(v *ir.Value, name string, whole, shape exprs, at place, a, b string) {
	buf := e.out(v, name, whole...)
	c := e.sum("c", v, buf, shape, at)
	e.dot(c, a, b)
	e.copyOut(c, buf, at)
}

// lowerAppend writes rows into a cache at P, P+1, ….
func lowerAppend(e *emitter, v *ir.Value) {
	x := v.Args[1]
	e.group.Shape = x.Type.Shape
	r := e.cellRow()
	el := r.read(x, "x")
	buf := e.out(v, "cache", sizes(v.Type.Shape)...)
	var index exprs
	for i := range len(x.Type.Shape) - 1 {
		index = append(index, r.leading(i))
	}
	row := func(i exprs) exprs {
		at := append(slices.Clone(index), i[0])
		at[1] = queryOf(at[1])
		return at
	}
	e.fill(buf, exprs{r.width}, row, func(i exprs) *expr.Expr { return el(i[0]) })
}

// unsupported records that no kernel computes something.
func (e *emitter) unsupported(v *ir.Value, what string) {
	e.err = fmt.Errorf("%s: no kernel computes %s yet (%s)", v.Op, what, v)
}
