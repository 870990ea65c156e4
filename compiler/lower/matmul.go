package lower

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// rowsPerCell is how many rows of a product one cell computes. Results do not
// depend on it, since every output is its own sum.
const rowsPerCell = 256

// scatterRows is how many rows of a table one cell sums.
const scatterRows = 64

// lowerMatMul computes y = x W (or x Wᵀ) for a block of rows and then the
// group's elementwise members on each row.
func lowerMatMul(e *emitter) error {
	v := e.group.Anchors[0]
	x, w := v.Args[0], v.Args[1]
	if v.Attr.TransA || len(w.Type.Shape) != 2 {
		return unsupported(v, "batched or left-transposed products")
	}
	e.group.Shape = v.Type.Shape
	n, k := size(v.Type.Shape[len(v.Type.Shape)-1]), size(x.Type.Shape[len(x.Type.Shape)-1])
	rows := rowsOf(v.Type.Shape)
	first, height := e.block(rows, rowsPerCell)

	xb := e.in(x, "x", rows, k)
	a := e.load("a", expr.F32, xb, []*expr.Expr{height, k}, func(i []*expr.Expr) []*expr.Expr {
		return []*expr.Expr{add(first, i[0]), i[1]}
	})
	wb := e.in(w, "w", sizes(w.Type.Shape)...)
	b := e.load("b", expr.F32, wb, []*expr.Expr{k, n}, func(i []*expr.Expr) []*expr.Expr {
		if v.Attr.TransB {
			return []*expr.Expr{i[1], i[0]}
		}
		return i
	})
	c := e.tile("c", expr.F32, height, n)
	e.zero(c)
	e.dot(c, a, b, false)
	e.loop("i", height, func(i *expr.Expr) {
		r := e.newRow(e.let("r", add(first, i)))
		r.value[v] = func(col *expr.Expr) *expr.Expr { return elem(c, i, col) }
		r.members()
	})
	return nil
}

// lowerHeadProduct computes y = x W (or x Wᵀ) for a block of the heads' parts of
// rows, which lie one after another.
func lowerHeadProduct(e *emitter) error {
	v := e.group.Anchors[0]
	x, w := v.Args[0], v.Args[1]
	k, n := size(w.Type.Shape[0]), size(w.Type.Shape[1])
	if v.Attr.TransB {
		k, n = n, k
	}
	rows := parts(v, x)
	first, height := e.block(rows, rowsPerCell)
	at := func(i []*expr.Expr) []*expr.Expr { return []*expr.Expr{add(first, i[0]), i[1]} }
	a := e.load("a", expr.F32, e.in(x, "x", rows, k), []*expr.Expr{height, k}, at)
	b := e.load("b", expr.F32, e.in(w, "w", sizes(w.Type.Shape)...), []*expr.Expr{k, n}, func(i []*expr.Expr) []*expr.Expr {
		if v.Attr.TransB {
			return []*expr.Expr{i[1], i[0]}
		}
		return i
	})
	e.accumulateProduct(v, "y", []*expr.Expr{rows, n}, []*expr.Expr{height, n}, at, a, b)
	return nil
}

// parts is how many parts of rows of x a product takes: one a row, or one a head.
func parts(v, x *ir.Value) *expr.Expr {
	rows := rowsOf(x.Type.Shape)
	if v.Attr.Attn != nil {
		rows = mul(rows, expr.Int(int64(v.Attr.Attn.Heads)))
	}
	return rows
}

// block cuts rows into cells and names the first row and the number of rows of one.
func (e *emitter) block(rows *expr.Expr, most int64) (first, height *expr.Expr) {
	cell := e.grid("m", ceilDiv(rows, most))
	first = e.let("first", mul(cell, expr.Int(most)))
	return first, e.let("height", lesser(expr.Int(most), sub(rows, first)))
}

// lowerOuter computes the gradient of a weight, xᵀ dy summed over all rows, or over
// all heads' parts of rows.
func lowerOuter(e *emitter) error {
	v := e.group.Anchors[0]
	x, dy := v.Args[0], v.Args[1]
	rows := parts(v, x)
	k, n := size(v.Type.Shape[0]), size(v.Type.Shape[1])
	first, height := expr.Int(0), k
	if v.Type.Shape[0].N > rowsPerCell {
		first, height = e.block(k, rowsPerCell)
	}
	at := func(i []*expr.Expr) []*expr.Expr { return []*expr.Expr{add(first, i[0]), i[1]} }

	a := e.load("a", expr.F32, e.in(x, "x", rows, k), []*expr.Expr{height, rows}, func(i []*expr.Expr) []*expr.Expr {
		return []*expr.Expr{i[1], add(first, i[0])}
	})
	b := e.load("b", expr.F32, e.in(dy, "dy", rows, n), []*expr.Expr{rows, n}, func(i []*expr.Expr) []*expr.Expr { return i })
	e.accumulateProduct(v, "dw", []*expr.Expr{k, n}, []*expr.Expr{height, n}, at, a, b)
	return nil
}

// lowerGather reads a table's row for each id, then runs the epilogue.
func lowerGather(e *emitter) error {
	v := e.group.Anchors[0]
	table, ids := v.Args[0], v.Args[1]
	rows := rowsOf(v.Type.Shape)
	r := e.newRow(e.grid("r", rows))
	id := e.load("id", expr.I32, e.in(ids, "ids", rows), nil, func([]*expr.Expr) []*expr.Expr { return []*expr.Expr{r.index} })
	t := e.load("x", expr.F32, e.in(table, "table", sizes(table.Type.Shape)...), []*expr.Expr{r.width}, func(i []*expr.Expr) []*expr.Expr {
		return []*expr.Expr{ielem(id), i[0]}
	})
	r.value[v] = func(col *expr.Expr) *expr.Expr { return elem(t, col) }
	r.members()
	return nil
}

// lowerScatter sums, for each row of the table, the gradients of the places that
// read it, in ascending order: a matrix product, in which factors of 0 add nothing.
func lowerScatter(e *emitter) error {
	v := e.group.Anchors[0]
	ids, dy := v.Args[0], v.Args[1]
	rows := product(ids.Type.Shape)
	n, d := size(v.Type.Shape[0]), size(v.Type.Shape[1])
	first, height := expr.Int(0), n
	if v.Type.Shape[0].N > scatterRows {
		first, height = e.block(n, scatterRows)
	}
	at := func(i []*expr.Expr) []*expr.Expr { return []*expr.Expr{add(first, i[0]), i[1]} }

	same := func(i []*expr.Expr) []*expr.Expr { return i }
	id := e.load("id", expr.I32, e.in(ids, "ids", rows), []*expr.Expr{rows}, same)
	a := e.tile("a", expr.F32, height, rows)
	e.mapTo(a, []*expr.Expr{height, rows}, func(i []*expr.Expr) *expr.Expr {
		return where(eq(ielem(id, i[1]), add(first, i[0])), expr.F(1), expr.F(0))
	})
	b := e.load("b", expr.F32, e.in(dy, "dy", rows, d), []*expr.Expr{rows, d}, same)
	e.accumulateProduct(v, "dtable", []*expr.Expr{n, d}, []*expr.Expr{height, d}, at, a, b)
	return nil
}

// accumulateProduct stores the product of tiles a and b, or adds it to what is
// there, at the place of a tile of the given shape in the buffer of v.
func (e *emitter) accumulateProduct(v *ir.Value, name string, whole, shape []*expr.Expr, at func([]*expr.Expr) []*expr.Expr, a, b string) {
	buf := e.out(v, name, whole...)
	var c string
	if e.env.accumulate[v] {
		c = e.load("c", expr.F32, buf, shape, at)
	} else {
		c = e.tile("c", expr.F32, shape...)
		e.zero(c)
	}
	e.dot(c, a, b, false)
	as, vs := axes(shape)
	e.setOver(as, buf, at(vs), elem(c, vs...))
}

// lowerAppend writes rows into a cache at P, P+1, ….
func lowerAppend(e *emitter) error {
	v := e.group.Anchors[0]
	x := v.Args[1]
	e.group.Shape = x.Type.Shape
	r := e.newRow(e.grid("r", rowsOf(x.Type.Shape)))
	el := r.read(x, "x")
	buf := e.out(v, "cache", sizes(v.Type.Shape)...)
	as, vs := axes([]*expr.Expr{r.width})
	at := []*expr.Expr{r.leading(0)}
	for i := 1; i < len(x.Type.Shape)-1; i++ {
		at = append(at, r.leading(i))
	}
	at = append(at, vs[0])
	at[1] = add(ivar("P"), at[1])
	e.setOver(as, buf, at, el(vs[0]))
	return nil
}

func unsupported(v *ir.Value, what string) error {
	return fmt.Errorf("%s: no kernel computes %s yet (%s)", v.Op, what, v)
}
