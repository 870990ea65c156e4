package expr

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// A format is a narrow type as IEEE 754 defines it, read and rounded in float64.
type format struct {
	typ      Type
	exponent int // bits of the fields
	fraction int
	values   []float64 // of non-negative numbers by their bits, infinity last
}

func formats() []*format {
	all := []*format{{typ: BF16, exponent: 8, fraction: 7}, {typ: F16, exponent: 5, fraction: 10}}
	for _, f := range all {
		for bits := 0; bits <= 1<<(f.exponent+f.fraction)-1<<f.fraction; bits++ {
			f.values = append(f.values, f.value(bits))
		}
	}
	return all
}

// value returns the value of a bit pattern, from sign, exponent and fraction.
func (f *format) value(bits int) float64 {
	sign := []float64{1, -1}[bits>>15]
	e, m := bits>>f.fraction&(1<<f.exponent-1), bits&(1<<f.fraction-1)
	bias := 1<<(f.exponent-1) - 1
	switch {
	case e == 1<<f.exponent-1 && m != 0:
		return math.NaN()
	case e == 1<<f.exponent-1:
		return math.Inf(int(sign))
	case e == 0:
		return sign * math.Ldexp(float64(m), 1-bias-f.fraction)
	}
	return sign * math.Ldexp(float64(m+1<<f.fraction), e-bias-f.fraction)
}

// nearest returns the bits of the nearest number, or of the even one of two equally near.
// Infinity takes the place of the next power of two.
func (f *format) nearest(x float64) int64 {
	if x != x {
		return 0x7fff
	}
	sign := int64(0)
	if math.Signbit(x) {
		sign, x = 0x8000, -x
	}
	i, exact := slices.BinarySearch(f.values, x)
	if exact {
		return sign | int64(i)
	}
	lo, hi := f.values[i-1], f.values[i]
	if math.IsInf(hi, 1) {
		hi = math.Ldexp(1, 1<<(f.exponent-1))
	}
	if x-lo < hi-x || x-lo == hi-x && (i-1)%2 == 0 {
		i--
	}
	return sign | int64(i)
}

func TestWiden(t *testing.T) {
	for _, f := range formats() {
		env := Bindings{}
		code := Compile32(envBinder{env}, New(ToF32, NewElem("x", f.typ, Int(0))))
		for bits := range 1 << 16 {
			env["x[0]"] = Value{I: int64(bits)}
			want := Value{F: f.value(bits)}
			if got := code.Run(); !sameBits(F32, got, want) {
				t.Fatalf("%v of %04x is %v, want %v", f.typ, bits, got.F, want.F)
			}
			if got := (Value{F: float64(Widen(f.typ, uint16(bits)))}); !sameBits(F32, got, want) {
				t.Fatalf("Widen of %v %04x is %v, want %v", f.typ, bits, got.F, want.F)
			}
		}
	}
}

// TestRound tries all numbers of each type, the half-way points between neighbours and
// numbers next to them, every exponent, and random bits.
func TestRound(t *testing.T) {
	step := uint64(full.Either(1<<14-1, 1<<11-1))
	for _, f := range formats() {
		var s slot
		x := NewVar("x", F32)
		code, tf32 := Compile32(&s, New(AsU32, New(map[Type]Op{BF16: ToBF16, F16: ToF16}[f.typ], x))), Compile32(&s, New(ToTF32, x))
		try := func(x float32) {
			for _, v := range []float32{x, -x} {
				s.v.F = float64(v)
				if got, want := code.Run().I, f.nearest(s.v.F); got != want {
					t.Fatalf("%v of %v (%08x) is %04x, want %04x", f.typ, v, math.Float32bits(v), got, want)
				}
				if got, want := tf32.Run(), (Value{F: nearestTF32(s.v.F)}); !sameBits(F32, got, want) {
					t.Fatalf("tf32 of %v (%08x) is %v, want %v", v, math.Float32bits(v), got.F, want.F)
				}
			}
		}
		around := func(v float64) {
			bits := math.Float32bits(float32(v))
			for d := range uint32(3) {
				try(math.Float32frombits(bits + d - 1))
			}
		}
		for i, v := range f.values {
			around(v)
			if i > 0 && !math.IsInf(v, 1) {
				around((v + f.values[i-1]) / 2)
			}
		}
		around((f.values[len(f.values)-2] + math.Ldexp(1, 1<<(f.exponent-1))) / 2)
		for bits := uint64(0); bits < 1<<32; bits += step {
			try(math.Float32frombits(uint32(bits)))
		}
		r := rand.New(rand.NewPCG(1, uint64(f.typ)))
		for range full.Either(60_000, 500_000) {
			try(math.Float32frombits(r.Uint32()))
		}
	}
}

// TestRoundTrip: rounding without storing uses no narrow element, and changes only
// numbers with too many bits.
func TestRoundTrip(t *testing.T) {
	for _, f := range formats() {
		text := "f32(" + f.typ.String() + "(x))"
		e := parse(t, text)
		Walk(Expand(e), func(e *Expr) {
			if e.Type.Narrow() {
				t.Errorf("%s has a part of %v when expanded: %v", text, e.Type, e)
			}
		})
		cropped := parse(t, "f32(as_"+f.typ.String()+"(u))")
		var of slot
		code, codeCropped := Compile32(&of, e), Compile32(&of, cropped)
		r := rand.New(rand.NewPCG(2, uint64(f.typ)))
		for range 10_000 {
			x := float64(math.Float32frombits(r.Uint32()))
			of.v = Value{F: x}
			if got, want := code.Run(), (Value{F: f.value(int(f.nearest(x)))}); !sameBits(F32, got, want) {
				t.Fatalf("%s is %v for %v, want %v", text, got.F, x, want.F)
			}
			u := r.Uint32()
			of.v = Value{I: int64(u)}
			if got, want := codeCropped.Run(), (Value{F: f.value(int(u & 0xffff))}); !sameBits(F32, got, want) {
				t.Fatalf("%v of %08x is %v, want %v", f.typ, u, got.F, want.F)
			}
		}
	}
}

// nearestTF32 rounds to a multiple of the tenth bit after the point.
func nearestTF32(x float64) float64 {
	if x == 0 || x != x || math.IsInf(x, 0) {
		return x
	}
	_, e := math.Frexp(x)
	last := math.Ldexp(1, max(e, -125)-11)
	r := math.RoundToEven(x/last) * last
	if math.Abs(r) >= 0x1p128 {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return r
}

// TestNarrowIdentities: Simplify must know that narrow elements have signs and fractions,
// unlike integers that become F32.
func TestNarrowIdentities(t *testing.T) {
	for text, want := range map[string]string{
		"floor(f32(h[0]))": "", "f32(h[0]) + 0.0": "", "floor(f32(i))": "f32(i)", "f32(i) + 0.0": "f32(i)",
		"bf16(1.0)": "", "as_u32(f16(x))": "", "tf32(1.0)": "1.0",
	} {
		if want == "" {
			want = text
		}
		if got := Simplify(parse(t, text)).String(); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}
