package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// Invariants finds the expressions that are invariant in a loop or a row, and names them by
// Lets before it.
type Invariants struct {
	Lets    []*kernel.Let
	changes map[string]bool
	row     string // the axis of a row, "" for a loop
	name    func() string
	named   map[string]*expr.Expr // by Key
	memo    map[*expr.Expr]*expr.Expr
}

// OfLoop returns the invariants of a loop; name returns new names.
func OfLoop(l *kernel.For, name func() string) *Invariants {
	return invariants(depend.Changes(l), "", name)
}

// OfRow returns the invariants of a row of elements that a statement sets.
func OfRow(axis, sets string, name func() string) *Invariants {
	return invariants(map[string]bool{axis: true, sets: true}, axis, name)
}

func invariants(changes map[string]bool, row string, name func() string) *Invariants {
	return &Invariants{nil, changes, row, name, map[string]*expr.Expr{}, map[*expr.Expr]*expr.Expr{}}
}

// Expr returns an expression over the Lets.
func (v *Invariants) Expr(e *expr.Expr) *expr.Expr {
	if x, ok := v.memo[e]; ok {
		return x
	}
	x := v.rewrite(e)
	v.memo[e] = x
	return x
}

func (v *Invariants) rewrite(e *expr.Expr) *expr.Expr {
	if _, row := Row(e, v.row); row || !compound(e) {
		return e // where a row begins is part of its address
	}
	if v.fixed(e) {
		return v.let(e)
	}
	if x, ok := v.sum(e); ok {
		return x
	}
	args := make([]*expr.Expr, len(e.Args))
	for i, a := range e.Args {
		args[i] = v.Expr(a)
	}
	switch {
	case slices.Equal(args, e.Args):
		return e
	case e.Op == expr.Elem:
		return expr.NewElem(e.Name, e.Type, args...)
	}
	return expr.New(e.Op, args...)
}

// Row reports whether consecutive values of an axis are consecutive elements, and returns
// their start.
func Row(e *expr.Expr, axis string) (from *expr.Expr, ok bool) {
	if e.Op != expr.Elem || len(e.Args) != 1 {
		return nil, false
	}
	step, from, ok := expr.Affine(e.Args[0], axis)
	return from, ok && expr.IsInt(step, 1)
}

func compound(e *expr.Expr) bool { return e.Op != expr.Const && e.Op != expr.Var }

// fixed reports whether an expression is invariant and safe to evaluate: a loop that never
// runs may index outside an array or divide by 0.
func (v *Invariants) fixed(e *expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x *expr.Expr) {
		switch x.Op {
		case expr.Elem:
			ok = ok && v.row != "" && !v.changes[x.Name]
		case expr.Var:
			ok = ok && !v.changes[x.Name]
		case expr.Div, expr.Mod:
			ok = ok && (v.row != "" || x.Type == expr.F32 || x.Args[1].IsConst())
		}
	})
	return ok
}

// sum splits an integer into terms that the loop changes and an invariant rest.
func (v *Invariants) sum(e *expr.Expr) (*expr.Expr, bool) {
	if v.row != "" || e.Type != expr.I32 || e.Op != expr.Add && e.Op != expr.Sub && e.Op != expr.Mul {
		return nil, false
	}
	rest := e
	var terms []*expr.Expr
	gain := false
	for _, x := range expr.Vars(e) {
		if !v.changes[x.Name] {
			continue
		}
		coef, other, ok := expr.Affine(rest, x.Name)
		if !ok || !v.fixed(coef) {
			return nil, false
		}
		gain = gain || compound(coef)
		terms = append(terms, mul(x, v.Expr(coef)))
		rest = other
	}
	if !v.fixed(rest) || !gain && !compound(rest) {
		return nil, false
	}
	sum := v.Expr(rest)
	for _, t := range terms {
		sum = add(t, sum)
	}
	return sum, true
}

// let names an expression.
func (v *Invariants) let(e *expr.Expr) *expr.Expr {
	key := expr.Key(e)
	x, ok := v.named[key]
	if !ok {
		x = expr.NewVar(v.name(), e.Type)
		v.Lets = append(v.Lets, &kernel.Let{Name: x.Name, Value: e})
		v.named[key] = x
	}
	return x
}
