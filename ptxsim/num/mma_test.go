package num

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// modelStep models a tensor core in rational numbers: it cuts every term to a multiple of a unit,
// which depends on the greatest exponent.
func modelStep(kept int, fin, fc Format, c uint64, a, b []uint64) uint64 {
	exponent := func(f Format, x uint64) int { // of a nonzero factor
		_, e := math.Frexp(f.Float(x))
		return max(e-1, f.normal())
	}
	type modelTerm struct {
		v *big.Rat
		e int
	}
	var terms []modelTerm
	for k := range a {
		v := new(big.Rat).Mul(fin.rational(a[k]), fin.rational(b[k]))
		if v.Sign() != 0 {
			terms = append(terms, modelTerm{v, exponent(fin, a[k]) + exponent(fin, b[k])})
		}
	}
	if v := fc.rational(c); v.Sign() != 0 {
		terms = append(terms, modelTerm{v, exponent(fc, c)})
	}
	top := -126
	for _, t := range terms {
		top = max(top, t.e)
	}
	sum := new(big.Int)
	for _, t := range terms {
		v := scale(new(big.Rat).Set(t.v), kept-top)
		sum.Add(sum, new(big.Int).Quo(v.Num(), v.Denom()))
	}
	if sum.Sign() == 0 {
		return 0
	}
	v := scale(new(big.Rat).SetInt(sum), top-kept)
	if fc == F16 {
		return fc.round(Mode{}, v)
	}
	if limit := scale(big.NewRat(1, 1), 128); new(big.Rat).Abs(v).Cmp(limit) >= 0 {
		return fc.signedInf(v.Sign() < 0)
	}
	return fc.round(Mode{Round: RZ}, v)
}

// modelDot adds the products in steps. ok is false if a step overflows.
func modelDot(arch, step int, fin, fc Format, c uint64, a, b []uint64) (r uint64, ok bool) {
	kept := 24
	if arch >= 90 {
		kept, step = 25, len(a)
	}
	for k := 0; k < len(a); k += step {
		if c = modelStep(kept, fin, fc, c, a[k:k+step], b[k:k+step]); fc.IsInf(c) {
			return c, false
		}
	}
	return c, true
}

// draw returns a random finite factor.
func (f Format) draw(r *rand.Rand) uint64 {
	for {
		x := f.pattern(r)
		if r.IntN(3) > 0 { // of ordinary size
			x = x&^f.inf() | uint64(f.bias()+r.IntN(9)-4)<<formats[f].frac
		}
		if x&f.inf() != f.inf() {
			return x
		}
	}
}

func narrow[T uint16 | uint32](xs []uint64) []T {
	var r []T
	for _, x := range xs {
		r = append(r, T(x))
	}
	return r
}

func dot[T uint16 | uint32](arch int, fin, fc Format, c uint64, a, b []T) uint64 {
	var x, y [mostProducts]factor
	return tensorCoreOf(arch, fin).dot(fin, fc, c, factors(fin, a, x[:0]), factors(fin, b, y[:0]))
}

// Dot16 computes an element of mma with 16-bit operands (bf16 if bf) and single precision
// accumulators: c plus the dot product of a and b.
func Dot16(arch int, bf bool, c uint32, a, b []uint16) uint32 {
	if bf {
		return uint32(dot(arch, BF16, F32, uint64(c), a, b))
	}
	return uint32(dot(arch, F16, F32, uint64(c), a, b))
}

// Dot16F16 computes an element of mma with half precision operands and accumulators.
func Dot16F16(arch int, c uint16, a, b []uint16) uint16 {
	return uint16(dot(arch, F16, F16, uint64(c), a, b))
}

// DotTF32 computes an element of mma with tf32 operands, whose low 13 bits are ignored.
func DotTF32(arch int, c uint32, a, b []uint32) uint32 {
	return uint32(dot(arch, F32, F32, uint64(c), a, b))
}

func TestTensorCores(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for range 1500 {
		arch := []int{80, 86, 89, 90}[r.IntN(4)]
		k := 8 << r.IntN(2)
		draw := func(f Format, n int, mask uint64) []uint64 {
			var xs []uint64
			for range n {
				xs = append(xs, f.draw(r)&mask)
			}
			return xs
		}
		check := func(name string, step int, fin, fc Format, c uint64, a, b []uint64, got uint64) {
			t.Helper()
			if want, ok := modelDot(arch, step, fin, fc, c, a, b); ok && got != want {
				t.Fatalf("sm_%d %s %x + %x * %x = %x, want %x", arch, name, c, a, b, got, want)
			} else if !ok && got&fc.inf() != fc.inf() {
				t.Fatalf("sm_%d %s %x + %x * %x = %x, but it overflows", arch, name, c, a, b, got)
			}
		}
		c, h := F32.draw(r), F16.draw(r)
		a, b := draw(F16, k, 0xffff), draw(F16, k, 0xffff)
		check("f16", 8, F16, F32, c, a, b, uint64(Dot16(arch, false, uint32(c), narrow[uint16](a), narrow[uint16](b))))
		check("f16 to f16", 8, F16, F16, h, a, b, uint64(Dot16F16(arch, uint16(h), narrow[uint16](a), narrow[uint16](b))))
		a, b = draw(BF16, k, 0xffff), draw(BF16, k, 0xffff)
		check("bf16", 8, BF16, F32, c, a, b, uint64(Dot16(arch, true, uint32(c), narrow[uint16](a), narrow[uint16](b))))
		a, b = draw(F32, k/2, 0xffffe000), draw(F32, k/2, 0xffffe000)
		dirty := narrow[uint32](a)
		for i := range dirty {
			dirty[i] |= r.Uint32N(1 << 13) // ignored by tf32
		}
		check("tf32", 4, F32, F32, c, a, b, uint64(DotTF32(arch, uint32(c), dirty, narrow[uint32](b))))
	}
}

func repeat(x uint16, n int) []uint16 {
	var r []uint16
	for range n {
		r = append(r, x)
	}
	return r
}

// TestTensorCoreWidth checks which bits survive next to a large accumulator.
func TestTensorCoreWidth(t *testing.T) {
	const one, minusOne, huge, inf = 0x3c00, 0xbc00, 0x7bff, 0x7c00
	ones := repeat(one, 16)
	tests := []struct {
		name string
		arch int
		c    float32
		a    []uint16
		want float32
	}{
		{"2^24 + 16 ones", 80, 1 << 24, ones, 1<<24 + 16},
		{"2^25 + 16 ones are cut", 80, 1 << 25, ones, 1 << 25},
		{"2^25 + 16 ones", 90, 1 << 25, ones, 1<<25 + 16},
		{"2^26 + 16 ones are cut", 90, 1 << 26, ones, 1 << 26},
		{"towards zero", 90, 1 << 24, append(repeat(one, 1), repeat(0, 15)...), 1 << 24},
		{"towards zero from below", 90, -1 << 24, append(repeat(minusOne, 1), repeat(0, 15)...), -1 << 24},
		{"nothing", 80, 0, repeat(0, 16), 0},
		{"large products", 80, 0, repeat(huge, 16), 16 * 65504},
		{"cancelled", 80, 8, append(repeat(minusOne, 8), repeat(one, 8)...), 8},
		{"infinite", 80, 1, append(repeat(inf, 1), repeat(one, 15)...), float32(math.Inf(1))},
	}
	for _, test := range tests {
		if got := Dot16(test.arch, false, math.Float32bits(test.c), test.a, ones); got != math.Float32bits(test.want) {
			t.Errorf("%s on sm_%d = %v, want %v", test.name, test.arch, math.Float32frombits(got), test.want)
		}
	}
	if got := Dot16(80, false, math.Float32bits(1), repeat(inf, 16), repeat(0, 16)); got != nan32 {
		t.Errorf("infinity * 0 = %x", got)
	}
	if got := Dot16(80, false, negInf, append(repeat(inf, 1), ones[1:]...), ones); got != nan32 {
		t.Errorf("infinity - infinity = %x", got)
	}
	if got := Dot16(80, true, 0, repeat(0x7f7f, 16), repeat(0x7f7f, 16)); got != posInf {
		t.Errorf("too large a sum = %x", got)
	}
	small := []uint16{0x1c80, 0, 0, 0, 0, 0, 0, 0} // 2^-70
	if got := Dot16(80, true, 0, small, small); got != 1<<9 {
		t.Errorf("2^-140 = %x", got)
	}
	if got := Dot16F16(80, 0x7bff, ones, ones); got != 0x7c00-1 {
		t.Errorf("65504 + 8 + 8 in halves = %x, which rounds back to 65504", got)
	}
}

// TestMma multiplies matrices, and compares each element with its dot product.
func TestMma(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 2))
	const m, n, k = 16, 8, 16
	for _, fc := range []Format{F16, F32} {
		var a, b, c, want []uint64
		for range m * k {
			a = append(a, F16.draw(r))
		}
		for range n * k {
			b = append(b, F16.draw(r))
		}
		for i := range m * n {
			c = append(c, fc.draw(r))
			row, col := a[i/n*k:i/n*k+k], b[i%n*k:i%n*k+k]
			if fc == F16 {
				want = append(want, uint64(Dot16F16(80, uint16(c[i]), narrow[uint16](row), narrow[uint16](col))))
			} else {
				want = append(want, uint64(Dot16(80, false, uint32(c[i]), narrow[uint16](row), narrow[uint16](col))))
			}
		}
		Mma(80, F16, fc, k, a, b, c)
		if !slices.Equal(c, want) {
			t.Errorf("the product is %x, want %x", c, want)
		}
	}
}

// TestWmma compares wmma with steps of mma: for tf32, wmma has two steps of 4 products on every
// architecture; for other factors it equals mma.
func TestWmma(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 3))
	for range 300 {
		var a, b []uint64
		for range 16 {
			a, b = append(a, F16.draw(r)), append(b, F16.draw(r))
		}
		c := F32.draw(r)
		for _, arch := range []int{80, 90} {
			got := []uint64{c}
			Wmma(arch, F16, F32, 16, a, b, got)
			want := []uint64{c}
			if Mma(arch, F16, F32, 16, a, b, want); !slices.Equal(got, want) {
				t.Fatalf("sm_%d f16 %x + %x * %x = %x, want %x", arch, c, a, b, got, want)
			}
		}
		a, b = nil, nil
		for range 8 {
			a, b = append(a, F32.draw(r)), append(b, F32.draw(r))
		}
		for _, arch := range []int{80, 90} {
			got := []uint64{c}
			Wmma(arch, F32, F32, 8, a, b, got)
			want := []uint64{c}
			Mma(arch, F32, F32, 4, a[:4], b[:4], want)
			if Mma(arch, F32, F32, 4, a[4:], b[4:], want); !slices.Equal(got, want) {
				t.Fatalf("sm_%d tf32 %x + %x * %x = %x, want %x", arch, c, a, b, got, want)
			}
		}
	}
}

func TestOtherDotProducts(t *testing.T) {
	tests := []struct {
		name      string
		got, want uint64
	}{
		{"int", uint64(DotInt(false, 10, []int32{-128, 127}, []int32{255, 2})), 0xffffffff & (10 - 128*255 + 254 + 1<<32)},
		{"int wraps", uint64(DotInt(false, 1<<31-1, []int32{1}, []int32{1})), 1 << 31},
		{"int clamps", uint64(DotInt(true, 1<<31-1, []int32{1}, []int32{1})), 1<<31 - 1},
		{"int clamps below", uint64(DotInt(true, 1<<31, []int32{-1}, []int32{1})), 1 << 31},
		{"xor", uint64(DotB1(false, 5, []uint32{0xff, 1}, []uint32{0x0f, 1})), 9},
		{"and", uint64(DotB1(true, 5, []uint32{0xff, 1}, []uint32{0x0f, 1})), 10},
		{"f64", DotF64(math.Float64bits(1), []uint64{math.Float64bits(2), math.Float64bits(-3)}, []uint64{math.Float64bits(4), math.Float64bits(5)}), math.Float64bits(-6)},
		// Consecutive fma: the last bit of the first product is lost.
		{"f64 in order", DotF64(0, []uint64{math.Float64bits(0x1p53), math.Float64bits(1), math.Float64bits(-0x1p53)}, []uint64{math.Float64bits(1), math.Float64bits(1), math.Float64bits(1)}), 0},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s = %x, want %x", test.name, test.got, test.want)
		}
	}
}
