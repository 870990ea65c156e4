package ptx

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

func (p *printer) nodes(ns []flat.Node) error {
	for _, n := range ns {
		if p.waits[n] {
			p.wait()
		}
		p.forget()
		if err := p.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) node(n flat.Node) error {
	switch n := n.(type) {
	case *flat.Let:
		p.vars[n.Name] = p.settled(n.Value)
	case *flat.Alloc:
		return p.variable(n)
	case *flat.Assign:
		p.assign(n)
	case *flat.Fill:
		p.fill(n)
	case *flat.Random:
		p.random(n)
	case *flat.Dot:
		p.dot(n)
	case *flat.Reduce:
		p.vars[n.Name] = p.reduce(n)
	case *flat.Loop:
		return p.loop(n)
	case *flat.Branch:
		end := p.f.Label()
		p.f.BranchIf(p.value(n.Cond), false, end)
		p.push()
		err := p.nodes(n.Body)
		p.pop()
		p.f.Place(end)
		return err
	default:
		panic(fmt.Sprintf("BUG: unknown node %T", n))
	}
	return nil
}

// loop runs a loop in every thread of the team, or deals its turns to the warps of
// the block, each of which is then a team.
func (p *printer) loop(n *flat.Loop) error {
	counter, limit, step := p.f.Copy(p.value(n.Lo)), p.settled(n.Hi), 1
	p.vars[n.Name] = counter
	if p.team.whole && n.Apart {
		block := p.team
		defer func() { p.team = block }()
		p.f.Into(counter, "add.s32", counter, p.warp)
		step = p.warps
		p.team = team{warpThreads, p.lane, false}
	}
	return p.while(counter, limit, asm.Int(int64(step)), func() error { return p.nodes(n.Body) })
}

// settled computes an expression into a value that keeps when variables change.
func (p *printer) settled(e *expr.Expr) asm.Value {
	v := p.value(e)
	if e.Op == expr.Var && p.mutable[e.Name] {
		return p.f.Copy(v)
	}
	return v
}

// variable makes a variable, which is a tile of rank 0.
func (p *printer) variable(n *flat.Alloc) error {
	if n.Size != nil {
		return fmt.Errorf("tile %s: its size has no bound over the launch's scalars", n.Name)
	}
	v := p.f.New(classOf(n.Type))
	if n.Value != nil {
		p.f.Move(v, p.value(n.Value))
	}
	p.vars[n.Name] = v
	return nil
}

func (p *printer) assign(n *flat.Assign) {
	store := func() {
		v := p.value(n.Value)
		s, at, bytes := p.at(n.Dst)
		p.f.Store(s, at, bytes, v)
	}
	switch {
	case n.Dst.Op == expr.Var:
		p.f.Move(p.vars[n.Dst.Name], p.value(n.Value))
	case len(n.Axes) == 0:
		p.first(store)
	default:
		p.each(n.Axes, []*expr.Expr{n.Dst, n.Value}, store)
	}
}

func (p *printer) fill(n *flat.Fill) {
	if n.Size == nil {
		p.f.Move(p.vars[n.Dst], p.value(n.Value))
		return
	}
	axis := kernel.Axis{Var: elementVar, Size: n.Size}
	dst := expr.NewElem(n.Dst, n.Value.Type, expr.NewVar(elementVar, expr.I32))
	p.each([]kernel.Axis{axis}, []*expr.Expr{n.Value}, func() {
		s, at, bytes := p.at(dst)
		p.f.Store(s, at, bytes, p.value(n.Value))
	})
}

// elementVar is the name, which no variable of a kernel has, of an element's number.
const elementVar = "element"

// first lets one thread of the team do something.
func (p *printer) first(do func()) {
	end := p.f.Label()
	p.f.BranchIf(p.f.Do("setp.eq.s32", p.team.id, asm.Int(0)), false, end)
	p.push()
	do()
	p.pop()
	p.f.Place(end)
}

// each deals all values of the axes, the last fastest, to the threads of the team
// in turn, and does something for each. Parts of reads that do not change are
// computed once.
func (p *printer) each(axes []kernel.Axis, reads []*expr.Expr, do func()) {
	total := expr.Int(1)
	for _, a := range axes {
		total = expr.Simplify(expr.New(expr.Mul, total, a.Size))
	}
	p.share(p.value(total), total, p.team.id, p.team.threads, func(i asm.Value, again func()) {
		vary := map[string]bool{}
		for _, a := range axes {
			vary[a.Var] = true
		}
		for _, e := range reads {
			p.hoist(p.own(e), vary)
		}
		again()
		rest := i
		for d, a := range slices.Backward(axes) {
			if d == 0 {
				p.vars[a.Var] = rest
				break
			}
			rest, p.vars[a.Var] = p.divide(rest, p.value(a.Size))
		}
		do()
	})
}

// share runs work for i = first, first+step, … below total; size is total as an
// expression. Work calls again between what it does once and what it does each
// time.
func (p *printer) share(total asm.Value, size *expr.Expr, first asm.Value, step int, work func(i asm.Value, again func())) {
	f := p.f
	p.push()
	defer p.pop()
	once := size.IsConst() && size.I <= int64(step)
	if once && size.I == int64(step) {
		work(first, func() {})
		return
	}
	end := f.Label()
	f.BranchIf(f.Do("setp.lt.s32", first, total), false, end)
	if once {
		work(first, func() {})
		f.Place(end)
		return
	}
	i, loop := f.Copy(first), f.Label()
	work(i, func() {
		f.Place(loop)
		p.push()
	})
	p.pop()
	f.Into(i, "add.s32", i, asm.Int(int64(step)))
	f.BranchIf(f.Do("setp.lt.s32", i, total), true, loop)
	f.Place(end)
}

// hoist computes the largest parts of an expression that do not change with the
// variables.
func (p *printer) hoist(e *expr.Expr, vary map[string]bool) {
	seen := map[*expr.Expr]bool{}
	var visit func(e *expr.Expr) bool // says whether e varies
	visit = func(e *expr.Expr) bool {
		if v, ok := seen[e]; ok {
			return v
		}
		varies := e.Op == expr.Var && vary[e.Name]
		parts := make([]bool, len(e.Args))
		for i, a := range e.Args {
			parts[i] = visit(a)
			varies = varies || parts[i]
		}
		if varies {
			for i, a := range e.Args {
				if !parts[i] && len(a.Args) > 0 {
					p.eval(a)
				}
			}
		}
		seen[e] = varies
		return varies
	}
	visit(e)
}

// reduce keeps one partial value a lane and combines them by a butterfly. Every
// warp does it for itself.
func (p *printer) reduce(n *flat.Reduce) asm.Value {
	f := p.f
	r := reductions[n.Op]
	acc := f.Copy(asm.F32(r.start))
	own := p.own(n.Value)
	p.share(p.value(n.Axis.Size), n.Axis.Size, p.lane, warpThreads, func(i asm.Value, again func()) {
		p.hoist(own, map[string]bool{n.Axis.Var: true})
		again()
		p.vars[n.Axis.Var] = i
		p.take(r, acc, p.value(n.Value))
	})
	for d := warpThreads / 2; d > 0; d /= 2 {
		p.take(r, acc, f.Shuffle("bfly", acc, d))
	}
	if r.op != "" {
		return acc
	}
	return f.Shuffle("idx", acc, 0) // lanes may differ in the sign of 0
}

// A reduction is how partial values start and take another: by an instruction
// whose result is the same in either order, or the other value unless compare
// prefers the own.
type reduction struct {
	start       float32
	op, compare string
}

var reductions = map[expr.Op]reduction{
	expr.Add: {0, "add.rn.f32", ""},
	expr.Max: {float32(math.Inf(-1)), "", "setp.gt.f32"},
	expr.Min: {float32(math.Inf(1)), "", "setp.lt.f32"},
}

func (p *printer) take(r reduction, acc, v asm.Value) {
	if r.op != "" {
		p.f.Into(acc, r.op, acc, v)
		return
	}
	p.f.Into(acc, "selp.f32", acc, v, p.f.Do(r.compare, acc, v))
}
