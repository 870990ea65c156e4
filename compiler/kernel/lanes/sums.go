package lanes

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// straight is the most terms of a sum that are written as one expression.
const straight = 16

// dot writes a product as sums of each element, in ascending order, with a fused
// multiply-add for each term.
func (b *builder) dot(s *kernel.Dot) []kernel.Stmt {
	if s.Split || s.A.Type != expr.F32 {
		b.fail("factors of a product are rounded")
		return nil
	}
	n := len(s.Axes) - 1
	outer, sum := s.Axes[:n], s.Axes[n]
	dst, x, y := b.expr(s.Dst), b.expr(s.A), b.expr(s.B)
	if size := sum.Size; size.Op == expr.Const && size.I <= straight {
		total := dst
		if s.Zero {
			total = expr.F(0)
		}
		for k := range size.I {
			at := map[string]*expr.Expr{sum.Var: expr.Int(k)}
			total = expr.New(expr.Fma, expr.Subst(x, at), expr.Subst(y, at), total)
		}
		return []kernel.Stmt{b.assign(dst, total, outer...)}
	}
	// The outer loop runs over the rows of A: rows of the result, or steps of the sum.
	var rows *kernel.Axis
	if n == 2 && !expr.Depends(s.A.Args[0], sum.Var) {
		rows, outer = &outer[0], outer[1:]
	}
	var out []kernel.Stmt
	if s.Zero {
		out = append(out, b.assign(dst, expr.F(0), outer...))
	}
	out = append(out, loop(sum, b.assign(dst, expr.New(expr.Fma, x, y, dst), outer...)))
	if rows != nil {
		return []kernel.Stmt{loop(*rows, out...)}
	}
	return out
}

// loop runs statements over an axis.
func loop(a kernel.Axis, body ...kernel.Stmt) *kernel.For {
	return &kernel.For{Var: a.Var, Lo: expr.Int(0), Hi: a.Size, Body: body}
}

// start returns the start value of partials.
func start(op expr.Op) *expr.Expr { return expr.F(float64(kernel.Start(op))) }

// reduce writes a reduction of each model's values into a tile.
func (b *builder) reduce(s *kernel.Reduce) []kernel.Stmt {
	value := b.expr(s.Value)
	tile, own := b.own(s.Name)
	if size := s.Axis.Size; size.Op == expr.Const && size.I <= straight {
		return []kernel.Stmt{tile, b.assign(own, flat(s, value))}
	}
	parts, other := b.fresh(s.Name+"_part"), b.fresh(s.Name+"_other")
	e, p := expr.NewVar(s.Axis.Var, expr.I32), expr.NewVar(b.fresh("part"), expr.I32)
	to := row(parts, expr.New(expr.And, expr.New(expr.Shr, e, expr.Int(2)), expr.Int(kernel.Partials-1)))
	used := expr.Simplify(expr.New(expr.Min, expr.Int(kernel.Partials), kernel.CeilDiv(s.Axis.Size, kernel.Neighbours)))
	first := start(s.Op)
	out := []kernel.Stmt{
		tile, b.tile(parts, expr.Int(kernel.Partials)), b.tile(other),
		b.assign(row(parts, expr.Int(0)), first), // for an empty axis
		loop(kernel.Axis{Var: p.Name, Size: used}, b.assign(row(parts, p), first)),
		loop(s.Axis, b.assign(to, expr.New(s.Op, value, to))),
	}
	// Unused partials would add start values, which change nothing, so they are left out.
	for half := int64(kernel.Partials / 2); half > 0; half /= 2 {
		n := expr.New(expr.Min, expr.Int(half), expr.New(expr.Sub, used, expr.Int(half)))
		out = append(out, loop(kernel.Axis{Var: p.Name, Size: expr.Simplify(n)},
			b.assign(row(other), row(parts, expr.New(expr.Add, p, expr.Int(half)))),
			b.assign(row(parts, p), expr.New(s.Op, row(other), row(parts, p)))))
	}
	return append(out, b.assign(own, expr.New(expr.Add, row(parts, expr.Int(0)), expr.F(0))))
}

// flat returns a reduction of a few values as one expression.
func flat(s *kernel.Reduce, value *expr.Expr) *expr.Expr {
	var parts []*expr.Expr
	for e := range s.Axis.Size.I {
		p := int(e / kernel.Neighbours)
		if p == len(parts) {
			parts = append(parts, start(s.Op))
		}
		parts[p] = expr.New(s.Op, expr.Subst(value, map[string]*expr.Expr{s.Axis.Var: expr.Int(e)}), parts[p])
	}
	if len(parts) == 0 {
		parts = []*expr.Expr{start(s.Op)}
	}
	for half := kernel.Partials / 2; half > 0; half /= 2 {
		for p := range min(half, max(0, len(parts)-half)) {
			parts[p] = expr.New(s.Op, parts[p+half], parts[p])
		}
		parts = parts[:min(len(parts), half)]
	}
	return expr.New(expr.Add, parts[0], expr.F(0))
}
