package cpu

import (
	"fmt"
	"math"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/flat"
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
	return p.innermost(axis, a.Dst, a.Value, func(dst, value *expr.Expr) []jen.Code {
		return []jen.Code{p.set(dst, value)}
	})
}

// withoutUnitAxes takes 0 for the variables of axes of size 1.
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
		v = jen.Int32().Parens(v)
	}
	return p.place(dst).Op("=").Add(v)
}

// whole prints a copy or a clearing of a row, or returns nil where it is neither.
func (p *printer) whole(axis kernel.Axis, dst, value *expr.Expr) jen.Code {
	to, ok := flat.Row(dst, axis.Var)
	if !ok {
		return nil
	}
	row := func(e, off *expr.Expr) *jen.Statement {
		if expr.IsInt(off, 0) {
			return p.filled(e.Name, axis.Size)
		}
		return p.tail(e.Name, off).Index(jen.Empty(), p.scalar(axis.Size))
	}
	if isZero(value) {
		return jen.Id("clear").Call(row(dst, to))
	}
	if value.Op != expr.Elem || value.Name == dst.Name {
		return nil
	}
	if from, ok := flat.Row(value, axis.Var); ok {
		return jen.Id("copy").Call(row(dst, to), row(value, from))
	}
	return nil
}

// isZero says whether an expression is the constant with no bit set.
func isZero(e *expr.Expr) bool {
	return e.Op == expr.Const && expr.Equal(e, map[expr.Type]*expr.Expr{
		expr.F32: expr.F(0), expr.I32: expr.Int(0), expr.U32: expr.U(0), expr.Bool: expr.B(false)}[e.Type])
}

// reductions are the ops of a reduction: what the partial values start from and
// what combines them.
var reductions = map[expr.Op]struct {
	start   float64
	combine string
}{
	expr.Add: {0, "SumLanes"},
	expr.Max: {math.Inf(-1), "MaxLanes"},
	expr.Min: {math.Inf(1), "MinLanes"},
}

// reduce prints a loop over partial values and their combination.
func (p *printer) reduce(r *kernel.Reduce) []jen.Code {
	op := reductions[r.Op]
	part := p.fresh("part")
	lanes := func() *jen.Statement { return jen.Qual(runtimePath, "Lanes") }
	var out []jen.Code
	if op.start == 0 {
		out = append(out, jen.Var().Id(part).Index(lanes()).Float32())
	} else {
		out = append(out, jen.Id(part).Op(":=").Qual(runtimePath, "AllLanes").Call(p.scalar(expr.F(op.start))))
	}
	out = append(out, p.innermost(r.Axis, nil, r.Value, func(_, value *expr.Expr) []jen.Code {
		lane := jen.Id(part).Index(jen.Id(p.id(r.Axis.Var)).Op("%").Add(lanes()))
		if r.Op == expr.Add {
			return []jen.Code{lane.Op("+=").Add(p.scalar(value))}
		}
		return []jen.Code{lane.Clone().Op("=").Add(jen.Qual(runtimePath, calls[r.Op]).Call(lane, p.scalar(value)))}
	})...)
	total := jen.Qual(runtimePath, op.combine).Call(jen.Op("&").Id(part), p.scalar(r.Axis.Size))
	return append(out, jen.Id(p.bind(r.Name)).Op(":=").Add(total))
}

// innermost prints a loop without another in it. What does not change in it is
// computed before it, and rows of consecutive elements are cut to length there,
// so that Go need not check indices in the loop. A nil dst is nothing to set.
func (p *printer) innermost(a kernel.Axis, dst, value *expr.Expr, body func(dst, value *expr.Expr) []jen.Code) []jen.Code {
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
		v := p.typed(l.Value)
		out = append(out, jen.Id(p.bindAs(l.Name, resembling(l.Value))).Op(":=").Add(v))
	}
	return append(append(out, rows...), p.rangeOver(a, func() []jen.Code {
		lets, dst, value := p.shareBoth(dst, value)
		return append(lets, body(dst, value)...)
	}))
}

// shareBoth is share for a value and the index where it goes.
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
		value := p.typed(b.Value)
		lets = append(lets, jen.Id(p.bindAs(b.Name, resembling(b.Value))).Op(":=").Add(value))
	}
	return lets, out
}

// resembling is a name for a subexpression.
func resembling(e *expr.Expr) string {
	if e.Op == expr.Elem {
		slice, _, _ := strings.Cut(e.Name, ".row")
		return slice + "_at"
	}
	return "t"
}

// row is the name of the part of a slice from an offset on that is so long, and the
// code that cuts it. A row that was cut for an earlier loop serves again.
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
	part := p.tail(slice, off).Index(jen.Empty(), p.scalar(size))
	return name, []jen.Code{jen.Id(p.bindAs(name, slice+"_row")).Op(":=").Add(part)}
}
