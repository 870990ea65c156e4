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
	slice string
	write bool
	owner owner
}

// An owner is the rule by which the threads of a workgroup have elements: distributed by
// so many at a time, by their index modulo a size. The zero owner is unknown.
type owner struct {
	size   *expr.Expr // interned
	vector int
}

// A state is the accesses since the threads last waited.
type state map[access]bool

// conflicts says whether an access may meet another thread's.
func (s state) conflicts(a access) bool {
	for b := range s {
		if a.slice == b.slice && (a.write || b.write) && (a.owner.size == nil || a.owner != b.owner) {
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
	for a := range own {
		if s.conflicts(a) {
			w.waits[n] = true
		}
	}
	if w.waits[n] {
		s = state{}
	} else {
		s = maps.Clone(s)
	}
	maps.Copy(s, own)
	if distributed {
		iterations := waiter{w.waits, workgroup{threads: warpThreads}, w.aligned, w.mutable, w.in}
		iterations.loop(n.(*kernel.For), state{})
		return s
	}
	switch n := n.(type) {
	case *kernel.For:
		return w.loop(n, s)
	case *kernel.If:
		maps.Copy(s, outside(w.nodes(n.Body, maps.Clone(s)), n.Body))
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
	return state{access{slice: n.Dst.Name, write: true}: true}
}

// outside is a state behind a body: owners that depend on what the body gives a
// value mean nothing there.
func outside(s state, body []kernel.Stmt) state {
	changes := depend.Changes(body...)
	out := state{}
	for a := range s {
		if a.owner.size != nil && expr.DependsOnAny(a.owner.size, changes) {
			a.owner = owner{}
		}
		out[a] = true
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
				s[access{slice: a.Name, write: a.Write}] = true
			}
		}
	}
}

// loop follows a loop until its next iteration finds nothing new.
func (w *waiter) loop(n *kernel.For, before state) state {
	s := before
	for {
		marked := len(w.waits)
		next := maps.Clone(before)
		maps.Copy(next, outside(w.nodes(n.Body, maps.Clone(s)), []kernel.Stmt{n}))
		if maps.Equal(next, s) && len(w.waits) == marked {
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
	for _, a := range depend.Of(n) {
		if len(a.Index) > 0 && !(tiled && a.Write) {
			s[access{a.Name, a.Write, w.of(n, a)}] = true
		}
	}
}

// of is the owner of an access of a node. The elements of a reduction go to the lanes,
// some at a time, where a warp is the workgroup. The first thread sets one element alone;
// what else a node does without axes, all threads do.
func (w *waiter) of(n kernel.Stmt, a depend.Access) owner {
	switch n := n.(type) {
	case *kernel.Set:
		switch {
		case len(n.Axes) > 0:
			return w.owner(a, vectorOf(n, w.group.threads, w.aligned))
		case n.Dst.Op == expr.Elem:
			return owner{w.in.Intern(expr.Int(1)), 1}
		}
	case *kernel.Random:
		if a.Write && expr.IsMultiple(n.Base, expr.Int(philoxWords)) {
			return w.owner(a, philoxWords)
		}
	case *kernel.Reduce:
		if !w.group.whole {
			return w.owner(a, kernel.Neighbours)
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
	// Rows that are whole rounds of the threads are distributed like one round.
	if round := expr.Int(int64(w.group.threads * vector)); expr.IsMultiple(size, round) {
		size = round
	}
	if !expr.IsMultiple(rest, size) || expr.DependsOnAny(size, w.mutable) {
		return owner{}
	}
	return owner{w.in.Intern(size), vector}
}
