package vector

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// body writes statements. Those over the same axis share a loop.
func (f *fn) body(nodes []kernel.Stmt) {
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

func (f *fn) node(n kernel.Stmt) {
	switch n := n.(type) {
	case *kernel.Let:
		f.lets[n.Name] = n.Value
		f.let(n.Name, n.Value)
	case *kernel.Var:
		if n.Value != nil {
			f.let(n.Name, n.Value)
		} else {
			f.bind(n.Name, n.Type)
		}
	case *kernel.Set:
		f.assign(n)
	case *kernel.Random:
		f.randomFill(n)
	case *kernel.For:
		f.count(n.Var, n.Lo, n.Hi, func() { f.body(n.Body) })
	case *kernel.If:
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

// update sets a variable.
func (f *fn) update(name string, e *expr.Expr) {
	p, ok := f.vars[name]
	if !ok || p.typ != e.Type {
		f.fail("%s is no variable of the leaf", name)
		return
	}
	f.scope(func() { f.scalarTo(e, p) })
}

func (f *fn) assign(a *kernel.Set) {
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

func (f *fn) branch(n *kernel.If) {
	end := f.label("end")
	f.scope(func() {
		f.op("CMPQ", f.integer(n.Cond), imm(0))
		f.jump("JEQ", end)
		f.body(n.Body)
		f.mark(end)
	})
}

// readsOf counts the expressions of statements that read a slice.
func readsOf(body []kernel.Stmt, slice string) int {
	n := 0
	for s := range kernel.All(body) {
		for _, e := range kernel.Reads(s) {
			if expr.Mentions(e, slice) {
				n++
			}
		}
	}
	return n
}

// writes counts the statements that write a slice.
func writes(body []kernel.Stmt, slice string) int {
	n := 0
	for s := range kernel.All(body) {
		if kernel.Written(s) == slice {
			n++
		}
	}
	return n
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
