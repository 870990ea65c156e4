package vector

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A hoister moves scalar computations out of loops: of an index, the part that a
// loop does not change becomes a Let before the loop.
type hoister struct{ lets int }

// nodes returns statements whose loops compute nothing that they need not.
func (h *hoister) nodes(ns []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, n := range ns {
		if l, ok := n.(*kernel.For); ok {
			inv := &invariants{hoister: h, inner: map[string]bool{}, byKey: map[string]*expr.Expr{}, memo: map[*expr.Expr]*expr.Expr{}}
			inv.changes(l)
			n = kernel.WithBody(l, kernel.RewriteAll(l.Body, inv.expr))
			out = append(out, inv.lets...)
		}
		if inner := kernel.Within(n); inner != nil {
			n = kernel.WithBody(n, h.nodes(inner))
		}
		out = append(out, n)
	}
	return out
}

// changes marks the variables that a loop binds or sets.
func (v *invariants) changes(l *kernel.For) {
	for name := range kernel.Names(l) {
		v.inner[name] = true
	}
	for s := range kernel.All(l.Body) {
		v.inner[kernel.Written(s)] = true
	}
}

// invariants finds what does not change in one loop.
type invariants struct {
	*hoister
	inner map[string]bool
	lets  []kernel.Stmt
	byKey map[string]*expr.Expr
	memo  map[*expr.Expr]*expr.Expr
}

// expr returns an expression over the Lets before the loop.
func (v *invariants) expr(e *expr.Expr) *expr.Expr {
	if x, ok := v.memo[e]; ok {
		return x
	}
	x := v.rewrite(e)
	v.memo[e] = x
	return x
}

func (v *invariants) rewrite(e *expr.Expr) *expr.Expr {
	if e.Op == expr.Const || e.Op == expr.Var {
		return e
	}
	if v.fixed(e) {
		return v.let(e)
	}
	if x, ok := v.sum(e); ok {
		return x
	}
	args := make([]*expr.Expr, len(e.Args))
	same := true
	for i, a := range e.Args {
		args[i] = v.expr(a)
		same = same && args[i] == a
	}
	switch {
	case same:
		return e
	case e.Op == expr.Elem:
		return expr.NewElem(e.Name, e.Type, args...)
	}
	return expr.New(e.Op, args...)
}

// fixed says whether an expression has one value for the whole loop, and may be
// computed even if the loop never runs.
func (v *invariants) fixed(e *expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x *expr.Expr) {
		switch x.Op {
		case expr.Elem:
			ok = false
		case expr.Var:
			ok = ok && !v.inner[x.Name]
		case expr.Div, expr.Mod:
			ok = ok && (x.Type == expr.F32 || x.Args[1].IsConst())
		}
	})
	return ok
}

// sum splits an integer into multiples of what the loop changes and the rest,
// which it does not.
func (v *invariants) sum(e *expr.Expr) (*expr.Expr, bool) {
	if e.Type != expr.I32 || e.Op != expr.Add && e.Op != expr.Sub && e.Op != expr.Mul || !allGeneral(e) {
		return nil, false
	}
	rest := e
	var terms []*expr.Expr
	gain := false
	for _, x := range expr.Vars(e) {
		if !v.inner[x.Name] {
			continue
		}
		coef, other, ok := expr.Affine(rest, x.Name)
		if !ok || !v.fixed(coef) {
			return nil, false
		}
		gain = gain || compound(coef)
		terms = append(terms, expr.Simplify(expr.New(expr.Mul, x, v.expr(coef))))
		rest = other
	}
	if !v.fixed(rest) || !gain && !compound(rest) {
		return nil, false
	}
	sum := v.expr(rest)
	for _, t := range terms {
		sum = expr.Simplify(expr.New(expr.Add, t, sum))
	}
	return sum, true
}

func compound(e *expr.Expr) bool { return e.Op != expr.Const && e.Op != expr.Var }

// let names an expression before the loop.
func (v *invariants) let(e *expr.Expr) *expr.Expr {
	key := expr.Key(e)
	if x, ok := v.byKey[key]; ok {
		return x
	}
	name := fmt.Sprintf("before.%d", v.hoister.lets)
	v.hoister.lets++
	v.lets = append(v.lets, &kernel.Let{Name: name, Value: e})
	x := expr.NewVar(name, e.Type)
	v.byKey[key] = x
	return x
}
