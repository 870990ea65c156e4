package ir

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

var (
	x0 = X(0, expr.F32)
	x1 = X(1, expr.F32)
	x2 = X(2, expr.F32)
)

// Add returns x + y, broadcast.
func (b *Builder) Add(x, y *Value) *Value { return b.Map(expr.New(expr.Add, x0, x1), x, y) }

// Mul returns x * y, broadcast.
func (b *Builder) Mul(x, y *Value) *Value { return b.Map(expr.New(expr.Mul, x0, x1), x, y) }

// Round returns x rounded to BF16, to nearest even.
func (b *Builder) Round(x *Value) *Value { return b.Map(expr.New(expr.ToBF16, x0), x) }

// Widen is x in F32.
func (b *Builder) Widen(x *Value) *Value {
	if x.Type.Elem.Narrow() {
		return b.Map(expr.New(expr.ToF32, X(0, x.Type.Elem)), x)
	}
	return x
}

// Like returns the F32 value x as a factor for a product with y: rounded to BF16 if y is.
func (b *Builder) Like(y, x *Value) *Value {
	if y.Type.Elem.Narrow() {
		return b.Round(x)
	}
	return x
}

// Zeros returns a tensor of zeros.
func (b *Builder) Zeros(shape ...Dim) *Value { return b.MapShape(expr.F(0), shape) }

// Keep restores reduced axes with extent 1, so that a Sum or Max over axes of x
// broadcasts against x.
func (b *Builder) Keep(reduced, x *Value, axes ...int) *Value {
	if b.err != nil {
		return reduced
	}
	shape := slices.Clone(x.Type.Shape)
	for _, a := range axes {
		shape[a] = N(1)
	}
	return b.Reshape(reduced, shape...)
}

// SumTo sums x over the axes along which a tensor of the given shape was broadcast to x.
func (b *Builder) SumTo(x *Value, shape []Dim) *Value {
	if slices.Equal(x.Type.Shape, shape) {
		return x
	}
	var axes []int
	lead := x.Type.Rank() - len(shape)
	for i, d := range x.Type.Shape {
		if i < lead || d != shape[i-lead] {
			axes = append(axes, i)
		}
	}
	if len(axes) > 0 {
		x = b.Sum(x, axes...)
	}
	if slices.Equal(x.Type.Shape, shape) {
		return x
	}
	return b.Reshape(x, shape...)
}

// Compact drops arguments that e does not read and joins equal ones. The shape of the Map
// may shrink as a result.
func Compact(e *expr.Expr, args []*Value) (*expr.Expr, []*Value) {
	used := map[int]bool{}
	for _, v := range append(expr.Vars(e), expr.Elems(e)...) {
		if k, ok := numbered(v.Name, "x"); ok {
			used[k] = true
		}
	}
	var kept []*Value
	names := map[string]string{}
	for k, a := range args {
		if !used[k] {
			continue
		}
		at := slices.Index(kept, a)
		if at < 0 {
			at = len(kept)
			kept = append(kept, a)
		}
		names[X(k, a.Type.Elem).Name] = X(at, a.Type.Elem).Name
	}
	return rename(e, names), kept
}

// rename renames variables and elements.
func rename(e *expr.Expr, names map[string]string) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		name, ok := names[e.Name]
		switch {
		case !ok || name == e.Name:
			return e
		case e.Op == expr.Var:
			return expr.NewVar(name, e.Type)
		case e.Op == expr.Elem:
			return expr.NewElem(name, e.Type, e.Args...)
		}
		return e
	})
}
