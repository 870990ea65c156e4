package cpu

import (
	"fmt"
	"math"
	"strings"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// assign prints the loops that set elements.
func (p *printer) assign(a *kernel.Set) []string {
	a = withoutUnitAxes(a)
	if len(a.Axes) == 0 {
		lets, dst, value := p.shareBoth(a.Dst, a.Value)
		return append(lets, p.set(dst, value))
	}
	axis, last := a.Axes[0], len(a.Axes) == 1
	if !last {
		rest := &kernel.Set{Axes: a.Axes[1:], Dst: a.Dst, Value: a.Value}
		return []string{p.rangeOver(axis, func() []string { return p.assign(rest) })}
	}
	if whole := p.whole(axis, a.Dst, a.Value); whole != "" {
		return []string{whole}
	}
	return p.innermost(axis, a.Dst, a.Value, p.set)
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
func (p *printer) set(dst, value *expr.Expr) string {
	v := p.scalar(value)
	if dst.Type == expr.I32 && len(dst.Args) > 0 {
		v = "int32(" + v + ")"
	}
	return p.place(dst) + " = " + v
}

// whole prints a copy or a clearing of a row, or returns "" where it is neither.
func (p *printer) whole(axis kernel.Axis, dst, value *expr.Expr) string {
	to, ok := flat.Row(dst, axis.Var)
	if !ok {
		return ""
	}
	row := func(e, off *expr.Expr) string {
		if expr.IsInt(off, 0) {
			return p.filled(e.Name, axis.Size)
		}
		return p.tail(e.Name, off) + "[:" + p.scalar(axis.Size) + "]"
	}
	if isZero(value) {
		return "clear(" + row(dst, to) + ")"
	}
	if from, ok := flat.Row(value, axis.Var); ok && value.Name != dst.Name {
		return "copy(" + row(dst, to) + ", " + row(value, from) + ")"
	}
	return ""
}

// isZero says whether an expression is the constant with no bit set.
func isZero(e *expr.Expr) bool { return e.IsConst() && e.I == 0 && math.Float64bits(e.F) == 0 }

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
func (p *printer) reduce(r *kernel.Reduce) []string {
	op := reductions[r.Op]
	part := p.fresh("part")
	first := "var " + part + " [cpu.Lanes]float32"
	if op.start != 0 {
		first = part + " := cpu.AllLanes(" + p.scalar(expr.F(op.start)) + ")"
	}
	loop := p.innermost(r.Axis, nil, r.Value, func(_, value *expr.Expr) string {
		lane := part + "[" + p.id(r.Axis.Var) + "/cpu.Neighbours%cpu.Lanes]"
		if r.Op == expr.Add {
			return lane + " += " + p.scalar(value)
		}
		return fmt.Sprintf("%s = cpu.%s(%s, %s)", lane, calls[r.Op], p.scalar(value), lane)
	})
	size := p.scalar(r.Axis.Size)
	total := fmt.Sprintf("%s := cpu.%s(&%s, %s)", p.bind(r.Name), op.combine, part, size)
	return append(append([]string{first}, loop...), total)
}

// innermost prints a loop without another in it. What does not change in it is
// computed before it, and rows of consecutive elements are cut to length there,
// so that Go need not check indices in the loop. A nil dst is nothing to set.
func (p *printer) innermost(a kernel.Axis, dst, value *expr.Expr, body func(dst, value *expr.Expr) string) []string {
	sets := ""
	if dst != nil {
		sets = dst.Name
	}
	n := 0
	fixed := flat.OfRow(a.Var, sets, func() string { n++; return fmt.Sprintf("hoist.%d", n) })
	var rows []string
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
	var out []string
	for _, l := range fixed.Lets {
		out = append(out, p.define(l.Name, resembling(l.Value), p.typed(l.Value)))
	}
	return append(append(out, rows...), p.rangeOver(a, func() []string {
		lets, dst, value := p.shareBoth(dst, value)
		return append(lets, body(dst, value))
	}))
}

// define prints the definition of a name by an identifier that resembles another.
func (p *printer) define(name, like, value string) string {
	return p.bindAs(name, like) + " := " + value
}

// shareBoth is share for a value and the index where it goes.
func (p *printer) shareBoth(dst, value *expr.Expr) ([]string, *expr.Expr, *expr.Expr) {
	if dst == nil || len(dst.Args) == 0 {
		lets, es := p.share(value)
		return lets, dst, es[0]
	}
	lets, es := p.share(value, dst.Args[0])
	return lets, expr.NewElem(dst.Name, dst.Type, es[1]), es[0]
}

// share binds the subexpressions that expressions use more than once.
func (p *printer) share(es ...*expr.Expr) (lets []string, out []*expr.Expr) {
	bindings, out := expr.Share(es, func(n int) string { return fmt.Sprintf("share.%d", n) })
	for _, b := range bindings {
		lets = append(lets, p.define(b.Name, resembling(b.Value), p.typed(b.Value)))
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
func (p *printer) row(slice string, off, size *expr.Expr) (name string, cut []string) {
	key := slice + "\n" + expr.Key(off) + "\n" + expr.Key(size)
	name, ok := p.rows[key]
	if _, inScope := p.ids[name]; ok && inScope && !p.mutable(off) && !p.mutable(size) {
		return name, nil
	}
	if !ok {
		name = fmt.Sprintf("%s.row%d", slice, len(p.rows))
		p.rows[key] = name
	}
	return name, []string{p.define(name, slice+"_row", p.tail(slice, off)+"[:"+p.scalar(size)+"]")}
}
