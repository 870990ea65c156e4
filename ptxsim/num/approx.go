package num

import "math"

// Jitter adds errors on purpose, within the bounds that PTX allows its approximate instructions,
// so that no program comes to rely on their last bits. The error is a function of the seed, the
// instruction and the operand. A nil Jitter adds no error.
type Jitter struct{ seed uint64 }

// NewJitter returns a Jitter with a seed.
func NewJitter(seed uint64) *Jitter { return &Jitter{seed} }

// unit returns a number in [-1, 1), drawn for an operand of an instruction.
func (j *Jitter) unit(salt, x uint64) float64 {
	h := (j.seed ^ salt<<56 ^ x) * 0x9e3779b97f4a7c15
	for range 2 {
		h ^= h >> 32
		h *= 0xd6e8feb86659fd93
	}
	h ^= h >> 32
	return float64(int64(h)) / (1 << 63)
}

// bound is the largest error that an instruction may make.
type bound struct {
	rel, abs, ulps float64
}

// approximation is an approximate instruction of one operand.
type approximation struct {
	salt  uint64
	exact func(x float64) float64
	bound func(x float64) bound // of the result for x
}

func always(b bound) func(float64) bound { return func(float64) bound { return b } }

var (
	ex2 = approximation{1, math.Exp2, always(bound{ulps: 2})}
	lg2 = approximation{2, log2, func(x float64) bound {
		if x > 0.5 && x < 2 {
			return bound{abs: 0x1p-22}
		}
		return bound{rel: 0x1p-22}
	}}
	rcp     = approximation{3, func(x float64) float64 { return 1 / x }, always(bound{ulps: 1})}
	rsqrt   = approximation{4, func(x float64) float64 { return 1 / math.Sqrt(x) }, always(bound{rel: 0x1.125p-23})}
	sqrt    = approximation{5, math.Sqrt, always(bound{rel: 0x1p-23})}
	sine    = approximation{6, math.Sin, trigBound}
	cosine  = approximation{7, math.Cos, trigBound}
	tangent = approximation{8, math.Tanh, always(bound{rel: 0x1p-11})}
)

func trigBound(x float64) bound {
	if math.Abs(x) <= 2*math.Pi {
		return bound{abs: 0x1.6ap-21}
	}
	return bound{abs: 0x1.3ap-15}
}

// log2 is exact near 1 too, where the sum of exponent and fraction cancels.
func log2(x float64) float64 {
	if x > 0.5 && x < 2 {
		return math.Log1p(x-1) / math.Ln2
	}
	return math.Log2(x)
}

// apply evaluates the function in double precision and rounds once.
func (p approximation) apply(f Format, x uint64, ftz bool, j *Jitter, b bound) uint64 {
	x = f.flushIf(ftz, x)
	if f.IsNaN(x) {
		return f.NaN()
	}
	return j.round(f, Mode{Ftz: ftz}, p.salt, x, p.exact(f.Float(x)), b)
}

// round rounds a result and adds j's error. The rounded result stays within its bound.
func (j *Jitter) round(f Format, m Mode, salt, x uint64, r float64, b bound) uint64 {
	return f.flushIf(m.Ftz, j.roundKept(f, m, salt, x, r, b))
}

// roundKept is round for conversions, which do not flush their result.
func (j *Jitter) roundKept(f Format, m Mode, salt, x uint64, r float64, b bound) uint64 {
	exact := f.fromFloat(m, r)
	if j == nil || r == 0 || math.IsNaN(r) || math.IsInf(r, 0) {
		return exact
	}
	_, e := math.Frexp(r)
	ulp := math.Ldexp(1, max(e-1, f.normal())-int(formats[f].frac))
	allowed := b.abs + float64(b.rel*math.Abs(r)) + float64(b.ulps*ulp)
	shaken := f.fromFloat(m, r+float64(j.unit(salt, x)*(allowed-float64(ulp/2))))
	if math.Abs(f.Float(shaken)-r) > allowed {
		return exact
	}
	return shaken
}

// Float returns the value of a pattern.
func (f Format) Float(x uint64) float64 {
	return math.Float64frombits(Convert(F64, f, Mode{}, x))
}

func (f Format) fromFloat(m Mode, v float64) uint64 {
	if math.IsNaN(v) {
		return f.NaN()
	}
	return Convert(f, F64, m, math.Float64bits(v))
}

func (p approximation) single(x uint32, ftz bool, j *Jitter) uint32 {
	b := p.bound(F32.Float(uint64(x)))
	return uint32(p.apply(F32, uint64(x), ftz, j, b))
}

// The approximate instructions in single precision. They flush subnormal numbers if ftz is true.
var (
	Ex2Approx   = ex2.single // 2^x
	Lg2Approx   = lg2.single // the logarithm to base 2
	RcpApprox   = rcp.single
	RsqrtApprox = rsqrt.single // 1/sqrt(x)
	SqrtApprox  = sqrt.single
	SinApprox   = sine.single
	CosApprox   = cosine.single
)

// TanhApprox returns the hyperbolic tangent; subnormal numbers pass through.
func TanhApprox(x uint32, j *Jitter) uint32 {
	if F32.IsSubnormal(uint64(x)) {
		return x
	}
	return tangent.single(x, false, j)
}

// Ex2Half returns 2^x in a format of 16 bits.
func (f Format) Ex2Half(x uint64, ftz bool, j *Jitter) uint64 {
	b := bound{rel: 0x1.12p-10}
	if f == BF16 {
		b = bound{rel: 0x1p-7}
	}
	return ex2.apply(f, x, ftz, j, b)
}

// TanhHalf returns the hyperbolic tangent in a format of 16 bits.
func (f Format) TanhHalf(x uint64, j *Jitter) uint64 {
	if f.IsSubnormal(x) {
		return x
	}
	b := bound{abs: 0x1.02p-11}
	if f == BF16 {
		b = bound{abs: 0x1p-8}
	}
	return tangent.apply(f, x, false, j, b)
}

// DivFull returns a/b within 2 ulp, for all operands.
func DivFull(a, b uint32, ftz bool, j *Jitter) uint32 {
	x, y := F32.flushIf(ftz, uint64(a)), F32.flushIf(ftz, uint64(b))
	if F32.IsNaN(x) || F32.IsNaN(y) {
		return uint32(F32.NaN())
	}
	return uint32(j.round(F32, Mode{Ftz: ftz}, 9, x<<32|y, F32.Float(x)/F32.Float(y), bound{ulps: 2}))
}

// DivApprox returns a/b within 2 ulp for a divisor of up to 2^126; the quotient
// by a greater one is 0, or NaN for an infinity.
func DivApprox(a, b uint32, ftz bool, j *Jitter) uint32 {
	const huge = (127 + 126) << 23
	m := b &^ (1 << 31)
	if m <= huge || m >= 0x7f800000 || F32.IsNaN(uint64(a)) {
		return DivFull(a, b, ftz, j)
	}
	if F32.IsInf(uint64(a)) {
		return uint32(F32.NaN())
	}
	return (a ^ b) & (1 << 31)
}

// The gross approximations in double precision read and write only the upper word, and flush
// subnormal numbers.
const upperWord uint64 = 0xffffffff << 32

// RcpApproxF64 returns a first approximation of 1/x.
func RcpApproxF64(x uint64) uint64 {
	return F64.Rcp(Mode{Round: RZ, Ftz: true}, x&upperWord) & upperWord
}

// RsqrtApproxF64 returns a first approximation of 1/sqrt(x).
func RsqrtApproxF64(x uint64) uint64 {
	m := Mode{Ftz: true}
	return F64.Rcp(m, F64.Sqrt(m, x&upperWord)) & upperWord
}
