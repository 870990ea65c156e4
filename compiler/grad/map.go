package grad

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// mapRule multiplies dy by the derivative of the expression with respect to each
// argument's element, and sums over the axes along which the argument was broadcast.
// Gradients of elements read by index go back through a Scatter.
func mapRule(t *tape, v, dy *ir.Value, args []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(v.Args))
	for k, a := range v.Args {
		if !a.Type.Real() {
			continue
		}
		leaf := ir.X(k, a.Type.Elem)
		if g := t.chain(v, dy, args, leaf); g != nil {
			out[k] = t.b.SumTo(g, a.Type.Shape)
		}
		for _, elem := range expr.Elems(v.Attr.Expr) {
			if elem.Name != leaf.Name {
				continue
			}
			if g := t.chain(v, dy, args, elem); g != nil {
				out[k] = t.sum(out[k], t.scatter(g, elem, a.Type.Shape, args))
			}
		}
	}
	return out
}

// sum returns a + b, where either may be nil.
func (t *tape) sum(a, b *ir.Value) *ir.Value {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return t.b.Add(a, b)
}

// chain returns dy times the derivative of v with respect to leaf, or nil if that is
// zero.
func (t *tape) chain(v, dy *ir.Value, args []*ir.Value, leaf *expr.Expr) *ir.Value {
	n := len(v.Args)
	y, d := ir.X(n, v.Type.Elem), ir.X(n+1, expr.F32)
	e := slope(v.Attr.Expr, leaf, y, d)
	switch {
	case isZero(e):
		return nil
	case e == d:
		return dy
	}
	e, args = ir.Compact(e, append(slices.Clip(args), t.kept[v], dy))
	return t.b.Map(e, args...)
}

// slope returns d times the derivative of e with respect to leaf. It avoids the arguments
// of e if the result y determines the derivative: exp, tanh, sigmoid, and max(…, 0) of a
// linear expression.
func slope(e, leaf, y, d *expr.Expr) *expr.Expr {
	if e.Op == expr.Max && e.Args[1].IsConst() && e.Args[1].F == 0 {
		if inner := expr.Diff(e.Args[0], leaf); !isZero(inner) && !readsArgs(inner, y) {
			positive := expr.New(expr.Lt, expr.F(0), y)
			return expr.New(expr.Where, positive, times(d, inner), expr.F(0))
		}
	}
	s := expr.Diff(e, leaf)
	byResult := expr.Rewrite(s, func(n *expr.Expr) *expr.Expr {
		if n.Op == e.Op && expr.Equal(n, e) {
			return y
		}
		return n
	})
	if !readsArgs(byResult, y) {
		s = byResult
	}
	return times(d, s)
}

// times returns d s, simplified if s is 0 or 1.
func times(d, s *expr.Expr) *expr.Expr {
	if s.IsConst() && s.F == 1 {
		return d
	}
	if isZero(s) {
		return s
	}
	return expr.New(expr.Mul, d, s)
}

func isZero(e *expr.Expr) bool { return e.IsConst() && e.F == 0 }

// readsArgs reports whether e reads an argument of the Map apart from the result y.
func readsArgs(e, y *expr.Expr) bool {
	for _, v := range append(expr.Vars(e), expr.Elems(e)...) {
		if strings.HasPrefix(v.Name, "x") && v.Name != y.Name {
			return true
		}
	}
	return false
}

// scatter returns the gradient of a tensor of the given shape through elem, an element
// that a Map over args reads by index. g is the gradient of the Map times its derivative
// with respect to elem.
func (t *tape) scatter(g *ir.Value, elem *expr.Expr, shape []ir.Dim, args []*ir.Value) *ir.Value {
	rows, at := 1, expr.Int(0)
	for a, d := range shape {
		if d.Sym != "" {
			t.err = fmt.Errorf("%s: elements of a tensor with extent %s read by index have no gradient", t.f.Name, d)
			return nil
		}
		rows *= d.N
		at = expr.New(expr.Add, expr.New(expr.Mul, at, d.Expr()), elem.Args[a])
	}
	at, args = ir.Compact(expr.Simplify(at), args)
	ids := t.b.MapShape(at, g.Type.Shape, args...)
	column := t.b.Reshape(g, slices.Concat(g.Type.Shape, []ir.Dim{ir.N(1)})...)
	return t.b.Reshape(t.b.Scatter(ids, column, rows), shape...)
}
