package num

import (
	"math"
	"math/rand/v2"
	"testing"
)

// approx32 is an approximate instruction, an independent way to compute it, and its bound.
type approx32 struct {
	name  string
	f     func(x uint32, ftz bool, j *Jitter) uint32
	ref   func(x float64) float64
	draw  func(r *rand.Rand) float64
	bound func(x, ref float64) float64
}

// ulp32 returns the value of the last bit of a single near x.
func ulp32(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-1, -126)-23)
}

func rel(b float64) func(x, ref float64) float64 {
	return func(_, ref float64) float64 { return b * math.Abs(ref) }
}

func ulps(n float64) func(x, ref float64) float64 {
	return func(_, ref float64) float64 { return n * ulp32(ref) }
}

// taylor sums the series of the sine, starting at the term of the given degree.
func taylor(x float64, degree int) float64 {
	term, sum := 1.0, 0.0
	for n := 1; n <= degree; n++ {
		term *= x / float64(n)
	}
	for n := degree; n < 90; n += 2 {
		sum += term
		term *= -x * x / float64((n+1)*(n+2))
	}
	return sum
}

func uniform(lo, hi float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return lo + r.Float64()*(hi-lo) }
}

func anyPositive(r *rand.Rand) float64 { return math.Ldexp(1+r.Float64(), r.IntN(250)-125) }

var approximate = []approx32{
	{"ex2", Ex2Approx, func(x float64) float64 { return math.Exp(x * math.Ln2) }, uniform(-140, 127), ulps(2)},
	{"lg2 near 1", Lg2Approx, func(x float64) float64 { // the series of the area tangent
		z := (x - 1) / (x + 1)
		sum := 0.0
		for n := 41; n > 0; n -= 2 {
			sum = sum*z*z + 1/float64(n)
		}
		return 2 * sum * z / math.Ln2
	}, uniform(0.51, 1.99), func(_, _ float64) float64 { return 0x1p-22 }},
	{"lg2", Lg2Approx, func(x float64) float64 { return math.Log(x) / math.Ln2 }, func(r *rand.Rand) float64 { return 2 * math.Exp2(100*r.Float64()) }, rel(0x1p-22)},
	{"rcp", RcpApprox, func(x float64) float64 { return math.Pow(x, -1) }, anyPositive, ulps(1)},
	{"rsqrt", RsqrtApprox, func(x float64) float64 { return math.Pow(x, -0.5) }, anyPositive, rel(math.Exp2(-22.9))},
	{"sqrt", SqrtApprox, func(x float64) float64 { return math.Pow(x, 0.5) }, anyPositive, rel(0x1p-23)},
	{"sin", SinApprox, func(x float64) float64 { return taylor(x, 1) }, uniform(-2*math.Pi, 2*math.Pi), func(_, _ float64) float64 { return math.Exp2(-20.5) }},
	{"cos", CosApprox, func(x float64) float64 { return taylor(x, 0) }, uniform(-2*math.Pi, 2*math.Pi), func(_, _ float64) float64 { return math.Exp2(-20.5) }},
	{"sin of more", SinApprox, func(x float64) float64 { return taylor(math.Remainder(x, 2*math.Pi), 1) }, uniform(7, 300), func(_, _ float64) float64 { return math.Exp2(-14.7) }},
	{"tanh", func(x uint32, _ bool, j *Jitter) uint32 { return TanhApprox(x, j) },
		func(x float64) float64 { e := math.Expm1(2 * x); return e / (e + 2) }, uniform(-10, 10), rel(0x1p-11)},
}

// TestApproximations checks results against the bounds of the ISA, and without jitter against one
// unit in the last place.
func TestApproximations(t *testing.T) {
	for _, a := range approximate {
		t.Run(a.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(6, 6))
			j := NewJitter(11)
			changed := 0
			for range 20000 {
				bits := math.Float32bits(float32(a.draw(r)))
				x := float64(math.Float32frombits(bits))
				want := a.ref(x)
				exact, jittered := a.f(bits, false, nil), a.f(bits, false, j)
				bound := a.bound(x, want)
				if d := math.Abs(F32.Float(uint64(exact)) - want); d > 0.51*ulp32(want)+math.Abs(want)*0x1p-45 {
					t.Fatalf("%s(%v) = %x, off by %v", a.name, x, exact, d)
				}
				if d := math.Abs(F32.Float(uint64(jittered)) - want); d > bound*1.0001 {
					t.Fatalf("%s(%v) with jitter = %x, off by %v, more than %v", a.name, x, jittered, d, bound)
				}
				if exact != jittered {
					changed++
				}
				if again := a.f(bits, false, NewJitter(11)); again != jittered {
					t.Fatalf("%s(%v) with the same seed = %x and %x", a.name, x, jittered, again)
				}
			}
			if changed < 1000 {
				t.Errorf("jitter changed %d of 20000 results", changed)
			}
		})
	}
}

func TestApproximationsOfSpecialValues(t *testing.T) {
	j := NewJitter(3)
	tests := []struct {
		name      string
		got, want uint32
	}{
		{"ex2 -inf", Ex2Approx(negInf, false, j), posZero},
		{"ex2 inf", Ex2Approx(posInf, false, j), posInf},
		{"ex2 -0", Ex2Approx(negZero, false, nil), one},
		{"ex2 tiny ftz", Ex2Approx(tiny, true, nil), one},
		{"ex2 -127 ftz", Ex2Approx(math.Float32bits(-127), true, j), posZero},
		{"ex2 -127", Ex2Approx(math.Float32bits(-127), false, nil), 0x00400000},
		{"ex2 200", Ex2Approx(math.Float32bits(200), false, j), posInf},
		{"ex2 nan", Ex2Approx(someNaN, false, j), nan32},
		{"lg2 0", Lg2Approx(posZero, false, j), negInf},
		{"lg2 -0", Lg2Approx(negZero, false, j), negInf},
		{"lg2 -1", Lg2Approx(negOne, false, j), nan32},
		{"lg2 1", Lg2Approx(one, false, j), posZero},
		{"lg2 inf", Lg2Approx(posInf, false, j), posInf},
		{"lg2 tiny ftz", Lg2Approx(tiny, true, j), negInf},
		{"lg2 tiny", Lg2Approx(tiny, false, nil), math.Float32bits(-149)},
		{"rcp -0", RcpApprox(negZero, false, j), negInf},
		{"rcp -inf", RcpApprox(negInf, false, j), negZero},
		{"rcp tiny ftz", RcpApprox(tiny, true, j), posInf},
		{"rcp max ftz", RcpApprox(maxFinite, true, j), posZero},
		{"rsqrt -0", RsqrtApprox(negZero, false, j), negInf},
		{"rsqrt inf", RsqrtApprox(posInf, false, j), posZero},
		{"rsqrt -1", RsqrtApprox(negOne, false, j), nan32},
		{"sqrt -0", SqrtApprox(negZero, false, j), negZero},
		{"sqrt -1", SqrtApprox(negOne, false, j), nan32},
		{"sin inf", SinApprox(posInf, false, j), nan32},
		{"sin -0", SinApprox(negZero, false, j), negZero},
		{"cos -tiny ftz", CosApprox(negTiny, true, nil), one},
		{"tanh inf", TanhApprox(posInf, nil), one},
		{"tanh -inf", TanhApprox(negInf, nil), negOne},
		{"tanh tiny", TanhApprox(negTiny, j), negTiny},
		{"div 1 0", DivApprox(one, negZero, false, j), negInf},
		{"div 0 0", DivApprox(posZero, posZero, false, j), nan32},
		{"div 1 2^127", DivApprox(one, 0x7f000000, false, j), posZero},
		{"div inf 2^127", DivApprox(posInf, 0x7f000000, false, j), nan32},
		{"div inf inf", DivApprox(posInf, posInf, false, j), nan32},
		{"div -1 inf", DivApprox(negOne, posInf, false, j), negZero},
		{"div.full max 2^127", DivFull(maxFinite, 0x7f000000, false, nil), 0x3fffffff},
		{"div 1 2", DivApprox(one, two, false, nil), half},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s = %x, want %x", test.name, test.got, test.want)
		}
	}
}

func TestDivApprox(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	j := NewJitter(5)
	for range 20000 {
		a, b := F32.pattern(r), F32.pattern(r)
		want := F32.Div(Mode{}, a, b)
		if got := DivFull(uint32(a), uint32(b), false, nil); uint64(got) != want {
			t.Fatalf("%x / %x = %x, want %x", a, b, got, want)
		}
		if F32.IsNaN(want) || F32.IsInf(want) || want&F32.abs() == 0 {
			continue
		}
		q := F32.Float(a) / F32.Float(b)
		if got := F32.Float(uint64(DivFull(uint32(a), uint32(b), false, j))); math.Abs(got-q) > 2*ulp32(q) && !math.IsInf(got, 0) {
			t.Fatalf("%x / %x = %v with jitter, want %v", a, b, got, q)
		}
	}
}

func TestHalfApproximations(t *testing.T) {
	j := NewJitter(8)
	for _, test := range []struct {
		f               Format
		exBound, thatBd float64
	}{{F16, math.Exp2(-9.9), math.Exp2(-10.987)}, {BF16, 0x1p-7, 0x1p-8}} {
		for x := range uint64(1 << 16) {
			v := test.f.Float(x)
			if v != v || math.Abs(v) > 12 || test.f.IsSubnormal(x) {
				continue
			}
			e := math.Pow(2, v)
			if got := test.f.Float(test.f.Ex2Half(x, false, j)); math.Abs(got-e) > test.exBound*e*1.0001 {
				t.Fatalf("ex2 of %v = %v", v, got)
			}
			s := 1 - 2/(math.Exp(2*v)+1)
			if got := test.f.Float(test.f.TanhHalf(x, j)); math.Abs(got-s) > test.thatBd*1.0001 {
				t.Fatalf("tanh of %v = %v", v, got)
			}
		}
	}
	if got := F16.TanhHalf(1, j); got != 1 {
		t.Errorf("tanh of the smallest half = %x", got)
	}
	const below = 0xc300 // -128 in bf16
	if kept, flushed := BF16.Ex2Half(below, false, nil), BF16.Ex2Half(below, true, nil); kept != 0x20 || flushed != 0 {
		t.Errorf("2^-128 in bf16 = %x, and flushed %x", kept, flushed)
	}
}

func TestGrossApproximations(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 8))
	for range 2000 {
		v := anyPositive(r)
		x := math.Float64bits(v)
		for name, pair := range map[string][2]float64{
			"rcp":   {math.Float64frombits(RcpApproxF64(x)), 1 / v},
			"rsqrt": {math.Float64frombits(RsqrtApproxF64(x)), 1 / math.Sqrt(v)},
		} {
			if math.Float64bits(pair[0])<<32 != 0 || math.Abs(pair[0]/pair[1]-1) > 0x1p-19 {
				t.Fatalf("%s of %v = %v", name, v, pair[0])
			}
		}
	}
	if got := RcpApproxF64(1); got != 0x7ff0000000000000 {
		t.Errorf("rcp of a subnormal number = %x", got)
	}
}
