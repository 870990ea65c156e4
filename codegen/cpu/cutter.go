package cpu

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// A call replaces some nodes of a kernel by a call of a vector kernel.
type call struct {
	code  *vector.Kernel
	nodes int         // how many nodes the vector kernel replaces
	args  []arg       // one for each slice of the vector kernel
	over  *kernel.For // the loop that several calls share, nil if there is one call
	step  int64       // iterations of the loop in a call
}

// An arg is the argument for a slice of a vector kernel: the whole slice if off is nil,
// otherwise length elements from off on.
type arg struct {
	slice  string
	off    *expr.Expr
	length int64
}

// A cutter divides the nodes of a kernel into vector kernels and Go.
type cutter struct {
	name    string // the kernel's function
	types   map[string]expr.Type
	sizes   map[string]*expr.Expr // elements of buffers and tiles that vector kernels can use
	tainted map[string]bool       // variables whose values depend on loaded data
	calls   map[kernel.Stmt]*call // calls by their first node
	vector  *vector.Assembly
}

func newCutter(name string, k *kernel.Kernel, nodes []kernel.Stmt, asm *vector.Assembly) *cutter {
	c := &cutter{
		name:    name,
		types:   map[string]expr.Type{},
		sizes:   map[string]*expr.Expr{},
		tainted: map[string]bool{},
		calls:   map[kernel.Stmt]*call{},
		vector:  asm,
	}
	for _, b := range buffers(k) {
		c.types[b.Name], c.sizes[b.Name] = b.Type, kernel.Elements(b.Shape)
	}
	for _, n := range nodes {
		if t, ok := n.(*kernel.Tile); ok {
			c.types[t.Name], c.sizes[t.Name] = t.Type, t.Shape[0]
		}
	}
	c.taint(nodes)
	return c
}

// taint finds the variables that depend on memory, or that change.
func (c *cutter) taint(nodes []kernel.Stmt) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *kernel.Let:
			c.mark(n.Name, c.loaded(n.Value))
		case *kernel.Reduce:
			c.mark(n.Name, true)
		case *kernel.Var:
			c.mark(n.Name, true)
		case *kernel.For:
			c.mark(n.Var, c.loaded(n.Lo) || c.loaded(n.Hi))
		}
		c.taint(kernel.Within(n))
	}
}

func (c *cutter) mark(name string, tainted bool) { c.tainted[name] = c.tainted[name] || tainted }

// loaded reports whether the value of an expression depends on loaded data. The launch itself
// computes where packed rows are, so those numbers are as safe as scalars.
func (c *cutter) loaded(e *expr.Expr) bool {
	ofData := func(x *expr.Expr) bool { return !kernel.Packing(x.Name) }
	return slices.ContainsFunc(expr.Elems(e), ofData) || expr.DependsOnAny(e, c.tainted)
}

// cut finds the vector kernels among nodes and in their bodies. It returns the nodes in
// printing order. If top is set, no loop surrounds them.
func (c *cutter) cut(nodes []kernel.Stmt, top bool) []kernel.Stmt {
	nodes = c.letsFirst(nodes)
	for i := 0; i < len(nodes); {
		n := c.longest(nodes[i:], top)
		if n > 0 {
			i += n
			continue
		}
		switch n := nodes[i].(type) {
		case *kernel.For:
			n.Body = c.cut(n.Body, false)
		case *kernel.If:
			n.Body = c.cut(n.Body, false)
		}
		i++
	}
	return nodes
}

// letsFirst moves lets that depend only on indices to the front. Both sides of a call need
// them, and vector kernels need not compute them.
func (c *cutter) letsFirst(nodes []kernel.Stmt) []kernel.Stmt {
	var first, rest []kernel.Stmt
	changes := map[string]bool{}
	for _, n := range nodes {
		let, ok := n.(*kernel.Let)
		if ok && let.Value.Type != expr.Bool && !c.loaded(let.Value) && !expr.DependsOnAny(let.Value, changes) {
			first = append(first, n)
			continue
		}
		rest = append(rest, n)
		maps.Copy(changes, depend.Changes(n))
	}
	return append(first, rest...)
}

// longest makes a vector kernel of as many leading nodes as it can and returns their number.
// It returns 0 if no kernel is possible or worth a call.
func (c *cutter) longest(nodes []kernel.Stmt, top bool) int {
	n := 0
	for n < len(nodes) && c.fits(nodes[n]) {
		n++
	}
	for ; n > 0; n-- {
		if _, ok := nodes[n-1].(*kernel.Let); ok || !worthwhile(nodes[:n]) {
			continue
		}
		if call, err := c.compile(nodes[:n], nodes[n:], top); err == nil {
			c.calls[nodes[0]] = call
			return n
		}
	}
	return 0
}

// fits reports whether a node contains no matrix product and no tile.
func (c *cutter) fits(n kernel.Stmt) bool {
	switch n.(type) {
	case *kernel.Dot, *kernel.Tile:
		return false
	}
	for _, m := range kernel.Within(n) {
		if !c.fits(m) {
			return false
		}
	}
	return true
}

// worthwhile reports whether nodes do more than copy or compute scalars.
func worthwhile(nodes []kernel.Stmt) bool {
	for _, n := range nodes {
		switch n := n.(type) {
		case *kernel.Reduce, *kernel.Random:
			return true
		case *kernel.Set:
			if a := withoutUnitAxes(n); len(a.Axes) > 1 || len(a.Axes) == 1 && !copies(a) {
				return true
			}
		case *kernel.For, *kernel.If:
			if worthwhile(kernel.Within(n)) {
				return true
			}
		}
	}
	return false
}

// copies reports whether an assignment over one axis copies a row or fills it with a constant.
func copies(a *kernel.Set) bool {
	_, to := flat.Row(a.Dst, a.Axes[0].Var)
	_, from := flat.Row(a.Value, a.Axes[0].Var)
	return to && (a.Value.IsConst() || from)
}

// compile makes a vector kernel of nodes. rest are the nodes that follow in the same body.
func (c *cutter) compile(nodes, rest []kernel.Stmt, top bool) (*call, error) {
	b := &vectorBuilder{
		cutter: c, call: &call{nodes: len(nodes)},
		bound: map[string]bool{}, written: map[string]bool{}, extents: map[string]*expr.Expr{},
		params: map[string]string{}, values: map[string]bool{},
	}
	for _, n := range nodes {
		for name := range kernel.Names(n) {
			b.bound[name] = true
		}
		for s := range kernel.All([]kernel.Stmt{n}) {
			b.written[kernel.Written(s)] = true
		}
		if later := kernel.Bound(n); later != "" && slices.ContainsFunc(rest, func(s kernel.Stmt) bool { return kernel.Uses(s, later) }) {
			return nil, errors.New("what it binds is used after it")
		}
	}
	name := fmt.Sprintf("%sVector%d", c.name, len(c.calls)+1)
	b.call.code = &vector.Kernel{Name: name, Doc: fmt.Sprintf("%s is a part of kernel %s.", name, c.name)}
	if l, ok := nodes[0].(*kernel.For); ok && top && len(nodes) == 1 {
		nodes = []kernel.Stmt{b.divide(l)}
	}
	b.call.code.Body = b.nodes(nodes)
	b.aliases()
	if b.err != nil {
		return nil, b.err
	}
	return b.call, c.vector.Add(b.call.code)
}

// share bounds the work of a call, in element operations. A call takes a small part of a
// millisecond, so that the garbage collector can stop the goroutine.
const share = 1 << 22

// divide shares a loop that may run long among several calls. The vector kernel gets the
// bounds of one call.
func (b *vectorBuilder) divide(l *kernel.For) *kernel.For {
	step := int64(1) << (bits.Len64(uint64(max(share/max(work(l.Body), 1), 1))) - 1)
	if !expr.IsInt(l.Lo, 0) || l.Hi.Op == expr.Const && l.Hi.I <= step {
		return l
	}
	b.call.over, b.call.step = l, step
	from, to := bounds(l)
	return &kernel.For{Var: l.Var, Lo: from, Hi: to, Body: l.Body}
}

// bounds returns the variables for the bounds of one call's part of a loop.
func bounds(l *kernel.For) (from, to *expr.Expr) {
	return expr.NewVar(l.Var+".from", expr.I32), expr.NewVar(l.Var+".to", expr.I32)
}

// work estimates the element operations of nodes.
func work(nodes []kernel.Stmt) int64 {
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
		for _, e := range kernel.Reads(n) {
			per += int64(len(expr.Uses(expr.Expand(e))))
		}
		for _, a := range kernel.Axes(n) {
			per *= trips(a.Size)
		}
		switch n := n.(type) {
		case *kernel.For:
			per += trips(n.Hi) * work(n.Body)
		case *kernel.If:
			per += work(n.Body)
		case *kernel.Random:
			per += 16 * trips(n.Size)
		}
		sum += per
	}
	return sum
}
