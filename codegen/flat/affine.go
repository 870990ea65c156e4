package flat

import "github.com/arithlang/mlc/compiler/expr"

// flatten returns the row-major flat index of idx in an array of the shape, the
// extents nested from the left: (i*M + j)*N + k.
func flatten(shape, idx []*expr.Expr) *expr.Expr {
	flat := expr.Int(0)
	for d, i := range idx {
		flat = add(mul(flat, shape[d]), i)
	}
	return flat
}

// Elements returns the number of elements of a shape.
func Elements(shape []*expr.Expr) *expr.Expr {
	n := expr.Int(1)
	for _, s := range shape {
		n = mul(n, s)
	}
	return n
}

func add(a, b *expr.Expr) *expr.Expr { return expr.Simplify(expr.New(expr.Add, a, b)) }

func mul(a, b *expr.Expr) *expr.Expr { return expr.Simplify(expr.New(expr.Mul, a, b)) }

// Affine splits an I32 expression into coef*v + rest, neither of which has v.
// It fails where it sees no such form.
func Affine(e *expr.Expr, v string) (coef, rest *expr.Expr, ok bool) {
	if !Depends(e, v) {
		return expr.Int(0), e, true
	}
	if e.Op == expr.Var {
		return expr.Int(1), expr.Int(0), true
	}
	switch e.Op {
	case expr.Add, expr.Sub:
		c0, r0, ok0 := Affine(e.Args[0], v)
		c1, r1, ok1 := Affine(e.Args[1], v)
		if !ok0 || !ok1 {
			return nil, nil, false
		}
		return expr.Simplify(expr.New(e.Op, c0, c1)), expr.Simplify(expr.New(e.Op, r0, r1)), true
	case expr.Mul:
		x, y := e.Args[0], e.Args[1]
		if Depends(y, v) {
			x, y = y, x
		}
		c, r, ok := Affine(x, v)
		if !ok || Depends(y, v) {
			return nil, nil, false
		}
		return mul(c, y), mul(r, y), true
	}
	return nil, nil, false
}

// isStride says whether an expression is sure not to be negative where variables
// are sizes.
func isStride(e *expr.Expr) bool {
	switch e.Op {
	case expr.Const:
		return e.I >= 0
	case expr.Var:
		return true
	case expr.Add, expr.Mul:
		return isStride(e.Args[0]) && isStride(e.Args[1])
	}
	return false
}

// Depends says whether a variable occurs in an expression.
func Depends(e *expr.Expr, v string) bool {
	if len(e.Args) == 0 {
		return e.Op == expr.Var && e.Name == v
	}
	found := false
	expr.Walk(e, func(x *expr.Expr) { found = found || x.Op == expr.Var && x.Name == v })
	return found
}

// IsInt says whether an expression is the constant n.
func IsInt(e *expr.Expr, n int64) bool { return e.Op == expr.Const && e.Type == expr.I32 && e.I == n }
