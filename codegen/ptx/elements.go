package ptx

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// elements prints an assignment to all values of its axes.
func (p *printer) elements(n *kernel.Set) {
	v := vectorOf(n, p.team.threads, p.aligned)
	value, dst := p.own(n.Value), p.own(n.Dst)
	reads := []*expr.Expr{dst.Args[0], value}
	if v == 1 {
		p.each(n.Axes, reads, func() { p.store(dst, p.eval(value)) })
		return
	}
	last := n.Axes[len(n.Axes)-1]
	axes := slices.Clone(n.Axes)
	axes[len(axes)-1].Size = expr.Int(last.Size.I / int64(v))
	p.each(axes, reads, func() {
		first := p.f.Do("mul.lo.s32", p.vars[last.Var], asm.Int(int64(v)))
		p.vars[last.Var] = first
		p.hoist(value, map[string]bool{last.Var: true})
		loaded := p.vectors(value, last.Var, v)
		var vs []asm.Value
		for i := range v {
			vs = append(vs, p.element(value, last.Var, first, i, loaded))
		}
		p.vars[last.Var] = first
		p.store(dst, vs...)
	})
}

// vectors loads the elements of an expression that lie side by side where a
// variable advances by one, v of each. The indices that it computes are those of the
// first, which nothing else may take for its own.
func (p *printer) vectors(value *expr.Expr, last string, v int) map[*expr.Expr][]asm.Value {
	p.push()
	defer p.pop()
	loaded := map[*expr.Expr][]asm.Value{}
	for _, e := range expr.Elems(value) {
		if !aligned(e, last, v, p.aligned) {
			continue
		}
		m, at, bytes := p.at(e)
		loaded[e] = p.f.Loads(m, classOf(e.Type), v, at, bytes)
	}
	return loaded
}

// element computes an expression for the value first+i of a variable.
func (p *printer) element(value *expr.Expr, last string, first asm.Value, i int, loaded map[*expr.Expr][]asm.Value) asm.Value {
	p.push()
	defer p.pop()
	top := p.layers[len(p.layers)-1]
	for e, vs := range loaded {
		top.values[e] = vs[i]
	}
	if i > 0 && needs(value, last, loaded) {
		p.vars[last] = p.f.Do("add.s32", first, asm.Int(int64(i)))
	}
	return p.eval(value)
}

// needs says whether an expression reads a variable outside of what is loaded.
func needs(e *expr.Expr, name string, loaded map[*expr.Expr][]asm.Value) bool {
	if loaded[e] != nil {
		return false
	}
	if e.Op == expr.Var {
		return e.Name == name
	}
	return slices.ContainsFunc(e.Args, func(a *expr.Expr) bool { return needs(a, name, loaded) })
}

// vectorOf is how many neighbouring elements a thread of a team takes at a time: as
// many as lie at a multiple of their size, 4 at most, unless threads would be idle.
func vectorOf(n *kernel.Set, threads int, known map[string]bool) int {
	last := n.Axes[len(n.Axes)-1]
	for _, v := range []int{4, 2} {
		size := last.Size
		if !size.IsConst() || size.I%int64(v) != 0 || !aligned(n.Dst, last.Var, v, known) {
			continue
		}
		if len(n.Axes) > 1 || size.I >= int64(v*threads) {
			return v
		}
	}
	return 1
}

// aligned says whether an element, where a variable is a multiple of v, is the first
// of v that lie side by side at a multiple of their size.
func aligned(e *expr.Expr, last string, v int, known map[string]bool) bool {
	if !known[e.Name] || len(e.Args) == 0 {
		return false
	}
	coef, rest, ok := expr.Affine(e.Args[0], last)
	return ok && expr.IsInt(coef, 1) && multiple(rest, expr.Int(int64(v)))
}
