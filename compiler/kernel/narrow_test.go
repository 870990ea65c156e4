package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
)

// parsed reads one kernel.
func parsed(t *testing.T, text string) *Kernel {
	t.Helper()
	ks, err := Parse(text)
	if err != nil || len(ks) != 1 {
		t.Fatalf("%d kernels, %v", len(ks), err)
	}
	return ks[0]
}

// TestNarrowDot multiplies numbers of 16 bits. Their products and the sum of the second row do
// not fit in 16 bits; the sum of the first row needs ascending k.
func TestNarrowDot(t *testing.T) {
	for _, c := range []struct {
		typ         string
		one, third  uint16 // 1 and 1 + 2^-7
		large       uint16 // 2^14
		minus, zero uint16
	}{
		{"bf16", 0x3f80, 0x3f81, 0x4680, 0xc680, 0},
		{"f16", 0x3c00, 0x3c08, 0x7400, 0xf400, 0},
	} {
		k := parsed(t, `kernel product matmul
			in a `+c.typ+`[2, 3]
			in b `+c.typ+`[3, 1]
			out y f32[2, 1]
			tile left `+c.typ+`[2, 3]
			set left[i, k] = a[i, k]
			dot y[i, j] = left[i, k] * b[k, j] for i < 2, j < 1, k < 3
			end`)
		y := make([]float32, 2)
		a := []uint16{c.large, c.third, c.minus, c.third, c.third, c.zero}
		run(t, k, nil, Buffer{H: a}, Buffer{H: []uint16{c.large, c.third, c.large}}, Buffer{F: y})
		product := float32(1+0x1p-7) * (1 + 0x1p-7)
		sameBits(t, c.typ, y, []float32{float32(1<<28+product) - 1<<28, (1+0x1p-7)*(1<<14) + product})
	}
}

// TestNarrowSum adds a row of F16, among them a subnormal number, in F32.
func TestNarrowSum(t *testing.T) {
	k := parsed(t, `kernel sum row
		in x f16[4]
		out y f32[]
		reduce s = sum(f32(x[i])) for i < 4
		set y[] = s
		end`)
	y := make([]float32, 1)
	run(t, k, nil, Buffer{H: []uint16{0x7bff, 0x0001, 0xbc00, 0x3800}}, Buffer{F: y})
	sameBits(t, "sum", y, []float32{65504 - 1 + 0.5})
	run(t, k, nil, Buffer{H: []uint16{0x8001, 0x0003, 0x8000, 0x8000}}, Buffer{F: y})
	sameBits(t, "sum", y, []float32{0x1p-23})
}

// TestNarrowStore rounds special values as it stores them, and copies bits as they are, even of
// NaN.
func TestNarrowStore(t *testing.T) {
	k := parsed(t, `kernel store map
		in x f32[N]
		in raw bf16[N]
		out b bf16[N]
		out h f16[N]
		out t f32[N]
		out copy bf16[N]
		scalar N
		tile tile bf16[N]
		set tile[i] = raw[i]
		set b[i] = bf16(x[i]) for i < N
		set h[i] = f16(x[i]) for i < N
		set t[i] = tf32(x[i]) for i < N
		set copy[i] = tile[i] for i < N
		end`)
	inf, nan := math.Inf(1), math.NaN()
	cases := []struct {
		x    float64
		b, h uint16
		t    float64
	}{
		{0, 0, 0, 0}, {math.Copysign(0, -1), 0x8000, 0x8000, math.Copysign(0, -1)},
		{1, 0x3f80, 0x3c00, 1}, {-2, 0xc000, 0xc000, -2},
		{inf, 0x7f80, 0x7c00, inf}, {-inf, 0xff80, 0xfc00, -inf}, {nan, 0x7fff, 0x7fff, nan},
		{1 + 0x1p-8, 0x3f80, 0x3c04, 1 + 0x1p-8},       // half-way to an odd bf16
		{1 + 0x3p-8, 0x3f82, 0x3c0c, 1 + 0x3p-8},       // half-way to an even one
		{1 + 0x1p-11, 0x3f80, 0x3c00, 1},               // half-way to an odd f16 and tf32
		{1 + 0x3p-11, 0x3f80, 0x3c02, 1 + 0x1p-9},      // half-way to even ones
		{1 + 0x1.001p-11, 0x3f80, 0x3c01, 1 + 0x1p-10}, // above half-way
		{65504, 0x4780, 0x7bff, 65504},                 // the largest f16
		{65519.996, 0x4780, 0x7bff, 65504},             // the last that rounds to it
		{65520, 0x4780, 0x7c00, 65536},                 // the first that overflows
		{0x1p100, 0x7180, 0x7c00, 0x1p100},
		{math.MaxFloat32, 0x7f80, 0x7c00, inf},
		{0x1p-14, 0x3880, 0x0400, 0x1p-14},         // the least normal f16
		{0x1p-24, 0x3380, 0x0001, 0x1p-24},         // the least f16
		{0x1p-25, 0x3300, 0x0000, 0x1p-25},         // half of it
		{-0x1.8p-25, 0xb340, 0x8001, -0x1.8p-25},   // three quarters of it
		{0x1p-133, 0x0001, 0, 0x1p-133},            // the least bf16
		{-0x1p-134, 0x8000, 0x8000, -0x1p-134},     // half of it
		{0x1p-149, 0, 0, 0},                        // the least f32
		{0x1.ff8p-15, 0x3880, 0x03ff, 0x1.ff8p-15}, // the largest subnormal f16
		{0x1.ffcp-15, 0x3880, 0x0400, 0x1.ffcp-15}, // half-way to the least normal one
	}
	n := len(cases)
	x, raw := make([]float32, n), make([]uint16, n)
	for i, c := range cases {
		x[i], raw[i] = float32(c.x), uint16(0x7f80+i)
	}
	b, h, f, copied := NewBuffer(expr.BF16, n), NewBuffer(expr.F16, n), NewBuffer(expr.F32, n), NewBuffer(expr.BF16, n)
	run(t, k, Scalars{"N": float64(n)}, Buffer{F: x}, Buffer{H: raw}, b, h, f, copied)
	for i, c := range cases {
		if b.H[i] != c.b || h.H[i] != c.h || float64(f.F[i]) != c.t && c.t == c.t || math.Signbit(float64(f.F[i])) != math.Signbit(c.t) && c.t == c.t {
			t.Errorf("%g becomes bf16 %04x, f16 %04x and tf32 %g, want %04x, %04x, %g", c.x, b.H[i], h.H[i], f.F[i], c.b, c.h, c.t)
		}
	}
	if !slices.Equal(copied.H, raw) {
		t.Errorf("%04x are copied as %04x", raw, copied.H)
	}
}

// TestBuffer wants the bytes of each type of elements, and the same elements back.
func TestBuffer(t *testing.T) {
	for _, c := range []struct {
		typ  expr.Type
		b    Buffer
		want []byte
	}{
		{expr.F32, Buffer{F: []float32{1, -2}}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
		{expr.I32, Buffer{I: []int32{1, -2}}, []byte{1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}},
		{expr.BF16, Buffer{H: []uint16{0x3f80, 0x7fff}}, []byte{0x80, 0x3f, 0xff, 0x7f}},
		{expr.F16, Buffer{H: []uint16{0x3c00}}, []byte{0, 0x3c}},
	} {
		if got := c.b.Bytes(); !slices.Equal(got, c.want) {
			t.Errorf("%v: bytes %x, want %x", c.typ, got, c.want)
		}
		n := len(c.want) / Bytes(c.typ)
		back := NewBuffer(c.typ, n)
		back.SetBytes(c.want)
		again := NewBuffer(c.typ, n)
		again.Copy(back.Clone())
		if got := again.Bytes(); !slices.Equal(got, c.want) || again.len(c.typ) != n {
			t.Errorf("%v: %x come back as %x", c.typ, c.want, got)
		}
	}
}

// TestSplitDot multiplies numbers that are split: 1 + 2^-11 becomes 1 and 2^-11, and the
// product of two low halves is left out.
func TestSplitDot(t *testing.T) {
	k := parsed(t, `kernel product matmul
		in a f32[2, 2]
		in b f32[2, 1]
		out y f32[2, 1]
		dot y[i, j] = a[i, k] * b[k, j] for i < 2, j < 1, k < 2; split
		end`)
	y := make([]float32, 2)
	const x = 1 + 0x1p-11
	run(t, k, nil, Buffer{F: []float32{x, 0, x, -1}}, Buffer{F: []float32{x, 1}}, Buffer{F: y})
	sameBits(t, "split", y, []float32{1 + 0x1p-10, 0x1p-10})
	whole := parsed(t, `kernel product matmul
		in a f32[2, 2]
		in b f32[2, 1]
		out y f32[2, 1]
		dot y[i, j] = a[i, k] * b[k, j] for i < 2, j < 1, k < 2
		end`)
	run(t, whole, nil, Buffer{F: []float32{x, 0, x, -1}}, Buffer{F: []float32{x, 1}}, Buffer{F: y})
	sameBits(t, "whole", y, []float32{1 + 0x1p-10 + 0x1p-22, 0x1p-10 + 0x1p-22})
}

// TestHalves wants the high half to be x rounded to TF32, and the sum of both to be x to 23 bits.
func TestHalves(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		x := math.Float32frombits(g.Uint32())
		if x != x || math.Abs(float64(x)) > 0x1p127 || math.Abs(float64(x)) < 0x1p-100 {
			continue
		}
		high, low := Halves(x)
		if want := float32(expr.Eval32(expr.New(expr.ToTF32, expr.F(float64(x))), nil).F); high != want {
			t.Fatalf("high half of %g is %g, want %g", x, high, want)
		}
		if math.Float32bits(low)&(1<<13-1) != 0 || math.Abs(float64(x)-float64(high)-float64(low)) > 0x1p-23*math.Abs(float64(x)) {
			t.Fatalf("halves of %g are %g and %g", x, high, low)
		}
	}
}
