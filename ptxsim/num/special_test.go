package num

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Patterns of single precision with a name.
const (
	posZero, negZero = 0, 1 << 31
	posInf, negInf   = 0x7f800000, 0xff800000
	nan32            = 0x7fffffff
	someNaN          = 0xffc12345
	tiny, negTiny    = 1, 1<<31 | 1
	one, negOne      = 0x3f800000, 0xbf800000
	two, half        = 0x40000000, 0x3f000000
	maxFinite        = 0x7f7fffff
	minNormal        = 0x00800000
)

func TestSpecialValues(t *testing.T) {
	rn, rm, ftz, sat := Mode{}, Mode{Round: RM}, Mode{Ftz: true}, Mode{Sat: true}
	tests := []struct {
		name      string
		got, want uint64
	}{
		{"inf - inf", F32.Add(rn, posInf, negInf), nan32},
		{"inf + inf", F32.Add(rn, posInf, posInf), posInf},
		{"inf + 1", F32.Sub(rn, negInf, one), negInf},
		{"nan + 1", F32.Add(rn, someNaN, one), nan32},
		{"1 - 1", F32.Sub(rn, one, one), posZero},
		{"1 - 1 down", F32.Sub(rm, one, one), negZero},
		{"-0 + -0", F32.Add(rn, negZero, negZero), negZero},
		{"0 + -0", F32.Add(rn, posZero, negZero), posZero},
		{"0 + -0 down", F32.Add(rm, posZero, negZero), negZero},
		{"0 * inf", F32.Mul(rn, negZero, posInf), nan32},
		{"-1 * 0", F32.Mul(rn, negOne, posZero), negZero},
		{"-inf * 2", F32.Mul(rn, negInf, two), negInf},
		{"0 / 0", F32.Div(rn, posZero, negZero), nan32},
		{"inf / inf", F32.Div(rn, posInf, negInf), nan32},
		{"1 / -0", F32.Div(rn, one, negZero), negInf},
		{"1 / -inf", F32.Div(rn, one, negInf), negZero},
		{"1 / tiny ftz", F32.Rcp(ftz, negTiny), negInf},
		{"1 / inf", F32.Rcp(rn, posInf), posZero},
		{"sqrt -0", F32.Sqrt(rn, negZero), negZero},
		{"sqrt -1", F32.Sqrt(rn, negOne), nan32},
		{"sqrt inf", F32.Sqrt(rn, posInf), posInf},
		{"sqrt -tiny ftz", F32.Sqrt(ftz, negTiny), negZero},
		{"fma 0 inf nan", F32.Fma(rn, posZero, posInf, someNaN), nan32},
		{"fma inf 1 -inf", F32.Fma(rn, posInf, one, negInf), nan32},
		{"fma max max -inf", F32.Fma(rn, maxFinite, maxFinite, negInf), negInf},
		{"fma 1 1 -1", F32.Fma(rn, one, one, negOne), posZero},
		{"fma -0 1 -0", F32.Fma(rn, negZero, one, negZero), negZero},
		{"max + max", F32.Add(rn, maxFinite, maxFinite), posInf},
		{"max + max to zero", F32.Add(Mode{Round: RZ}, maxFinite, maxFinite), maxFinite},
		{"-max - max up", F32.Sub(Mode{Round: RP}, maxFinite|negZero, maxFinite), maxFinite | negZero},
		{"tiny + tiny ftz", F32.Add(ftz, tiny, tiny), posZero},
		{"-tiny ftz", F32.Neg(true, tiny), negZero},
		{"-tiny", F32.Neg(false, tiny), negTiny},
		{"|-inf|", F32.Abs(false, negInf), posInf},
		{"2 sat", F32.Add(sat, one, one), one},
		{"nan sat", F32.Sub(sat, posInf, posInf), posZero},
		{"-1 sat", F32.Neg(false, F32.Add(sat, negOne, posZero)), negZero},
		{"min -0 0", F32.Min(false, false, posZero, negZero), negZero},
		{"max -0 0", F32.Max(false, false, negZero, posZero), posZero},
		{"min nan 1", F32.Min(false, false, someNaN, one), one},
		{"max 1 nan", F32.Max(false, false, one, someNaN), one},
		{"max nan nan", F32.Max(false, false, someNaN, someNaN), nan32},
		{"min.NaN 1 nan", F32.Min(false, true, one, someNaN), nan32},
		{"max.ftz tiny -1", F32.Max(true, false, tiny, negOne), posZero},
		{"min -inf 1", F32.Min(false, false, negInf, one), negInf},
		{"min.xorsign", F32.XorSign(F32.Min(false, false, one, two), negOne, two), negOne},
		{"copysign", F32.CopySign(negOne, two), 0xc0000000},
		{"relu nan", F32.Relu(someNaN), nan32},
		{"relu -1", F32.Relu(negOne), posZero},
		{"relu -0", F32.Relu(negZero), posZero},
		{"f64 inf - inf", F64.Sub(rn, F64.inf(), F64.inf()), 0xfff8 << 48},
		{"f64 nan kept", F64.Add(rn, 0x7ff0000000000123, F64.one()), 0x7ff8000000000123},
		{"f64 second nan of a sum", F64.Add(rn, 0x7ff0000000000123, 0xfff0000000000456), 0xfff8000000000456},
		{"f64 second nan of a difference", F64.Sub(rn, 0x7ff0000000000123, 0xfff0000000000456), 0xfff8000000000456},
		{"f64 second nan of a product", F64.Mul(rn, 0x7ff0000000000123, 0xfff0000000000456), 0xfff8000000000456},
		{"f64 second nan of fma", F64.Fma(rn, 0x7ff0000000000123, 0xfff0000000000456, F64.one()), 0xfff8000000000456},
		{"f64 first nan of a quotient", F64.Div(rn, 0x7ff0000000000123, 0xfff0000000000456), 0x7ff8000000000123},
		{"f64 min nan nan", F64.Min(false, false, 0x7ff0000000000123, 0xfff8000000000456), 0xfff8000000000456},
		{"f64 min nan 1", F64.Min(false, false, 0x7ff0000000000123, F64.one()), F64.one()},
		{"min.NaN.xorsign nan -1", F32.XorSign(F32.Min(false, true, someNaN, one), nan32, negOne), nan32},
		{"rcp up to a normal number", F32.Rcp(Mode{Round: RM}, 0xfe800001), 0x80800000},
		{"rcp.ftz up to a normal number", F32.Rcp(Mode{Round: RM, Ftz: true}, 0xfe800001), negZero},
		{"rcp.ftz of 2^126", F32.Rcp(Mode{Ftz: true}, 0x7e800000), minNormal},
		{"rcp.ftz of -inf", F32.Rcp(Mode{Ftz: true}, negInf), negZero},
		{"rcp.ftz of nan", F32.Rcp(Mode{Ftz: true}, someNaN), nan32},
		{"f16 65504 + 16", F16.Add(rn, 0x7bff, 0x4c00), 0x7c00},
		{"f16 nan", F16.Mul(rn, 0x7c00, 0), 0x7fff},
		{"bf16 nan", BF16.Sub(rn, 0x7f80, 0x7f80), 0x7fff},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s = %x, want %x", test.name, test.got, test.want)
		}
	}
}

func TestCompare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, format := range allFormats {
		f := format.f
		for range 20000 {
			a, b := f.pattern(r), f.pattern(r)
			x, y := f.Float(a), f.Float(b)
			less, equal, unordered := f.Compare(false, a, b)
			if less != (x < y) || equal != (x == y) || unordered != (x != x || y != y) {
				t.Fatalf("%s: %x and %x are %v, %v, %v", format.name, a, b, less, equal, unordered)
			}
			lo, hi := f.Float(f.Min(false, false, a, b)), f.Float(f.Max(false, false, a, b))
			if x == x && y == y && (lo != math.Min(x, y) || hi != math.Max(x, y) ||
				math.Signbit(lo) != math.Signbit(math.Min(x, y)) || math.Signbit(hi) != math.Signbit(math.Max(x, y))) {
				t.Fatalf("%s: min and max of %x and %x are %v and %v", format.name, a, b, lo, hi)
			}
		}
	}
	if _, equal, _ := F32.Compare(true, tiny, negTiny); !equal {
		t.Error("with ftz subnormal numbers are equal")
	}
}

func TestTestP(t *testing.T) {
	want := map[string][]uint64{
		"finite":     {posZero, negTiny, maxFinite},
		"infinite":   {posInf, negInf},
		"number":     {posZero, negTiny, maxFinite, posInf, negInf},
		"notanumber": {nan32, someNaN},
		"normal":     {posZero, maxFinite},
		"subnormal":  {negTiny},
	}
	for class, members := range want {
		in := map[uint64]bool{}
		for _, x := range members {
			in[x] = true
		}
		for _, x := range []uint64{posZero, negTiny, maxFinite, posInf, negInf, nan32, someNaN} {
			if F32.TestP(class, x) != in[x] {
				t.Errorf("testp.%s of %x is %v", class, x, !in[x])
			}
		}
	}
}
