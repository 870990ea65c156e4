package emit

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// elements prints an assignment to all values of its axes.
func (p *Builder) elements(n *kernel.Set) {
	v := VectorOf(n, p.Group.Threads, p.Aligned)
	value, last := p.Own(n.Value), n.Axes[len(n.Axes)-1]
	axes := slices.Clone(n.Axes)
	if v > 1 {
		axes[len(axes)-1].Size = expr.Int(last.Size.I / int64(v))
	}
	p.Each(axes, func() {
		first := p.F.Do("mul.lo.s32", p.Vars[last.Var], asm.Int(v))
		vs := p.Neighbours(value, last.Var, first, v, nil)
		p.Vars[last.Var] = first
		p.Store(n.Dst, vs...)
	})
}

// VectorMost is the most adjacent elements read or written at a time.
const VectorMost = 4

// Neighbours computes an expression for v values of a variable from first on, a multiple of v.
// given has the elements of arrays in registers.
func (p *Builder) Neighbours(value *expr.Expr, name string, first asm.Value, v int, given map[string][]asm.Value) []asm.Value {
	loaded := elementsOf(value, given)
	p.loadBeside(value, name, first, v, loaded)
	return p.Across(value, name, first, v, loaded)
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
func (p *Builder) loadBeside(value *expr.Expr, name string, first asm.Value, v int, loaded map[*expr.Expr][]asm.Value) {
	p.Vars[name] = first
	for _, e := range expr.Elems(value) {
		if _, has := loaded[e]; !has && v > 1 && Aligned(e, name, v, p.Aligned) {
			loaded[e] = p.Load(p.At(e, Known{}), v)
		}
	}
}

// Across computes an expression for v values of a variable from first on. Some elements are
// loaded.
func (p *Builder) Across(value *expr.Expr, name string, first asm.Value, v int, loaded map[*expr.Expr][]asm.Value) []asm.Value {
	var vs []asm.Value
	for i := range v {
		so := Known{}
		for e, vs := range loaded {
			so[e] = vs[i]
		}
		p.Vars[name] = p.F.Do("add.s32", first, asm.Int(i))
		vs = append(vs, p.Eval(value, so))
	}
	return vs
}

// StoreFrom writes elements for values of a variable from first on, a multiple of their number:
// together if an expression equal to dst shows that they are adjacent and aligned.
func (p *Builder) StoreFrom(dst, equal *expr.Expr, name string, first asm.Value, vs []asm.Value) {
	n := 1
	if Aligned(equal, name, len(vs), p.Aligned) {
		n = len(vs)
	}
	for i := 0; i < len(vs); i += n {
		p.Vars[name] = p.F.Do("add.s32", first, asm.Int(i))
		p.Store(dst, vs[i:i+n]...)
	}
}

// VectorOf returns how many adjacent elements a thread of a workgroup takes at a time. They are 4
// or 2 if aligned and numerous enough, else 1.
func VectorOf(n *kernel.Set, threads int, known map[string]bool) int {
	last := n.Axes[len(n.Axes)-1]
	for _, v := range []int{VectorMost, 2} {
		size := last.Size
		if !size.IsConst() || size.I%int64(v) != 0 || !Aligned(n.Dst, last.Var, v, known) {
			continue
		}
		if len(n.Axes) > 1 || size.I >= int64(v*threads) {
			return v
		}
	}
	return 1
}

// Aligned reports whether an element is the first of v adjacent and aligned elements if a
// variable is a multiple of v.
func Aligned(e *expr.Expr, last string, v int, known map[string]bool) bool {
	if !known[e.Name] || len(e.Args) == 0 {
		return false
	}
	coef, rest, ok := expr.Affine(e.Args[0], last)
	return ok && expr.IsInt(coef, 1) && isMultiple(rest, v, known)
}

// isMultiple reports whether an index is a multiple of v, where known variables are multiples of
// VectorMost.
func isMultiple(e *expr.Expr, v int, known map[string]bool) bool {
	so := map[string]*expr.Expr{}
	for _, x := range expr.Vars(e) {
		if known[x.Name] {
			so[x.Name] = expr.New(expr.Mul, expr.Int(VectorMost), x)
		}
	}
	return expr.IsMultiple(expr.Subst(e, so), expr.Int(int64(v)))
}

// alignLets adds the variables to known whose values are multiples of VectorMost, in all loops that
// have a variable of that name.
func alignLets(body []kernel.Stmt, known map[string]bool) {
	other := map[string]bool{}
	for s := range kernel.All(body) {
		if let, ok := s.(*kernel.Let); ok {
			other[let.Name] = other[let.Name] || let.Value.Type != expr.I32 || !isMultiple(let.Value, VectorMost, known)
			known[let.Name] = !other[let.Name]
		}
	}
}
