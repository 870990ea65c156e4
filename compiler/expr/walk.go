package expr

import "slices"

// Walk calls visit once for every node of e, operands before their users.
func Walk(e *Expr, visit func(*Expr)) { walk(&memo[struct{}]{}, e, visit) }

func walk(seen *memo[struct{}], e *Expr, visit func(*Expr)) {
	if _, ok := seen.get(e); ok {
		return
	}
	seen.put(e, struct{}{})
	for _, a := range e.Args {
		walk(seen, a, visit)
	}
	visit(e)
}

// Rewrite replaces every node of e by f of it. f sees a node whose operands are already rewritten. It
// returns its argument to keep a node, and must not change a type. Sharing is kept.
func Rewrite(e *Expr, f func(*Expr) *Expr) *Expr { return rewrite(&memo[*Expr]{}, e, f) }

func rewrite(done *memo[*Expr], e *Expr, f func(*Expr) *Expr) *Expr {
	if r, ok := done.get(e); ok {
		return r
	}
	r := f(mapArgs(e, func(a *Expr) *Expr { return rewrite(done, a, f) }))
	done.put(e, r)
	return r
}

// mapArgs returns e with f applied to its operands, or e itself if none changes.
func mapArgs(e *Expr, f func(*Expr) *Expr) *Expr {
	var args []*Expr
	for i, a := range e.Args {
		r := f(a)
		if r == a {
			continue
		}
		if args == nil {
			args = append(args, e.Args...)
		}
		args[i] = r
	}
	if args == nil {
		return e
	}
	return e.withArgs(args)
}

// Subst replaces the variables named in values. It does not substitute within the values.
func Subst(e *Expr, values map[string]*Expr) *Expr {
	return Rewrite(e, func(e *Expr) *Expr {
		if e.Op != Var {
			return e
		}
		v, ok := values[e.Name]
		switch {
		case !ok:
			return e
		case v.Type != e.Type:
			panic("BUG: variable " + e.Name + " is replaced by another type")
		}
		return v
	})
}

// Vars returns the variables of es, one node per name, in order of first use.
func Vars(es ...*Expr) []*Expr { return leaves(Var, es) }

// Elems returns the structurally distinct elements of es in order of first use.
func Elems(es ...*Expr) []*Expr { return leaves(Elem, es) }

func leaves(op Op, es []*Expr) []*Expr {
	var found []*Expr
	var seen memo[struct{}]
	var visit func(e *Expr)
	visit = func(e *Expr) {
		if len(e.Args) > 0 {
			if _, ok := seen.get(e); ok {
				return
			}
			seen.put(e, struct{}{})
			for _, a := range e.Args {
				visit(a)
			}
		}
		if e.Op == op && !slices.ContainsFunc(found, func(f *Expr) bool { return Equal(e, f) }) {
			found = append(found, e)
		}
	}
	for _, e := range es {
		visit(e)
	}
	return found
}

// Uses counts the uses of each node: one for each operand that it is, and one for each of es that it is.
func Uses(es ...*Expr) map[*Expr]int {
	uses := map[*Expr]int{}
	var seen memo[struct{}]
	for _, e := range es {
		uses[e]++
		walk(&seen, e, func(e *Expr) {
			for _, a := range e.Args {
				uses[a]++
			}
		})
	}
	return uses
}
