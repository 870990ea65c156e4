package ptx

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// elements prints an assignment to all values of its axes.
func (p *printer) elements(n *kernel.Set) {
	v := vectorOf(n, p.group.threads, p.aligned)
	value, last := p.own(n.Value), n.Axes[len(n.Axes)-1]
	axes := slices.Clone(n.Axes)
	if v > 1 {
		axes[len(axes)-1].Size = expr.Int(last.Size.I / int64(v))
	}
	p.each(axes, func() {
		first := p.f.Do("mul.lo.s32", p.vars[last.Var], asm.Int(v))
		vs := p.neighbours(value, last.Var, first, v, nil)
		p.vars[last.Var] = first
		p.store(n.Dst, vs...)
	})
}

// vectorMost is the most adjacent elements read or written at a time.
const vectorMost = 4

// neighbours computes an expression for v values of a variable from first on, a multiple of v.
// given has the elements of arrays in registers.
func (p *printer) neighbours(value *expr.Expr, name string, first asm.Value, v int, given map[string][]asm.Value) []asm.Value {
	loaded := elementsOf(value, given)
	p.loadBeside(value, name, first, v, loaded)
	return p.across(value, name, first, v, loaded)
}

// elementsOf returns the elements of an expression whose arrays are given.
func elementsOf(value *expr.Expr, given map[string][]asm.Value) map[*expr.Expr][]asm.Value {
	all := map[*expr.Expr][]asm.Value{}
	for _, e := range expr.Elems(value) {
		if vs, ok := given[e.Name]; ok {
			all[e] = vs
		}
	}
	return all
}

// loadBeside loads the other elements of an expression that are adjacent for v values of a
// variable.
func (p *printer) loadBeside(value *expr.Expr, name string, first asm.Value, v int, loaded map[*expr.Expr][]asm.Value) {
	p.vars[name] = first
	for _, e := range expr.Elems(value) {
		if _, has := loaded[e]; !has && v > 1 && aligned(e, name, v, p.aligned) {
			loaded[e] = p.load(p.at(e, known{}), v)
		}
	}
}

// across computes an expression for v values of a variable from first on. Some elements are
// loaded.
func (p *printer) across(value *expr.Expr, name string, first asm.Value, v int, loaded map[*expr.Expr][]asm.Value) []asm.Value {
	var vs []asm.Value
	for i := range v {
		so := known{}
		for e, vs := range loaded {
			so[e] = vs[i]
		}
		p.vars[name] = p.f.Do("add.s32", first, asm.Int(i))
		vs = append(vs, p.eval(value, so))
	}
	return vs
}

// storeFrom writes elements for values of a variable from first on, a multiple of their number.
func (p *printer) storeFrom(dst *expr.Expr, name string, first asm.Value, vs []asm.Value) {
	n := 1
	if aligned(dst, name, len(vs), p.aligned) {
		n = len(vs)
	}
	p.storeBy(n, dst, name, first, vs)
}

// storeBy writes elements n at a time.
func (p *printer) storeBy(n int, dst *expr.Expr, name string, first asm.Value, vs []asm.Value) {
	for i := 0; i < len(vs); i += n {
		p.vars[name] = p.f.Do("add.s32", first, asm.Int(i))
		p.store(dst, vs[i:i+n]...)
	}
}

// vectorOf returns how many adjacent elements a thread of a workgroup takes at a time. They are 4
// or 2 if aligned and numerous enough, else 1.
func vectorOf(n *kernel.Set, threads int, known map[string]bool) int {
	last := n.Axes[len(n.Axes)-1]
	for _, v := range []int{vectorMost, 2} {
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

// aligned reports whether an element is the first of v adjacent and aligned elements if a
// variable is a multiple of v.
func aligned(e *expr.Expr, last string, v int, known map[string]bool) bool {
	if !known[e.Name] || len(e.Args) == 0 {
		return false
	}
	coef, rest, ok := expr.Affine(e.Args[0], last)
	return ok && expr.IsInt(coef, 1) && expr.IsMultiple(rest, expr.Int(int64(v)))
}
