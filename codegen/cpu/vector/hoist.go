package vector

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
)

// A hoister moves scalar computations out of loops: of an index, the part that a
// loop does not change becomes a Let before the loop.
type hoister struct{ lets int }

// nodes returns statements whose loops compute nothing that they need not.
func (h *hoister) nodes(ns []flat.Node) []flat.Node {
	var out []flat.Node
	for _, n := range ns {
		switch n := n.(type) {
		case *flat.Loop:
			lets, l := h.loop(n)
			out = append(out, lets...)
			out = append(out, &flat.Loop{Name: l.Name, Lo: l.Lo, Hi: l.Hi, Body: h.nodes(l.Body)})
		case *flat.Branch:
			out = append(out, &flat.Branch{Cond: n.Cond, Body: h.nodes(n.Body)})
		default:
			out = append(out, n)
		}
	}
	return out
}

// loop returns what is computed before a loop, and the loop over that.
func (h *hoister) loop(l *flat.Loop) ([]flat.Node, *flat.Loop) {
	inv := &invariants{hoister: h, inner: map[string]bool{l.Name: true}, byKey: map[string]*expr.Expr{}, memo: map[*expr.Expr]*expr.Expr{}}
	each(l.Body, func(n flat.Node) { changes(n, inv.inner) })
	body := make([]flat.Node, len(l.Body))
	for i, n := range l.Body {
		body[i] = mapExpressions(n, inv.expr)
	}
	return inv.lets, &flat.Loop{Name: l.Name, Lo: l.Lo, Hi: l.Hi, Body: body}
}

// changes marks the variables that a statement binds or sets.
func changes(n flat.Node, names map[string]bool) {
	switch n := n.(type) {
	case *flat.Loop:
		names[n.Name] = true
	case *flat.Assign:
		for _, a := range n.Axes {
			names[a.Var] = true
		}
	case *flat.Reduce:
		names[n.Axis.Var] = true
	case *flat.Fill:
		names[n.Dst] = true
	}
	if r := result(n); r != "" {
		names[r] = true
	}
}

// invariants finds what does not change in one loop.
type invariants struct {
	*hoister
	inner map[string]bool
	lets  []flat.Node
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
		coef, other, ok := flat.Affine(rest, x.Name)
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
	v.lets = append(v.lets, &flat.Let{Name: name, Value: e})
	x := expr.NewVar(name, e.Type)
	v.byKey[key] = x
	return x
}

// mapExpressions returns a statement with f of all its expressions.
func mapExpressions(n flat.Node, f func(*expr.Expr) *expr.Expr) flat.Node {
	body := func(ns []flat.Node) []flat.Node {
		out := make([]flat.Node, len(ns))
		for i, n := range ns {
			out[i] = mapExpressions(n, f)
		}
		return out
	}
	maybe := func(e *expr.Expr) *expr.Expr {
		if e == nil {
			return nil
		}
		return f(e)
	}
	switch n := n.(type) {
	case *flat.Let:
		return &flat.Let{Name: n.Name, Value: f(n.Value)}
	case *flat.Alloc:
		return &flat.Alloc{Name: n.Name, Type: n.Type, Size: maybe(n.Size), Value: maybe(n.Value)}
	case *flat.Assign:
		a := &flat.Assign{Dst: n.Dst, Value: f(n.Value)}
		if n.Dst.Op == expr.Elem {
			a.Dst = f(n.Dst)
		}
		for _, x := range n.Axes {
			x.Size = f(x.Size)
			a.Axes = append(a.Axes, x)
		}
		return a
	case *flat.Fill:
		return &flat.Fill{Dst: n.Dst, Size: maybe(n.Size), Value: f(n.Value)}
	case *flat.Random:
		return &flat.Random{Dst: n.Dst, Size: maybe(n.Size), Base: f(n.Base), Example: f(n.Example), Stream: n.Stream}
	case *flat.Reduce:
		r := &flat.Reduce{Name: n.Name, Op: n.Op, Axis: n.Axis, Value: f(n.Value)}
		r.Axis.Size = f(n.Axis.Size)
		return r
	case *flat.Loop:
		return &flat.Loop{Name: n.Name, Lo: f(n.Lo), Hi: f(n.Hi), Body: body(n.Body)}
	case *flat.Branch:
		return &flat.Branch{Cond: f(n.Cond), Body: body(n.Body)}
	}
	return n
}
