package expr

import "math"

// Expand replaces the transcendental functions in e, roundings, and conversions from 16-bit elements. It
// uses + - * /, Min, Max, Where and bit moves, without fused operations or calls, so that every back end
// computes the same bits. Equal subexpressions stay shared.
//
// Largest errors, in units of the last place of the float32 result; NaN gives NaN:
//
//	exp      1.0   0 below -87.68 and +Inf above 88.37 (true limits -103.97 and 88.72)
//	log      1.0   of normal numbers; -Inf for subnormals and zeros, NaN below
//	tanh     2.7
//	sigmoid  2.5   0 below -88.37
//	erf      6.1   below 1, which it passes by up to 2.4e-7 before it is 1 from 3.92 on
//	sin cos  2.5   for |x| <= 10000; meaningless beyond 1e6
//	softplus 1.9   0 below -87.68
//
// Methods: exp and sine by Cody and Waite's argument reduction (Software Manual for the Elementary Functions, 1980),
// log by the series of the area tangent. All coefficients are minimax in relative error, by the Remez algorithm; those
// of erf are then moved by a few units to lessen its rounding errors.
func Expand(e *Expr) *Expr { return ExpandBut(e, func(*Expr) bool { return false }) }

// ExpandBut is Expand, but keeps nodes for which keep holds. A back end keeps those for
// which it has instructions with the same bits.
func ExpandBut(e *Expr, keep func(*Expr) bool) *Expr {
	return Rewrite(e, func(e *Expr) *Expr {
		f := expansions[e.Op]
		if e.Op == ToF32 {
			f = widenings[e.Args[0].Type]
		}
		if f == nil || keep(e) {
			return e
		}
		return f(e.Args[0])
	})
}

var expansions = [numOps]func(x *Expr) *Expr{
	ToBF16: expandToBF16,
	ToF16:  expandToF16,
	ToTF32: expandToTF32,

	Exp:     expandExp,
	Log:     expandLog,
	Tanh:    expandTanh,
	Sigmoid: expandSigmoid,
	Erf:     expandErf,
	Sin:     func(x *Expr) *Expr { return expandSine(x, 0) },
	Cos:     func(x *Expr) *Expr { return expandSine(x, 1) },

	Softplus: expandSoftplus,
}

const (
	// roundOff is 1.5 * 2^23. Adding it rounds to an integer, which is then in the low
	// bits of the sum, in two's complement.
	roundOff = 12582912

	// ln2Hi has 15 bits, so that its product with an exponent is exact.
	ln2Hi = 0.693145751953125
	ln2Lo = math.Ln2 - ln2Hi
)

// clamp limits x to [lo, hi] and keeps NaN.
func clamp(lo, x, hi *Expr) *Expr { return New(Max, lo, New(Min, hi, x)) }

// horner returns c[0] + x*(c[1] + x*(c[2] + …)).
func horner(x *Expr, c ...float64) *Expr {
	e := F(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		e = plus(times(e, x), F(c[i]))
	}
	return e
}

// estrin is horner for an even number of coefficients, in pairs. Fewer roundings lie between a coefficient and the sum.
func estrin(x *Expr, c ...float64) *Expr {
	e := horner(x, c[:2]...)
	square := times(x, x)
	power := square
	for i := 2; i < len(c); i += 2 {
		e = plus(e, times(power, horner(x, c[i:i+2]...)))
		power = times(power, square)
	}
	return e
}

// toNearest returns x rounded to an integer, as F32 and in the low bits of a U32.
func toNearest(x *Expr) (whole, bits *Expr) {
	t := plus(x, F(roundOff))
	return subtract(t, F(roundOff)), New(FBits, t)
}

// splitExp returns q and s with exp(x) = (1 + q) * s, for x from -88 (s = 0) to 89 (s =
// +Inf). s is a power of two and q lies between -0.3 and 0.42.
func splitExp(x *Expr) (q, s *Expr) {
	n, bits := toNearest(times(x, F(math.Log2E)))
	r := subtract(subtract(x, times(n, F(ln2Hi))), times(n, F(ln2Lo)))
	p := horner(r, 0.499999934033, 0.16666519973, 0.0416683958227, 0.00836879672707, 0.00138144321113)
	q = plus(r, times(times(r, r), p))
	s = New(BitsF, New(Shl, New(Add, bits, U(127)), U(23)))
	return q, s
}

func expandExp(x *Expr) *Expr {
	q, s := splitExp(clamp(F(-88), x, F(89)))
	return times(plus(q, F(1)), s)
}

func expandSigmoid(x *Expr) *Expr {
	return over(F(1), plus(F(1), expandExp(minus(x))))
}

// expandTanh returns t / (t + 2) with t = exp(2x) - 1, which does not cancel.
func expandTanh(x *Expr) *Expr {
	q, s := splitExp(clamp(F(-20), plus(x, x), F(20)))
	t := plus(times(q, s), subtract(s, F(1)))
	return over(t, plus(t, F(2)))
}

// expandLog writes x = 2^k * (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), and
// log(1 + f) = f - s*(f - R(s*s)) with s = f / (2 + f).
func expandLog(x *Expr) *Expr {
	const sqrtHalf = 0x3f3504f3
	bits := New(FBits, x)
	k := New(Shr, New(AsI32, New(Sub, bits, U(sqrtHalf))), Int(23))
	f := subtract(New(BitsF, New(Sub, bits, New(Shl, New(AsU32, k), U(23)))), F(1))
	kf := New(ToF32, k)
	s := over(f, plus(f, F(2)))
	z := times(s, s)
	r := times(z, horner(z, 0.666667760856, 0.399775740061, 0.298709374614))
	tail := subtract(times(s, subtract(f, r)), times(kf, F(ln2Lo)))
	log := subtract(times(kf, F(ln2Hi)), subtract(tail, f))

	const smallest = 1.0 / (1 << 63) / (1 << 63) // 2^-126, the least normal
	low := New(Where, New(Lt, x, F(0)), F(math.NaN()), F(math.Inf(-1)))
	finite := New(Where, New(Le, F(smallest), x), log, low)
	return New(Where, New(Lt, x, F(math.Inf(1))), finite, x)
}

// expandErf returns a rational function with positive coefficients, up to the point where the result rounds to 1.
func expandErf(x *Expr) *Expr {
	x = clamp(F(-3.92), x, F(3.92))
	z := times(x, x)
	p := estrin(z, 1.1283791, 0.19078383, 0.052790295, 0.0037796104, 0.0002848087, 2.0419807e-6)
	q := estrin(z, 1, 0.5024105, 0.11425754, 0.014997439, 0.001165213, 3.8004142e-5)
	return over(times(x, p), q)
}

// expandSine returns sin(x + quarters*pi/2). It subtracts the nearest multiple of pi/2
// and evaluates the series of sine or cosine, selected by the multiple's low bits.
func expandSine(x *Expr, quarters uint32) *Expr {
	n, k := toNearest(times(x, F(2/math.Pi)))
	if quarters != 0 {
		k = New(Add, k, U(quarters))
	}
	r := x
	for _, part := range []float64{1.5703125, 0.00048375129699707031, 7.5495336204767227e-8, 2.5633440682570896e-12} {
		r = subtract(r, times(n, F(part)))
	}
	z := times(r, r)
	sin := plus(r, times(times(r, z), horner(z, -0.166666545351, 0.00833215595556, -0.000195146182891)))
	cos := plus(F(1), times(z, horner(z, -0.5, 0.0416666455518, -0.00138873097339, 2.44323975234e-5)))
	odd := New(Ne, New(And, k, U(1)), U(0))
	sign := New(Shl, New(And, k, U(2)), U(30))
	return New(BitsF, New(Xor, New(FBits, New(Where, odd, cos, sin)), sign))
}

// expandSoftplus returns max(x, 0) + log(1 + t) with t = exp(-|x|). log(1 + t) is as in
// expandLog. Because t is at most 1, nothing cancels and no power of two is split off.
func expandSoftplus(x *Expr) *Expr {
	t := expandExp(minus(New(Abs, x)))
	s := over(t, plus(t, F(2)))
	z := times(s, s)
	r := times(z, horner(z, 0.666666399413, 0.400076258423, 0.282350408474, 0.268610235472))
	return plus(New(Max, F(0), x), subtract(t, times(s, subtract(t, r))))
}
