package emit

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Reductions are the instructions by which a partial value takes another. Those for Max and Min leave
// out NaN, and have the same result in any order.
var Reductions = map[expr.Op]string{expr.Add: "add.rn.f32", expr.Max: "max.f32", expr.Min: "min.f32"}

// Reduce keeps one partial value a lane and combines them by a butterfly. Every warp does it for
// itself.
func (p *Builder) Reduce(n *kernel.Reduce) asm.Value { return p.Reduces(n, 1, func(int) {})[0] }

// Reduces reduces several rows at once, so that loads of a row do not wait for another row's.
// Enter sets the variables to a row. Rows have at least one element, and a size bounded by most
// if there are several rows.
func (p *Builder) Reduces(n *kernel.Reduce, rows int, enter func(row int)) []asm.Value {
	f, op, start, size := p.F, Reductions[n.Op], asm.F32(kernel.Start(n.Op)), n.Axis.Size
	value, accs := p.Own(n.Value), f.Variables(rows, start)
	longest := size
	if rows > 1 {
		longest = Most(size)
	}
	turns := kernel.CeilDiv(longest, kernel.Neighbours)
	take := func(of func(row int) []asm.Value) {
		vs := make([][]asm.Value, rows)
		for row := range vs {
			enter(row)
			vs[row] = of(row)
		}
		for row, acc := range accs {
			for _, v := range vs[row] {
				f.Into(acc, op, acc, v)
			}
		}
	}
	lanes, lane := LanesOf(longest), p.Lane
	if lanes < WarpThreads {
		lane = f.Do("and.b32", lane, asm.Int(lanes-1))
	}
	p.Share(turns, lane, lanes, func(turn asm.Value) {
		first := f.Do("mul.lo.s32", turn, asm.Int(kernel.Neighbours))
		fours := func(int) []asm.Value { return p.Neighbours(value, n.Axis.Var, first, kernel.Neighbours, nil) }
		single := func(int) []asm.Value {
			return p.upTo(p.Value(size), value, n.Axis.Var, first, start, longest == size)
		}
		switch {
		case expr.IsMultiple(size, expr.Int(kernel.Neighbours)):
			take(fours)
		case p.inFours(value, n.Axis.Var):
			all := asm.Bool(true)
			for row := range rows {
				enter(row)
				all = f.Do("and.pred", all, f.Do("setp.lt.s32", f.Do("add.s32", first, asm.Int(kernel.Neighbours-1)), p.Value(size)))
			}
			f.If(all, func() { take(fours) })
			f.If(f.Do("not.pred", all), func() { take(single) })
		default:
			take(single)
		}
	})
	for d := lanes / 2; d > 0; d /= 2 {
		for _, acc := range accs {
			f.Into(acc, op, acc, f.Shuffle("bfly", acc, d))
		}
	}
	if n.Op == expr.Add { // whose zeros are +0
		return accs
	}
	for row, acc := range accs {
		f.Into(acc, "add.rn.f32", acc, asm.F32(0))
		accs[row] = f.Shuffle("idx", acc, 0) // conditions depend on it: the verifier wants to see that lanes agree
	}
	return accs
}

// LanesOf returns how many lanes reduce a row of a size: the least power of two that is enough, or
// all. All lanes have the result, so that others compute the same.
func LanesOf(size *expr.Expr) int {
	turns, lanes := kernel.CeilDiv(size, kernel.Neighbours), WarpThreads
	for turns.IsConst() && lanes > 1 && turns.I <= int64(lanes/2) {
		lanes /= 2
	}
	return lanes
}

// inFours reports whether elements for four values of a variable are adjacent, and loaded
// together.
func (p *Builder) inFours(value *expr.Expr, name string) bool {
	return slices.ContainsFunc(expr.Elems(value), func(e *expr.Expr) bool { return Aligned(e, name, kernel.Neighbours, p.Aligned) })
}

// Most returns a constant upper bound of a size, or nil.
func Most(size *expr.Expr) *expr.Expr {
	if size.IsConst() {
		return size
	}
	if size.Op == expr.Min && size.Args[1].IsConst() {
		return size.Args[1]
	}
	return nil
}

// upTo computes an expression for a lane's values of a variable from first on, without a branch.
// Values from limit on compute the last value instead, and give other as their result. There
// says that the first value is below limit.
func (p *Builder) upTo(limit asm.Value, value *expr.Expr, name string, first, other asm.Value, there bool) []asm.Value {
	f := p.F
	last := f.Do("add.s32", limit, asm.Int(-1))
	var vs []asm.Value
	for i := range kernel.Neighbours {
		at := f.Do("add.s32", first, asm.Int(i))
		p.Vars[name] = f.Do("min.s32", at, last)
		v := p.Eval(value, Known{})
		if i > 0 || !there {
			v = p.Choose(f.Do("setp.lt.s32", at, limit), v, other)
		}
		vs = append(vs, v)
	}
	return vs
}
