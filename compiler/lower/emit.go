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
	body    *[]kernel.Stmt // the target of emit
	tiles   []*kernel.Tile // declared tiles, which finish inserts into the body
	taken   kernel.Taken
	buffers map[*ir.Value]string
	order   []*ir.Value // the values bound to the kernel's buffers, in their order
	env     *context
	split   bool  // products use split factors
	err     error // the reason for having no kernel
}

// A context says how the values of a function are bound.
type context struct {
	accumulate map[*ir.Value]bool      // results added to their buffer
	inPlace    map[*ir.Value]*ir.Value // results that overwrite the buffer of a parameter
	apart      map[*ir.Value]*Buffer   // parameters whose distances a launch gives
	rows       packing
}

func newEmitter(g *opt.Group, name string, env *context) *emitter {
	e := &emitter{group: g, taken: kernel.Taken{}, buffers: map[*ir.Value]string{}, env: env}
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

// when emits an If, or only the body if cond is nil.
func (e *emitter) when(cond *expr.Expr, f func()) {
	if cond == nil {
		f()
		return
	}
	e.emit(&kernel.If{Cond: cond, Body: e.within(f)})
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
	as, vs := axes(exprs{n})
	e.emit(&kernel.Reduce{Name: name, Op: op, Axis: as[0], Value: f(vs[0])})
	return expr.NewVar(name, expr.F32)
}

// grid adds a grid axis.
func (e *emitter) grid(v string, n *expr.Expr) *expr.Expr {
	e.k.Grid = append(e.k.Grid, kernel.Axis{Var: v, Size: n})
	return ivar(v)
}

// tile declares a tile, or a variable if there is no shape. It returns the name, with a number
// at the end if the name was taken.
func (e *emitter) tile(name string, t expr.Type, shape ...*expr.Expr) string {
	name = e.taken.Fresh(name)
	if len(shape) == 0 {
		e.emit(&kernel.Var{Name: name, Type: t})
	} else {
		e.tiles = append(e.tiles, &kernel.Tile{Name: name, Type: t, Shape: shape})
	}
	return name
}

// made finds a tile by name. It returns nil for a variable.
func (e *emitter) made(tile string) *kernel.Tile {
	for _, t := range e.tiles {
		if t.Name == tile {
			return t
		}
	}
	return nil
}

// shape returns the extents of a tile, or nil for a variable.
func (e *emitter) shape(tile string) exprs {
	if t := e.made(tile); t != nil {
		return t.Shape
	}
	return nil
}

// factor returns an element of a tile as a factor of a product.
func (e *emitter) factor(tile string, idx ...*expr.Expr) *expr.Expr {
	return expr.NewElem(tile, e.made(tile).Type, idx...)
}

// in declares the buffer of an input, viewed with the given shape.
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

// holder returns the value whose buffer holds v.
func (e *emitter) holder(v *ir.Value) *ir.Value {
	if p, ok := e.env.inPlace[v]; ok {
		return p
	}
	return v
}

func (e *emitter) buffer(v *ir.Value, name string, mode kernel.Mode, shape exprs) string {
	key := e.holder(v)
	if n, ok := e.buffers[key]; ok {
		for i := range e.k.Params {
			if p := &e.k.Params[i]; p.Name == n && p.Mode != mode {
				p.Mode = kernel.InOut
			}
		}
		return n
	}
	name = e.taken.Fresh(name)
	e.buffers[key] = name
	e.order = append(e.order, key)
	e.k.Params = append(e.k.Params, kernel.Param{Name: name, Type: v.Type.Elem, Mode: mode, Shape: shape})
	return name
}

// exprs is an index, or a shape.
type exprs = []*expr.Expr

// A place maps the index of a tile's element to its index in a buffer.
type place func(i exprs) exprs

// same is the place of a tile as large as the buffer.
func same(i exprs) exprs { return i }

// swapped is the place of a transposed tile.
func swapped(i exprs) exprs { return exprs{i[1], i[0]} }

// from returns the place of a tile that starts at the given row of the buffer.
func from(first *expr.Expr) place {
	return func(i exprs) exprs { return append(exprs{add(first, i[0])}, i[1:]...) }
}

// load declares a tile of the given shape and fills it from a place of a buffer. Without a
// shape, it names one element.
func (e *emitter) load(tile string, t expr.Type, buf string, shape exprs, at place) string {
	if len(shape) == 0 {
		tile = e.taken.Fresh(tile)
		e.emit(&kernel.Let{Name: tile, Value: expr.NewElem(buf, t, at(nil)...)})
		return tile
	}
	tile = e.tile(tile, t, shape...)
	e.mapTo(tile, func(i exprs) *expr.Expr { return expr.NewElem(buf, t, at(i)...) })
	return tile
}

// element names one element of a buffer. A narrow element is returned without a name.
func (e *emitter) element(name string, t expr.Type, buf string, at ...*expr.Expr) *expr.Expr {
	if t.Narrow() {
		return expr.NewElem(buf, t, at...)
	}
	return ref(e.load(name, t, buf, nil, func(exprs) exprs { return at }), t)
}

// sum makes a tile for a sum that is stored at a place of v's buffer. The tile starts with the
// old content if v accumulates, else with 0.
func (e *emitter) sum(tile string, v *ir.Value, buf string, shape exprs, at place) string {
	if e.env.accumulate[v] {
		return e.load(tile, expr.F32, buf, shape, at)
	}
	tile = e.tile(tile, expr.F32, shape...)
	e.zero(tile)
	return tile
}

// store sets a place of v's buffer, or adds to its content if v accumulates.
func (e *emitter) store(v *ir.Value, buf string, shape exprs, at place, value func(i exprs) *expr.Expr) {
	_, vs := axes(shape)
	x := value(vs)
	if e.env.accumulate[v] {
		old := e.load("old", v.Type.Elem, buf, shape, at)
		x = add(ref(old, v.Type.Elem, vs...), x)
	}
	e.fill(buf, shape, at, func(exprs) *expr.Expr { return x })
}

// stored runs store for the anchor v and for the members computed from v elementwise, if they
// are outputs.
func (e *emitter) stored(v *ir.Value, value func(i exprs) *expr.Expr, store func(w *ir.Value, value func(i exprs) *expr.Expr)) {
	if slices.Contains(e.group.Outputs, v) {
		store(v, value)
	}
	for _, w := range e.group.Members {
		if w.Args[0] == v && slices.Contains(e.group.Outputs, w) {
			store(w, func(i exprs) *expr.Expr { return applied(w, func(*ir.Value) *expr.Expr { return value(i) }, nil) })
		}
	}
}

// copyOut writes an F32 tile to a place of a buffer.
func (e *emitter) copyOut(tile, buf string, at place) {
	e.fill(buf, e.shape(tile), at, func(i exprs) *expr.Expr { return elem(tile, i...) })
}

// axes makes one index variable per dimension: e for the last, and a1, a2, … for the others.
func axes(shape exprs) ([]kernel.Axis, exprs) {
	as, vs := make([]kernel.Axis, len(shape)), make(exprs, len(shape))
	for i, n := range shape {
		name := fmt.Sprintf("a%d", i+1)
		if i == len(shape)-1 {
			name = "e"
		}
		as[i], vs[i] = kernel.Axis{Var: name, Size: n}, ivar(name)
	}
	return as, vs
}

// mapTo sets a whole tile elementwise.
func (e *emitter) mapTo(tile string, f func(i exprs) *expr.Expr) {
	e.fill(tile, e.shape(tile), same, f)
}

// fill sets a place of a tile or buffer elementwise, over the given shape.
func (e *emitter) fill(name string, shape exprs, at place, f func(i exprs) *expr.Expr) {
	as, vs := axes(shape)
	e.setOver(as, name, at(vs), f(vs))
}

// setOver sets an element of a tile or buffer for all values of axes.
func (e *emitter) setOver(as []kernel.Axis, name string, at exprs, v *expr.Expr) {
	e.emit(&kernel.Set{Axes: as, Dst: e.ref(name, v.Type, at...), Value: v})
}

// ref returns an element of a buffer or tile, or a variable.
func (e *emitter) ref(name string, t expr.Type, idx ...*expr.Expr) *expr.Expr {
	if slices.ContainsFunc(e.k.Params, func(p kernel.Param) bool { return p.Name == name }) {
		return expr.NewElem(name, t, idx...)
	}
	return ref(name, t, idx...)
}

// set sets one element, or a variable.
func (e *emitter) set(name string, v *expr.Expr, at ...*expr.Expr) {
	e.setOver(nil, name, at, v)
}

// zero sets a whole tile, or a variable, to zero.
func (e *emitter) zero(tile string) {
	e.mapTo(tile, func(exprs) *expr.Expr { return expr.F(0) })
}

// random sets a tile of rank 1 to random words.
func (e *emitter) random(tile string, base, example *expr.Expr, stream uint32) {
	e.emit(&kernel.Random{Dst: tile, Size: e.shape(tile)[0], Base: base, Example: example, Stream: stream})
}

// dot adds the product of tiles a and b to c.
func (e *emitter) dot(c, a, b string) { e.dotFrom(expr.Int(0), e.shape(c)[0], c, a, same, b) }

// dotFrom adds a product with the given number of rows to c, starting at row first of c. Its left
// factor is at a place of a.
func (e *emitter) dotFrom(first, rows *expr.Expr, c, a string, at place, b string) {
	as, vs := axes(exprs{rows, e.shape(c)[1], e.shape(b)[0]})
	left, right := e.factor(a, at(exprs{vs[0], vs[2]})...), e.factor(b, vs[2], vs[1])
	e.emit(&kernel.Dot{Axes: as, Dst: elem(c, add(first, vs[0]), vs[1]), A: left, B: right, Split: e.split})
}

// finish sorts inputs before outputs, declares the scalars that the kernel uses, and returns
// the kernel.
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
	e.placeTiles()
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

func size(d ir.Dim) *expr.Expr                     { return d.Expr() }
func num(n int) *expr.Expr                         { return expr.Int(int64(n)) }
func ivar(name string) *expr.Expr                  { return expr.NewVar(name, expr.I32) }
func add(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Add, a, b)) }
func sub(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Sub, a, b)) }
func mul(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Mul, a, b)) }
func div(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Div, a, b)) }
func mod(a, b *expr.Expr) *expr.Expr               { return expr.Simplify(expr.New(expr.Mod, a, b)) }
func lesser(a, b *expr.Expr) *expr.Expr            { return expr.Simplify(expr.New(expr.Min, a, b)) }
func greater(a, b *expr.Expr) *expr.Expr           { return expr.Simplify(expr.New(expr.Max, a, b)) }
func lt(a, b *expr.Expr) *expr.Expr                { return expr.New(expr.Lt, a, b) }
func le(a, b *expr.Expr) *expr.Expr                { return expr.New(expr.Le, a, b) }
func eq(a, b *expr.Expr) *expr.Expr                { return expr.New(expr.Eq, a, b) }
func where(c, a, b *expr.Expr) *expr.Expr          { return expr.New(expr.Where, c, a, b) }
func toF32(a *expr.Expr) *expr.Expr                { return expr.Simplify(expr.New(expr.ToF32, a)) }
func elem(t string, idx ...*expr.Expr) *expr.Expr  { return ref(t, expr.F32, idx...) }
func ielem(t string, idx ...*expr.Expr) *expr.Expr { return ref(t, expr.I32, idx...) }

// ref returns an element of a tile, or a variable if there is no index.
func ref(name string, t expr.Type, idx ...*expr.Expr) *expr.Expr {
	if len(idx) == 0 {
		return expr.NewVar(name, t)
	}
	return expr.NewElem(name, t, idx...)
}

func sizes(ds []ir.Dim) exprs {
	out := make(exprs, len(ds))
	for i, d := range ds {
		out[i] = size(d)
	}
	return out
}
