package expr

import "math"

// Simplify returns a smaller expression with the same bits: Eval32 of both is equal for every environment, except for
// the bits of a NaN. It folds constants and applies identities that hold for rounded and for wrapping arithmetic.
func Simplify(e *Expr) *Expr {
	if len(e.Args) == 0 {
		return e
	}
	return newSimplifier().simplify(e)
}

// A simplifier builds simplified, interned nodes, so that its rules compare operands by pointer.
type simplifier struct {
	in    *Interner
	done  memo[*Expr] // by any node seen
	rules *rulebook
}

func newSimplifier() *simplifier {
	return &simplifier{in: NewInterner(), rules: identities()}
}

// simplify is Simplify for several expressions that share nodes.
func (s *simplifier) simplify(e *Expr) *Expr {
	if r, ok := s.done.get(e); ok {
		return r
	}
	over := mapArgs(e, s.simplify)
	r := s.node(over)
	if over != e {
		s.done.put(e, r)
	}
	return r
}

// An identity returns a replacement for e, whose operands are simplified, or nil if it
// does not apply. It makes new nodes through s.
type identity func(s *simplifier, e *Expr) *Expr

// node simplifies a node with simplified operands.
func (s *simplifier) node(e *Expr) *Expr {
	e = s.in.Intern(e)
	if r, ok := s.done.get(e); ok {
		return r
	}
	r := s.reduce(e)
	s.done.put(e, r)
	return r
}

func (s *simplifier) reduce(e *Expr) *Expr {
	if foldable(e) {
		return s.in.node(fold(e))
	}
	if e.Op <= Elem || operand(e).Narrow() {
		return e
	}
	for _, rule := range s.rules[e.Op][operand(e)] {
		if r := rule(s, e); r != nil {
			return r
		}
	}
	return e
}

// new returns a simplified node of op with simplified operands.
func (s *simplifier) new(op Op, args ...*Expr) *Expr { return s.node(New(op, args...)) }

// constant returns a constant of type t, an integer or Bool.
func (s *simplifier) constant(t Type, v int64) *Expr { return s.in.node(constant(t, wrap(t, v))) }

// wrap reduces v to the range of t.
func wrap(t Type, v int64) int64 {
	switch t {
	case I32:
		return int64(int32(v))
	case U32:
		return int64(uint32(v))
	}
	return v & 1
}

// foldable reports whether e is an op on constants whose value is the same on all back ends.
func foldable(e *Expr) bool {
	if e.Op <= Elem || e.Type.Narrow() {
		return false
	}
	for _, a := range e.Args {
		if !a.IsConst() {
			return false
		}
	}
	last := e.Args[len(e.Args)-1]
	switch e.Op {
	case Div, Mod:
		return e.Type == F32 || last.I != 0
	case FBits:
		return last.F == last.F
	case ToI32:
		return math.Abs(last.F) < 1<<31
	}
	return true
}

// fold computes an op on constants.
func fold(e *Expr) *Expr {
	f := function(e, false)
	if f == nil { // only Expand defines it
		return of(e.Type, Eval32(e, nil))
	}
	var args [3]Value
	for i, a := range e.Args {
		args[i] = a.value()
	}
	return of(e.Type, f(args[0], args[1], args[2]))
}

// isFloat reports whether e is the F32 constant v. Zeros must have the same sign.
func isFloat(e *Expr, v float64) bool {
	return e.Op == Const && e.Type == F32 && e.F == v && math.Signbit(e.F) == math.Signbit(v)
}

// isInt reports whether e is the integer or Bool constant v of its type.
func isInt(e *Expr, v int64) bool {
	return e.Op == Const && e.Type != F32 && e.I == wrap(e.Type, v)
}

// minusZero reports whether e may be -0, looking a few levels down.
func minusZero(e *Expr, levels int) bool {
	arg := func(i int) bool { return minusZero(e.Args[i], levels-1) }
	switch e.Op {
	case Const:
		return isFloat(e, math.Copysign(0, -1))
	case ToF32:
		return e.Args[0].Type.Narrow()
	case Abs, Exp, Sigmoid, Softplus:
		return false
	}
	if levels == 0 {
		return true
	}
	switch e.Op {
	case Add:
		return arg(0) && arg(1)
	case Sub, Sqrt, Floor:
		return arg(0)
	case Mul:
		return e.Args[0] != e.Args[1]
	case Min, Max:
		return arg(0) || arg(1)
	case Where:
		return arg(1) || arg(2)
	}
	return true
}
