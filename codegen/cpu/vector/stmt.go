package vector

import (
	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// body writes statements. Statements over the same axis share a loop.
func (f *fn) body(stmts []kernel.Stmt) {
	for len(stmts) > 0 && f.err == nil {
		first, g, rest := f.gather(stmts)
		for _, s := range first {
			f.stmt(s)
		}
		if g != nil {
			f.run(g)
		}
		stmts = rest
	}
}

func (f *fn) stmt(s kernel.Stmt) {
	f.known.Enter(s)
	switch s := s.(type) {
	case *kernel.Let:
		f.let(s.Name, s.Value)
	case *kernel.Var:
		if s.Value == nil {
			f.bind(s.Name, s.Type)
		} else {
			f.let(s.Name, s.Value)
		}
	case *kernel.Set:
		f.assign(s)
	case *kernel.Random:
		f.m.randomFill(s)
	case *kernel.For:
		if all := unrolled(s); all != nil {
			f.scope(func() { f.body(all) })
		} else {
			f.count(s.Var, s.Lo, s.Hi, func() { f.body(s.Body) })
		}
	case *kernel.If:
		end := f.label("end")
		f.scope(func() {
			off := f.slot(expr.Bool)
			f.scalarTo(s.Cond, off)
			f.m.jumpIfZero(off, end)
			f.within(func() { f.body(s.Body) }, func(t cost.Tally) cost.Tally { return f.known.Whether(s.Cond, t) })
			f.m.mark(end)
		})
	default:
		f.fail("%T has no place in a vector kernel", s)
	}
}

// let names a value. It takes the place before it writes the code, which gives back all its
// slots.
func (f *fn) let(name string, e *expr.Expr) {
	off := f.slot(e.Type)
	f.scope(func() { f.scalarTo(e, off) })
	f.vars[name] = place{e.Type, off}
}

// assign sets a variable, an element, or elements in loops over the axes. The last axis is a
// loop over vectors.
func (f *fn) assign(s *kernel.Set) {
	switch {
	case s.Dst.Op == expr.Var:
		f.scope(func() { f.scalarTo(s.Value, f.variable(s.Dst)) })
	case len(s.Axes) == 0:
		f.scope(func() {
			b := f.newBlock("", 4)
			b.assign(s.Dst, s.Value, false)
			b.write()
		})
	case len(s.Axes) == 1:
		f.run(&group{size: s.Axes[0].Size, axis: s.Axes[0].Var, members: []member{{dst: s.Dst, value: s.Value}}})
	default:
		inner := &kernel.Set{Axes: s.Axes[1:], Dst: s.Dst, Value: s.Value}
		f.count(s.Axes[0].Var, expr.Int(0), s.Axes[0].Size, func() { f.assign(inner) })
	}
}
