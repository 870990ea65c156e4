package cpu

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A call is where a kernel calls a leaf instead of running some of its nodes.
type call struct {
	leaf  *vector.Leaf
	nodes int        // how many nodes the leaf stands for
	args  []arg      // one a slice of the leaf
	over  *flat.Loop // the loop that several calls share, nil where one does it all
	step  int64      // iterations of it in a call
}

// An arg is what a leaf gets for a slice: all of it, or length elements from off
// on where off is not nil.
type arg struct {
	slice  string
	off    *expr.Expr
	length int64
}

// A cutter cuts the nodes of a kernel into leaves and what stays Go.
type cutter struct {
	name    string // of the kernel's function
	types   map[string]expr.Type
	sizes   map[string]*expr.Expr // elements of what leaves can use
	tainted map[string]bool       // variables whose values depend on loaded data
	calls   map[flat.Node]*call   // by the first node
	leaves  []*vector.Leaf
}

func newCutter(name string, k *kernel.Kernel, nodes []flat.Node) *cutter {
	c := &cutter{
		name:    name,
		types:   map[string]expr.Type{},
		sizes:   map[string]*expr.Expr{},
		tainted: map[string]bool{},
		calls:   map[flat.Node]*call{},
	}
	for _, b := range buffers(k) {
		c.types[b.Name], c.sizes[b.Name] = b.Type, flat.Elements(b.Shape)
	}
	for _, n := range nodes {
		if a, ok := n.(*flat.Alloc); ok && a.Size != nil {
			c.types[a.Name], c.sizes[a.Name] = a.Type, a.Size
		}
	}
	c.taint(nodes)
	return c
}

// taint finds the variables that depend on what is in memory, or that change.
func (c *cutter) taint(nodes []flat.Node) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *flat.Let:
			c.mark(n.Name, c.loaded(n.Value))
		case *flat.Reduce:
			c.mark(n.Name, true)
		case *flat.Alloc:
			c.mark(n.Name, n.Size == nil)
		case *flat.Loop:
			c.mark(n.Name, c.loaded(n.Lo) || c.loaded(n.Hi))
		}
		c.taint(flat.Within(n))
	}
}

func (c *cutter) mark(name string, tainted bool) { c.tainted[name] = c.tainted[name] || tainted }

// loaded says whether the value of an expression depends on loaded data.
func (c *cutter) loaded(e *expr.Expr) bool {
	if len(expr.Elems(e)) > 0 {
		return true
	}
	for _, v := range expr.Vars(e) {
		if c.tainted[v.Name] {
			return true
		}
	}
	return false
}

// cut finds the leaves among nodes and in their bodies, and returns the nodes in
// the order in which they are to be printed. top says that no loop is around them.
func (c *cutter) cut(nodes []flat.Node, top bool) []flat.Node {
	nodes = c.letsFirst(nodes)
	for i := 0; i < len(nodes); {
		n := c.longest(nodes[i:], top)
		if n > 0 {
			i += n
			continue
		}
		switch n := nodes[i].(type) {
		case *flat.Loop:
			n.Body = c.cut(n.Body, false)
		case *flat.Branch:
			n.Body = c.cut(n.Body, false)
		}
		i++
	}
	return nodes
}

// letsFirst moves to the front what is computed from indices alone: it is needed
// on both sides of a call, and leaves need not compute it.
func (c *cutter) letsFirst(nodes []flat.Node) []flat.Node {
	var first, rest []flat.Node
	bound := map[string]bool{}
	for _, n := range nodes {
		let, ok := n.(*flat.Let)
		if ok && let.Value.Type != expr.Bool && !c.loaded(let.Value) && !mentionsAny(let.Value, bound) {
			first = append(first, n)
			continue
		}
		rest = append(rest, n)
		bind(n, bound)
	}
	return append(first, rest...)
}

// longest makes a leaf of as many nodes as it can from the first on, and returns
// how many, 0 if the first cannot be in a leaf or nothing is worth a call.
func (c *cutter) longest(nodes []flat.Node, top bool) int {
	n := 0
	for n < len(nodes) && c.fits(nodes[n]) {
		n++
	}
	for ; n > 0; n-- {
		if _, ok := nodes[n-1].(*flat.Let); ok || !worthwhile(nodes[:n]) {
			continue
		}
		if call, err := c.leaf(nodes[:n], nodes[n:], top); err == nil {
			c.calls[nodes[0]] = call
			c.leaves = append(c.leaves, call.leaf)
			return n
		}
	}
	return 0
}

// fits says whether a node has the form of a part of a leaf.
func (c *cutter) fits(n flat.Node) bool {
	switch n := n.(type) {
	case *flat.Dot:
		return false
	case *flat.Alloc:
		return n.Size == nil
	}
	for _, m := range flat.Within(n) {
		if !c.fits(m) {
			return false
		}
	}
	return true
}

// worthwhile says whether nodes do more than a copy or some scalars.
func worthwhile(nodes []flat.Node) bool {
	for _, n := range nodes {
		switch n := n.(type) {
		case *flat.Reduce, *flat.Random:
			return true
		case *flat.Assign:
			if a := withoutUnitAxes(n); len(a.Axes) > 1 || len(a.Axes) == 1 && !copies(a) {
				return true
			}
		case *flat.Loop, *flat.Branch:
			if worthwhile(flat.Within(n)) {
				return true
			}
		}
	}
	return false
}

// copies says whether an assignment over one axis is one that Go has a word for.
func copies(a *flat.Assign) bool {
	_, to := unitStride(a.Dst, a.Axes[0].Var)
	_, from := unitStride(a.Value, a.Axes[0].Var)
	return to && (isZero(a.Value) || a.Value.Op == expr.Elem && from)
}

var (
	errWritesOut = errors.New("it sets a variable of the code around it")
	errReadLater = errors.New("what it binds is used after it")
	errBool      = errors.New("it takes a truth value from the code around it")
	errSlice     = errors.New("it uses a tile that is made in a loop")
	errIndex     = errors.New("an index depends on loaded data")
)

// leaf makes a leaf of nodes, which rest follows in the same body.
func (c *cutter) leaf(nodes, rest []flat.Node, top bool) (*call, error) {
	b := &leafBuilder{
		cutter: c, call: &call{nodes: len(nodes)},
		bound: map[string]bool{}, written: map[string]bool{}, extents: map[string]*expr.Expr{},
		params: map[string]string{}, values: map[string]bool{},
	}
	for _, n := range nodes {
		bind(n, b.bound)
		writes(n, b.written)
		if later := binds(n); later != "" && mentionedIn(rest, later) {
			return nil, errReadLater
		}
	}
	name := fmt.Sprintf("%sLeaf%d", c.name, len(c.leaves)+1)
	b.call.leaf = &vector.Leaf{Name: name, Doc: fmt.Sprintf("%s is a part of kernel %s.", name, c.name)}
	if l, ok := nodes[0].(*flat.Loop); ok && top && len(nodes) == 1 {
		nodes = []flat.Node{b.divide(l)}
	}
	b.call.leaf.Body = b.nodes(nodes)
	if b.err != nil {
		return nil, b.err
	}
	return b.call, vector.Check(b.call.leaf)
}

// share is how much work a call should do at most, in element operations: a small
// part of a millisecond, so that the garbage collector can stop the goroutine.
const share = 1 << 22

// divide takes the loop that a leaf consists of apart where it may run for long:
// the leaf gets the bounds of one call.
func (b *leafBuilder) divide(l *flat.Loop) *flat.Loop {
	step := int64(1) << (bits.Len64(uint64(max(share/max(work(l.Body), 1), 1))) - 1)
	if !flat.IsInt(l.Lo, 0) || l.Hi.Op == expr.Const && l.Hi.I <= step {
		return l
	}
	b.call.over, b.call.step = l, step
	from, to := bounds(l)
	return &flat.Loop{Name: l.Name, Lo: from, Hi: to, Body: l.Body}
}

// bounds are where one call's part of a loop begins and ends.
func bounds(l *flat.Loop) (from, to *expr.Expr) {
	return expr.NewVar(l.Name+".from", expr.I32), expr.NewVar(l.Name+".to", expr.I32)
}

// work estimates the element operations of nodes.
func work(nodes []flat.Node) int64 {
	const unknown = 64 // trips of a loop
	trips := func(size *expr.Expr) int64 {
		if size.Op == expr.Const {
			return max(size.I, 0)
		}
		return unknown
	}
	var sum int64
	for _, n := range nodes {
		per := int64(1)
		for _, e := range flat.Reads(n) {
			per += int64(len(expr.Uses(expr.Expand(e))))
		}
		for _, a := range axes(n) {
			per *= trips(a.Size)
		}
		switch n := n.(type) {
		case *flat.Loop:
			per += trips(n.Hi) * work(n.Body)
		case *flat.Branch:
			per += work(n.Body)
		case *flat.Random:
			per += 16 * trips(n.Size)
		}
		sum += per
	}
	return sum
}

// writes marks the slices that a node and those in its body write.
func writes(n flat.Node, written map[string]bool) {
	switch n := n.(type) {
	case *flat.Assign:
		written[n.Dst.Name] = true
	case *flat.Fill:
		written[n.Dst] = true
	case *flat.Random:
		written[n.Dst] = true
	case *flat.Dot:
		written[n.C.Slice] = true
	}
	for _, m := range flat.Within(n) {
		writes(m, written)
	}
}

// bind marks the names that a node and those in its body bind.
func bind(n flat.Node, bound map[string]bool) {
	if name := binds(n); name != "" {
		bound[name] = true
	}
	if l, ok := n.(*flat.Loop); ok {
		bound[l.Name] = true
	}
	for _, a := range axes(n) {
		bound[a.Var] = true
	}
	for _, m := range flat.Within(n) {
		bind(m, bound)
	}
}

// binds is the name that a node binds for those after it.
func binds(n flat.Node) string {
	switch n := n.(type) {
	case *flat.Let:
		return n.Name
	case *flat.Reduce:
		return n.Name
	case *flat.Alloc:
		if n.Size == nil {
			return n.Name
		}
	}
	return ""
}

// axes are the axes of a node.
func axes(n flat.Node) []kernel.Axis {
	switch n := n.(type) {
	case *flat.Assign:
		return n.Axes
	case *flat.Reduce:
		return []kernel.Axis{n.Axis}
	}
	return nil
}

func mentionsAny(e *expr.Expr, names map[string]bool) bool {
	for _, v := range expr.Vars(e) {
		if names[v.Name] {
			return true
		}
	}
	return false
}

// mentionedIn says whether nodes read or set a variable.
func mentionedIn(nodes []flat.Node, name string) bool {
	for _, n := range nodes {
		if flat.Mentions(n, name) {
			return true
		}
	}
	return false
}
