package expr

import "math"

// identities is indexed by Op; the first that applies is taken. Each makes the
// expression smaller or moves a constant to the right, so that they end.
var identities = [numOps][]identity{
	Add: {constantRight, neutral(0), addNegated, addOffset, addDifference},
	Sub: {neutral(0), subNegated, addOffset, subSame},
	Mul: {constantRight, neutral(1), absorbing(0), mulNegated, mulConstants},
	Div: {neutral(1), absorbed, mulNegated, divPower},
	Mod: {absorbed, modOne},
	Neg: {negNegated},
	Abs: {absNegated},
	Min: {constantRight, same, nestedConstants},
	Max: {constantRight, same, nestedConstants},

	Floor: {floorWhole},

	Lt:  {compareSame(false), compareExtreme},
	Le:  {compareSame(true), compareExtreme},
	Eq:  {constantRight, compareSame(true), equalTruth, equalOffset},
	Ne:  {constantRight, compareSame(false), equalTruth, equalOffset},
	And: {constantRight, neutral(-1), absorbing(0), same, complement(0), nestedConstants},
	Or:  {constantRight, neutral(0), absorbing(-1), same, complement(-1), nestedConstants},
	Xor: {constantRight, neutral(0), xorSame, nestedConstants},
	Not: {notNot, notComparison},

	Where: {whereConstant, whereSame, whereNot, whereTruth, whereNested},

	BitsF: {inverse(FBits)},
	AsU32: {inverse(AsI32)},
	AsI32: {inverse(AsU32)},
	Shl:   {neutral(0)},
	Shr:   {neutral(0)},
}

// constantRight puts the only constant of a commutative op second. F32 Min and
// Max do not commute.
func constantRight(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	if !x.IsConst() || y.IsConst() || e.Type == F32 && (e.Op == Min || e.Op == Max) {
		return nil
	}
	return s.new(e.Op, y, x)
}

// neutral drops a second operand v. In F32, -0 is neutral to Add; +0 is only
// where the other operand is not -0.
func neutral(v int64) identity {
	return func(_ *simplifier, e *Expr) *Expr {
		x, y := e.Args[0], e.Args[1]
		switch {
		case isInt(y, v) && e.Type != F32:
			return x
		case e.Type != F32:
			return nil
		case e.Op == Add && (isFloat(y, math.Copysign(0, -1)) || isFloat(y, 0) && !minusZero(x, 4)):
			return x
		case e.Op != Add && isFloat(y, float64(v)):
			return x
		}
		return nil
	}
}

// absorbing is the integer and Bool identity x op v = v.
func absorbing(v int64) identity {
	return func(_ *simplifier, e *Expr) *Expr {
		if y := e.Args[1]; isInt(y, v) {
			return y
		}
		return nil
	}
}

// absorbed is the integer identity 0 op x = 0.
func absorbed(_ *simplifier, e *Expr) *Expr {
	if x := e.Args[0]; isInt(x, 0) {
		return x
	}
	return nil
}

// same is x op x = x.
func same(_ *simplifier, e *Expr) *Expr {
	if x := e.Args[0]; x == e.Args[1] {
		return x
	}
	return nil
}

// addNegated is x + -y = x - y and -x + y = y - x.
func addNegated(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	switch {
	case y.Op == Neg:
		return s.new(Sub, x, y.Args[0])
	case x.Op == Neg:
		return s.new(Sub, y, x.Args[0])
	}
	return nil
}

// subNegated is x - -y = x + y.
func subNegated(s *simplifier, e *Expr) *Expr {
	if y := e.Args[1]; y.Op == Neg {
		return s.new(Add, e.Args[0], y.Args[0])
	}
	return nil
}

// offset splits an integer into a rest and a constant that is added to it.
func offset(e *Expr) (rest *Expr, c int64) {
	if e.Op == Add && e.Args[1].IsConst() {
		return e.Args[0], e.Args[1].I
	}
	if e.Op == Sub && e.Args[1].IsConst() {
		return e.Args[0], -e.Args[1].I
	}
	return e, 0
}

// addOffset gathers the constants of an integer sum: (x + 3) - 5 = x - 2. A sum
// that wraps is added as it stands.
func addOffset(s *simplifier, e *Expr) *Expr {
	inner, c := offset(e)
	rest, d := offset(inner)
	if e.Type == F32 || inner == e || rest == inner {
		return nil
	}
	sum := int64(int32(c + d))
	switch {
	case sum == 0:
		return rest
	case sum < 0 && sum > math.MinInt32:
		return s.new(Sub, rest, s.constant(e.Type, -sum))
	}
	return s.new(Add, rest, s.constant(e.Type, sum))
}

// addDifference is the integer identity (x - y) + y = x.
func addDifference(_ *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	switch {
	case e.Type == F32:
	case x.Op == Sub && x.Args[1] == y:
		return x.Args[0]
	case y.Op == Sub && y.Args[1] == x:
		return y.Args[0]
	}
	return nil
}

// subSame is the integer identities x - x = 0 and (x + y) - y = x.
func subSame(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	switch {
	case e.Type == F32:
	case x == y:
		return s.constant(e.Type, 0)
	case x.Op == Add && x.Args[1] == y:
		return x.Args[0]
	case x.Op == Add && x.Args[0] == y:
		return x.Args[1]
	}
	return nil
}

// mulNegated takes signs out of F32 products and quotients: x * -1 = -x,
// -x * -y = x * y, -x * c = x * -c.
func mulNegated(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	switch {
	case e.Type != F32:
	case isFloat(y, -1):
		return s.new(Neg, x)
	case x.Op == Neg && y.Op == Neg:
		return s.new(e.Op, x.Args[0], y.Args[0])
	case x.Op == Neg && y.IsConst():
		return s.new(e.Op, x.Args[0], s.in.node(F(-y.F)))
	}
	return nil
}

// mulConstants is the integer identity (x * 2) * 3 = x * 6.
func mulConstants(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	if e.Type == F32 || !y.IsConst() || x.Op != Mul || !x.Args[1].IsConst() {
		return nil
	}
	return s.new(Mul, x.Args[0], s.constant(e.Type, x.Args[1].I*y.I))
}

// divPower is x / c = x * (1/c) for c a power of two, where 1/c is exact.
func divPower(s *simplifier, e *Expr) *Expr {
	y := e.Args[1]
	if !y.IsConst() || e.Type != F32 {
		return nil
	}
	inverse := F(1 / y.F)
	if f, _ := math.Frexp(y.F); math.Abs(f) != 0.5 || inverse.F*y.F != 1 {
		return nil
	}
	return s.new(Mul, e.Args[0], s.in.node(inverse))
}

func modOne(s *simplifier, e *Expr) *Expr {
	if !isInt(e.Args[1], 1) {
		return nil
	}
	return s.constant(e.Type, 0)
}

// negNegated is - -x = x, and -(x * c) = x * -c in F32; -(x - y) = y - x in I32.
func negNegated(s *simplifier, e *Expr) *Expr {
	x := e.Args[0]
	switch {
	case x.Op == Neg:
		return x.Args[0]
	case e.Type == F32 && x.Op == Mul && x.Args[1].IsConst():
		return s.new(Mul, x.Args[0], s.in.node(F(-x.Args[1].F)))
	case e.Type == I32 && x.Op == Sub:
		return s.new(Sub, x.Args[1], x.Args[0])
	}
	return nil
}

func absNegated(s *simplifier, e *Expr) *Expr {
	x := e.Args[0]
	switch x.Op {
	case Neg:
		return s.new(Abs, x.Args[0])
	case Abs:
		return x
	}
	return nil
}

// nestedConstants joins the constants of an associative integer or Bool op.
func nestedConstants(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	if e.Type == F32 || !y.IsConst() || x.Op != e.Op || !x.Args[1].IsConst() {
		return nil
	}
	return s.new(e.Op, x.Args[0], s.new(e.Op, x.Args[1], y))
}

func floorWhole(_ *simplifier, e *Expr) *Expr {
	if x := e.Args[0]; x.Op == Floor || x.Op == ToF32 && !x.Args[0].Type.Narrow() {
		return x
	}
	return nil
}

// compareSame is x op x, unless x may be a NaN that decides it.
func compareSame(result bool) identity {
	return func(s *simplifier, e *Expr) *Expr {
		x := e.Args[0]
		if x != e.Args[1] || x.Type == F32 && e.Op != Lt {
			return nil
		}
		return s.constant(Bool, truth(result))
	}
}

// compareExtreme decides integer comparisons with the ends of the type's range.
func compareExtreme(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	lo, hi := int64(math.MinInt32), int64(math.MaxInt32)
	switch x.Type {
	case F32:
		return nil
	case U32:
		lo, hi = 0, math.MaxUint32
	}
	switch {
	case e.Op == Lt && (isInt(x, hi) || isInt(y, lo)):
		return s.constant(Bool, 0)
	case e.Op == Le && (isInt(x, lo) || isInt(y, hi)):
		return s.constant(Bool, 1)
	}
	return nil
}

// equalTruth is (x == true) = x and the like.
func equalTruth(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	switch {
	case y.Type != Bool || !y.IsConst():
		return nil
	case (y.I == 1) == (e.Op == Eq):
		return x
	}
	return s.new(Not, x)
}

// equalOffset is the integer identity (x + 3 == 5) = (x == 2), which holds for
// sums that wrap as well.
func equalOffset(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	if x.Type != I32 && x.Type != U32 || !y.IsConst() {
		return nil
	}
	rest, c := offset(x)
	if rest == x {
		return nil
	}
	return s.new(e.Op, rest, s.constant(x.Type, y.I-c))
}

// complement is x op !x = v for And and Or.
func complement(v int64) identity {
	return func(s *simplifier, e *Expr) *Expr {
		x, y := e.Args[0], e.Args[1]
		if x.Op == Not && x.Args[0] == y || y.Op == Not && y.Args[0] == x {
			return s.constant(e.Type, v)
		}
		return nil
	}
}

// xorSame is x ^ x = 0, and x ^ true = !x.
func xorSame(s *simplifier, e *Expr) *Expr {
	x, y := e.Args[0], e.Args[1]
	switch {
	case x == y:
		return s.constant(e.Type, 0)
	case isInt(y, -1):
		return s.new(Not, x)
	}
	return nil
}

func notNot(_ *simplifier, e *Expr) *Expr {
	if x := e.Args[0]; x.Op == Not {
		return x.Args[0]
	}
	return nil
}

// notComparison turns a comparison round. The order of F32 is not total, so its
// Lt and Le stay.
func notComparison(s *simplifier, e *Expr) *Expr {
	c := e.Args[0]
	switch {
	case c.Op == Eq:
		return s.new(Ne, c.Args...)
	case c.Op == Ne:
		return s.new(Eq, c.Args...)
	case c.Op == Lt && c.Args[0].Type != F32:
		return s.new(Le, c.Args[1], c.Args[0])
	case c.Op == Le && c.Args[0].Type != F32:
		return s.new(Lt, c.Args[1], c.Args[0])
	}
	return nil
}

func whereConstant(_ *simplifier, e *Expr) *Expr {
	c := e.Args[0]
	switch {
	case isInt(c, 1):
		return e.Args[1]
	case isInt(c, 0):
		return e.Args[2]
	}
	return nil
}

func whereSame(_ *simplifier, e *Expr) *Expr {
	if e.Args[1] == e.Args[2] {
		return e.Args[1]
	}
	return nil
}

func whereNot(s *simplifier, e *Expr) *Expr {
	if c := e.Args[0]; c.Op == Not {
		return s.new(Where, c.Args[0], e.Args[2], e.Args[1])
	}
	return nil
}

// whereTruth writes a Bool choice with a constant side as logic.
func whereTruth(s *simplifier, e *Expr) *Expr {
	c, a, b := e.Args[0], e.Args[1], e.Args[2]
	switch {
	case e.Type != Bool:
		return nil
	case isInt(b, 0):
		return s.new(And, c, a)
	case isInt(a, 1):
		return s.new(Or, c, b)
	case isInt(a, 0):
		return s.new(And, s.new(Not, c), b)
	case isInt(b, 1):
		return s.new(Or, s.new(Not, c), a)
	}
	return nil
}

// whereNested drops a choice that the same condition outside has made.
func whereNested(s *simplifier, e *Expr) *Expr {
	c, a, b := e.Args[0], e.Args[1], e.Args[2]
	switch {
	case a.Op == Where && a.Args[0] == c:
		return s.new(Where, c, a.Args[1], b)
	case b.Op == Where && b.Args[0] == c:
		return s.new(Where, c, a, b.Args[2])
	}
	return nil
}

// inverse is op(inner(x)) = x of the same type.
func inverse(inner Op) identity {
	return func(_ *simplifier, e *Expr) *Expr {
		if x := e.Args[0]; x.Op == inner && x.Args[0].Type == e.Type {
			return x.Args[0]
		}
		return nil
	}
}
