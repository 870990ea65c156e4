package generic

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/codegen/ptx/product"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// waits are the nodes that need a barrier of the workgroup before them.
type waits map[kernel.Stmt]bool

// An access is a read or a write of a slice. Each element that two accesses with the same
// known owner share is accessed by one thread only.
type access struct {
	slice string
	write bool
	owner owner
}

// An owner is the rule that assigns elements to the threads of a workgroup: vector elements at a
// time, by their index modulo size. The zero owner is unknown.
type owner struct {
	size   *expr.Expr // interned
	vector int
}

// A state is the accesses since the threads last waited.
type state map[access]bool

// conflicts reports whether an access may conflict with another thread's.
func (s state) conflicts(a access) bool {
	for b := range s {
		if a.slice == b.slice && (a.write || b.write) && (a.owner.size == nil || a.owner != b.owner) {
			return true
		}
	}
	return false
}

// findWaits finds the nodes of a loop over cells that need a barrier before them.
func findWaits(p *emit.Builder, cells *kernel.For) waits {
	w := waiter{p, waits{}, p.Group, map[string]*expr.Expr{}, map[kernel.Stmt]state{}}
	w.nodes([]kernel.Stmt{cells}, state{})
	return w.waits
}

type waiter struct {
	*emit.Builder
	waits waits
	group emit.Workgroup
	lets  map[string]*expr.Expr // meanings of the variables met so far
	own   map[kernel.Stmt]state // accesses of the nodes met so far
}

// nodes follows the accesses through a body and returns the state after it.
func (w *waiter) nodes(ns []kernel.Stmt, s state) state {
	for _, n := range ns {
		s = w.node(n, s)
	}
	return s
}

func (w *waiter) node(n kernel.Stmt, s state) state {
	if let, ok := n.(*kernel.Let); ok {
		w.lets[let.Name] = expr.Subst(let.Value, w.lets)
	}
	distributed := w.group.Whole && isIndependent(n)
	own, met := w.own[n]
	if !met && distributed {
		own = anywhere(n.(*kernel.For))
	} else if !met {
		own = w.accesses(n)
	}
	w.own[n] = own
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
		iterations := *w
		iterations.group = emit.Workgroup{Threads: lanesOf(n.(*kernel.For))}
		iterations.loop(n.(*kernel.For), state{})
		return s
	}
	switch n := n.(type) {
	case *kernel.For:
		if w.marks(n, s) && !w.marks(n, state{}) { // what it waits for lies before it: once is enough
			w.waits[n] = true
			s = state{}
		}
		return w.loop(n, s)
	case *kernel.If:
		maps.Copy(s, outside(w.nodes(n.Body, maps.Clone(s)), n.Body))
	case *kernel.Dot:
		if product.InTiles(n) { // since the last of its barriers
			return state{access{slice: n.Dst.Name, write: true}: true}
		}
	}
	return s
}

// marks reports whether a node of a loop needs a barrier in some state before the loop.
func (w *waiter) marks(n *kernel.For, before state) bool {
	trial := *w
	trial.waits = waits{}
	trial.loop(n, before)
	return len(trial.waits) > 0
}

// outside returns the state after a body: owners that depend on variables of the body become
// unknown.
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

// anywhere returns the accesses of a loop, with unknown owners. It leaves out tiles that each warp
// has for itself.
func anywhere(l *kernel.For) state {
	s := state{}
	for n := range kernel.All([]kernel.Stmt{l}) {
		for _, a := range depend.Of(n) {
			if len(a.Index) > 0 && !l.Own[a.Name] {
				s[access{slice: a.Name, write: a.Write}] = true
			}
		}
	}
	return s
}

// loop follows a loop until an iteration finds nothing new.
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

// accesses returns the accesses of a node without its body. It leaves out the writes of a product
// in tiles, which come after a barrier of the product.
func (w *waiter) accesses(n kernel.Stmt) state {
	s := state{}
	d, ok := n.(*kernel.Dot)
	tiled := ok && product.InTiles(d)
	for _, a := range depend.Of(n) {
		if len(a.Index) > 0 && !(tiled && a.Write) {
			s[access{a.Name, a.Write, w.of(n, a)}] = true
		}
	}
	return s
}

// of returns the owner of a node's access. Elements of a reduction go to the lanes, some at a
// time, if a warp is the workgroup. The first thread alone sets a single element; all threads do
// the other accesses of a node without axes.
func (w *waiter) of(n kernel.Stmt, a depend.Access) owner {
	switch n := n.(type) {
	case *kernel.Set:
		switch {
		case len(n.Axes) > 0:
			return w.owner(a, emit.VectorOf(n, w.group.Threads, w.Aligned))
		case n.Dst.Op == expr.Elem:
			return owner{w.In.Intern(expr.Int(1)), 1}
		}
	case *kernel.Random:
		if a.Write && expr.IsMultiple(n.Base, expr.Int(emit.PhiloxWords)) {
			return w.owner(a, emit.PhiloxWords)
		}
	case *kernel.Reduce:
		if !w.group.Whole && emit.LanesOf(n.Axis.Size) == w.group.Threads { // or several lanes read an element
			return w.owner(a, kernel.Neighbours)
		}
	}
	return owner{}
}

// owner returns the owner of an access whose elements go to the threads vector at a time. Rows of
// n elements are distributed by the index modulo n.
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
	if round := expr.Int(int64(w.group.Threads * vector)); expr.IsMultiple(size, round) {
		size = round
	}
	if !expr.IsMultiple(expr.Subst(rest, w.lets), size) || expr.DependsOnAny(size, w.Mutable) {
		return owner{}
	}
	return owner{w.In.Intern(size), vector}
}
