package fragment

import "math"

// tolerance is the largest error of a result: the sum of its parts.
type tolerance struct{ ulps, rel, abs float64 }

// bound returns what PTX promises for operands; ok is false if it promises nothing.
type bound func(in []float64) (t tolerance, ok bool)

// always returns the same bound for all operands.
func always(t tolerance) bound { return func([]float64) (tolerance, bool) { return t, true } }

// approxProbes are the approximate instructions. Their bounds come from the PTX manual (sections
// "Floating Point Instructions" and "Half Precision Floating Point Instructions", PTX ISA 8.4).
func approxProbes() []*Probe {
	quotients := within(1, 2)
	angles := within(-314, 314)
	return family("approx", 1, []row{
		{pattern: "ex2.approx{,.ftz}.f32", in: "f32", out: "f32",
			doc: "2^x within 2 ulp", bound: always(tolerance{ulps: 2}), draw: within(-150, 130)},
		{pattern: "lg2.approx{,.ftz}.f32", in: "f32", out: "f32",
			doc: "log2 x within 2^-22, near 1 absolute, else relative", bound: logBound, draw: within(0.5, 2)},
		{pattern: "rcp.approx{,.ftz}.f32", in: "f32", out: "f32",
			doc: "1/x within 1 ulp", bound: always(tolerance{ulps: 1}), draw: quotients},
		{pattern: "rsqrt.approx{,.ftz}.f32", in: "f32", out: "f32",
			doc: "1/sqrt(x) within 2^-22.9, relative", bound: always(tolerance{rel: math.Exp2(-22.9)}), draw: within(1, 4)},
		{pattern: "sqrt.approx{,.ftz}.f32", in: "f32", out: "f32",
			doc: "sqrt(x) within 2^-23, relative", bound: always(tolerance{rel: 0x1p-23}), draw: within(1, 4)},
		{pattern: "{sin,cos}.approx{,.ftz}.f32", in: "f32", out: "f32",
			doc: "sine or cosine within 2^-20.5 in two periods, 2^-14.7 in a hundred", bound: angleBound, draw: angles},
		{pattern: "tanh.approx.f32", in: "f32", out: "f32",
			doc: "tanh x within 2^-11, relative", bound: always(tolerance{rel: 0x1p-11}), draw: within(-10, 10)},
		{pattern: "div.full{,.ftz}.f32", in: "2*f32", out: "f32",
			doc: "a quotient within 2 ulp", bound: always(tolerance{ulps: 2}), draw: quotients},
		{pattern: "div.approx{,.ftz}.f32", in: "2*f32", out: "f32",
			doc: "a quotient within 2 ulp, of divisors from 2^-126 to 2^126", bound: divisorBound, draw: quotients},
		{pattern: "ex2.approx.f16x2", in: "f16x2", out: "f16x2",
			doc: "2^x in half precision within 2^-9.9, relative", bound: halfExponentBound, draw: within(-25, 16)},
		{pattern: "tanh.approx.f16x2", in: "f16x2", out: "f16x2",
			doc: "tanh x in half precision within 2^-10.987", bound: always(tolerance{abs: math.Exp2(-10.987)}), draw: within(-5, 5)},
		{pattern: "ex2.approx.ftz.bf16x2", in: "bf16x2", out: "bf16x2", target: "sm_90",
			doc: "2^x in bf16 within 2^-7, relative", bound: always(tolerance{rel: 0x1p-7}), draw: within(-150, 130)},
		{pattern: "tanh.approx.bf16x2", in: "bf16x2", out: "bf16x2", target: "sm_90",
			doc: "tanh x in bf16 within 2^-8", bound: always(tolerance{abs: 0x1p-8}), draw: within(-5, 5)},
		{pattern: "{rcp.approx.ftz,rsqrt.approx,rsqrt.approx.ftz}.f64", in: "f64", out: "f64", claim: Unknown,
			doc: "a first approximation in double precision, of no promised accuracy", draw: within(1, 4)},
	})
}

// halfExponentBound allows subnormal results to be truncated, half a unit more. The manual gives
// only a relative error, which subnormal numbers cannot keep, and an H100 truncates them.
func halfExponentBound(in []float64) (tolerance, bool) {
	t := tolerance{rel: math.Exp2(-9.9)}
	if in[0] < -14 {
		t.abs = 0x1p-25
	}
	return t, true
}

func logBound(in []float64) (tolerance, bool) {
	if in[0] > 0.5 && in[0] < 2 {
		return tolerance{abs: 0x1p-22}, true
	}
	return tolerance{rel: 0x1p-22}, true
}

// angleBound promises nothing for angles beyond 100 pi. Infinities and NaN have defined results.
func angleBound(in []float64) (tolerance, bool) {
	switch x := math.Abs(in[0]); {
	case x <= 2*math.Pi:
		return tolerance{abs: math.Exp2(-20.5)}, true
	case x <= 100*math.Pi || math.IsInf(x, 0) || math.IsNaN(x):
		return tolerance{abs: math.Exp2(-14.7)}, true
	}
	return tolerance{}, false
}

// divisorBound promises nothing for subnormal divisors.
func divisorBound(in []float64) (tolerance, bool) {
	x := math.Abs(in[1])
	return tolerance{ulps: 2}, x == 0 || x >= 0x1p-126 || math.IsNaN(x)
}

// allows reports whether a GPU may return got if the correctly rounded result is another. Both
// are elements of a float type. NaN and the sign of a zero must match, infinities within the
// relative error and ulps.
func (t tolerance) allows(f Type, got, rounded uint64) bool {
	x, y := f.value(got), f.value(rounded)
	switch {
	case got == rounded || math.IsNaN(x) && math.IsNaN(y):
		return true
	case math.IsNaN(x) || math.IsNaN(y) || x == 0 && y == 0:
		return false
	case math.IsInf(x, 0) || math.IsInf(y, 0):
		return float64(max(f.order(got)-f.order(rounded), f.order(rounded)-f.order(got))) <= t.ulps+t.rel*math.Ldexp(1, f.frac+1)
	}
	_, e := math.Frexp(y)
	ulp := math.Ldexp(1, max(e-1, 1-f.bias())-f.frac)
	return math.Abs(x-y) <= t.abs+t.rel*math.Abs(y)+(t.ulps+0.5)*ulp
}
