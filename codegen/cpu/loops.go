package cpu

import (
	"fmt"
	"math"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// assign prints the loops that set elements.
func (p *printer) assign(a *kernel.Set) []jen.Code {
	a = withoutUnitAxes(a)
	if len(a.Axes) == 0 {
		lets, dst, value := p.shareBoth(a.Dst, a.Value)
		return append(lets, p.set(dst, value))
	}
	axis, last := a.Axes[0], len(a.Axes) == 1
	if !last {
		rest := &kernel.Set{Axes: a.Axes[1:], Dst: a.Dst, Value: a.Value}
		return []jen.Code{p.rangeOver(axis, func() []jen.Code { return p.assign(rest) })}
	}
	if whole := p.whole(axis, a.Dst, a.Value); whole != nil {
		return []jen.Code{whole}
	}
	return p.innermost(axis, a.Dst, a.Value, p.set)
}

// withoutUnitAxes substitutes 0 for the variables of axes of size 1.
func withoutUnitAxes(a *kernel.Set) *kernel.Set {
	zero := map[string]*expr.Expr{}
	var axes []kernel.Axis
	for _, x := range a.Axes {
		if expr.IsInt(x.Size, 1) {
			zero[x.Var] = expr.Int(0)
		} else {
			axes = append(axes, x)
		}
	}
	if len(zero) == 0 {
		return a
	}
	at := func(e *expr.Expr) *expr.Expr { return expr.Simplify(expr.Subst(e, zero)) }
	return &kernel.Set{Axes: axes, Dst: at(a.Dst), Value: at(a.Value)}
}

// set prints an assignment to an element.
func (p *printer) set(dst, value *expr.Expr) jen.Code {
	v := p.scalar(value)
	if dst.Type == expr.I32 && len(dst.Args) > 0 {
		v = jen.Int32().Call(v)
	}
	return p.Place(dst).Op("=").Add(v)
}

// whole prints a copy or a clearing of a row. It returns nil for other assignments.
func (p *printer) whole(axis kernel.Axis, dst, value *expr.Expr) jen.Code {
	to, ok := flat.Row(dst, axis.Var)
	if !ok {
		return nil
	}
	row := func(e, off *expr.Expr) jen.Code {
		if expr.IsInt(off, 0) {
			return p.filled(e.Name, axis.Size)
		}
		return p.part(e.Name, off, axis.Size)
	}
	if isZero(value) {
		return jen.Clear(row(dst, to))
	}
	if from, ok := flat.Row(value, axis.Var); ok && value.Name != dst.Name {
		return jen.Copy(row(dst, to), row(value, from))
	}
	return nil
}

// isZero reports whether an expression is the constant with no bit set.
func isZero(e *expr.Expr) bool { return e.IsConst() && e.I == 0 && math.Float64bits(e.F) == 0 }

// reductions are the start of the partial values and the function that combines them, by op.
var reductions = map[expr.Op]struct {
	start   float64
	combine string
}{
	expr.Add: {0, "Sum"},
	expr.Max: {math.Inf(-1), "Max"},
	expr.Min: {math.Inf(1), "Min"},
}

// reduce prints a loop over partial values and their combination.
func (p *printer) reduce(r *kernel.Reduce) []jen.Code {
	op, cpu := reductions[r.Op], gocode.CPU.Qual
	part := p.fresh("part")
	first := jen.Var().Id(part).Index(cpu("Lanes")).Float32()
	if op.start != 0 {
		first = jen.Id(part).Op(":=").Add(cpu("AllLanes")).Call(p.scalar(expr.F(op.start)))
	}
	loop := p.innermost(r.Axis, nil, r.Value, func(_, value *expr.Expr) jen.Code {
		lane := jen.Id(part).Index(jen.Id(p.id(r.Axis.Var)).Op("/").Add(cpu("Neighbours")).Op("%").Add(cpu("Lanes")))
		if r.Op == expr.Add {
			return lane.Op("+=").Add(p.scalar(value))
		}
		return lane.Clone().Op("=").Add(cpu(op.combine)).Call(p.scalar(value), lane)
	})
	size := p.scalar(r.Axis.Size)
	total := jen.Id(p.bind(r.Name)).Op(":=").Add(cpu(op.combine+"Lanes")).Call(jen.Op("&").Id(part), size)
	return append(append([]jen.Code{first}, loop...), total)
}

// innermost prints a loop without an inner loop. Values that do not change in the loop are
// computed before it. Rows of consecutive elements are cut to length there, so that Go need
// not check indices in the loop. A nil dst sets nothing.
func (p *printer) innermost(a kernel.Axis, dst, value *expr.Expr, body func(dst, value *expr.Expr) jen.Code) []jen.Code {
	sets := ""
	if dst != nil {
		sets = dst.Name
	}
	n := 0
	fixed := flat.OfRow(a.Var, sets, func() string { n++; return fmt.Sprintf("hoist.%d", n) })
	var rows []jen.Code
	over := func(e *expr.Expr) *expr.Expr {
		return expr.Rewrite(fixed.Expr(e), func(x *expr.Expr) *expr.Expr {
			off, ok := flat.Row(x, a.Var)
			if !ok {
				return x
			}
			name, cut := p.row(x.Name, off, a.Size)
			rows = append(rows, cut...)
			return expr.NewElem(name, x.Type, expr.NewVar(a.Var, expr.I32))
		})
	}
	if dst != nil {
		dst = over(dst)
	}
	value = over(value)
	var out []jen.Code
	for _, l := range fixed.Lets {
		out = append(out, p.define(l.Name, resembling(l.Value), p.Typed(l.Value)))
	}
	return append(append(out, rows...), p.rangeOver(a, func() []jen.Code {
		lets, dst, value := p.shareBoth(dst, value)
		return append(lets, body(dst, value))
	}))
}

// define prints the definition of a name by an identifier that resembles another.
func (p *printer) define(name, like string, value jen.Code) jen.Code {
	return jen.Id(p.bindAs(name, like)).Op(":=").Add(value)
}

// shareBoth is share for a value and the index of its destination.
func (p *printer) shareBoth(dst, value *expr.Expr) ([]jen.Code, *expr.Expr, *expr.Expr) {
	if dst == nil || len(dst.Args) == 0 {
		lets, es := p.share(value)
		return lets, dst, es[0]
	}
	lets, es := p.share(value, dst.Args[0])
	return lets, expr.NewElem(dst.Name, dst.Type, es[1]), es[0]
}

// share binds the subexpressions that expressions use more than once.
func (p *printer) share(es ...*expr.Expr) (lets []jen.Code, out []*expr.Expr) {
	bindings, out := expr.Share(es, func(n int) string { return fmt.Sprintf("share.%d", n) })
	for _, b := range bindings {
		lets = append(lets, p.define(b.Name, resembling(b.Value), p.Typed(b.Value)))
	}
	return lets, out
}

// resembling suggests a name for a subexpression.
func resembling(e *expr.Expr) string {
	if e.Op == expr.Elem {
		slice, _, _ := strings.Cut(e.Name, ".row")
		return slice + "_at"
	}
	return "t"
}

// row returns the name of size elements of a slice from an offset on, and the code that cuts
// them. It reuses a row that an earlier loop cut.
func (p *printer) row(slice string, off, size *expr.Expr) (name string, cut []jen.Code) {
	key := slice + "\n" + expr.Key(off) + "\n" + expr.Key(size)
	name, ok := p.rows[key]
	if _, inScope := p.ids[name]; ok && inScope && !p.mutable(off) && !p.mutable(size) {
		return name, nil
	}
	if !ok {
		name = fmt.Sprintf("%s.row%d", slice, len(p.rows))
		p.rows[key] = name
	}
	return name, []jen.Code{p.define(name, slice+"_row", p.part(slice, off, size))}
}
