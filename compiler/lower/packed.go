package lower

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/plan"
)

// A locator is a buffer that locates packed rows.
type locator struct {
	name string
	t    ir.Type
}

// locators are the buffers that locate packed rows, keyLocators those for keys with lengths of their
// own.
var (
	locators = []locator{
		{kernel.RowExample, ir.Ints(ir.Sym("B"), ir.Sym("T"))},
		{kernel.ExampleStart, ir.Ints(ir.Sym("B"))},
		{kernel.ExampleLength, ir.Ints(ir.Sym("B"))},
	}
	keyLocators = []locator{
		{kernel.KeyStart, ir.Ints(ir.Sym("B"))},
		{kernel.KeyLength, ir.Ints(ir.Sym("B"))},
	}
)

// packs reports whether the training program packs rows. Then problems of several lengths have
// no padding: a shape [B, T, …] has R rows, the number of actual rows. Packing requires that
// padding cannot change a result, and that no sum is over examples alone.
func packs(p *plan.Plan) bool {
	i := slices.IndexFunc(p.Programs, func(q *plan.Program) bool { return q.Name == training })
	if i < 0 || !p.Varies || p.Programs[i].Buffer("source_tokens") != nil {
		return false
	}
	funcs := funcsOf(p.Programs[i])
	return !seesFillers(funcs) && !anyValue(funcs, sumsExamples)
}

// sumsExamples reports whether a value is a sum over examples alone.
func sumsExamples(v *ir.Value) bool {
	return v.Op == ir.Sum && slices.Equal(v.Attr.Axes, []int{0}) && len(v.Type.Shape) > 1 && Rows(v.Args[0].Type.Shape)
}

// Rows reports whether the first axes of a shape are rows of examples.
func Rows(shape []ir.Dim) bool {
	return len(shape) >= 2 && shape[0] == ir.Sym("B") && shape[1] == ir.Sym("T")
}

// A packing says how the rows of examples lie in the buffers of a function. The zero packing
// has B times T rows.
type packing struct {
	counted bool                 // there are R rows
	at      map[string]*ir.Value // values that locate the rows, by name; nil: each example has T rows
}

// ofKeys reports whether the first axes of a shape are rows of keys, whose examples have lengths of
// their own.
func (p *packing) ofKeys(shape []ir.Dim) bool {
	return p.at[kernel.KeyStart] != nil && len(shape) >= 2 && shape[0] == ir.Sym("B") && shape[1] == ir.Sym("S")
}

// extents returns the sizes of a shape. With R rows, axes B and T are one axis, and with RK rows of
// keys axes B and S.
func (p *packing) extents(shape []ir.Dim) exprs {
	switch {
	case p.counted && Rows(shape):
		return append(exprs{ivar("R")}, sizes(shape[2:])...)
	case p.ofKeys(shape):
		return append(exprs{ivar("RK")}, sizes(shape[2:])...)
	}
	return sizes(shape)
}

// ragged reports whether the first axes of a shape are rows of examples of several lengths.
func (p *packing) ragged(shape []ir.Dim) bool { return p.at != nil && Rows(shape) || p.ofKeys(shape) }

// elements is the number of elements of a shape.
func (e *emitter) elements(shape []ir.Dim) *expr.Expr {
	return kernel.Elements(e.env.rows.extents(shape))
}

// rowsOf is the number of rows of a shape: the product of all axes but the last.
func (e *emitter) rowsOf(shape []ir.Dim) *expr.Expr { return e.elements(shape[:max(len(shape)-1, 0)]) }

// viewed returns the shape of a buffer in a kernel that loops over examples.
func (e *emitter) viewed(shape []ir.Dim) exprs {
	if e.env.rows.ragged(shape) {
		return e.env.rows.extents(shape)
	}
	return sizes(shape)
}

// packed returns an element of a buffer that locates packed rows.
func (e *emitter) packed(name string, at *expr.Expr) *expr.Expr {
	v := e.env.rows.at[name]
	return expr.NewElem(e.in(v, name, e.env.rows.extents(v.Type.Shape)...), expr.I32, at)
}

// leading returns the indices of row r along the leading axes of a shape. name names the
// elements that it reads.
func (e *emitter) leading(shape []ir.Dim, r *expr.Expr, name func(name string, x *expr.Expr) *expr.Expr) exprs {
	at := make(exprs, len(shape)-1)
	first, ragged := 0, len(at) >= 2 && e.env.rows.ragged(shape)
	if ragged {
		first = 1
	}
	for k := len(at) - 1; k > first; k-- {
		at[k] = mod(r, size(shape[k]))
		r = div(r, size(shape[k]))
	}
	switch {
	case ragged:
		at[0] = name("d0", e.packed(kernel.RowExample, r))
		at[1] = sub(r, name("start", e.packed(kernel.ExampleStart, at[0])))
	case len(at) > 0:
		at[0] = r
	}
	return at
}

// An example is the number of an example's rows, and its first row.
type example struct{ rows, first *expr.Expr }

// example names the rows of example b, at most T of them.
func (e *emitter) example(b *expr.Expr, rows ir.Dim) example {
	shape := []ir.Dim{ir.Sym("B"), rows}
	switch {
	case !e.env.rows.ragged(shape):
		return example{size(rows), mul(b, size(rows))}
	case e.env.rows.ofKeys(shape):
		return example{
			e.let("key_rows", lesser(e.packed(kernel.KeyLength, b), size(rows))),
			// Windows of few keys read the first one even if there is none.
			e.let("keys_from", lesser(e.packed(kernel.KeyStart, b), sub(ivar("RK"), expr.Int(1)))),
		}
	}
	return example{
		e.let("rows", lesser(e.packed(kernel.ExampleLength, b), size(rows))),
		e.let("start", e.packed(kernel.ExampleStart, b)),
	}
}
