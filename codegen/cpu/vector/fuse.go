package vector

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A group is statements over the same axis that one loop computes, in order.
type group struct {
	size    *expr.Expr
	axis    string
	serial  bool // the loop is one vector, so that statements run one after another
	random  []*kernel.Random
	members []member
	folds   int // registers of partials
	lets    map[string]*expr.Expr
}

// A member is an assignment, or a reduction where dst is nil, over the group's axis.
type member struct {
	dst, value *expr.Expr
	reduce     *kernel.Reduce
	elems      []*expr.Expr // of the value
}

// window is how many statements gather looks at.
const window = 64

// gather takes statements from the front: those that come first, a group after
// them, and the rest in order. What the group does not depend on may wait until
// after it, and what does not depend on the group may come before it.
func (f *fn) gather(nodes []kernel.Stmt) (first []kernel.Stmt, g *group, rest []kernel.Stmt) {
	g = &group{lets: f.lets}
	var taken, skipped []kernel.Stmt // of the group; left behind
	n := 0
	for ; n < min(len(nodes), window); n++ {
		node := nodes[n]
		free := result(node) != "" && !conflicts(node, skipped)
		switch x := node.(type) {
		case *kernel.Let, *kernel.Random, *kernel.Var:
			if free && !conflicts(node, taken) {
				first = append(first, node)
				continue
			}
		case *kernel.Set, *kernel.Reduce:
			if free && f.take(g, x) {
				taken = append(taken, node)
				continue
			}
		}
		if len(taken) == 0 || !movable(node) {
			break
		}
		skipped = append(skipped, node)
	}
	rest = append(skipped, nodes[n:]...)
	if len(taken) == 0 {
		if len(first) == 0 {
			return nodes[:1], nil, nodes[1:]
		}
		return first, nil, rest
	}
	return f.streams(g, first, taken), g, rest
}

// movable says whether statements behind a statement may be tried for its group.
func movable(n kernel.Stmt) bool {
	switch n := n.(type) {
	case *kernel.Let, *kernel.Random, *kernel.Reduce, *kernel.Var:
		return true
	case *kernel.Set:
		return n.Dst.Op != expr.Var
	}
	return false
}

// conflicts says whether a statement and one of others may not change places.
func conflicts(n kernel.Stmt, others []kernel.Stmt) bool {
	for _, o := range others {
		if touches(n, result(o)) || touches(o, result(n)) {
			return true
		}
	}
	return false
}

// result is the variable or slice that a statement sets; none for other statements.
func result(n kernel.Stmt) string {
	if name := kernel.Bound(n); name != "" {
		return name
	}
	return kernel.Written(n)
}

// touches says whether a statement reads or sets a name.
func touches(n kernel.Stmt, name string) bool {
	return result(n) == name || slices.ContainsFunc(kernel.Reads(n), func(e *expr.Expr) bool { return expr.Mentions(e, name) })
}

// take adds a statement to a group if it fits.
func (f *fn) take(g *group, n kernel.Stmt) bool {
	var m member
	var a kernel.Axis
	switch n := n.(type) {
	case *kernel.Set:
		if len(n.Axes) != 1 || n.Dst.Op == expr.Var {
			return false
		}
		a, m = n.Axes[0], member{dst: n.Dst, value: n.Value}
	case *kernel.Reduce:
		a, m = n.Axis, member{value: n.Value, reduce: n}
	}
	if len(g.members) > 0 && (!expr.Equal(g.size, a.Size) || len(expr.Elems(a.Size)) > 0) {
		return false
	}
	if len(g.members) == 0 {
		g.size, g.axis = a.Size, a.Var
		g.serial = a.Size.IsConst() && a.Size.I <= int64(f.isa.lanes)
	}
	m.value = g.renamed(m.value, a.Var)
	if m.dst != nil {
		m.dst = g.renamed(m.dst, a.Var)
	} else if g.folds += f.partialRegs(m.reduce); len(g.members) > 0 && g.folds > f.isa.regs/2 {
		g.folds -= f.partialRegs(m.reduce)
		return false
	}
	m.elems = expr.Elems(m.value)
	for _, other := range g.members {
		if !g.independent(other, m) {
			return false
		}
	}
	g.members = append(g.members, m)
	return true
}

// partialRegs is how many registers the partials of a reduction need. Partial sums
// that meet no element are 0, which changes no other.
func (f *fn) partialRegs(r *kernel.Reduce) int {
	n := partials / f.isa.lanes
	if size := r.Axis.Size; r.Op == expr.Add && size.IsConst() {
		used := 1
		for used < n && int64(used*f.isa.lanes) < size.I {
			used *= 2
		}
		n = used
	}
	return n
}

// renamed is an expression over the group's axis.
func (g *group) renamed(e *expr.Expr, axis string) *expr.Expr {
	if axis == g.axis {
		return e
	}
	return expr.Subst(e, map[string]*expr.Expr{axis: expr.NewVar(g.axis, expr.I32)})
}

// independent says whether a member may run in turns with one before it: of what
// either writes, the other uses the same elements in the same turn, or none.
func (g *group) independent(before, m member) bool {
	if before.reduce != nil && (expr.Mentions(m.value, before.reduce.Name) || m.dst != nil && expr.Mentions(m.dst, before.reduce.Name)) {
		return false
	}
	if before.dst != nil && !g.apart(before.dst, append(slices.Clip(m.elems), m.places()...)) {
		return false
	}
	return m.dst == nil || g.serial || g.apart(m.dst, before.elems)
}

func (m member) places() []*expr.Expr {
	if m.dst == nil {
		return nil
	}
	return append(expr.Elems(m.dst.Args[0]), m.dst)
}

// apart says whether elements are none that an assignment in another turn writes.
func (g *group) apart(dst *expr.Expr, elems []*expr.Expr) bool {
	for _, x := range elems {
		if x.Name != dst.Name {
			continue
		}
		moves := expr.Depends(x, g.axis)
		if !moves || !g.serial && !expr.Equal(x, dst) && !g.disjoint(x.Args[0], dst.Args[0]) {
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
func (f *fn) streams(g *group, first, taken []kernel.Stmt) []kernel.Stmt {
	var rest []kernel.Stmt
	for _, n := range first {
		if l, ok := n.(*kernel.Let); ok {
			f.lets[l.Name] = l.Value
		}
		r, ok := n.(*kernel.Random)
		room := f.isa.regs - 1 - g.folds - streamRegs*(len(g.random)+1)
		if ok && len(g.random) < f.isa.streams && room >= stateRegs && f.private(g, r, taken) {
			g.random = append(g.random, r)
			continue
		}
		rest = append(rest, n)
	}
	return rest
}

// private says whether random words are read by a group alone, each where it is,
// and begin with the first word of a counter.
func (f *fn) private(g *group, r *kernel.Random, taken []kernel.Stmt) bool {
	size := r.Size
	if size == nil || !expr.Equal(size, g.size) || !f.multipleOf4(r.Base) {
		return false
	}
	read, ok := false, true
	for _, m := range g.members {
		expr.Walk(m.value, func(e *expr.Expr) {
			if e.Op == expr.Elem && e.Name == r.Dst {
				read = true
				ok = ok && e.Args[0].Op == expr.Var && e.Args[0].Name == g.axis
			}
		})
	}
	return read && ok && readsOf(f.leaf.Body, r.Dst) == readsOf(taken, r.Dst) && writes(f.leaf.Body, r.Dst) == 1
}
