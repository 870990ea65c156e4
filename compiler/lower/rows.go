package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/dsl/diag"
)

// A row is one row of a group's shape. The last axis runs inside it, and the leading axes are
// flattened to rows. The group's elementwise members are computed on it, one tile of width
// elements at a time.
type row struct {
	*emitter
	shape []ir.Dim
	index *expr.Expr            // the number of the row among all rows
	first *expr.Expr            // the index of the row's first element along the last axis
	width *expr.Expr            // the number of elements that this cell computes
	start *expr.Expr            // packed rows of an example: the start in buffers of the shape
	lead  exprs                 // indices of the leading axes, named on first use
	value map[*ir.Value]element // the known values on this row
}

// An element returns the value at index e of the row.
type element func(e *expr.Expr) *expr.Expr

const flatTile = ir.Segment // elements of a cell over a flat arena

// newRow starts the program for row index of the group's shape. A shape of rank 1 is split into
// cells of flatTile elements, and index is the cell.
func (e *emitter) newRow(index *expr.Expr) *row {
	shape := e.group.Shape
	r := &row{emitter: e, shape: shape, index: index, first: expr.Int(0), value: map[*ir.Value]element{}}
	switch n := len(shape); {
	case n == 0:
		r.width = expr.Int(1)
	case n == 1:
		r.first = mul(index, expr.Int(flatTile))
		r.width = lesser(expr.Int(flatTile), sub(size(shape[0]), r.first))
	case n == 2 && e.env.rows.ragged(shape):
		rows := e.example(index, shape[1])
		r.width, r.start = rows.rows, rows.first
	default:
		r.width = size(shape[len(shape)-1])
	}
	return r
}

// cellRow starts a program that computes one row in each cell.
func (e *emitter) cellRow() *row { return e.newRow(e.grid("r", e.cells())) }

// cells is the size of a row program's grid.
func (e *emitter) cells() *expr.Expr {
	if s := e.group.Shape; len(s) == 1 {
		return kernel.CeilDiv(size(s[0]), flatTile)
	}
	return e.rowsOf(e.group.Shape)
}

// leading returns the index along leading axis i.
func (r *row) leading(i int) *expr.Expr {
	if r.lead == nil {
		r.lead = r.emitter.leading(r.shape, r.index, r.let)
		for k := len(r.lead) - 1; k >= 0; k-- {
			r.lead[k] = r.let(fmt.Sprintf("d%d", k), r.lead[k])
		}
	}
	return r.lead[i]
}

// column returns the index of element e of the row along the last axis.
func (r *row) column(e *expr.Expr) *expr.Expr { return add(r.first, e) }

// read returns the elements of an input on this row. The first use loads them.
func (r *row) read(v *ir.Value, label string) element {
	if el, ok := r.value[v]; ok {
		return el
	}
	buf, at := r.view(v, label, r.in)
	if last := len(v.Type.Shape) - 1; last < 0 || v.Type.Shape[last] == ir.N(1) {
		x := r.element(label+"_", v.Type.Elem, buf, at(exprs{expr.Int(0)})...)
		r.value[v] = func(*expr.Expr) *expr.Expr { return x }
	} else {
		t := r.load(label+"_", v.Type.Elem, buf, exprs{r.width}, at)
		r.value[v] = func(e *expr.Expr) *expr.Expr { return expr.NewElem(t, v.Type.Elem, e) }
	}
	return r.value[v]
}

// view declares the buffer of v and returns the place of this row in it. A buffer with the
// group's shape is flattened to rows.
func (r *row) view(v *ir.Value, label string, declare func(*ir.Value, string, ...*expr.Expr) string) (string, place) {
	shape := v.Type.Shape
	switch same := slices.Equal(shape, r.shape); {
	case same && r.start != nil:
		return declare(v, label, r.elements(shape)), from(r.start)
	case same && len(shape) >= 2:
		return declare(v, label, r.rowsOf(shape), r.width), func(i exprs) exprs { return exprs{r.index, i[0]} }
	case r.ofRows(shape):
		return declare(v, label, r.rowsOf(shape), expr.Int(1)), func(exprs) exprs { return exprs{r.index, expr.Int(0)} }
	case r.env.rows.ragged(shape):
		panic("BUG: " + v.String() + " has other packed rows than its group")
	}
	buf := declare(v, label, sizes(shape)...)
	skip := len(r.shape) - len(shape)
	index := make(exprs, len(shape))
	last := false // the last axis runs along the row
	for i, d := range shape {
		switch {
		case d == ir.N(1):
			index[i] = expr.Int(0)
		case skip+i < len(r.shape)-1:
			index[i] = r.leading(skip + i)
		default:
			last = true
		}
	}
	return buf, func(i exprs) exprs {
		if !last {
			return index
		}
		return append(slices.Clone(index[:len(index)-1]), r.column(i[0]))
	}
}

// ofRows reports whether a shape has one element for each row of the group's shape.
func (e *emitter) ofRows(shape []ir.Dim) bool {
	rows, last := e.group.Shape, len(shape)-1
	return last > 0 && len(rows) == len(shape) && slices.Equal(rows[:last], shape[:last]) && shape[last] == ir.N(1) && rows[last] != ir.N(1)
}

// members computes the elementwise members and stores the outputs among them, and the anchor if
// it is an output. Members that only other members use become part of their expressions.
func (r *row) members() {
	for _, v := range r.group.Anchors {
		if slices.Contains(r.group.Outputs, v) {
			r.result(v)
		}
	}
	for _, v := range r.group.Members {
		el := r.member(v)
		r.value[v] = el
		if !slices.Contains(r.group.Outputs, v) {
			continue
		}
		if r.usedLater(v) {
			r.keep("y", v)
		}
		r.result(v)
	}
}

// keep puts a value into a tile for its readers.
func (r *row) keep(name string, v *ir.Value) {
	el := r.value[v]
	t := r.tile(name, v.Type.Elem, r.width)
	r.mapTo(t, func(i exprs) *expr.Expr { return el(i[0]) })
	r.value[v] = func(e *expr.Expr) *expr.Expr { return expr.NewElem(t, v.Type.Elem, e) }
}

// usedLater reports whether another member reads v.
func (r *row) usedLater(v *ir.Value) bool {
	return slices.ContainsFunc(r.group.Members, func(w *ir.Value) bool { return slices.Contains(w.Args, v) })
}

// result stores the elements of an output.
func (r *row) result(v *ir.Value) {
	buf, at := r.view(v, label(v, "y"), r.out)
	if len(v.Type.Shape) == 0 || r.ofRows(v.Type.Shape) {
		r.store(v, buf, nil, at, func(exprs) *expr.Expr { return r.value[v](expr.Int(0)) })
		return
	}
	r.store(v, buf, exprs{r.width}, at, func(i exprs) *expr.Expr { return r.value[v](i[0]) })
}

// member returns the elements of an elementwise value.
func (r *row) member(v *ir.Value) element {
	switch v.Op {
	case ir.Dropout:
		x := r.operand(v.Args[0])
		words := r.words(v.Attr.Stream)
		return func(e *expr.Expr) *expr.Expr {
			return dropped(x(e), expr.NewElem(words, expr.U32, e), v.Attr.Rate)
		}
	case ir.Draw:
		n := r.drawn(v)
		return func(*expr.Expr) *expr.Expr { return n }
	case ir.Noise:
		return r.noise(v)
	case ir.Map:
		args := map[*ir.Value]element{}
		for _, a := range v.Args {
			args[a] = r.operand(a)
		}
		return func(e *expr.Expr) *expr.Expr {
			return applied(v, func(a *ir.Value) *expr.Expr { return args[a](e) }, func(axis int) *expr.Expr {
				if axis == len(v.Type.Shape)-1 {
					return r.column(e)
				}
				return r.leading(axis)
			})
		}
	}
	panic("BUG: " + v.Op.String() + " is not elementwise")
}

func (r *row) operand(v *ir.Value) element {
	if el, ok := r.value[v]; ok {
		return el
	}
	return r.read(v, label(v, "x"))
}

// applied returns a Map's expression. arg returns its arguments, and index returns the index
// along an axis. index is called only for axes that the expression reads.
func applied(v *ir.Value, arg func(*ir.Value) *expr.Expr, index func(axis int) *expr.Expr) *expr.Expr {
	vars := map[string]*expr.Expr{}
	for i, a := range v.Args {
		vars[fmt.Sprintf("x%d", i)] = arg(a)
	}
	for i := range v.Type.Shape {
		if d := fmt.Sprintf("d%d", i); expr.Depends(v.Attr.Expr, d) {
			vars[d] = index(i)
		}
	}
	return expr.Simplify(expr.Subst(v.Attr.Expr, vars))
}

// words fills a tile with the random words of this row. Words are counted over all axes except
// the first, within the row's example.
func (r *row) words(stream uint32) string {
	t := r.tile("bits", expr.U32, r.width)
	base := expr.Int(0)
	for i := 1; i < len(r.shape)-1; i++ {
		base = add(mul(base, size(r.shape[i])), r.leading(i))
	}
	r.random(t, mul(base, r.width), r.example(), stream)
	return t
}

// example returns the number of this row's example within the step's batch.
func (r *row) example() *expr.Expr {
	return expr.New(expr.Add, firstExample, expr.New(expr.AsU32, r.leading(0)))
}

// firstExample is the number of the launch's first example.
var firstExample = expr.NewVar("example", expr.U32)

// dropped returns x scaled by 1/(1-rate) if its random word is at least rate * 2^32, else 0.
func dropped(x, word *expr.Expr, rate float64) *expr.Expr {
	threshold := expr.U(uint32(math.Round(rate * (1 << 32))))
	return where(lt(word, threshold), expr.F(0), mul(x, expr.F(1/(1-rate))))
}

// pos returns the spec position of a group's first value.
func pos(g *opt.Group) diag.Pos {
	return slices.Concat(g.Anchors, g.Members)[0].Pos
}

// lowerMap computes a group that has only elementwise values.
func lowerMap(e *emitter, _ *ir.Value) {
	e.cellRow().members()
}
