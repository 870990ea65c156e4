package expr

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	negZero := math.Copysign(0, -1)
	env := Bindings{
		"x": {F: 0.5}, "y": {F: math.NaN()}, "z": {F: negZero},
		"i": {I: 7}, "j": {I: -2}, "n": {I: math.MinInt32},
		"u": {I: 3}, "v": {I: math.MaxUint32}, "p": {I: 1}, "q": {I: 0},
		"a[7]": {F: 70}, "a[3]": {F: 3}, "a[]": {F: 5}, "a[1, -2]": {F: 9},
	}
	for _, c := range []struct {
		in   string
		want Value
	}{
		{"min(y, x)", Value{F: 0.5}},
		{"min(x, y)", Value{F: math.NaN()}},
		{"max(y, x)", Value{F: 0.5}},
		{"max(x, y)", Value{F: math.NaN()}},
		{"min(z, 0.0)", Value{F: 0}},
		{"min(0.0, z)", Value{F: negZero}},
		{"max(z, 0.0)", Value{F: 0}},
		{"max(0.0, z)", Value{F: negZero}},
		{"-z", Value{F: 0}},
		{"abs(z)", Value{F: 0}},
		{"sqrt(z)", Value{F: negZero}},
		{"floor(-x)", Value{F: -1}},
		{"1.0 / z", Value{F: math.Inf(-1)}},
		{"i32(-1.75)", Value{I: -1}},
		{"f32_bits(-x)", Value{I: 0xbf000000}},
		{"bits_f32(0x7f7fffffu)", Value{F: math.MaxFloat32}},
		{"f32(16777217)", Value{F: 16777216}},
		{"f32(v)", Value{F: 1 << 32}},

		{"i / j", Value{I: -3}},
		{"i % j", Value{I: 1}},
		{"j % i", Value{I: -2}},
		{"n - 1", Value{I: math.MaxInt32}},
		{"-n", Value{I: math.MinInt32}},
		{"abs(n)", Value{I: math.MinInt32}},
		{"n / -1", Value{I: math.MinInt32}},
		{"n * 2", Value{I: 0}},
		{"n >> 31", Value{I: -1}},
		{"1 << 31", Value{I: math.MinInt32}},
		{"v + 1u", Value{I: 0}},
		{"u - 4u", Value{I: math.MaxUint32}},
		{"v * v", Value{I: 1}},
		{"v / u", Value{I: 0x55555555}},
		{"v >> 31", Value{I: 1}},
		{"v << 31u", Value{I: 1 << 31}},
		{"max(u, v)", Value{I: math.MaxUint32}},
		{"!u", Value{I: math.MaxUint32 - 3}},
		{"!i", Value{I: -8}},
		{"i & j | 1", Value{I: 7}},
		{"i ^ j", Value{I: -7}},
		{"as_u32(j)", Value{I: math.MaxUint32 - 1}},
		{"as_i32(v)", Value{I: -1}},

		{"y == y", Value{I: 0}},
		{"y != y", Value{I: 1}},
		{"y <= x", Value{I: 0}},
		{"z == 0.0", Value{I: 1}},
		{"j < i && v > u", Value{I: 1}},
		{"!p || q", Value{I: 0}},
		{"p ^ q", Value{I: 1}},
		{"where(q, x, z)", Value{F: negZero}},
		{"where(p, i, j)", Value{I: 7}},
		{"a[i] + a[i32(a[3])] + a[] + a[i - 6, j]", Value{F: 87}},
	} {
		e := parse(t, c.in)
		for name, got := range map[string]Value{"Eval64": Eval64(e, env), "Eval32": Eval32(e, env)} {
			if !sameBits(e.Type, got, c.want) {
				t.Errorf("%s of %s = %v, want %v", name, c.in, got, c.want)
			}
		}
	}
}

// TestRounding compares with Go's own float32 arithmetic.
func TestRounding(t *testing.T) {
	s, r := newSource(4), newRig()
	x, y := NewVar("x", F32), NewVar("y", F32)
	want := []func(x, y float32) float32{
		func(x, y float32) float32 { return x + y },
		func(x, y float32) float32 { return x - y },
		func(x, y float32) float32 { return x * y },
		func(x, y float32) float32 { return x / y },
		func(x, _ float32) float32 { return float32(math.Sqrt(float64(x))) },
		func(x, y float32) float32 { return float32(x*y) + x },
	}
	code := Compile32(r, New(Add, x, y), New(Sub, x, y), New(Mul, x, y), New(Div, x, y), New(Sqrt, x), New(Add, New(Mul, x, y), x))
	for range 20000 {
		s.fill(r)
		code.Run()
		x, y := float32(r.vars["x"].F), float32(r.vars["y"].F)
		for n, f := range want {
			if got, want := code.At(n), float64(f(x, y)); !sameBits(F32, got, Value{F: want}) {
				t.Fatalf("expression %d of %v and %v = %v, want %v", n, x, y, got.F, want)
			}
		}
	}
}

func TestEval64DoesNotRound(t *testing.T) {
	e := parse(t, "x + 1e-10 - x")
	env := Bindings{"x": {F: 1}}
	if got := Eval64(e, env).F; math.Abs(got-1e-10) > 1e-16 {
		t.Errorf("Eval64 = %v, want about 1e-10", got)
	}
	if got := Eval32(e, env).F; got != 0 {
		t.Errorf("Eval32 = %v, want 0", got)
	}
}

// logger is a Binder that records which leaves are bound and loaded.
type logger struct {
	cells map[string]*Value
	log   []string
}

func (l *logger) Var(name string, t Type) *Value {
	l.log = append(l.log, fmt.Sprintf("bind %s %v", name, t))
	return l.cells[name]
}

func (l *logger) Elem(name string, t Type) func([]int) Value {
	return func(idx []int) Value {
		l.log = append(l.log, fmt.Sprintf("load %s%v %v", name, idx, t))
		return Value{F: float64(idx[0])}
	}
}

func TestCompileBindsAndLoadsOnce(t *testing.T) {
	l := &logger{cells: map[string]*Value{"i": {I: 5}}}
	code := Compile64(l, parse(t, "a[i] * a[i] + a[i - 1]"), parse(t, "a[i]"), parse(t, "2.0"))
	sum := code.Run().F
	*l.cells["i"] = Value{I: 3}
	got := []float64{sum, code.Run().F, code.At(0).F, code.At(1).F, code.At(2).F}
	if diff := cmp.Diff([]float64{29, 11, 11, 3, 2}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	want := []string{"bind i i32", "load a[5] f32", "load a[4] f32", "load a[3] f32", "load a[2] f32"}
	if diff := cmp.Diff(want, l.log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
