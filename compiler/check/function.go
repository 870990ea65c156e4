package check

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl"
)

// A function is one that masks and biases may call. Its arguments are numbers, except the
// condition of where.
type function struct {
	name        string
	args        string // as documentation shows them
	doc         string
	least, most int
	whole       bool // arguments are whole numbers
	build       func(a []*expr.Expr) *expr.Expr
}

// functions lists the functions of expressions, apart from sum, table and definitions.
var functions = []function{
	{"abs", "x", "x without its sign", 1, 1, false, func(a []*expr.Expr) *expr.Expr { return expr.New(expr.Abs, a[0]) }},
	{"min", "a, b, …", "the smallest", 2, 16, false, func(a []*expr.Expr) *expr.Expr { return fold(expr.Min, a) }},
	{"max", "a, b, …", "the largest", 2, 16, false, func(a []*expr.Expr) *expr.Expr { return fold(expr.Max, a) }},
	{"clip", "x, lo, hi", "x kept between lo and hi", 3, 3, false, clip},
	{"floor", "x", "the largest whole number up to x", 1, 1, false, realFunction(expr.Floor)},
	{"mod", "a, n", "the remainder of whole numbers, 0 to n - 1", 2, 2, true, mod},
	{"sqrt", "x", "the square root", 1, 1, false, realFunction(expr.Sqrt)},
	{"exp", "x", "e to the power x", 1, 1, false, realFunction(expr.Exp)},
	{"log", "x", "the natural logarithm", 1, 1, false, realFunction(expr.Log)},
	{"sin", "x", "the sine of an angle in radians", 1, 1, false, realFunction(expr.Sin)},
	{"cos", "x", "the cosine of an angle in radians", 1, 1, false, realFunction(expr.Cos)},
	{"relu", "x", "max(x, 0)", 1, 1, false, func(a []*expr.Expr) *expr.Expr { return fold(expr.Max, []*expr.Expr{a[0], expr.Int(0)}) }},
	{"tanh", "x", "the hyperbolic tangent", 1, 1, false, realFunction(expr.Tanh)},
	{"sigmoid", "x", "1 / (1 + exp(-x))", 1, 1, false, realFunction(expr.Sigmoid)},
	{"softplus", "x", "log(1 + exp(x)): max(x, 0) with its corner rounded", 1, 1, false, realFunction(expr.Softplus)},
	{"where", "c, a, b", "a where the condition c holds, else b", 3, 3, false, where},
}

// callable lists the names of all functions.
var callable = func() []string {
	var names []string
	for _, f := range functions {
		names = append(names, f.name)
	}
	return append(names, "sum", "table")
}()

// functionNamed returns the function of a name, or nil.
func functionNamed(name string) *function {
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &functions[i]
}

func realFunction(op expr.Op) func([]*expr.Expr) *expr.Expr {
	return func(a []*expr.Expr) *expr.Expr { return expr.New(op, real32(a[0])) }
}

func fold(op expr.Op, a []*expr.Expr) *expr.Expr {
	x := a[0]
	for _, y := range a[1:] {
		l, r := match(x, y)
		x = expr.New(op, l, r)
	}
	return x
}

// clip returns x limited to lo … hi.
func clip(a []*expr.Expr) *expr.Expr {
	return fold(expr.Min, []*expr.Expr{fold(expr.Max, a[:2]), a[2]})
}

func where(a []*expr.Expr) *expr.Expr {
	x, y := match(a[1], a[2])
	return expr.New(expr.Where, a[0], x, y)
}

// mod returns the remainder that is never negative.
func mod(a []*expr.Expr) *expr.Expr {
	r := expr.New(expr.Mod, a[0], a[1])
	return expr.New(expr.Mod, expr.New(expr.Add, r, a[1]), a[1])
}

func (s *scope) call(e *dsl.Expr) *expr.Expr {
	if f := functionNamed(e.Text); f != nil {
		return s.apply(f, e)
	}
	if d := s.definition(e.Text); d != nil {
		return s.use(d, e)
	}
	switch e.Text {
	case "sum":
		return s.sum(e)
	case "table":
		return s.table(e)
	case "learned":
		s.report("E0212", e.Range, "learned(…) is the whole value of an attribute of a bias block").
			WithHelp("write bias NAME { w = learned(…)  value = … w … }")
		return nil
	}
	return s.undefined(e)
}

func (s *scope) apply(f *function, e *dsl.Expr) *expr.Expr {
	if len(e.Args) < f.least || len(e.Args) > f.most {
		s.report("E0210", e.Range, "%s takes %s, not %d", f.name, plural(f.least, "argument"), len(e.Args)).WithHelp("write %s(%s)", f.name, f.args)
		return nil
	}
	args := make([]*expr.Expr, len(e.Args))
	for n, a := range e.Args {
		if a.Name != nil {
			s.report("E0203", a.Name.Range, "%s has no argument %q", f.name, a.Name.Name).WithHelp("write the value alone")
			return nil
		}
		x := s.expr(a.Value)
		if x == nil {
			return nil
		}
		if whole := s.asWhole(x); f.whole && whole != nil {
			x = whole
		}
		if !s.fits(f, n, x, a.Value) {
			return nil
		}
		args[n] = x
	}
	return f.build(args)
}

// fits checks the type of an argument.
func (s *scope) fits(f *function, n int, x *expr.Expr, e *dsl.Expr) bool {
	cond := f.name == "where" && n == 0
	switch {
	case cond && x.Type != expr.Bool:
		s.mismatch(e, x, "where begins with a condition")
	case !cond && x.Type == expr.Bool:
		s.mismatch(e, x, f.name+" takes numbers")
	case f.whole && x.Type != expr.I32:
		s.report("E0212", e.Range, "%s takes whole numbers, but %s is not", f.name, text(e)).WithHelp("whole numbers are made of h, i, j and lengths without division, or write floor(%s)", text(e))
	case f.whole:
		return s.operand(f, n, x, e)
	default:
		return true
	}
	return false
}

// maxDivisor keeps the sums in mod within 32 bits.
const maxDivisor = 1 << 30

// operand checks an operand of a function of whole numbers. It must not be NaN and must
// fit 32 bits, so that all devices agree. A divisor must be positive.
func (s *scope) operand(f *function, n int, x *expr.Expr, e *dsl.Expr) bool {
	switch k := s.fact(x); {
	case n == 1 && k.lo < 1:
		s.report("E0207", e.Range, "the divisor %s is not always positive", text(e)).WithHelp("write a whole number, H, I or J")
	case n == 1 && k.hi > maxDivisor:
		s.report("E0207", e.Range, "the divisor %s may be larger than 2^30", text(e)).WithHelp("write min(%s, %d)", text(e), maxDivisor)
	case k.nan:
		s.report("E0207", e.Range, "%s may be NaN, but %s takes whole numbers", text(e), f.name).WithHelp("write clip(…, 0, 1000000), which also handles NaN")
	case !k.fits32():
		s.report("E0207", e.Range, "%s may be too large for whole numbers, which have 32 bits", text(e)).WithHelp("write clip(%s, 0, 1000000), or take remainders before products", text(e))
	default:
		return true
	}
	return false
}

// sum unrolls sum(m = lo..hi, expr), whose bounds are constant.
func (s *scope) sum(e *dsl.Expr) *expr.Expr {
	if len(e.Args) != 2 || e.Args[0].Name == nil || !isRange(e.Arg(0)) || e.Args[1].Name != nil {
		s.report("E0210", e.Range, "sum takes a variable with its range and an expression").WithHelp("write sum(m = 0..31, …)")
		return nil
	}
	name, bounds := e.Args[0].Name.Name, e.Arg(0)
	lo, ok1 := s.bound(bounds.Arg(0))
	hi, ok2 := s.bound(bounds.Arg(1))
	if !ok1 || !ok2 {
		return nil
	}
	if hi < lo || hi-lo >= maxTerms {
		s.report("E0207", bounds.Range, "this sum has %d terms", max(hi-lo+1, 0)).WithHelp("it has between 1 and %d", maxTerms)
		return nil
	}
	outer := s.lets
	defer func() { s.lets = outer }()
	var total *expr.Expr
	for m := lo; m <= hi; m++ {
		s.lets = map[string]*expr.Expr{name: expr.Int(m)}
		for k, v := range outer {
			if k != name {
				s.lets[k] = v
			}
		}
		x := s.expr(e.Arg(1))
		switch {
		case x == nil:
			return nil
		case x.Type == expr.Bool:
			return s.mismatch(e.Arg(1), x, "sum takes numbers")
		case total == nil:
			total = x
		default:
			l, r := match(total, x)
			total = s.arith(expr.Add, l, r)
		}
	}
	return total
}

// bound evaluates one end of a sum's range, which must be constant.
func (s *scope) bound(e *dsl.Expr) (int64, bool) {
	x := s.expr(e)
	if x == nil {
		return 0, false
	}
	if !s.charge(s.fact(x).size, e) {
		return 0, false
	}
	x = s.constantOf(x)
	if x == nil || x.F != math.Trunc(x.F) || math.Abs(x.F) > math.MaxInt32 {
		s.report("E0218", e.Range, "the bound %s of a sum is no whole number", text(e)).
			WithHelp("bounds consist of whole numbers, H, and definitions made of these")
		return 0, false
	}
	return x.I + int64(x.F), true
}

// heads returns the heads of queries, or 1 if an error left them out.
func (c *checker) heads() int {
	for _, path := range []string{"model.heads", "attention.heads"} {
		if v := c.values[path]; v != nil {
			return int(v.num)
		}
	}
	return 1
}
