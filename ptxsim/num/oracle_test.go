package num

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The oracle computes in rational numbers and rounds by searching the format's values. It shares
// no code with the tested functions.

// rational returns the value of a finite pattern.
func (f Format) rational(x uint64) *big.Rat {
	frac := formats[f].frac
	m, e := int64(x&(1<<frac-1)), int(x>>frac)&(1<<formats[f].exp-1)
	if e == 0 {
		e = 1
	} else {
		m |= 1 << frac
	}
	r := scale(big.NewRat(m, 1), e-int(frac)-(1<<(formats[f].exp-1)-1))
	if x>>(frac+formats[f].exp)&1 != 0 {
		r.Neg(r)
	}
	return r
}

func scale(r *big.Rat, e int) *big.Rat {
	p := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e))))
	if e < 0 {
		return r.Quo(r, p)
	}
	return r.Mul(r, p)
}

// round returns the pattern of a value, found by bisection. The value is not zero.
func (f Format) round(m Mode, v *big.Rat) uint64 {
	neg := v.Sign() < 0
	mag := new(big.Rat).Abs(v)
	lo, hi := uint64(0), f.inf() // value(lo) <= mag < value(hi), where hi may be infinity
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if f.rational(mid).Cmp(mag) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	low := f.rational(lo)
	// Infinity rounds as if the exponents continued.
	high := f.rational(hi - 1)
	high.Add(high, new(big.Rat).Sub(high, f.rational(max(hi, 2)-2)))
	if hi < f.inf() {
		high = f.rational(hi)
	}
	r := lo
	if down, up := new(big.Rat).Sub(mag, low), new(big.Rat).Sub(high, mag); down.Sign() != 0 {
		nearest := down.Cmp(up)
		away := m.Round == RP && !neg || m.Round == RM && neg ||
			m.Round == RN && (nearest > 0 || nearest == 0 && lo&1 != 0) || m.Round == RNA && nearest >= 0
		if away {
			r = hi
		}
	}
	return f.finishOracle(m, r, neg)
}

func (f Format) finishOracle(m Mode, r uint64, neg bool) uint64 {
	if m.Sat && neg {
		return 0
	}
	if m.Sat && r > f.one() {
		return f.one()
	}
	if m.Ftz && r < 1<<formats[f].frac {
		r = 0
	}
	if neg {
		r |= f.sign()
	}
	return r
}

// edges returns the patterns at special points of the format.
func (f Format) edges() []uint64 {
	frac := formats[f].frac
	one := f.one()
	list := []uint64{
		0, 1, 2, 3, 1<<frac - 1, 1 << frac, 1<<frac + 1, one, one + 1, one - 1, one + 1<<frac, one - 1<<frac,
		one + 1<<(frac-1), f.inf() - 1, f.inf() - 2, f.inf(), f.inf() + 1, f.inf() | 1<<(frac-1), f.abs(),
	}
	for _, x := range list[:len(list):len(list)] {
		list = append(list, x|f.sign())
	}
	return list
}

// pattern returns a random pattern. Most of its numbers are close to each other, so that they
// cancel, tie and overflow.
func (f Format) pattern(r *rand.Rand) uint64 {
	frac, exp := formats[f].frac, formats[f].exp
	x := r.Uint64() & (f.sign() | f.abs())
	switch r.IntN(6) {
	case 0:
		edges := f.edges()
		return edges[r.IntN(len(edges))]
	case 1: // few significant bits
		x &^= 1<<(frac-3) - 1
	case 2: // close to 1
		x = x&^f.inf() | uint64(f.bias()+r.IntN(5)-2)<<frac
	case 3: // a long run of ones or zeros
		x = x&^(1<<frac-1) | (1<<frac-1)>>r.IntN(int(frac))
	case 4: // small
		x = x&^f.inf() | uint64(r.IntN(int(min(30, 1<<exp-2))))<<frac
	}
	return x
}

var allFormats = []struct {
	name string
	f    Format
}{{"f16", F16}, {"bf16", BF16}, {"f32", F32}, {"f64", F64}}

var modes = []Mode{
	{}, {Round: RZ}, {Round: RM}, {Round: RP}, {Ftz: true}, {Round: RP, Ftz: true}, {Sat: true}, {Round: RZ, Ftz: true, Sat: true},
}

// classes reports whether operands are NaN or infinite.
func (f Format) classes(xs ...uint64) (nan, inf bool) {
	for _, x := range xs {
		nan = nan || f.IsNaN(x)
		inf = inf || f.IsInf(x)
	}
	return nan, inf
}

// finite compares an operation with exact arithmetic if the operands and the exact result are
// finite and the result is not zero.
func finite(t *testing.T, f Format, m Mode, name string, got uint64, xs []uint64, exact func(v []*big.Rat) *big.Rat) {
	t.Helper()
	if nan, inf := f.classes(xs...); nan || inf {
		return
	}
	var v []*big.Rat
	for _, x := range xs {
		if m.Ftz && f.IsSubnormal(x) {
			x &= f.sign()
		}
		v = append(v, f.rational(x))
	}
	r := exact(v)
	if r == nil || r.Sign() == 0 {
		return
	}
	if want := f.round(m, r); got != want {
		t.Fatalf("%s %+v %x = %x, want %x", name, m, xs, got, want)
	}
}

func TestArithmetic(t *testing.T) {
	for _, format := range allFormats {
		t.Run(format.name, func(t *testing.T) {
			f := format.f
			r := rand.New(rand.NewPCG(7, uint64(f)))
			n := 1500
			if f == F64 {
				n = 200 // the oracle's numbers are long
			}
			for range n {
				a, b, c := f.pattern(r), f.pattern(r), f.pattern(r)
				m := modes[r.IntN(len(modes))]
				checkOps(t, f, m, a, b, c)
				checkOps(t, f, m, a, b, f.Neg(false, f.Mul(Mode{}, a, b))) // fma cancels
				checkOps(t, f, m, a, a^f.sign()^uint64(r.IntN(4)), c)
			}
		})
	}
}

func checkOps(t *testing.T, f Format, m Mode, a, b, c uint64) {
	t.Helper()
	finite(t, f, m, "add", f.Add(m, a, b), []uint64{a, b}, func(v []*big.Rat) *big.Rat { return v[0].Add(v[0], v[1]) })
	finite(t, f, m, "sub", f.Sub(m, a, b), []uint64{a, b}, func(v []*big.Rat) *big.Rat { return v[0].Sub(v[0], v[1]) })
	finite(t, f, m, "mul", f.Mul(m, a, b), []uint64{a, b}, func(v []*big.Rat) *big.Rat { return v[0].Mul(v[0], v[1]) })
	finite(t, f, m, "fma", f.Fma(m, a, b, c), []uint64{a, b, c}, func(v []*big.Rat) *big.Rat {
		p := new(big.Rat).Mul(v[0], v[1])
		return p.Add(p, v[2])
	})
	finite(t, f, m, "div", f.Div(m, a, b), []uint64{a, b}, func(v []*big.Rat) *big.Rat {
		if v[1].Sign() == 0 {
			return nil
		}
		return v[0].Quo(v[0], v[1])
	})
	checkSqrt(t, f, m, a)
}

// checkSqrt checks a root by squares: the result rounded down, and the next number, must bound the
// root.
func checkSqrt(t *testing.T, f Format, m Mode, a uint64) {
	t.Helper()
	a &= f.abs()
	if nan, inf := f.classes(a); nan || inf || a == 0 || m.Sat || m.Ftz && f.IsSubnormal(a) {
		return
	}
	square := func(x uint64) *big.Rat { v := f.rational(x); return v.Mul(v, v) }
	v := f.rational(a)
	got := f.Sqrt(m, a)
	below := f.Sqrt(Mode{Round: RZ}, a)
	if square(below).Cmp(v) > 0 || square(below+1).Cmp(v) <= 0 {
		t.Fatalf("sqrt.rz %x = %x", a, below)
	}
	exact := square(below).Cmp(v) == 0
	middle := f.rational(below)
	middle.Add(middle, f.rational(below+1)).Mul(middle, big.NewRat(1, 2))
	up := m.Round == RP && !exact || m.Round == RN && middle.Mul(middle, middle).Cmp(v) < 0
	want := below
	if up {
		want++
	}
	if got != want {
		t.Fatalf("sqrt %+v %x = %x, want %x", m, a, got, want)
	}
}

// TestHalves compares all pairs of some half patterns with float64. Sums, products and quotients
// of halves round to the same half there.
func TestHalves(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200000 {
		a, b := uint64(r.Uint32N(1<<16)), uint64(r.Uint32N(1<<16))
		x, y := F16.Float(a), F16.Float(b)
		for name, pair := range map[string][2]float64{
			"add": {F16.Float(F16.Add(Mode{}, a, b)), x + y},
			"mul": {F16.Float(F16.Mul(Mode{}, a, b)), x * y},
			"div": {F16.Float(F16.Div(Mode{}, a, b)), x / y},
		} {
			want := halfOf(pair[1])
			if got := pair[0]; got != want && (got == got || want == want) {
				t.Fatalf("%s %x %x = %v, want %v", name, a, b, got, want)
			}
		}
	}
}

// halfOf rounds to half precision by adding a large power of two.
func halfOf(x float64) float64 {
	if x != x || math.IsInf(x, 0) || x == 0 {
		return x
	}
	_, e := math.Frexp(x)
	big := math.Ldexp(3, max(e, -13)-11+51) // its last bit has the value of a half's last bit
	r := x + big - big
	if math.Abs(r) > 65504 {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return r
}

// single returns the pattern of a single; every NaN is the GPU's.
func single(r float32) uint64 {
	if r != r {
		return F32.NaN()
	}
	return uint64(math.Float32bits(r))
}

// TestFastPaths compares with the processor's own arithmetic.
func TestFastPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	flushed := func(a uint64) float32 { return math.Float32frombits(uint32(F32.Flush(a))) }
	for range 100000 {
		a, b, c := F32.pattern(r), F32.pattern(r), F32.pattern(r)
		if r.IntN(4) == 0 {
			c = F32.Neg(false, F32.Mul(Mode{}, a, b)) + uint64(r.IntN(3))
			c &= 1<<32 - 1
		}
		x, y, z := uint32(a), uint32(b), uint32(c)
		s, u := math.Float32frombits(x), math.Float32frombits(y)
		d, e, g := F64.pattern(r), F64.pattern(r), F64.pattern(r)
		v, o := math.Float64frombits(d), math.Float64frombits(e)
		for _, op := range []struct {
			name      string
			got, want uint64
		}{
			{"add", single(s + u), F32.Add(Mode{}, a, b)},
			{"sub", single(s - u), F32.Sub(Mode{}, a, b)},
			{"mul", single(s * u), F32.Mul(Mode{}, a, b)},
			{"div", single(s / u), F32.Div(Mode{}, a, b)},
			{"sqrt", single(float32(math.Sqrt(float64(s)))), F32.Sqrt(Mode{}, a)},
			{"fma", uint64(FmaF32(x, y, z)), F32.Fma(Mode{}, a, b, c)},
			{"add.ftz", F32.Flush(single(flushed(a) + flushed(b))), F32.Add(Mode{Ftz: true}, a, b)},
			{"add.f64", math.Float64bits(v + o), F64.Add(Mode{}, d, e)},
			{"sub.f64", math.Float64bits(v - o), F64.Sub(Mode{}, d, e)},
			{"mul.f64", math.Float64bits(v * o), F64.Mul(Mode{}, d, e)},
			{"div.f64", math.Float64bits(v / o), F64.Div(Mode{}, d, e)},
			{"sqrt.f64", math.Float64bits(math.Sqrt(v)), F64.Sqrt(Mode{}, d)},
			{"fma.f64", FmaF64(d, e, g), F64.Fma(Mode{}, d, e, g)},
		} {
			if op.got != op.want && !(F64.IsNaN(op.got) && F64.IsNaN(op.want)) { // a NaN of F64 has a payload
				t.Fatalf("%s of %x %x %x or %x %x %x: %x, want %x", op.name, a, b, c, d, e, g, op.got, op.want)
			}
		}
	}
}

// TestFmaCounterexample is a case where rounding twice gives another result.
func TestFmaCounterexample(t *testing.T) {
	a := math.Float32bits(float32(math.Ldexp(1+math.Ldexp(1, -23), -24)))
	b := math.Float32bits(float32(1 - math.Ldexp(1, -23)))
	c := math.Float32bits(float32(1 + math.Ldexp(1, -23)))
	if got := FmaF32(a, b, c); got != 0x3f800001 {
		t.Errorf("fma = %x, want 3f800001", got)
	}
}
