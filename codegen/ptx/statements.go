package ptx

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

func (p *printer) assign(n *kernel.Set) {
	switch {
	case n.Dst.Op == expr.Var:
		p.f.Move(p.vars[n.Dst.Name], p.value(n.Value))
	case len(n.Axes) == 0:
		p.first(func() { p.store(n.Dst, p.value(n.Value)) })
	default:
		p.elements(n)
	}
}

// store writes adjacent elements, one for each value.
func (p *printer) store(dst *expr.Expr, vs ...asm.Value) {
	p.f.Store(p.at(p.own(dst), known{}).Address, vs...)
}

// first lets one thread of the workgroup do something.
func (p *printer) first(do func()) { p.f.If(p.f.Do("setp.eq.s32", p.group.id, asm.Int(0)), do) }

// each distributes all values of the axes, the last fastest, to the threads of the workgroup
// round-robin, and calls do for each.
func (p *printer) each(axes []kernel.Axis, do func()) {
	p.share(kernel.Elements(kernel.Sizes(axes)), p.group.id, p.group.threads, func(i asm.Value) {
		p.set(axes, i)
		do()
	})
}

// set gives the variables of axes their values in iteration i.
func (p *printer) set(axes []kernel.Axis, i asm.Value) {
	for d, a := range slices.Backward(axes) {
		if d == 0 {
			p.vars[a.Var] = i
			break
		}
		i, p.vars[a.Var] = p.divide(i, p.value(a.Size))
	}
}

// maxUnrolled is the most iterations of an unrolled loop. A warp then loads a row of 1024
// elements once and keeps it in registers.
const maxUnrolled = 8

// share runs iteration for i = first, first+step, … below total, where first is below step.
func (p *printer) share(total *expr.Expr, first asm.Value, step int, iteration func(i asm.Value)) {
	n, by := total.I, int64(step)
	switch limit := p.value(total); {
	case total.IsConst() && n > 0 && n%by == 0 && n/by <= maxUnrolled:
		for at := range n / by {
			iteration(p.f.Do("add.s32", first, asm.Int(at*by)))
		}
	case total.IsConst() && n <= by:
		p.f.If(p.f.Do("setp.lt.s32", first, limit), func() { iteration(first) })
	default:
		p.count(first, limit, asm.Int(by), iteration)
	}
}
