// Package lanes turns a kernel of one model into a kernel of many models. The models differ only
// in the values of their parameters, and each has a lane of every array. The package comes after
// package lower and before the passes of a target (package codegen/flat), within the kernel IR.
//
// Every array of F32 gets one more axis, the last; all models share the integers. So each element
// of one model is a row of many. Each lane has the bits of the kernel of one model.
package lanes

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Own lists launch scalars with a value for each model. A kernel of many models takes each as a
// buffer after its others.
var Own = []string{"clip"}

// axis is the index of a model.
const axis = "lane"

// Of returns the kernel of n models. The error says why k has no such kernel.
func Of(k *kernel.Kernel, n int) (*kernel.Kernel, error) {
	b := &builder{lanes: expr.Int(int64(n)), names: k.Names(), made: map[string]bool{}, values: map[string]*expr.Expr{}}
	out := *k
	out.Name += "_lanes"
	out.Params = b.params(k.Params)
	out.Body = b.body(k.Body)
	if b.err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, b.err)
	}
	return &out, nil
}

type builder struct {
	lanes  *expr.Expr
	names  map[string]bool       // in use
	made   map[string]bool       // tiles
	values map[string]*expr.Expr // scalars and variables that models do not share
	err    error
}

func (b *builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// lane returns the index of the model at hand.
func lane() *expr.Expr { return expr.NewVar(axis, expr.I32) }

// all runs over the models.
func (b *builder) all() kernel.Axis { return kernel.Axis{Var: axis, Size: b.lanes} }

// params gives buffers their lanes. Scalars in Own become buffers after the others.
func (b *builder) params(ps []kernel.Param) []kernel.Param {
	var buffers, own, scalars []kernel.Param
	for _, p := range ps {
		switch {
		case p.Mode == kernel.Scalar && slices.Contains(Own, p.Name):
			each := b.fresh(p.Name)
			own = append(own, kernel.Param{Name: each, Type: p.Type, Mode: kernel.In, Shape: []*expr.Expr{b.lanes}})
			b.values[p.Name] = row(each)
		case p.Mode == kernel.Scalar:
			scalars = append(scalars, p)
		case p.Type == expr.F32:
			p.Shape = append(slices.Clone(p.Shape), b.lanes)
			buffers = append(buffers, p)
		case p.Type.Narrow():
			b.fail("%s has elements of 16 bits", p.Name)
		default:
			buffers = append(buffers, p)
		}
	}
	return slices.Concat(buffers, own, scalars)
}

// fresh returns an unused name that begins with like.
func (b *builder) fresh(like string) string {
	for i := 1; ; i++ {
		if name := fmt.Sprintf("%s%d", like, i); !b.names[name] {
			b.names[name] = true
			return name
		}
	}
}

// tile makes an array with lanes.
func (b *builder) tile(name string, shape ...*expr.Expr) *kernel.Tile {
	return &kernel.Tile{Name: name, Type: expr.F32, Shape: append(shape, b.lanes)}
}

// own makes a tile with each model's value of a scalar. It also returns the element of the model
// at hand.
func (b *builder) own(name string) (*kernel.Tile, *expr.Expr) {
	tile := name
	if b.made[tile] { // scalars of other bodies may have the name
		tile = b.fresh(name)
	}
	b.made[tile] = true
	b.values[name] = row(tile)
	return b.tile(tile), row(tile)
}

// row returns the F32 element at an index, of the model at hand.
func row(name string, index ...*expr.Expr) *expr.Expr {
	return expr.NewElem(name, expr.F32, append(slices.Clone(index), lane())...)
}

// expr returns an expression for the model at hand.
func (b *builder) expr(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(x *expr.Expr) *expr.Expr {
		switch {
		case x.Op == expr.Var && b.values[x.Name] != nil:
			return b.values[x.Name]
		case x.Op == expr.Elem && x.Type == expr.F32:
			return row(x.Name, x.Args...)
		}
		return x
	})
}

// shared returns an expression that must not depend on the model.
func (b *builder) shared(what string, e *expr.Expr) *expr.Expr {
	if e == nil {
		return nil
	}
	if expr.Depends(b.expr(e), axis) {
		b.fail("%s, %s, may be another for each model", what, e)
	}
	return e
}

func (b *builder) body(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, s := range body {
		out = append(out, b.stmt(s)...)
	}
	return out
}

func (b *builder) stmt(s kernel.Stmt) []kernel.Stmt {
	for name := range kernel.Names(kernel.WithBody(s, nil)) {
		delete(b.values, name) // a value from another body
	}
	switch s := s.(type) {
	case *kernel.Let:
		return b.let(s)
	case *kernel.Tile:
		if s.Type == expr.F32 {
			return []kernel.Stmt{b.tile(s.Name, slices.Clone(s.Shape)...)}
		}
		if s.Type.Narrow() {
			b.fail("%s has elements of 16 bits", s.Name)
		}
		return []kernel.Stmt{s}
	case *kernel.Var:
		return b.variable(s)
	case *kernel.Set:
		return []kernel.Stmt{b.set(s)}
	case *kernel.Random:
		b.shared("the first word", s.Base)
		return []kernel.Stmt{s}
	case *kernel.Dot:
		return b.dot(s)
	case *kernel.Reduce:
		return b.reduce(s)
	case *kernel.For:
		b.shared("where a loop begins", s.Lo)
		b.shared("where a loop ends", s.Hi)
		return []kernel.Stmt{&kernel.For{Var: s.Var, Lo: s.Lo, Hi: s.Hi, Body: b.body(s.Body)}}
	case *kernel.If:
		b.shared("a condition", s.Cond)
		return []kernel.Stmt{kernel.WithBody(s, b.body(s.Body))}
	}
	panic(fmt.Sprintf("BUG: unknown statement %T", s))
}

// let keeps F32 values that models do not share in a tile. It substitutes other such values where
// they are used.
func (b *builder) let(s *kernel.Let) []kernel.Stmt {
	e := b.expr(s.Value)
	switch {
	case !expr.Depends(e, axis):
		return []kernel.Stmt{&kernel.Let{Name: s.Name, Value: e}}
	case s.Value.Type != expr.F32:
		b.values[s.Name] = e
		return nil
	}
	tile, own := b.own(s.Name)
	return []kernel.Stmt{tile, b.assign(own, e)}
}

// variable makes a variable of F32 a tile.
func (b *builder) variable(s *kernel.Var) []kernel.Stmt {
	if s.Type != expr.F32 {
		return []kernel.Stmt{&kernel.Var{Name: s.Name, Type: s.Type, Value: b.shared("a variable", s.Value)}}
	}
	tile, own := b.own(s.Name)
	if s.Value == nil {
		return []kernel.Stmt{tile}
	}
	return []kernel.Stmt{tile, b.assign(own, b.expr(s.Value))}
}

// set sets the elements of all models.
func (b *builder) set(s *kernel.Set) kernel.Stmt {
	if s.Dst.Type != expr.F32 {
		return &kernel.Set{Axes: s.Axes, Dst: s.Dst, Value: b.shared("what is set", s.Value)}
	}
	return b.assign(b.expr(s.Dst), b.expr(s.Value), s.Axes...)
}

// assign sets the lanes of an element, over axes.
func (b *builder) assign(dst, value *expr.Expr, axes ...kernel.Axis) *kernel.Set {
	return &kernel.Set{Axes: append(slices.Clone(axes), b.all()), Dst: dst, Value: value}
}
