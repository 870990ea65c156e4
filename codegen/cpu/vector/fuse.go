package vector

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// A group is a list of statements over the same axis that one loop computes, in order.
type group struct {
	*fn
	size    *expr.Expr
	axis    string
	serial  bool // the loop is one vector, so that statements run one after another
	random  []*kernel.Random
	members []member
	counted []*kernel.Reduce
	folds   int // registers that counted needs
}

// A member is an assignment over the group's axis, or a reduction if dst is nil.
type member struct {
	dst, value *expr.Expr
	reduce     *kernel.Reduce
	accesses   []depend.Access
}

// window is how many statements gather looks at.
const window = 64

// gather takes statements from the front. It returns statements that run first, the group
// after them, and the rest in order. Statements may wait if the group does not depend on them.
// They may run first if they do not depend on the group.
func (f *fn) gather(stmts []kernel.Stmt) (first []kernel.Stmt, g *group, rest []kernel.Stmt) {
	g = &group{fn: f}
	var taken, skipped []kernel.Stmt // in the group; left behind
	n := 0
	for ; n < min(len(stmts), window) && movable(stmts[n]); n++ {
		s := stmts[n]
		free := !f.conflicts(s, skipped)
		switch s.(type) {
		case *kernel.Set, *kernel.Reduce:
			if free && g.take(s) {
				taken = append(taken, s)
				continue
			}
		default:
			if free && !f.conflicts(s, taken) {
				first = append(first, s)
				if l, ok := s.(*kernel.Let); ok && l.Value.Type == expr.I32 {
					f.lets[l.Name] = f.over(l.Value)
				}
				continue
			}
		}
		if len(taken) == 0 {
			break
		}
		skipped = append(skipped, s)
	}
	rest = append(skipped, stmts[n:]...)
	switch {
	case len(taken) > 0:
		return g.streams(first, taken), g, rest
	case len(first) > 0:
		return first, nil, rest
	}
	return stmts[:1], nil, stmts[1:]
}

// movable reports whether a statement may change places with others.
func movable(s kernel.Stmt) bool {
	switch s := s.(type) {
	case *kernel.Set:
		return s.Dst.Op == expr.Elem
	case *kernel.Let, *kernel.Var, *kernel.Random, *kernel.Reduce:
		return true
	}
	return false
}

// conflicts reports whether a statement and one of others may not change places.
func (f *fn) conflicts(s kernel.Stmt, others []kernel.Stmt) bool {
	as := f.accesses(s)
	return slices.ContainsFunc(others, func(o kernel.Stmt) bool { return depend.Conflict(as, f.accesses(o)) })
}

// accesses returns the accesses of a statement.
func (f *fn) accesses(s kernel.Stmt) []depend.Access {
	as, ok := f.touched[s]
	if !ok {
		as = depend.Of(s)
		f.touched[s] = as
	}
	return as
}

// take adds a statement to a group if it fits.
func (g *group) take(s kernel.Stmt) bool {
	var m member
	var a kernel.Axis
	var reduces []*kernel.Reduce
	switch s := s.(type) {
	case *kernel.Set:
		if len(s.Axes) != 1 {
			return false
		}
		a, m.dst, m.value = s.Axes[0], s.Dst, s.Value
	case *kernel.Reduce:
		a, m.reduce, m.value = s.Axis, s, s.Value
		reduces = append(g.counted[:len(g.counted):len(g.counted)], s)
	}
	if len(g.members) == 0 {
		g.size, g.axis = a.Size, a.Var
		g.serial = a.Size.IsConst() && a.Size.I <= int64(g.lanes)
	} else if !expr.Equal(g.size, a.Size) || len(expr.Elems(a.Size)) > 0 || g.allRegs(reduces) > g.regs/2 {
		return false
	}
	if m.reduce != nil { // counted even if deferred
		g.counted, g.folds = reduces, g.allRegs(reduces)
	}
	m.accesses = g.accesses(s)
	m.dst, m.value = g.renamed(m.dst, a.Var), g.renamed(m.value, a.Var)
	if a.Var != g.axis {
		m.accesses = slices.Clone(m.accesses)
		for i, x := range m.accesses {
			m.accesses[i] = x.Over(map[string]*expr.Expr{a.Var: expr.NewVar(g.axis, expr.I32)})
		}
	}
	for _, before := range g.members {
		if !g.independent(before, m) {
			return false
		}
	}
	g.members = append(g.members, m)
	return true
}

// renamed returns an expression over the group's axis.
func (g *group) renamed(e *expr.Expr, axis string) *expr.Expr {
	if e == nil {
		return nil
	}
	if axis != g.axis {
		e = expr.Subst(e, map[string]*expr.Expr{axis: expr.NewVar(g.axis, expr.I32)})
	}
	return g.interner.Intern(e)
}

// independent reports whether a member may run interleaved with an earlier one. If one writes
// an element that the other uses, both must do so in the same iteration.
func (g *group) independent(before, m member) bool {
	for _, x := range before.accesses {
		for _, y := range m.accesses {
			if x.Conflict(y) && !g.inTurns(x, y) {
				return false
			}
		}
	}
	return true
}

// inTurns reports whether the loop keeps two accesses in order. A single vector does, except
// for elements that are read once before it.
func (g *group) inTurns(before, after depend.Access) bool {
	if g.serial {
		return len(before.Index) > 0 && (after.Write || expr.Depends(after.Index[0], g.axis))
	}
	iterations := depend.Loop{Var: g.axis, Size: g.over(g.size)}
	return iterations.Compare(before.Over(g.lets), after.Over(g.lets)) != depend.Any
}

// over replaces names in an expression by their values.
func (f *fn) over(e *expr.Expr) *expr.Expr { return expr.Simplify(expr.Subst(e, f.lets)) }

// streams finds random words that only the group reads. The group computes them in registers.
// It returns the other statements that run first.
func (g *group) streams(first, taken []kernel.Stmt) []kernel.Stmt {
	return slices.DeleteFunc(first, func(s kernel.Stmt) bool {
		r, ok := s.(*kernel.Random)
		left := g.regs - 1 - g.folds - g.isa.random.carried()*(len(g.random)+1)
		ok = ok && len(g.random) < g.isa.random.streams && left >= g.isa.random.state && g.private(r, taken)
		if ok {
			g.random = append(g.random, r)
		}
		return ok
	})
}

// private reports whether only the group reads random words, each at its own index, and they
// begin with the first word of a counter.
func (g *group) private(r *kernel.Random, taken []kernel.Stmt) bool {
	if !expr.Equal(r.Size, g.size) || !expr.IsMultiple(g.over(r.Base), expr.Int(4)) {
		return false
	}
	read := false
	for _, m := range g.members {
		for _, x := range m.accesses {
			if x.Name != r.Dst {
				continue
			}
			if at := x.Index[0]; at.Op != expr.Var || at.Name != g.axis {
				return false
			}
			read = true
		}
	}
	for s := range kernel.All(g.stmts) {
		touches := func(a depend.Access) bool { return a.Name == r.Dst }
		if s != r && !slices.Contains(taken, s) && slices.ContainsFunc(g.accesses(s), touches) {
			return false
		}
	}
	return read
}
