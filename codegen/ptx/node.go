package ptx

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

func (p *printer) nodes(ns []kernel.Stmt) error {
	for _, n := range ns {
		if p.waits[n] {
			p.wait()
		}
		p.forget()
		p.f.Comment(about(n))
		if err := p.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) node(n kernel.Stmt) error {
	switch n := n.(type) {
	case *kernel.Let:
		p.vars[n.Name], p.counted[n.Name] = p.settled(n.Value), false
	case *kernel.Tile:
		return fmt.Errorf("tile %s: its size has no bound over the launch's scalars", n.Name)
	case *kernel.Var:
		p.variable(n)
	case *kernel.Set:
		p.assign(n)
	case *kernel.Random:
		p.random(n)
	case *kernel.Dot:
		p.dot(n)
	case *kernel.Reduce:
		p.vars[n.Name] = p.reduce(n)
	case *kernel.For:
		return p.loop(n)
	case *kernel.If:
		var err error
		p.f.If(p.value(n.Cond), func() {
			p.push()
			err = p.nodes(n.Body)
			p.pop()
		})
		return err
	default:
		panic(fmt.Sprintf("BUG: unknown node %T", n))
	}
	return nil
}

// about says for readers what a node does.
func about(n kernel.Stmt) string {
	switch n := n.(type) {
	case *kernel.Let:
		return "let " + n.Name
	case *kernel.Var:
		return "variable " + n.Name
	case *kernel.Set:
		return "set " + n.Dst.String()
	case *kernel.Random:
		return "random " + n.Dst
	case *kernel.Dot:
		return fmt.Sprintf("dot %s += %s * %s", n.Dst.Name, n.A.Name, n.B.Name)
	case *kernel.Reduce:
		return "reduce " + n.Name
	case *kernel.For:
		return "for " + n.Var
	case *kernel.If:
		return "if " + n.Cond.String()
	}
	panic(fmt.Sprintf("BUG: unknown node %T", n))
}

// loop runs a loop in every thread of the team, or deals its turns to the warps of
// the block, each of which is then a team.
func (p *printer) loop(n *kernel.For) error {
	from, limit, step := p.value(n.Lo), p.settled(n.Hi), 1
	if p.team.whole && n.Apart {
		block := p.team
		defer func() { p.team = block }()
		from, step = p.f.Do("add.s32", p.warp, from), p.warps
		p.team = team{warpThreads, p.lane, false}
	}
	return p.count(from, limit, asm.Int(int64(step)), func(i asm.Value) error {
		p.vars[n.Var], p.counted[n.Var] = i, expr.IsInt(n.Lo, 0)
		return p.nodes(n.Body)
	})
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
func (p *printer) variable(n *kernel.Var) {
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

// store writes neighbouring elements, as many as there are values.
func (p *printer) store(dst *expr.Expr, vs ...asm.Value) {
	m, at, bytes := p.at(p.own(dst))
	p.f.Store(m, at, bytes, vs...)
}

// elementVar is the name, which no variable of a kernel has, of an element's number.
const elementVar = "element"

// first lets one thread of the team do something.
func (p *printer) first(do func()) {
	p.f.If(p.f.Do("setp.eq.s32", p.team.id, asm.Int(0)), func() {
		p.push()
		do()
		p.pop()
	})
}

// each deals all values of the axes, the last fastest, to the threads of the team
// in turn, and does something for each. Parts of reads that do not change are
// computed once.
func (p *printer) each(axes []kernel.Axis, reads []*expr.Expr, do func()) {
	total := expr.Int(1)
	vary := map[string]bool{}
	for _, a := range axes {
		total = expr.Simplify(expr.New(expr.Mul, total, a.Size))
		vary[a.Var], p.counted[a.Var] = true, true
	}
	once := func() {
		for _, e := range reads {
			p.hoist(p.own(e), vary)
		}
	}
	p.share(total, p.team.id, p.team.threads, once, func(i asm.Value) {
		for d, a := range slices.Backward(axes) {
			if d == 0 {
				p.vars[a.Var] = i
				break
			}
			i, p.vars[a.Var] = p.divide(i, p.value(a.Size))
		}
		do()
	})
}

// maxUnrolled is the number of turns up to which a loop is written out.
const maxUnrolled = 4

// share runs turn for i = first, first+step, … below total, and once before.
func (p *printer) share(total *expr.Expr, first asm.Value, step int, once func(), turn func(i asm.Value)) {
	f := p.f
	p.push()
	defer p.pop()
	one := func(i asm.Value) {
		p.push()
		turn(i)
		p.pop()
	}
	if n := total.I; total.IsConst() && n > 0 && n%int64(step) == 0 && n/int64(step) <= maxUnrolled {
		once()
		for at := range n / int64(step) {
			i := first
			if at > 0 {
				i = f.Do("add.s32", first, asm.Int(at*int64(step)))
			}
			one(i)
		}
		return
	}
	limit := p.value(total)
	f.If(f.Do("setp.lt.s32", first, limit), func() {
		once()
		if total.IsConst() && total.I <= int64(step) {
			one(first)
			return
		}
		i := f.Variable(first)
		f.Loop(func() asm.Value {
			one(i)
			f.Into(i, "add.s32", i, asm.Int(int64(step)))
			return f.Do("setp.lt.s32", i, limit)
		})
	})
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
func (p *printer) reduce(n *kernel.Reduce) asm.Value {
	f := p.f
	r := reductions[n.Op]
	acc := f.Variable(asm.F32(r.start))
	own := p.own(n.Value)
	once := func() { p.hoist(own, map[string]bool{n.Axis.Var: true}) }
	p.share(n.Axis.Size, p.lane, warpThreads, once, func(i asm.Value) {
		p.vars[n.Axis.Var] = i
		p.take(r, acc, p.eval(own))
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
