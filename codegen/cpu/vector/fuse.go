package vector

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A group is statements over the same axis that one loop computes, in order.
type group struct {
	*fn
	size    *expr.Expr
	axis    string
	serial  bool // the loop is one vector, so that statements run one after another
	random  []*kernel.Random
	members []member
	folds   int // registers of partials
}

// A member is an assignment, or a reduction where dst is nil, over the group's axis.
type member struct {
	dst, value *expr.Expr // interned
	reduce     *kernel.Reduce
	reads      []*expr.Expr // elements of the value
	uses       []*expr.Expr // those, the ones of dst's index, and dst
}

// window is how many statements gather looks at.
const window = 64

// gather takes statements from the front: those that come first, a group after
// them, and the rest in order. What the group does not depend on may wait until
// after it, and what does not depend on the group may come before it.
func (f *fn) gather(stmts []kernel.Stmt) (first []kernel.Stmt, g *group, rest []kernel.Stmt) {
	g = &group{fn: f}
	var taken, skipped []kernel.Stmt // of the group; left behind
	n := 0
	for ; n < min(len(stmts), window) && movable(stmts[n]); n++ {
		s := stmts[n]
		free := !conflicts(s, skipped)
		switch s.(type) {
		case *kernel.Set, *kernel.Reduce:
			if free && g.take(s) {
				taken = append(taken, s)
				continue
			}
		default:
			if free && !conflicts(s, taken) {
				first = append(first, s)
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

// movable says whether a statement may change places with others.
func movable(s kernel.Stmt) bool {
	set, ok := s.(*kernel.Set)
	return result(s) != "" && !(ok && set.Dst.Op == expr.Var)
}

// conflicts says whether a statement and one of others may not change places.
func conflicts(s kernel.Stmt, others []kernel.Stmt) bool {
	return slices.ContainsFunc(others, func(o kernel.Stmt) bool { return touches(s, result(o)) || touches(o, result(s)) })
}

// result is the variable or slice that a statement sets; none for other statements.
func result(s kernel.Stmt) string {
	if name := kernel.Bound(s); name != "" {
		return name
	}
	return kernel.Written(s)
}

// touches says whether a statement, its body left out, reads or sets a name.
func touches(s kernel.Stmt, name string) bool {
	return result(s) == name || slices.ContainsFunc(kernel.Reads(s), func(e *expr.Expr) bool { return expr.Mentions(e, name) })
}

// take adds a statement to a group if it fits.
func (g *group) take(s kernel.Stmt) bool {
	var m member
	var a kernel.Axis
	regs := 0
	switch s := s.(type) {
	case *kernel.Set:
		if len(s.Axes) != 1 {
			return false
		}
		a, m.dst, m.value = s.Axes[0], s.Dst, s.Value
	case *kernel.Reduce:
		a, m.reduce, m.value = s.Axis, s, s.Value
		regs = g.partialRegs(s)
	}
	if len(g.members) == 0 {
		g.size, g.axis = a.Size, a.Var
		g.serial = a.Size.IsConst() && a.Size.I <= int64(g.isa.lanes)
	} else if !expr.Equal(g.size, a.Size) || len(expr.Elems(a.Size)) > 0 || regs > 0 && g.folds+regs > g.isa.regs/2 {
		return false
	}
	g.folds += regs // though it may have to wait: then a later loop is there for others too
	m.value = g.renamed(m.value, a.Var)
	m.reads = expr.Elems(m.value)
	m.uses = m.reads
	if m.dst != nil {
		m.dst = g.renamed(m.dst, a.Var)
		m.uses = append(slices.Concat(m.reads, expr.Elems(m.dst.Args[0])), m.dst)
	}
	for _, before := range g.members {
		if !g.independent(before, m) {
			return false
		}
	}
	g.members = append(g.members, m)
	return true
}

// partialRegs is how many registers the partials of a reduction need. Partial sums
// that meet no element are 0, which changes no other.
func (f *fn) partialRegs(r *kernel.Reduce) int {
	n, size := partials/f.isa.lanes, r.Axis.Size
	for r.Op == expr.Add && size.IsConst() && n > 1 && int64(n/2*f.isa.lanes) >= size.I {
		n /= 2
	}
	return n
}

// renamed is an expression over the group's axis.
func (g *group) renamed(e *expr.Expr, axis string) *expr.Expr {
	if axis != g.axis {
		e = expr.Subst(e, map[string]*expr.Expr{axis: expr.NewVar(g.axis, expr.I32)})
	}
	return g.interner.Intern(e)
}

// independent says whether a member may run in turns with one before it: of what
// either writes, the other uses the same elements in the same turn, or none.
func (g *group) independent(before, m member) bool {
	if r := before.reduce; r != nil {
		if expr.Mentions(m.value, r.Name) || m.dst != nil && expr.Mentions(m.dst, r.Name) {
			return false
		}
	} else if !g.apart(before.dst, m.uses) {
		return false
	}
	return m.dst == nil || g.serial || g.apart(m.dst, before.reads)
}

// apart says whether elements are none that an assignment in another turn writes.
func (g *group) apart(dst *expr.Expr, elems []*expr.Expr) bool {
	for _, x := range elems {
		if x.Name == dst.Name && (!expr.Depends(x, g.axis) || !g.serial && x != dst && !g.disjoint(x.Args[0], dst.Args[0])) {
			return false
		}
	}
	return true
}

// full is an index over what names stand for.
func (g *group) full(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if v, ok := g.lets[e.Name]; ok && e.Op == expr.Var {
			return g.full(v)
		}
		return e
	})
}

// disjoint says whether two rows of the group's size have no element in common.
func (g *group) disjoint(x, y *expr.Expr) bool {
	cx, rx, okx := expr.Affine(g.full(x), g.axis)
	cy, ry, oky := expr.Affine(g.full(y), g.axis)
	if !okx || !oky || !expr.IsInt(cx, 1) || !expr.IsInt(cy, 1) {
		return false
	}
	gap := expr.Simplify(expr.New(expr.Sub, rx, ry))
	if g.size.IsConst() {
		return gap.IsConst() && (gap.I >= g.size.I || -gap.I >= g.size.I)
	}
	size := g.full(g.size)
	if size.Op != expr.Var {
		return false
	}
	c, rest, ok := expr.Affine(gap, size.Name)
	return ok && c.IsConst() && c.I != 0 && expr.IsInt(rest, 0)
}

// streams finds random words that nothing but the group reads, which then makes
// them in registers, and returns the other statements that come first.
func (g *group) streams(first, taken []kernel.Stmt) []kernel.Stmt {
	return slices.DeleteFunc(first, func(s kernel.Stmt) bool {
		if l, ok := s.(*kernel.Let); ok {
			g.lets[l.Name] = l.Value
		}
		r, ok := s.(*kernel.Random)
		room := g.isa.regs - 1 - g.folds - streamRegs*(len(g.random)+1)
		ok = ok && len(g.random) < g.isa.streams && room >= stateRegs && g.private(r, taken)
		if ok {
			g.random = append(g.random, r)
		}
		return ok
	})
}

// private says whether random words are read by a group alone, each where it is,
// and begin with the first word of a counter.
func (g *group) private(r *kernel.Random, taken []kernel.Stmt) bool {
	if !expr.Equal(r.Size, g.size) || !expr.IsMultiple(g.full(r.Base), expr.Int(4)) {
		return false
	}
	word := g.interner.Intern(expr.NewElem(r.Dst, expr.U32, expr.NewVar(g.axis, expr.I32)))
	read := false
	for _, m := range g.members {
		for _, x := range m.reads {
			if x.Name == r.Dst && x != word {
				return false
			}
			read = read || x == word
		}
	}
	for s := range kernel.All(g.stmts) {
		if s != r && !slices.Contains(taken, s) && touches(s, r.Dst) {
			return false
		}
	}
	return read
}
