package expr

import (
	"math"
	"slices"
)

// Diff returns the F32 derivative of the real expression e with respect to a real leaf, a Var or one particular Elem.
// Other elements of the same array are constants. At a kink it is the derivative of the branch taken: abs' at 0 is 1,
// and Min, Max and Where follow their conditions. Floor, integers and bit operations have derivative 0. Rounding to
// fewer bits counts as the identity (the straight-through estimator, Bengio et al. 2013, arXiv:1308.3432).
func Diff(e, leaf *Expr) *Expr {
	if !e.real() || !leaf.real() || leaf.Op != Var && leaf.Op != Elem {
		panic("BUG: Diff is for real leaves of real expressions")
	}
	in := NewInterner()
	leaf = in.Intern(leaf)
	root := in.Intern(e)
	ds := map[*Expr]*Expr{leaf: F(1)}
	Walk(root, func(e *Expr) {
		if d := chain(e, ds); d != nil {
			ds[e] = d
		}
	})
	if d := ds[root]; d != nil {
		return Simplify(d)
	}
	return F(0)
}

// A Cotangent is a leaf of an expression and the derivative with respect to it.
type Cotangent struct{ Leaf, Value *Expr }

// Pullback returns ct times the derivative of the real expression e with respect to each real leaf, in order of first
// use, by the rules of Diff. It works from e to the leaves (reverse mode), so that derivatives share common nodes. A
// part that comes through a branch is 0 if the branch is not taken, even if the branch is not finite.
func Pullback(e, ct *Expr) []Cotangent {
	together := newSimplifier()
	root := together.in.Intern(e)
	var order []*Expr
	Walk(root, func(e *Expr) { order = append(order, e) })
	cts := map[*Expr]cotangent{root: {{value: ct}}}
	for _, e := range slices.Backward(order) {
		if derivatives[e.Op] == nil {
			continue
		}
		for i, a := range e.Args {
			if a.real() {
				for _, p := range cts[e] {
					cts[a] = cts[a].plus(p.through(e, i))
				}
			}
		}
	}
	var leaves []Cotangent
	for _, e := range order {
		if ct := cts[e]; ct != nil && (e.Op == Var || e.Op == Elem) {
			leaves = append(leaves, Cotangent{e, together.simplify(ct.sum())})
		}
	}
	return leaves
}

// A cotangent is a sum of parts that reach the leaf by different ways.
type cotangent []part

// A part counts if all branches on its way are taken. The branch nearest the leaf comes last.
type part struct {
	value *Expr
	way   []turn
}

// A turn is one of the two branches of a condition.
type turn struct {
	cond *Expr
	then bool
}

// through returns what operand i of e gets from a part of e's cotangent.
func (p part) through(e *Expr, i int) part {
	d := make([]*Expr, len(e.Args))
	d[i] = p.value // derivatives are linear in each operand's derivative
	v := derivatives[e.Op](e, d)
	if v.Op != Where || v == p.value {
		return part{v, p.way}
	}
	for n, other := range v.Args[1:] {
		if zero := v.Args[2-n]; zero.IsConst() && zero.F == 0 {
			return part{other, append(slices.Clip(p.way), turn{v.Args[0], n == 0})}
		}
	}
	return part{v, p.way}
}

// plus adds a part, to the part with the same way if there is one.
func (c cotangent) plus(p part) cotangent {
	for n := range c {
		if slices.Equal(c[n].way, p.way) {
			c[n].value = plus(c[n].value, p.value)
			return c
		}
	}
	return append(c, p)
}

// sum returns the cotangent as an expression.
func (c cotangent) sum() *Expr {
	var sum *Expr
	for _, p := range c {
		v := p.value
		for _, t := range slices.Backward(p.way) {
			if t.then {
				v = branch(t.cond, v, nil)
			} else {
				v = branch(t.cond, nil, v)
			}
		}
		sum = plus(sum, v)
	}
	return sum
}

// real reports whether e is a number with derivatives.
func (e *Expr) real() bool { return e.Type == F32 || e.Type.Narrow() }

// chain returns the derivative of e from its operands' derivatives, or nil for 0.
func chain(e *Expr, ds map[*Expr]*Expr) *Expr {
	d := make([]*Expr, len(e.Args))
	moves := false
	for i, a := range e.Args {
		d[i] = ds[a]
		moves = moves || d[i] != nil
	}
	rule := derivatives[e.Op]
	if rule == nil || !moves {
		return ds[e]
	}
	return rule(e, d)
}

// A derivative returns an op's derivative from its operands' derivatives. At least one of d is not nil, and nil is 0.
type derivative func(e *Expr, d []*Expr) *Expr

// derivatives has no entry for ops whose derivative is 0.
var derivatives = [numOps]derivative{
	Add: func(_ *Expr, d []*Expr) *Expr { return plus(d[0], d[1]) },
	Sub: func(_ *Expr, d []*Expr) *Expr { return subtract(d[0], d[1]) },
	Mul: func(e *Expr, d []*Expr) *Expr {
		return plus(times(d[0], e.Args[1]), times(e.Args[0], d[1]))
	},
	Div: func(e *Expr, d []*Expr) *Expr {
		return over(subtract(d[0], times(e, d[1])), e.Args[1])
	},
	Neg: func(_ *Expr, d []*Expr) *Expr { return minus(d[0]) },
	Abs: func(e *Expr, d []*Expr) *Expr { return branch(New(Lt, e.Args[0], F(0)), minus(d[0]), d[0]) },
	Min: func(e *Expr, d []*Expr) *Expr { return branch(New(Lt, e.Args[0], e.Args[1]), d[0], d[1]) },
	Max: func(e *Expr, d []*Expr) *Expr { return branch(New(Lt, e.Args[1], e.Args[0]), d[0], d[1]) },
	Where: func(e *Expr, d []*Expr) *Expr {
		return branch(e.Args[0], d[1], d[2])
	},
	Sqrt: func(e *Expr, d []*Expr) *Expr { return over(times(F(0.5), d[0]), e) },

	Fma: func(e *Expr, d []*Expr) *Expr {
		return plus(plus(times(d[0], e.Args[1]), times(e.Args[0], d[1])), d[2])
	},

	Exp:  func(e *Expr, d []*Expr) *Expr { return times(d[0], e) },
	Log:  func(e *Expr, d []*Expr) *Expr { return over(d[0], e.Args[0]) },
	Tanh: func(e *Expr, d []*Expr) *Expr { return times(d[0], subtract(F(1), times(e, e))) },
	Sigmoid: func(e *Expr, d []*Expr) *Expr {
		return times(d[0], times(e, subtract(F(1), e)))
	},
	Erf: func(e *Expr, d []*Expr) *Expr {
		x := e.Args[0]
		return times(d[0], times(F(2/math.Sqrt(math.Pi)), New(Exp, minus(times(x, x)))))
	},
	Sin:      func(e *Expr, d []*Expr) *Expr { return times(d[0], New(Cos, e.Args[0])) },
	Cos:      func(e *Expr, d []*Expr) *Expr { return minus(times(d[0], New(Sin, e.Args[0]))) },
	Softplus: func(e *Expr, d []*Expr) *Expr { return times(d[0], New(Sigmoid, e.Args[0])) },

	ToBF16: straightThrough,
	ToF16:  straightThrough,
	ToTF32: straightThrough,
	ToF32:  straightThrough, // from fewer bits; integers have no derivative
}

func straightThrough(_ *Expr, d []*Expr) *Expr { return d[0] }
