package expr

// Affine splits an I32 expression into coef*v + rest, where neither part contains v. ok
// is false if it finds no such form.
func Affine(e *Expr, v string) (coef, rest *Expr, ok bool) { return newSimplifier().affine(e, v) }

func (s *simplifier) affine(e *Expr, v string) (coef, rest *Expr, ok bool) {
	if !Depends(e, v) {
		return Int(0), e, true
	}
	if e.Op == Var {
		return Int(1), Int(0), true
	}
	switch e.Op {
	case Add, Sub:
		c0, r0, ok0 := s.affine(e.Args[0], v)
		c1, r1, ok1 := s.affine(e.Args[1], v)
		if !ok0 || !ok1 {
			return nil, nil, false
		}
		return s.simplify(New(e.Op, c0, c1)), s.simplify(New(e.Op, r0, r1)), true
	case Mul:
		x, y := e.Args[0], e.Args[1]
		if Depends(y, v) {
			x, y = y, x
		}
		c, r, ok := s.affine(x, v)
		if !ok || Depends(y, v) {
			return nil, nil, false
		}
		return s.simplify(New(Mul, c, y)), s.simplify(New(Mul, r, y)), true
	}
	return nil, nil, false
}

// IsMultiple reports whether an I32 expression is certainly a multiple of size.
func IsMultiple(e, size *Expr) bool {
	switch {
	case IsInt(e, 0), Equal(e, size):
		return true
	case e.IsConst() && size.IsConst() && size.I > 0:
		return e.I%size.I == 0
	case e.Op == Mul:
		return IsMultiple(e.Args[0], size) || IsMultiple(e.Args[1], size)
	case e.Op == Add, e.Op == Sub:
		return IsMultiple(e.Args[0], size) && IsMultiple(e.Args[1], size)
	}
	return false
}

// Depends reports whether a variable occurs in an expression.
func Depends(e *Expr, v string) bool {
	return occurs(e, func(x *Expr) bool { return x.Op == Var && x.Name == v })
}

// DependsOnAny reports whether one of several variables occurs in an expression.
func DependsOnAny(e *Expr, vars map[string]bool) bool {
	return occurs(e, func(x *Expr) bool { return x.Op == Var && vars[x.Name] })
}

// Mentions reports whether an expression reads a variable or elements of that name.
func Mentions(e *Expr, name string) bool {
	return occurs(e, func(x *Expr) bool { return (x.Op == Var || x.Op == Elem) && x.Name == name })
}

// occurs reports whether is holds for a part of an expression. It marks visited parts
// only in large expressions, because most are small.
func occurs(e *Expr, is func(*Expr) bool) bool {
	left := 64
	found := some(e, is, &left)
	if left >= 0 {
		return found
	}
	Walk(e, func(x *Expr) { found = found || is(x) })
	return found
}

// some looks at up to left parts and ignores the rest.
func some(e *Expr, is func(*Expr) bool, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	for _, a := range e.Args {
		if some(a, is, left) {
			return true
		}
	}
	return is(e)
}

// IsInt reports whether an expression is the I32 constant n.
func IsInt(e *Expr, n int64) bool { return e.Op == Const && e.Type == I32 && e.I == n }
