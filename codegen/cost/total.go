package cost

import (
	"maps"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Total is the number that a tally stands for in a launch.
func (t Tally) Total(s kernel.Scalars) float64 { return t.total(bind(s)) }

// Value is an integer expression in a launch.
func Value(e *expr.Expr, s kernel.Scalars) int { return int(expr.Eval32(e, bind(s)).I) }

func (t Tally) total(b expr.Bindings) float64 {
	n := float64(expr.Eval32(t.Count, b).I)
	for _, l := range t.Loops {
		n += l.total(b)
	}
	return n
}

func (l Loop) total(b expr.Bindings) float64 {
	if l.Cond != nil {
		if expr.Eval32(l.Cond, b).I == 0 {
			return 0
		}
		return l.Tally.total(b)
	}
	n, inner := 0.0, maps.Clone(b)
	for i := expr.Eval32(l.Lo, b).I; i < expr.Eval32(l.Hi, b).I; i++ {
		inner[l.Name] = expr.Value{I: i}
		n += l.Tally.total(inner)
	}
	return n
}

// bind gives the integer scalars their values: no count depends on others.
func bind(s kernel.Scalars) expr.Bindings {
	b := expr.Bindings{}
	for name, v := range s {
		if t, _ := kernel.ScalarType(name); t != expr.F32 {
			b[name] = expr.Value{I: int64(v)}
		}
	}
	return b
}
