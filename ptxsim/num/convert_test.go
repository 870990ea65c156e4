package num

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestConvertFloats(t *testing.T) {
	for _, from := range allFormats {
		for _, to := range allFormats {
			t.Run(from.name+"_"+to.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(9, uint64(from.f)<<8|uint64(to.f)))
				for range 400 {
					x := from.f.pattern(r)
					if to.f == F16 && r.IntN(2) == 0 && from.f != F16 { // bring it into range
						x = from.f.pack(Mode{}, F16.unpack(F16.pattern(r)&0x7bff)) ^ r.Uint64N(64)
					}
					m := modes[r.IntN(len(modes))]
					m.Ftz = false
					checkConvert(t, to.f, from.f, m, x)
				}
			})
		}
	}
}

func checkConvert(t *testing.T, to, from Format, m Mode, x uint64) {
	t.Helper()
	got := Convert(to, from, m, x)
	var want uint64
	switch nan, inf := from.classes(x); {
	case nan && m.Sat:
		want = 0
	case nan:
		if passes := to == F64 || from == F64 || to == F32 && from == BF16; !to.IsNaN(got) || !passes && got != to.NaN() {
			t.Fatalf("NaN %x became %x", x, got)
		}
		return
	case inf:
		want = to.finishOracle(m, to.inf(), x&from.sign() != 0)
	case x&from.abs() == 0:
		want = to.finishOracle(m, 0, x != 0)
	default:
		want = to.round(m, from.rational(x))
	}
	if got != want {
		t.Fatalf("%x %+v became %x, want %x", x, m, got, want)
	}
}

// TestEveryHalf converts every pattern of the 16-bit formats to single precision and back.
func TestEveryHalf(t *testing.T) {
	for x := range uint64(1 << 16) {
		for _, f := range []Format{F16, BF16} {
			if f.IsNaN(x) {
				continue
			}
			wide := Convert(F32, f, Mode{}, x)
			if back := Convert(f, F32, Mode{}, wide); back != x {
				t.Fatalf("%x became %x and then %x", x, wide, back)
			}
			if f == BF16 && wide != x<<16 {
				t.Fatalf("bf16 %x became %x", x, wide)
			}
		}
	}
}

func TestConvertFlush(t *testing.T) {
	m := Mode{Ftz: true}
	tests := []struct {
		name      string
		got, want uint64
	}{
		{"f32 to f16", Convert(F16, F32, m, negTiny), 0x8000},
		{"f32 to f16, a subnormal result", Convert(F16, F32, m, 0x33800000), 1},
		{"f64 to f32", Convert(F32, F64, m, math.Float64bits(-0x1p-130)), negZero},
		{"f32 to f64", Convert(F64, F32, m, tiny), 0},
		{"f16 to f32", Convert(F32, F16, m, 1), 0x33800000},
		{"f32 to f64, a NaN", Convert(F64, F32, Mode{}, someNaN), 0xfff82468a0000000},
		{"f32 to f64, a NaN that is flushed", Convert(F64, F32, m, someNaN), 0x7fffffffe0000000},
		{"f64 to f32, a NaN", Convert(F32, F64, m, 0xfff0000020000001), 0xffc00001},
		{"f64 to f16, a NaN", Convert(F16, F64, Mode{}, 0x7ff0040000000000), 0x7e01},
		{"f64 to f32, a NaN, saturated", Convert(F32, F64, Mode{Sat: true}, 0xfff0000020000001), 0},
		{"bf16 to f32, a NaN", Convert(F32, BF16, Mode{}, 0xff81), 0xff810000},
		{"f16 to f64, a NaN", Convert(F64, F16, m, 0x7c01), 0x7ff8040000000000},
		{"f64 to f64, a NaN", Convert(F64, F64, m, 0x7ff0000000000001), 0x7ff8000000000001},
		{"satfinite", F16.FiniteMax(Convert(F16, F32, Mode{}, negInf)), 0xfbff},
		{"satfinite of 1", F16.FiniteMax(0x3c00), 0x3c00},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %x, want %x", test.name, test.got, test.want)
		}
	}
}

func TestToTF32(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 3000 {
		x := uint32(F32.pattern(r))
		if F32.IsNaN(uint64(x)) {
			for round, want := range map[Round]uint32{RN: 0x7fffe000, RZ: 0x7fffe000, RNA: x >> 13 << 13} {
				if got := ToTF32(Mode{Round: round}, round == RZ, x); got != want {
					t.Fatalf("NaN %x became %x with rounding %d, want %x", x, got, round, want)
				}
			}
			continue
		}
		low, v := x&^0x1fff, F32.Float(uint64(x))
		// The neighbours with 10 fraction bits; above the largest lies 2^128.
		next := F32.Float(uint64(low)) + math.Copysign(math.Ldexp(1, max(int(x>>23&0xff), 1)-127-10), v)
		rest, gap := math.Abs(v-F32.Float(uint64(low))), math.Abs(next-F32.Float(uint64(low)))
		for round, up := range map[Round]bool{
			RZ: false, RNA: rest*2 >= gap, RN: rest*2 > gap || rest*2 == gap && low>>13&1 != 0,
		} {
			want := low
			if up && !math.IsInf(v, 0) {
				want += 1 << 13
			}
			if got := ToTF32(Mode{Round: round}, false, x); got != want {
				t.Fatalf("%x with rounding %d became %x, want %x", x, round, got, want)
			}
			if x>>31 == 1 {
				want = 0
			}
			if got := ToTF32(Mode{Round: round}, true, x); got != want {
				t.Fatalf("%x with relu and rounding %d became %x, want %x", x, round, got, want)
			}
		}
	}
}

// integral rounds a rational number to an integer.
func integral(v *big.Rat, r Round) *big.Int {
	floor := new(big.Int).Div(v.Num(), v.Denom()) // Euclidean: down
	if v.IsInt() {
		return floor
	}
	up := new(big.Int).Add(floor, big.NewInt(1))
	switch middle := new(big.Rat).Sub(v, new(big.Rat).SetInt(floor)).Cmp(big.NewRat(1, 2)); {
	case r == RM || r == RZ && v.Sign() > 0:
		return floor
	case r == RP || r == RZ:
		return up
	case middle < 0 || middle == 0 && floor.Bit(0) == 0:
		return floor
	}
	return up
}

func clampInt(v *big.Int, width int, signed bool) uint64 {
	lo, hi := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(width))
	if signed {
		hi.Rsh(hi, 1)
		lo.Neg(hi)
	}
	hi.Sub(hi, big.NewInt(1))
	if v.Cmp(lo) < 0 {
		v = lo
	}
	if v.Cmp(hi) > 0 {
		v = hi
	}
	r := new(big.Int).And(v, new(big.Int).SetUint64(widthMask(width)))
	return r.Uint64()
}

func TestToInt(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for _, format := range allFormats {
		f := format.f
		for range 3000 {
			x := f.pattern(r)
			if r.IntN(2) == 0 { // in the range of integers
				x = f.pack(Mode{}, number{neg: r.IntN(2) == 0, exp: -r.IntN(70), lo: r.Uint64()})
			}
			width, signed, round := 8<<r.IntN(4), r.IntN(2) == 0, Round(r.IntN(4))
			got := f.ToInt(round, false, x, width, signed)
			var want uint64
			switch nan, inf := f.classes(x); {
			case nan && (f == F64 || width == 64):
				want = 1 << (width - 1)
			case nan:
			case inf:
				huge := new(big.Int).Lsh(big.NewInt(1), 80)
				if x&f.sign() != 0 {
					huge.Neg(huge)
				}
				want = clampInt(huge, width, signed)
			default:
				want = clampInt(integral(f.rational(x), round), width, signed)
				if whole := f.Round(Mode{Round: round}, x); f.rational(whole).Cmp(new(big.Rat).SetInt(integral(f.rational(x), round))) != 0 {
					t.Fatalf("%s %x rounded by %d to %x", format.name, x, round, whole)
				}
			}
			if got != want {
				t.Fatalf("%s %x to %d bits, signed %v, rounding %d: %x, want %x", format.name, x, width, signed, round, got, want)
			}
		}
	}
}

func TestFromInt(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	for _, format := range allFormats {
		f := format.f
		for range 1500 {
			x := r.Uint64() >> r.IntN(64)
			width, signed := 8<<r.IntN(4), r.IntN(2) == 0
			m := Mode{Round: Round(r.IntN(4))}
			v := new(big.Int).SetUint64(x & widthMask(width))
			if signed {
				v.SetInt64(SignExtend(width, x))
			}
			got, want := f.FromInt(m, x, width, signed), uint64(0)
			if v.Sign() != 0 {
				want = f.round(m, new(big.Rat).SetInt(v))
			}
			if got != want {
				t.Fatalf("%v to %s, rounding %d: %x, want %x", v, format.name, m.Round, got, want)
			}
		}
	}
}

func TestConvertInt(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 20000 {
		x := r.Uint64() >> r.IntN(64)
		if r.IntN(2) == 0 {
			x = -x
		}
		from, to := 8<<r.IntN(4), 8<<r.IntN(4)
		fromSigned, toSigned := r.IntN(2) == 0, r.IntN(2) == 0
		v := new(big.Int).SetUint64(x & widthMask(from))
		if fromSigned {
			v.SetInt64(SignExtend(from, x))
		}
		name := fmt.Sprintf("%v of %d bits to %d bits, signed %v", v, from, to, toSigned)
		if got, want := ConvertInt(x, from, fromSigned, to, toSigned, true), clampInt(v, to, toSigned); got != want {
			t.Fatalf("%s with sat: %x, want %x", name, got, want)
		}
		want := new(big.Int).And(v, new(big.Int).SetUint64(widthMask(to))).Uint64()
		if got := ConvertInt(x, from, fromSigned, to, toSigned, false); got != want {
			t.Fatalf("%s: %x, want %x", name, got, want)
		}
	}
}
