package expr

// The arithmetic of Diff and Expand uses nil for 0.

func plus(a, b *Expr) *Expr {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return New(Add, a, b)
}

func subtract(a, b *Expr) *Expr {
	switch {
	case b == nil:
		return a
	case a == nil:
		return minus(b)
	}
	return New(Sub, a, b)
}

func minus(a *Expr) *Expr {
	if a == nil {
		return nil
	}
	return New(Neg, a)
}

func times(a, b *Expr) *Expr {
	if a == nil || b == nil {
		return nil
	}
	return New(Mul, a, b)
}

func over(a, b *Expr) *Expr {
	if a == nil {
		return nil
	}
	return New(Div, a, b)
}

func branch(cond, a, b *Expr) *Expr {
	if a == nil {
		a = F(0)
	}
	if b == nil {
		b = F(0)
	}
	return New(Where, cond, a, b)
}
