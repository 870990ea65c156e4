package emit

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

func (p *Builder) Assign(n *kernel.Set) {
	switch {
	case n.Dst.Op == expr.Var:
		p.F.Move(p.Vars[n.Dst.Name], p.Value(n.Value))
	case len(n.Axes) == 0:
		p.F.If(p.F.Do("setp.eq.s32", p.Group.ID, asm.Int(0)), func() { p.Store(n.Dst, p.Value(n.Value)) })
	default:
		p.elements(n)
	}
}

// Store writes adjacent elements, one for each value.
func (p *Builder) Store(dst *expr.Expr, vs ...asm.Value) {
	p.F.Store(p.At(p.Own(dst), Known{}).Address, vs...)
}

// Each distributes all values of the axes, the last fastest, to the threads of the workgroup
// round-robin, and calls do for each.
func (p *Builder) Each(axes []kernel.Axis, do func()) {
	p.Share(kernel.Elements(kernel.Sizes(axes)), p.Group.ID, p.Group.Threads, func(i asm.Value) {
		p.Set(axes, i)
		do()
	})
}

// Set gives the variables of axes their values in iteration i.
func (p *Builder) Set(axes []kernel.Axis, i asm.Value) {
	for d, a := range slices.Backward(axes) {
		if d == 0 {
			p.Vars[a.Var] = i
			break
		}
		i, p.Vars[a.Var] = p.Divide(i, p.Value(a.Size))
	}
}

// maxUnrolled is the most iterations of an unrolled loop. A warp then loads a row of 1024
// elements once and keeps it in registers.
const maxUnrolled = 8

// Share runs iteration for i = first, first+step, … below total, where first is below step.
func (p *Builder) Share(total *expr.Expr, first asm.Value, step int, iteration func(i asm.Value)) {
	n, by := total.I, int64(step)
	switch limit := p.Value(total); {
	case total.IsConst() && n > 0 && n%by == 0 && n/by <= maxUnrolled:
		for at := range n / by {
			iteration(p.F.Do("add.s32", first, asm.Int(at*by)))
		}
	case total.IsConst() && n <= by:
		p.F.If(p.F.Do("setp.lt.s32", first, limit), func() { iteration(first) })
	default:
		p.Count(first, limit, asm.Int(by), iteration)
	}
}
