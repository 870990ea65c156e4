package expr

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// laws are the identities that hold for rounded and for wrapping arithmetic. Each is for operands of the types f32,
// i32, u32 and bool named by its letters. x, y and z stand for any operand, k and m for constants, p for a bool, i for
// an i32 and u for a u32. 0, 1 and ones (all bits set) have the law's type. Each law makes an expression smaller or
// moves a constant to the right, so that simplification ends. The first law that applies is used.
//
// In F32, -0 is neutral for +, but +0 is not. min and max do not commute. x may be NaN, so !(x < y) stays.
const laws = `
	fiu   k + x             ->  x + k
	iu    x + 0             ->  x
	f     x + -0            ->  x
	fi    x + -y            ->  x - y
	fi    -x + y            ->  y - x
	iu    (x - y) + y       ->  x
	iu    y + (x - y)       ->  x

	fiu   x - 0             ->  x
	fi    x - -y            ->  x + y
	iu    x - x             ->  0
	iu    (x + y) - y       ->  x
	iu    (y + x) - y       ->  x

	fiu   k * x             ->  x * k
	fiu   x * 1             ->  x
	iu    x * 0             ->  0
	f     x * -1            ->  -x
	f     -x * -y           ->  x * y
	f     -x * k            ->  x * -k
	iu    x * k * m         ->  x * (k * m)

	fiu   x / 1             ->  x
	iu    0 / x             ->  0
	f     x / -1            ->  -x
	f     -x / -y           ->  x / y
	f     -x / k            ->  x / -k
	iu    0 % x             ->  0
	iu    x % 1             ->  0

	fi    --x               ->  x
	f     -(x * k)          ->  x * -k
	i     -(x - y)          ->  y - x
	fi    abs(-x)           ->  abs(x)
	fi    abs(abs(x))       ->  abs(x)
	f     floor(floor(x))   ->  floor(x)
	f     floor(f32(i))     ->  f32(i)
	f     floor(f32(u))     ->  f32(u)

	iu    min(k, x)         ->  min(x, k)
	fiu   min(x, x)         ->  x
	iu    min(min(x, k), m) ->  min(x, min(k, m))
	iu    max(k, x)         ->  max(x, k)
	fiu   max(x, x)         ->  x
	iu    max(max(x, k), m) ->  max(x, max(k, m))

	fiu   x < x             ->  false
	i     2147483647 < x    ->  false
	i     x < -2147483648   ->  false
	u     ones < x          ->  false
	u     x < 0             ->  false
	iu    x <= x            ->  true
	i     -2147483648 <= x  ->  true
	i     x <= 2147483647   ->  true
	u     0 <= x            ->  true
	u     x <= ones         ->  true
	fiub  k == x            ->  x == k
	iub   x == x            ->  true
	b     x == true         ->  x
	b     x == false        ->  !x
	fiub  k != x            ->  x != k
	iub   x != x            ->  false
	b     x != true         ->  !x
	b     x != false        ->  x

	iub   k & x             ->  x & k
	iub   x & ones          ->  x
	iub   x & 0             ->  0
	iub   x & x             ->  x
	iub   !x & x            ->  0
	iub   x & !x            ->  0
	iub   x & k & m         ->  x & (k & m)
	iub   k | x             ->  x | k
	iub   x | 0             ->  x
	iub   x | ones          ->  ones
	iub   x | x             ->  x
	iub   !x | x            ->  ones
	iub   x | !x            ->  ones
	iub   x | k | m         ->  x | (k | m)
	iub   k ^ x             ->  x ^ k
	iub   x ^ 0             ->  x
	iub   x ^ x             ->  0
	iub   x ^ ones          ->  !x
	iub   x ^ k ^ m         ->  x ^ (k ^ m)

	iub   !!x               ->  x
	fiub  !(x == y)         ->  x != y
	fiub  !(x != y)         ->  x == y
	iu    !(x < y)          ->  y <= x
	iu    !(x <= y)         ->  y < x

	fiub  where(true, x, y)            ->  x
	fiub  where(false, x, y)           ->  y
	fiub  where(p, x, x)               ->  x
	fiub  where(!p, x, y)              ->  where(p, y, x)
	b     where(p, x, false)           ->  p & x
	b     where(p, true, x)            ->  p | x
	b     where(p, false, x)           ->  !p & x
	b     where(p, x, true)            ->  !p | x
	fiub  where(p, where(p, x, y), z)  ->  where(p, x, z)
	fiub  where(p, x, where(p, y, z))  ->  where(p, x, z)

	f     bits_f32(f32_bits(x))        ->  x
	u     as_u32(as_i32(x))            ->  x
	i     as_i32(as_u32(x))            ->  x
`

// others are the identities that depend on more than an expression's form. They come after the laws.
var others = [numOps][]identity{
	Add: {addZero, addOffset},
	Sub: {addOffset},
	Div: {divPower},
	Eq:  {equalOffset},
	Ne:  {equalOffset},
	Shl: {shiftNone},
	Shr: {shiftNone},
	And: {onceEach},
	Or:  {onceEach},
}

// A rulebook has identities by op and by the type of the last operand.
type rulebook [numOps][Bool + 1][]identity

// identities are laws and others, parsed on first use.
var identities = sync.OnceValue(func() *rulebook {
	var all rulebook
	types := map[rune]Type{'f': F32, 'i': I32, 'u': U32, 'b': Bool}
	for line := range strings.Lines(laws) {
		letters, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		from, to, _ := strings.Cut(text, "->")
		for _, letter := range letters {
			t := types[letter]
			l := law{form(from, t), form(to, t)}
			at := &all[l.from.Op][operand(l.from)]
			*at = append(*at, l.apply)
		}
	}
	for op, more := range others {
		for t := range all[op] {
			all[op][t] = append(all[op][t], more...)
		}
	}
	return &all
})

// operand returns the type of the last operand.
func operand(e *Expr) Type { return e.Args[len(e.Args)-1].Type }

// A law is an identity by form: an expression that matches from becomes to.
type law struct{ from, to *Expr }

// holes are the names in laws that stand for other expressions.
const holes = "xyzkmpiu"

var constants = regexp.MustCompile(`\b(0|1|ones)\b`)

// form reads one side of a law for operands of type t.
func form(text string, t Type) *Expr {
	text = constants.ReplaceAllStringFunc(text, func(word string) string {
		v := map[string]int64{"1": 1, "ones": -1}[word]
		if t == F32 {
			return floatText(float64(v))
		}
		return constText(constant(t, wrap(t, v)))
	})
	e, err := Parse(text, func(name string) (Type, bool) {
		if fixed, ok := map[string]Type{"p": Bool, "i": I32, "u": U32}[name]; ok {
			return fixed, true
		}
		return t, strings.Contains(holes, name)
	})
	if err != nil {
		panic("BUG: " + text + ": " + err.Error())
	}
	return e
}

// matched has the expression for each hole.
type matched [len(holes)]*Expr

func (l law) apply(s *simplifier, e *Expr) *Expr {
	var m matched
	if !m.match(l.from, e) {
		return nil
	}
	return m.build(s, l.to)
}

func (m *matched) match(form, e *Expr) bool {
	switch form.Op {
	case Const:
		return head(form) == head(e)
	case Var:
		hole := &m[strings.Index(holes, form.Name)]
		constant := form.Name == "k" || form.Name == "m"
		if e.Type != form.Type || constant && !e.IsConst() || *hole != nil && *hole != e {
			return false
		}
		*hole = e
		return true
	}
	if e.Op != form.Op {
		return false
	}
	for i, a := range form.Args {
		if !m.match(a, e.Args[i]) {
			return false
		}
	}
	return true
}

func (m *matched) build(s *simplifier, form *Expr) *Expr {
	switch form.Op {
	case Const:
		return s.in.node(form)
	case Var:
		return m[strings.Index(holes, form.Name)]
	}
	args := make([]*Expr, len(form.Args))
	for i, a := range form.Args {
		args[i] = m.build(s, a)
	}
	return s.new(form.Op, args...)
}

// addZero drops +0 if x is certainly not -0. Otherwise +0 is not neutral in F32.
func addZero(_ *simplifier, e *Expr) *Expr {
	if x, y := e.Args[0], e.Args[1]; isFloat(y, 0) && !minusZero(x, 4) {
		return x
	}
	return nil
}

// offset splits an integer into a rest and an added constant.
func offset(e *Expr) (rest *Expr, c int64) {
	if e.Op == Add && e.Args[1].IsConst() {
		return e.Args[0], e.Args[1].I
	}
	if e.Op == Sub && e.Args[1].IsConst() {
		return e.Args[0], -e.Args[1].I
	}
	return e, 0
}

// addOffset combines the constants of an integer sum: (x + 3) - 5 = x - 2. The combined constant wraps around.
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

// divPower is x / c = x * (1/c) if c is a power of two and 1/c is exact.
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

// equalOffset is the integer identity (x + 3 == 5) = (x == 2). It also holds for sums that wrap around.
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

// shiftNone is x << 0 = x for any type of the amount.
func shiftNone(_ *simplifier, e *Expr) *Expr {
	if isInt(e.Args[1], 0) {
		return e.Args[0]
	}
	return nil
}

// mostParts bounds the chains that onceEach looks through. It looks through one for each of its parts.
const mostParts = 16

// onceEach drops the parts of y that x has, in x & y and in x | y. Each may be a chain of the same op.
func onceEach(s *simplifier, e *Expr) *Expr {
	have, more := parts(e.Op, e.Args[0]), parts(e.Op, e.Args[1])
	fresh := slices.DeleteFunc(slices.Clone(more), func(p *Expr) bool { return slices.Contains(have, p) })
	if len(fresh) == len(more) || max(len(have), len(more)) > mostParts {
		return nil
	}
	out := e.Args[0]
	for _, p := range fresh {
		out = s.new(e.Op, out, p)
	}
	return out
}

// parts returns the parts of a chain of op. A chain of more than mostParts parts is not divided further.
func parts(op Op, chain *Expr) []*Expr {
	list := []*Expr{chain}
	for n := 0; n < len(list); {
		if e := list[n]; e.Op == op && len(list) <= mostParts {
			list = slices.Replace(list, n, n+1, e.Args...)
		} else {
			n++
		}
	}
	return list
}
