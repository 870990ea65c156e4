package vector

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// mostUnrolled bounds the statements of an unrolled loop.
const mostUnrolled = 160

// unrolled returns the statements of all iterations of a loop, or nil for a loop with many
// iterations or long rows. Unrolled statements share addresses, and several reductions run
// side by side.
func unrolled(l *kernel.For) []kernel.Stmt {
	if !l.Lo.IsConst() || !l.Hi.IsConst() || (l.Hi.I-l.Lo.I)*int64(len(l.Body)) > mostUnrolled {
		return nil
	}
	for _, s := range l.Body {
		if !short(s) {
			return nil
		}
	}
	var out []kernel.Stmt
	for i := l.Lo.I; i < l.Hi.I; i++ {
		values := map[string]*expr.Expr{l.Var: expr.Int(i)}
		for _, s := range l.Body {
			out = append(out, renamed(s, values, i))
		}
	}
	return out
}

// mostShort bounds the elements of a short row.
const mostShort = 32

// short reports whether a statement is a let, sets an element, or computes over a short row.
func short(s kernel.Stmt) bool {
	switch s := s.(type) {
	case *kernel.Let, *kernel.Reduce:
	case *kernel.Set:
		if s.Dst.Op != expr.Elem || len(s.Axes) > 1 {
			return false
		}
	default:
		return false
	}
	for _, a := range kernel.Axes(s) {
		if !a.Size.IsConst() || a.Size.I > mostShort {
			return false
		}
	}
	return true
}

// renamed returns a statement of iteration i, with values for variables. It gives the variable
// that the statement binds a name of the iteration.
func renamed(s kernel.Stmt, values map[string]*expr.Expr, i int64) kernel.Stmt {
	s = kernel.Rewrite(s, func(e *expr.Expr) *expr.Expr { return expr.Simplify(expr.Subst(e, values)) })
	name := fmt.Sprintf("%s.%d", kernel.Bound(s), i)
	switch s := s.(type) {
	case *kernel.Let:
		values[s.Name] = expr.NewVar(name, s.Value.Type)
		return &kernel.Let{Name: name, Value: s.Value}
	case *kernel.Reduce:
		values[s.Name] = expr.NewVar(name, s.Value.Type)
		return &kernel.Reduce{Name: name, Op: s.Op, Axis: s.Axis, Value: s.Value}
	}
	return s
}
