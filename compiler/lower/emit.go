package lower

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/opt"
)

// An emitter writes the kernel of one group.
type emitter struct {
	group   *opt.Group
	k       *kernel.Kernel
	body    *[]kernel.Stmt // where statements go
	buffers map[*ir.Value]string
	order   []*ir.Value // the values bound to the kernel's buffers, in order
	env     *context
}

// A context says how the values of a function are bound.
type context struct {
	accumulate map[*ir.Value]bool      // results that are added to their buffer
	inPlace    map[*ir.Value]*ir.Value // results that overwrite the buffer of a parameter
}

func newEmitter(g *opt.Group, name string, env *context) *emitter {
	e := &emitter{group: g, buffers: map[*ir.Value]string{}, env: env}
	e.k = &kernel.Kernel{Name: name, Pos: pos(g)}
	e.body = &e.k.Body
	return e
}

func (e *emitter) emit(ss ...kernel.Stmt) { *e.body = append(*e.body, ss...) }

// within collects the statements of a nested body.
func (e *emitter) within(f func()) []kernel.Stmt {
	outer := e.body
	var inner []kernel.Stmt
	e.body = &inner
	f()
	e.body = outer
	return inner
}

// loop emits a For over 0 … n-1.
func (e *emitter) loop(v string, n *expr.Expr, f func(i *expr.Expr)) {
	e.emit(&kernel.For{Var: v, Lo: expr.Int(0), Hi: n, Body: e.within(func() { f(ivar(v)) })})
}

// when emits an If.
func (e *emitter) when(cond *expr.Expr, f func()) {
	e.emit(&kernel.If{Cond: cond, Then: e.within(f)})
}

// let names a scalar.
func (e *emitter) let(name string, v *expr.Expr) *expr.Expr {
	if v.IsConst() || v.Op == expr.Var {
		return v
	}
	e.emit(&kernel.Let{Name: name, Value: v})
	return expr.NewVar(name, v.Type)
}

// reduce names a canonical reduction over n elements.
func (e *emitter) reduce(name string, op expr.Op, n *expr.Expr, f func(i *expr.Expr) *expr.Expr) *expr.Expr {
	v := "e"
	e.emit(&kernel.Reduce{Name: name, Op: op, Axis: kernel.Axis{Var: v, Size: n}, Value: f(ivar(v))})
	return expr.NewVar(name, expr.F32)
}

// grid adds a grid axis.
func (e *emitter) grid(v string, n *expr.Expr) *expr.Expr {
	e.k.Grid = append(e.k.Grid, kernel.Axis{Var: v, Size: n})
	return ivar(v)
}

// tile declares a tile and returns its name, which ends in a number when taken.
func (e *emitter) tile(name string, t expr.Type, shape ...*expr.Expr) string {
	name = e.fresh(name)
	e.k.Tiles = append(e.k.Tiles, kernel.Tile{Name: name, Type: t, Shape: shape})
	return name
}

func (e *emitter) fresh(name string) string {
	taken := func(n string) bool {
		return slices.ContainsFunc(e.k.Tiles, func(t kernel.Tile) bool { return t.Name == n }) ||
			slices.ContainsFunc(e.k.Params, func(p kernel.Param) bool { return p.Name == n })
	}
	if !taken(name) {
		return name
	}
	for i := 2; ; i++ {
		if n := fmt.Sprintf("%s%d", name, i); !taken(n) {
			return n
		}
	}
}

// in declares the buffer of an input with the given view of its shape.
func (e *emitter) in(v *ir.Value, name string, shape ...*expr.Expr) string {
	return e.buffer(v, name, kernel.In, shape)
}

// out declares the buffer of an output.
func (e *emitter) out(v *ir.Value, name string, shape ...*expr.Expr) string {
	mode := kernel.Out
	if e.env.accumulate[v] {
		mode = kernel.InOut
	}
	return e.buffer(v, name, mode, shape)
}

// holder is the value whose buffer holds v.
func (e *emitter) holder(v *ir.Value) *ir.Value {
	if p, ok := e.env.inPlace[v]; ok {
		return p
	}
	return v
}

func (e *emitter) buffer(v *ir.Value, name string, mode kernel.Mode, shape []*expr.Expr) string {
	key := e.holder(v)
	if n, ok := e.buffers[key]; ok {
		for i := range e.k.Params {
			if p := &e.k.Params[i]; p.Name == n && p.Mode != mode {
				p.Mode = kernel.InOut
			}
		}
		return n
	}
	name = e.fresh(name)
	e.buffers[key] = name
	e.order = append(e.order, key)
	e.k.Params = append(e.k.Params, kernel.Param{Name: name, Type: v.Type.Elem, Mode: mode, Shape: shape})
	return name
}

// load declares a tile of shape and fills it from a buffer; index gives the
// buffer's index for the tile's.
func (e *emitter) load(tile string, t expr.Type, buf string, shape []*expr.Expr, index func(a []*expr.Expr) []*expr.Expr) string {
	tile = e.tile(tile, t, shape...)
	axes, vars := axes(shape)
	e.emit(&kernel.Load{Dst: tile, Axes: axes, Buf: buf, Index: index(vars)})
	return tile
}

// axes makes one index variable a dimension: the last is e, those before it a1, a2, ….
func axes(shape []*expr.Expr) ([]kernel.Axis, []*expr.Expr) {
	names := []string{"a1", "a2", "a3"}
	as := make([]kernel.Axis, len(shape))
	vs := make([]*expr.Expr, len(shape))
	for i, n := range shape {
		name := "e"
		if i < len(shape)-1 {
			name = names[i]
		}
		as[i] = kernel.Axis{Var: name, Size: n}
		vs[i] = ivar(name)
	}
	return as, vs
}

// mapTo sets a whole tile elementwise.
func (e *emitter) mapTo(tile string, shape []*expr.Expr, f func(i []*expr.Expr) *expr.Expr) {
	as, vs := axes(shape)
	e.emit(&kernel.Map{Dst: tile, At: vs, Axes: as, Value: f(vs)})
}

// set sets one element of a tile.
func (e *emitter) set(tile string, v *expr.Expr, at ...*expr.Expr) {
	e.emit(&kernel.Map{Dst: tile, At: at, Value: v})
}

// zero sets a whole tile to zero.
func (e *emitter) zero(tile string) { e.emit(&kernel.Fill{Dst: tile, Value: expr.F(0)}) }

// finish puts inputs before outputs, declares the scalars that the kernel uses
// and returns it.
func (e *emitter) finish() *kernel.Kernel {
	var params []kernel.Param
	var order []*ir.Value
	for _, inputs := range []bool{true, false} {
		for i, p := range e.k.Params {
			if (p.Mode == kernel.In) == inputs {
				params, order = append(params, p), append(order, e.order[i])
			}
		}
	}
	e.k.Params, e.order = params, order
	used := freeVars(e.k)
	for _, name := range kernel.ScalarNames() {
		if used[name] {
			t, _ := kernel.ScalarType(name)
			e.k.Params = append(e.k.Params, kernel.Param{Name: name, Type: t, Mode: kernel.Scalar})
		}
	}
	return e.k
}

// Short forms for building expressions.

func ivar(name string) *expr.Expr                  { return expr.NewVar(name, expr.I32) }
func add(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Add, a, b)) }
func sub(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Sub, a, b)) }
func mul(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Mul, a, b)) }
func div(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Div, a, b)) }
func mod(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Mod, a, b)) }
func lesser(a, b *expr.Expr) *expr.Expr            { return expr.Simplify(expr.New(expr.Min, a, b)) }
func lt(a, b *expr.Expr) *expr.Expr                { return expr.New(expr.Lt, a, b) }
func le(a, b *expr.Expr) *expr.Expr                { return expr.New(expr.Le, a, b) }
func eq(a, b *expr.Expr) *expr.Expr                { return expr.New(expr.Eq, a, b) }
func where(c, a, b *expr.Expr) *expr.Expr          { return expr.New(expr.Where, c, a, b) }
func toF32(a *expr.Expr) *expr.Expr                { return expr.Simplify(expr.New(expr.ToF32, a)) }
func elem(t string, idx ...*expr.Expr) *expr.Expr  { return expr.NewElem(t, expr.F32, idx...) }
func ielem(t string, idx ...*expr.Expr) *expr.Expr { return expr.NewElem(t, expr.I32, idx...) }
func ceilDiv(a *expr.Expr, n int64) *expr.Expr {
	return div(add(a, expr.Int(n-1)), expr.Int(n))
}

// size is a dimension as an expression.
func size(d ir.Dim) *expr.Expr {
	if d.Sym != "" {
		return ivar(d.Sym)
	}
	return expr.Int(int64(d.N))
}

func sizes(ds []ir.Dim) []*expr.Expr {
	out := make([]*expr.Expr, len(ds))
	for i, d := range ds {
		out[i] = size(d)
	}
	return out
}

// product is the number of elements of a shape.
func product(ds []ir.Dim) *expr.Expr {
	n := expr.Int(1)
	for _, d := range ds {
		n = mul(n, size(d))
	}
	return n
}
