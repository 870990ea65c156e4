package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Bounds holds bounds of the variables that a kernel binds, over scalars of the launch.
type Bounds struct {
	// A variable that is in neither map is a scalar, and its own bound.
	upper, lower map[string]*expr.Expr // nil: unbounded
}

// NewBounds returns the bounds of the axes of a grid.
func NewBounds(grid []kernel.Axis) *Bounds {
	b := &Bounds{map[string]*expr.Expr{}, map[string]*expr.Expr{}}
	for _, a := range grid {
		b.loop(a.Var, expr.Int(0), a.Size)
	}
	return b
}

// Enter records bounds of the variables that a statement binds, for itself, its body and
// the statements after it.
func (b *Bounds) Enter(s kernel.Stmt) {
	switch s := s.(type) {
	case *kernel.Let:
		b.upper[s.Name], b.lower[s.Name] = b.max(s.Value), b.min(s.Value)
	case *kernel.Reduce, *kernel.Var:
		b.upper[kernel.Bound(s)], b.lower[kernel.Bound(s)] = nil, nil
	case *kernel.For:
		b.loop(s.Var, s.Lo, s.Hi)
	}
	for _, a := range kernel.Axes(s) {
		b.loop(a.Var, expr.Int(0), a.Size)
	}
}

func (b *Bounds) loop(name string, lo, hi *expr.Expr) {
	b.lower[name] = b.min(lo)
	b.upper[name] = nil
	if last := b.max(hi); last != nil {
		b.upper[name] = add(last, expr.Int(-1))
	}
}

// max returns an upper bound of an I32 expression, nil if it finds none.
func (b *Bounds) max(e *expr.Expr) *expr.Expr { return b.extreme(e, b.upper, expr.Min, b.max, b.min) }

// min returns a lower bound of an I32 expression, nil if it finds none.
func (b *Bounds) min(e *expr.Expr) *expr.Expr { return b.extreme(e, b.lower, expr.Max, b.min, b.max) }

// extreme returns a bound on one side. Variables have bounds in of. One operand suffices to
// bound the op either. A subtrahend is bounded on the other side.
func (b *Bounds) extreme(e *expr.Expr, of map[string]*expr.Expr, either expr.Op, same, other func(*expr.Expr) *expr.Expr) *expr.Expr {
	if e.Type != expr.I32 {
		return nil
	}
	switch e.Op {
	case expr.Const:
		return e
	case expr.Var:
		if known, bound := of[e.Name]; bound {
			return known
		}
		return e // a scalar
	case expr.Elem:
		if kernel.Packing(e.Name) && either == expr.Max {
			return expr.Int(0) // offsets and numbers of rows
		}
	case expr.Min, expr.Max, expr.Add:
		x, y := same(e.Args[0]), same(e.Args[1])
		switch {
		case e.Op != either:
		case x == nil || y != nil && y.Op == expr.Const:
			return y
		case y == nil || x.Op == expr.Const:
			return x
		}
		return combine(e.Op, x, y)
	case expr.Where:
		both := expr.Max
		if either == expr.Max {
			both = expr.Min
		}
		return combine(both, same(e.Args[1]), same(e.Args[2]))
	case expr.Sub:
		return combine(e.Op, same(e.Args[0]), other(e.Args[1]))
	case expr.Mul:
		if b.Natural(e.Args[0]) && b.Natural(e.Args[1]) {
			return combine(e.Op, same(e.Args[0]), same(e.Args[1]))
		}
	case expr.Div:
		if d := e.Args[1]; d.Op == expr.Const && d.I > 0 {
			return combine(e.Op, same(e.Args[0]), d)
		}
	}
	return nil
}

func combine(op expr.Op, a, b *expr.Expr) *expr.Expr {
	if a == nil || b == nil {
		return nil
	}
	return expr.Simplify(expr.New(op, a, b))
}

// Natural reports whether an expression is certainly not negative. Scalars are sizes.
func (b *Bounds) Natural(e *expr.Expr) bool {
	low := b.min(e)
	return low != nil && isSize(low)
}

// size returns an upper bound of the number of elements of a shape, nil if it finds none.
// Extents are not negative where a tile is allocated.
func (b *Bounds) size(shape []*expr.Expr) *expr.Expr {
	size := expr.Int(1)
	for _, extent := range shape {
		most := b.max(extent)
		switch {
		case most == nil:
			return nil
		case !isSize(most):
			most = combine(expr.Max, most, expr.Int(0))
		}
		size = mul(size, most)
	}
	return size
}

// isSize is isStride with Min and Div, which keep the sign.
func isSize(e *expr.Expr) bool { return isNatural(e, expr.Min, expr.Add, expr.Mul, expr.Div) }

// isStride reports whether an expression of sizes is certainly not negative.
func isStride(e *expr.Expr) bool { return isNatural(e, expr.Add, expr.Mul) }

// isNatural reports whether an expression consists of natural numbers, variables and ops.
func isNatural(e *expr.Expr, ops ...expr.Op) bool {
	if e.Op == expr.Const {
		return e.I >= 0
	}
	return e.Op == expr.Var || slices.Contains(ops, e.Op) && isNatural(e.Args[0], ops...) && isNatural(e.Args[1], ops...)
}

// boundProducts sets MostRows and MostCols of products.
func boundProducts(k *kernel.Kernel) *kernel.Kernel {
	b := NewBounds(k.Grid)
	return withBody(k, b.products(k.Body))
}

func (b *Bounds) products(body []kernel.Stmt) []kernel.Stmt {
	out := make([]kernel.Stmt, len(body))
	for i, s := range body {
		b.Enter(s)
		if d, ok := s.(*kernel.Dot); ok && len(d.Axes) > 1 {
			d := *d
			if d.MostCols = b.most(d.Axes[len(d.Axes)-2].Size); len(d.Axes) > 2 {
				d.MostRows = b.most(d.Axes[0].Size)
			}
			s = &d
		}
		out[i] = within(s, b.products)
	}
	return out
}

// most returns a constant upper bound of a size, 0 if it finds none.
func (b *Bounds) most(size *expr.Expr) int {
	if m := b.max(size); m != nil && m.IsConst() {
		return int(m.I)
	}
	return 0
}
