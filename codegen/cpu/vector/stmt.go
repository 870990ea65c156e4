package vector

import (
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
)

// body writes statements. Those over the same axis share a loop.
func (f *fn) body(nodes []flat.Node) {
	for len(nodes) > 0 && f.err == nil {
		first, g, rest := f.gather(nodes)
		for _, n := range first {
			f.node(n)
		}
		if g != nil {
			f.run(g)
		}
		nodes = rest
	}
}

func (f *fn) node(n flat.Node) {
	switch n := n.(type) {
	case *flat.Let:
		f.lets[n.Name] = n.Value
		f.let(n.Name, n.Value)
	case *flat.Alloc:
		f.alloc(n)
	case *flat.Assign:
		f.assign(n)
	case *flat.Fill:
		f.fill(n)
	case *flat.Random:
		f.randomFill(n)
	case *flat.Loop:
		f.count(n.Name, n.Lo, n.Hi, func() { f.body(n.Body) })
	case *flat.Branch:
		f.branch(n)
	default:
		f.fail("%T has no place in a leaf", n)
	}
}

// let names a value; the place is taken before the code that computes it, which
// gives back all slots of its own.
func (f *fn) let(name string, e *expr.Expr) {
	p := place{e.Type, f.slot(e.Type)}
	f.scope(func() { f.scalarTo(e, p) })
	f.vars[name] = p
}

func (f *fn) alloc(a *flat.Alloc) {
	switch {
	case a.Size != nil:
		f.fail("tile %s is made in the leaf", a.Name)
	case a.Value != nil:
		f.let(a.Name, a.Value)
	default:
		f.bind(a.Name, a.Type)
	}
}

// update sets a variable.
func (f *fn) update(name string, e *expr.Expr) {
	p, ok := f.vars[name]
	if !ok || p.typ != e.Type {
		f.fail("%s is no variable of the leaf", name)
		return
	}
	f.scope(func() { f.scalarTo(e, p) })
}

func (f *fn) assign(a *flat.Assign) {
	if a.Dst.Op == expr.Var {
		if len(a.Axes) > 0 {
			f.fail("variable %s is set in a loop", a.Dst.Name)
			return
		}
		f.update(a.Dst.Name, a.Value)
		return
	}
	if len(a.Axes) > 0 {
		f.nest(a.Axes[:len(a.Axes)-1], func() {
			last := a.Axes[len(a.Axes)-1]
			f.run(&group{size: last.Size, axis: last.Var, members: []member{{dst: a.Dst, value: a.Value}}})
		})
		return
	}
	f.scope(func() {
		b := f.newBlock("", 4)
		b.assign(a.Dst, a.Value, false)
		b.prepare()
		b.emit(instance{})
	})
}

func (f *fn) fill(n *flat.Fill) {
	if _, ok := f.vars[n.Dst]; ok {
		f.update(n.Dst, n.Value)
		return
	}
	if n.Size == nil {
		f.fail("the size of %s is not known", n.Dst)
		return
	}
	const axis = "fill.e"
	dst := expr.NewElem(n.Dst, n.Value.Type, expr.NewVar(axis, expr.I32))
	f.run(&group{size: n.Size, axis: axis, members: []member{{dst: dst, value: n.Value}}})
}

func (f *fn) branch(n *flat.Branch) {
	end := f.label("end")
	f.scope(func() {
		f.op("CMPQ", f.integer(n.Cond), imm(0))
		f.jump("JEQ", end)
		f.body(n.Body)
		f.mark(end)
	})
}

// readsOf counts the expressions of statements that read a slice.
func readsOf(nodes []flat.Node, slice string) int {
	n := 0
	each(nodes, func(node flat.Node) {
		for _, e := range expressions(node) {
			if slices.ContainsFunc(expr.Elems(e), func(x *expr.Expr) bool { return x.Name == slice }) {
				n++
			}
		}
	})
	return n
}

// writes counts the statements that write a slice.
func writes(nodes []flat.Node, slice string) int {
	n := 0
	each(nodes, func(node flat.Node) {
		switch x := node.(type) {
		case *flat.Assign:
			if x.Dst.Name == slice {
				n++
			}
		case *flat.Fill:
			if x.Dst == slice {
				n++
			}
		case *flat.Random:
			if x.Dst == slice {
				n++
			}
		}
	})
	return n
}

// each visits statements and those in them.
func each(nodes []flat.Node, visit func(flat.Node)) {
	for _, n := range nodes {
		visit(n)
		switch n := n.(type) {
		case *flat.Loop:
			each(n.Body, visit)
		case *flat.Branch:
			each(n.Body, visit)
		}
	}
}

// expressions are those of a statement that may read a slice.
func expressions(n flat.Node) []*expr.Expr {
	switch n := n.(type) {
	case *flat.Let:
		return []*expr.Expr{n.Value}
	case *flat.Alloc:
		if n.Value != nil {
			return []*expr.Expr{n.Value}
		}
	case *flat.Assign:
		out := append([]*expr.Expr{n.Value}, n.Dst.Args...)
		for _, a := range n.Axes {
			out = append(out, a.Size)
		}
		return out
	case *flat.Fill:
		return []*expr.Expr{n.Value}
	case *flat.Random:
		return []*expr.Expr{n.Base, n.Example, n.Size}
	case *flat.Reduce:
		return []*expr.Expr{n.Value, n.Axis.Size}
	case *flat.Loop:
		return []*expr.Expr{n.Lo, n.Hi}
	case *flat.Branch:
		return []*expr.Expr{n.Cond}
	}
	return nil
}

// multipleOf4 says whether an integer is sure to be a multiple of 4.
func (f *fn) multipleOf4(e *expr.Expr) bool {
	switch e.Op {
	case expr.Const:
		return e.I%4 == 0
	case expr.Var:
		v, ok := f.lets[e.Name]
		return ok && f.multipleOf4(v)
	case expr.Add, expr.Sub:
		return f.multipleOf4(e.Args[0]) && f.multipleOf4(e.Args[1])
	case expr.Mul:
		return f.multipleOf4(e.Args[0]) || f.multipleOf4(e.Args[1])
	}
	return false
}
