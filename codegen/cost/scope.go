package cost

import (
	"maps"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A Scope maps names to values over scalars and loop variables.
type Scope map[string]*expr.Expr

// Enter notes what a statement names.
func (s Scope) Enter(st kernel.Stmt) {
	switch st := st.(type) {
	case *kernel.Let:
		s[st.Name] = alike(s.Known(st.Value))
	case *kernel.Var:
		s[st.Name] = expr.NewElem(st.Name, st.Type) // treated as data, whatever its value
	}
}

// Known replaces names by their values.
func (s Scope) Known(e *expr.Expr) *expr.Expr { return expr.Subst(e, s) }

// Size is a size; 1 if it depends on data and so is unknown.
func (s Scope) Size(e *expr.Expr) *expr.Expr {
	if e = s.Known(e); ofData(e) {
		return expr.Int(1)
	}
	return e
}

// Bounds are the bounds of a loop; one iteration if they depend on data.
func (s Scope) Bounds(lo, hi *expr.Expr) (*expr.Expr, *expr.Expr) {
	if lo, hi = s.Known(lo), s.Known(hi); ofData(lo) || ofData(hi) {
		return zero, expr.Int(1)
	}
	return lo, hi
}

// Whether is a tally under a condition. A condition that depends on data counts as true.
func (s Scope) Whether(cond *expr.Expr, t Tally) Tally {
	if cond = s.Known(cond); ofData(cond) {
		return t
	}
	return t.When(cond)
}

// Of is a tally with names replaced by their values, except variables of its loops.
func (s Scope) Of(t Tally) Tally {
	out := Tally{Count: s.Known(t.Count)}
	for _, l := range t.Loops {
		inner := s
		if l.Cond != nil {
			l.Cond = s.Known(l.Cond)
		} else {
			l.Lo, l.Hi = s.Known(l.Lo), s.Known(l.Hi)
			inner = maps.Clone(s)
			delete(inner, l.Name)
		}
		l.Tally = inner.Of(l.Tally)
		out.Loops = append(out.Loops, l)
	}
	return out
}
