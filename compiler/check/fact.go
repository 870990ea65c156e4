package check

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// maxLength bounds lengths, so that integer arithmetic does not overflow. No parameter is
// longer.
const maxLength = 1 << 24

// A fact is knowledge of an expression that holds at all lengths.
type fact struct {
	size   int  // number of nodes as a tree, at most maxTree + 1
	whole  bool // its form guarantees whole numbers
	nan    bool // it may be NaN, or an integer made of NaN
	lo, hi float64
}

// over and under report whether a number may be infinite after rounding, and zero whether
// it may be 0 or lose digits.
func (f fact) over() bool  { return f.hi > math.MaxFloat32 }
func (f fact) under() bool { return f.lo < -math.MaxFloat32 }
func (f fact) zero() bool  { return f.lo < leastNormal && f.hi > -leastNormal }

// leastNormal is the least float32 with full precision.
const leastNormal = 0x1p-126

// fact computes the fact of an expression, once for each node.
func (c *checker) fact(e *expr.Expr) fact {
	if f, ok := c.facts[e]; ok {
		return f
	}
	args := make([]fact, len(e.Args))
	f := fact{size: 1}
	for n, a := range e.Args {
		args[n] = c.fact(a)
		f.size = min(f.size+args[n].size, maxTree+1)
	}
	f.whole, f.nan = isWhole(e, args), mayBeNaN(e, args)
	f.lo, f.hi = c.extent(e, args)
	if e.Type == expr.F32 { // rounding is monotonic, so rounded bounds hold for rounded values
		f.lo, f.hi = float64(float32(f.lo)), float64(float32(f.hi))
	}
	if math.IsNaN(f.lo) {
		f.lo = math.Inf(-1)
	}
	if math.IsNaN(f.hi) {
		f.hi = math.Inf(1)
	}
	c.facts[e] = f
	return f
}

// fits32 reports whether numbers fit into a signed 32-bit integer.
func (f fact) fits32() bool { return f.lo >= -math.MaxInt32 && f.hi <= math.MaxInt32 }

// arith computes with two numbers of one type. If a result may not fit an integer, it
// uses real numbers, as constants of that size do. No device wraps around.
func (c *checker) arith(op expr.Op, a, b *expr.Expr) *expr.Expr {
	x := expr.New(op, a, b)
	if x.Type == expr.I32 && !c.fact(x).fits32() {
		return expr.New(op, real32(a), real32(b))
	}
	return x
}

// isWhole reports whether a number is whole, given its operands.
func isWhole(e *expr.Expr, args []fact) bool {
	switch e.Op {
	case expr.Const:
		return e.F == math.Trunc(e.F)
	case expr.Floor, expr.ToF32:
		return true
	case expr.Where:
		args = args[1:]
	case expr.Add, expr.Sub, expr.Mul, expr.Neg, expr.Abs, expr.Min, expr.Max:
	default:
		return e.Type == expr.I32
	}
	return !slices.ContainsFunc(args, func(a fact) bool { return !a.whole })
}

// mayBeNaN reports whether a value may be NaN. Min and Max return their second operand if
// either is NaN.
func mayBeNaN(e *expr.Expr, a []fact) bool {
	switch {
	case e.Type != expr.F32 && e.Op != expr.ToI32:
		return false
	case e.Op == expr.Elem:
		return true // training may diverge
	case e.Op == expr.Min, e.Op == expr.Max:
		return a[1].nan
	case e.Op == expr.Where:
		a = a[1:]
	}
	if slices.ContainsFunc(a, func(f fact) bool { return f.nan }) {
		return true
	}
	infinite := func(f fact) bool { return f.over() || f.under() }
	switch e.Op {
	case expr.Add:
		return a[0].over() && a[1].under() || a[0].under() && a[1].over()
	case expr.Sub:
		return a[0].over() && a[1].over() || a[0].under() && a[1].under()
	case expr.Mul:
		return a[0].zero() && infinite(a[1]) || infinite(a[0]) && a[1].zero()
	case expr.Div:
		return a[0].zero() && a[1].zero() || infinite(a[0]) && infinite(a[1])
	case expr.Log, expr.Sqrt:
		return a[0].lo < 0
	case expr.Sin, expr.Cos:
		return infinite(a[0])
	}
	return false
}

// asWhole turns a whole number into an integer. It returns nil for others.
func (c *checker) asWhole(x *expr.Expr) *expr.Expr {
	switch {
	case x.Type == expr.I32:
		return x
	case x.Type == expr.F32 && c.fact(x).whole:
		return expr.New(expr.ToI32, x)
	}
	return nil
}

// extent bounds the values of an expression, by interval arithmetic on its operands.
func (c *checker) extent(e *expr.Expr, a []fact) (lo, hi float64) {
	inf := math.Inf(1)
	switch e.Op {
	case expr.Const:
		x := float64(e.I) + e.F
		return x, x
	case expr.Var:
		return c.span(e.Name)
	case expr.Add:
		return a[0].lo + a[1].lo, a[0].hi + a[1].hi
	case expr.Sub:
		return a[0].lo - a[1].hi, a[0].hi - a[1].lo
	case expr.Neg:
		return -a[0].hi, -a[0].lo
	case expr.Mul:
		return products(a[0], a[1])
	case expr.Div:
		return quotients(a[0], a[1])
	case expr.Sqrt:
		return math.Sqrt(max(a[0].lo, 0)), math.Sqrt(max(a[0].hi, 0))
	case expr.Abs:
		return max(a[0].lo, -a[0].hi, 0), max(-a[0].lo, a[0].hi)
	case expr.Min:
		if a[0].nan {
			return min(a[0].lo, a[1].lo), a[1].hi
		}
		return min(a[0].lo, a[1].lo), min(a[0].hi, a[1].hi)
	case expr.Max:
		if a[0].nan {
			return a[1].lo, max(a[0].hi, a[1].hi)
		}
		return max(a[0].lo, a[1].lo), max(a[0].hi, a[1].hi)
	case expr.Mod: // the sign of the first operand
		if a[0].lo >= 0 {
			return 0, a[1].hi - 1
		}
		return 1 - a[1].hi, a[1].hi - 1
	case expr.Floor, expr.ToI32, expr.ToF32:
		if e.Op == expr.ToI32 && a[0].nan {
			return -inf, inf
		}
		return math.Floor(a[0].lo), math.Floor(a[0].hi)
	case expr.Where:
		return min(a[1].lo, a[2].lo), max(a[1].hi, a[2].hi)
	}
	return -inf, inf
}

// span bounds a variable.
func (c *checker) span(name string) (lo, hi float64) {
	heads := float64(c.heads())
	switch name {
	case "h":
		return 0, heads - 1
	case "H":
		return heads, heads
	case "layer":
		return 1, float64(c.mostLayers())
	case "I", "J":
		return 1, maxLength
	case "n":
		return 0, maxLength
	case "c":
		return 0, max(c.num("model.width"), 1) - 1
	case "value", "mean", "std":
		return math.Inf(-1), math.Inf(1)
	}
	if p := c.values["model.embed.position"]; p.is("cyclic") && (name == "pi" || name == "pj") {
		return 0, p.args["period"].num - 1
	}
	return 0, maxLength
}

// mostLayers returns the layers of the longest stack.
func (c *checker) mostLayers() int {
	return max(c.int("model.encoder.layers"), c.int("model.decoder.layers"), c.int("model.decoder_only.layers"))
}

// quotients bounds a quotient by the quotients of the bounds, unless the divisor may be
// 0.
func quotients(a, b fact) (lo, hi float64) {
	if b.zero() || b.nan {
		return math.Inf(-1), math.Inf(1)
	}
	w, x, y, z := a.lo/b.lo, a.lo/b.hi, a.hi/b.lo, a.hi/b.hi
	return min(w, x, y, z), max(w, x, y, z)
}

// products bounds a product by the products of the bounds. Zero times infinity is zero,
// because the infinite bound is never reached.
func products(a, b fact) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range []float64{a.lo, a.hi} {
		for _, y := range []float64{b.lo, b.hi} {
			p := x * y
			if x == 0 || y == 0 {
				p = 0
			}
			lo, hi = min(lo, p), max(hi, p)
		}
	}
	return lo, hi
}
