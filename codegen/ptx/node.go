package ptx

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

func (p *printer) nodes(ns []kernel.Stmt) {
	for _, n := range ns {
		if p.waits[n] {
			p.wait()
		}
		p.f.Comment(p.k.Describe(n))
		p.bounds.Enter(n)
		p.node(n)
	}
}

func (p *printer) node(n kernel.Stmt) {
	switch n := n.(type) {
	case *kernel.Let:
		p.vars[n.Name] = p.value(n.Value)
	case *kernel.Var:
		p.declare(n)
	case *kernel.Set:
		p.assign(n)
	case *kernel.Random:
		p.random(n)
	case *kernel.Dot:
		p.dot(n)
	case *kernel.Reduce:
		p.vars[n.Name] = p.reduce(n)
	case *kernel.For:
		p.loop(n)
	case *kernel.If:
		p.f.If(p.value(n.Cond), func() { p.nodes(n.Body) })
	default:
		panic(fmt.Sprintf("BUG: unknown node %T", n))
	}
}

// loop runs a loop in every thread of the workgroup. If the workgroup is a block, an independent
// loop distributes its iterations to the warps, and each warp is then a workgroup.
func (p *printer) loop(n *kernel.For) {
	from, limit, step := p.value(n.Lo), p.value(n.Hi), 1
	if p.group.whole && n.Independent {
		block := p.group
		defer func() { p.group = block }()
		from, step = p.f.Do("add.s32", p.warp, from), p.warps
		p.group = workgroup{warpThreads, p.lane, false}
	}
	p.count(from, limit, asm.Int(step), func(i asm.Value) {
		p.vars[n.Var] = i
		p.nodes(n.Body)
	})
}

// declare makes a variable.
func (p *printer) declare(n *kernel.Var) {
	v := p.f.New(classOf(n.Type))
	if n.Value != nil {
		p.f.Move(v, p.value(n.Value))
	}
	p.vars[n.Name] = v
}

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
