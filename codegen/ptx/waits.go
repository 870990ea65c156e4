package ptx

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// waits are the nodes before which the threads of a workgroup must wait for each other.
type waits map[kernel.Stmt]bool

// An access is what has been done to a slice. Owner says which thread has which
// element: two accesses with the same owner, if it is known, have no element in
// common but those that one thread has in both.
type access struct {
	write bool
	owner owner
}

// An owner is the rule by which the threads of a workgroup have elements: distributed by
// so many at a time, by their index modulo a size. The zero owner is unknown.
type owner struct {
	size   *expr.Expr // interned
	vector int
}

// A state is the accesses to each slice since the threads last waited.
type state map[string]map[access]bool

func (s state) clone() state {
	c := state{}
	for name, as := range s {
		c[name] = maps.Clone(as)
	}
	return c
}

func (s state) add(name string, a access) {
	if s[name] == nil {
		s[name] = map[access]bool{}
	}
	s[name][a] = true
}

func (s state) join(t state) {
	for name, as := range t {
		for a := range as {
			s.add(name, a)
		}
	}
}

func (s state) equal(t state) bool {
	return maps.EqualFunc(s, t, func(a, b map[access]bool) bool { return maps.Equal(a, b) })
}

// conflicts says whether an access may meet another thread's.
func (s state) conflicts(name string, a access) bool {
	for b := range s[name] {
		if (a.write || b.write) && (a.owner.size == nil || a.owner != b.owner) {
			return true
		}
	}
	return false
}

// findWaits decides before which nodes of a loop over cells a workgroup waits.
func (p *printer) findWaits(cells *kernel.For) waits {
	w := waiter{waits{}, p.group, p.aligned, p.mutable, p.in}
	w.nodes([]kernel.Stmt{cells}, state{})
	return w.waits
}

type waiter struct {
	waits   waits
	group   workgroup
	aligned map[string]bool
	mutable map[string]bool
	in      *expr.Interner
}

// nodes follows the accesses through a body and returns the state behind it.
func (w *waiter) nodes(ns []kernel.Stmt, s state) state {
	for _, n := range ns {
		s = w.node(n, s)
	}
	return s
}

func (w *waiter) node(n kernel.Stmt, s state) state {
	own := state{}
	distributed := w.group.whole && isIndependent(n)
	if distributed {
		anywhere(n.(*kernel.For), own)
	} else {
		w.accesses(n, own)
	}
	conflict := false
	for name, as := range own {
		for a := range as {
			conflict = conflict || s.conflicts(name, a)
		}
	}
	if conflict {
		w.waits[n] = true
	}
	if w.waits[n] {
		s = state{}
	} else {
		s = s.clone()
	}
	s.join(own)
	if distributed {
		iterations := waiter{w.waits, workgroup{threads: warpThreads}, w.aligned, w.mutable, w.in}
		iterations.loop(n.(*kernel.For), state{})
		return s
	}
	switch n := n.(type) {
	case *kernel.For:
		return w.loop(n, s)
	case *kernel.If:
		s.join(outside(w.nodes(n.Body, s.clone()), n.Body))
	case *kernel.Dot:
		if inTiles(n) {
			return left(n)
		}
	}
	return s
}

// left is what a product in tiles has done since its last barrier, of which it has
// one at least.
func left(n *kernel.Dot) state {
	s := state{}
	s.add(n.Dst.Name, access{write: true})
	if oneTurn(n) {
		s.add(stageName, access{write: true})
	}
	return s
}

// outside is a state behind a body: owners that depend on what the body gives a
// value mean nothing there.
func outside(s state, body []kernel.Stmt) state {
	changes := depend.Changes(body...)
	out := state{}
	for name, as := range s {
		for a := range as {
			if a.owner.size != nil && expr.DependsOnAny(a.owner.size, changes) {
				a.owner = owner{}
			}
			out.add(name, a)
		}
	}
	return out
}

// isIndependent says whether a node is a loop whose iterations a block distributes to its warps.
func isIndependent(n kernel.Stmt) bool {
	l, ok := n.(*kernel.For)
	return ok && l.Independent
}

// anywhere adds the accesses of a loop, but for tiles that each warp has for itself,
// as those of unknown threads.
func anywhere(l *kernel.For, s state) {
	for n := range kernel.All([]kernel.Stmt{l}) {
		for _, a := range depend.Of(n) {
			if len(a.Index) > 0 && !l.Own[a.Name] {
				s.add(a.Name, access{write: a.Write})
			}
		}
	}
}

// loop follows a loop until its next iteration finds nothing new.
func (w *waiter) loop(n *kernel.For, before state) state {
	s := before
	for {
		marked := len(w.waits)
		next := before.clone()
		next.join(outside(w.nodes(n.Body, s.clone()), []kernel.Stmt{n}))
		if next.equal(s) && len(w.waits) == marked {
			return s
		}
		s = next
	}
}

// accesses adds what a node, its body left out, does to slices. A product in tiles
// writes behind a barrier of its own.
func (w *waiter) accesses(n kernel.Stmt, s state) {
	d, ok := n.(*kernel.Dot)
	tiled := ok && inTiles(d)
	if tiled {
		s.add(stageName, access{write: true})
	}
	for _, a := range depend.Of(n) {
		if len(a.Index) > 0 && !(tiled && a.Write) {
			s.add(a.Name, access{a.Write, w.of(n, a)})
		}
	}
}

// of is the owner of an access of a node. The elements of a reduction go to the lanes
// in turn where a warp is the workgroup; what a node does without axes, all threads do.
func (w *waiter) of(n kernel.Stmt, a depend.Access) owner {
	switch n := n.(type) {
	case *kernel.Set:
		if len(n.Axes) > 0 {
			return w.owner(a, vectorOf(n, w.group.threads, w.aligned))
		}
	case *kernel.Random:
		if a.Write && expr.IsMultiple(n.Base, expr.Int(philoxWords)) {
			return w.owner(a, philoxWords)
		}
	case *kernel.Reduce:
		if !w.group.whole {
			return w.owner(a, 1)
		}
	}
	return owner{}
}

// owner is the rule by which the threads have the elements of an access, distributed to
// them so many at a time. Where a row of n elements is distributed, it is the index mod
// n that decides, whichever row it is.
func (w *waiter) owner(access depend.Access, vector int) owner {
	size := expr.Int(1)
	rest := access.Index[0]
	for _, a := range slices.Backward(access.Axes) {
		coef, r, ok := expr.Affine(rest, a.Var)
		if !ok || !expr.Equal(coef, size) {
			return owner{}
		}
		rest = r
		size = expr.Simplify(expr.New(expr.Mul, size, a.Size))
	}
	if !expr.IsMultiple(rest, size) || expr.DependsOnAny(size, w.mutable) {
		return owner{}
	}
	return owner{w.in.Intern(size), vector}
}
