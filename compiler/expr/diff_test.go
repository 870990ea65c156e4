package expr

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestDiff compares the derivative of every op on F32 operands with central differences,
// away from kinks.
func TestDiff(t *testing.T) {
	tested := map[Op]bool{ToBF16: true, ToF16: true, ToTF32: true, ToF32: true} // steps, which TestDiffForms covers
	for _, text := range []string{
		"x + y", "y - x", "x - x * y", "x * x * y", "x / y", "y / x", "-x",
		"abs(x)", "abs(-x)", "min(x, y)", "min(y, x * x)", "max(x, y)", "max(y, x * x)", "max(x, 0.0)",
		"where(x < 0.0, x * x, y * x)", "where(y < x, y, x)", "where(p, y, sqrt(x * x))",
		"floor(x) * x", "sqrt(x * x + 1.0)", "bits_f32(f32_bits(y)) * x", "f32(i32(x)) * x", "f32(i) * x",
		"exp(x)", "exp(x * x * y)", "log(abs(x))", "log(1.0 + y * y * exp(x))",
		"tanh(x)", "tanh(x * y) * x", "sigmoid(x)", "x * sigmoid(1.702 * x)", "erf(x)", "0.5 * x * (1.0 + erf(x * 0.70710677))",
		"softplus(x)", "softplus(x * y) * x", "sin(x)", "cos(x)", "sin(x * y) * cos(x / 2.0)",
		"a[i] * x + a[0]",
		"fma(x * y, sin(x), x)",
	} {
		e := parse(t, text)
		x := NewVar("x", F32)
		d, back := Diff(e, x), pulledBack(e, x)
		Walk(e, func(e *Expr) { tested[e.Op] = true })
		for _, at := range []float64{-2.3, -0.71, 0.37, 0.9, 1.6} {
			for _, y := range []float64{-1.3, 0.45} {
				env := Bindings{"y": {F: y}, "p": {}, "i": {I: 3}, "a[3]": {F: 1.25}, "a[0]": {F: -4}}
				f := func(v float64) float64 { env["x"] = Value{F: v}; return Eval64(e, env).F }
				const h = 1e-5
				want := (f(at+h) - f(at-h)) / (2 * h)
				env["x"] = Value{F: at}
				for _, d := range []*Expr{d, back} {
					if got := Eval64(d, env).F; !(math.Abs(got-want) <= 1e-7*(1+math.Abs(want))) {
						t.Errorf("d(%s)/dx at x = %v, y = %v is %v, want %v: %v", text, at, y, got, want, d)
					}
				}
			}
		}
	}
	for op := Add; op < numOps; op++ {
		if derivatives[op] != nil && !tested[op] {
			t.Errorf("the derivative of %v is not tested", op)
		}
	}
}

// pulledBack returns the derivative from Pullback with respect to a leaf.
func pulledBack(e, leaf *Expr) *Expr {
	for _, c := range Pullback(e, F(1)) {
		if Equal(c.Leaf, leaf) {
			return c.Value
		}
	}
	return F(0)
}

// TestPullback checks the derivatives of all leaves, their order, and that they share
// nodes.
func TestPullback(t *testing.T) {
	ct := NewVar("ct", F32)
	cs := Pullback(parse(t, "a[0] * max(a[1] * x + a[2], 0.0) + f32(i) * y"), ct)
	want := []string{
		"a[0] = ct * max(a[1] * x + a[2], 0.0)",
		"a[1] = where(0.0 < a[1] * x + a[2], a[0] * ct * x, 0.0)",
		"x = where(0.0 < a[1] * x + a[2], a[1] * (a[0] * ct), 0.0)",
		"a[2] = where(0.0 < a[1] * x + a[2], a[0] * ct, 0.0)",
		"y = f32(i) * ct",
	}
	var got []string
	for _, c := range cs {
		got = append(got, c.Leaf.String()+" = "+c.Value.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if cs[1].Value.Args[0] != cs[3].Value.Args[0] {
		t.Error("two leaves have what they share twice")
	}
}

// TestPullbackOfBranches: the derivative through a branch that is not taken is 0, even if
// 0 times its value is NaN.
func TestPullbackOfBranches(t *testing.T) {
	env := Bindings{"x": {F: 0}, "y": {F: 2}, "p": {}, "i": {I: 3}}
	for text, want := range map[string]float64{
		"where(0.0 < x, y * log(x), y)":                       1,
		"where(p, y, y * log(x))":                             math.Inf(-1),
		"where(p, y * log(x), 3.0)":                           0,
		"max(where(0.0 < x, log(x) * y, y), 0.0) * 2.0":       2,
		"where(p, where(p, y, 1.0) / x, where(p, y / x, y))":  1,
		"abs(where(p, y / x, y)) + where(i < 3, y / x, -1.0)": 1,
	} {
		if got := Eval64(pulledBack(parse(t, text), NewVar("y", F32)), env).F; got != want {
			t.Errorf("d(%s)/dy is %v, want %v", text, got, want)
		}
	}
}

func TestDiffForms(t *testing.T) {
	for _, c := range []struct{ in, leaf, want string }{
		{"y * 2.0", "x", "0.0"},
		{"x", "x", "1.0"},
		{"x + y", "x", "1.0"},
		{"x * y", "x", "y"},
		{"max(x, 0.0)", "x", "where(0.0 < x, 1.0, 0.0)"},
		{"abs(x)", "x", "where(x < 0.0, -1.0, 1.0)"},
		{"tanh(x)", "x", "1.0 - tanh(x) * tanh(x)"},
		{"floor(x) + f32(i32(x)) + bits_f32(f32_bits(x))", "x", "0.0"},
		{"f32(i - j) * x", "x", "f32(i - j)"},
		{"f32(bf16(x * y)) + f32(f16(x)) * 3.0", "x", "y + 3.0"},
		{"tf32(x * x)", "x", "x + x"},
		{"-a[0] * log(1.0 + a[1] * f32(abs(i - j)))", "a[0]", "-log(a[1] * f32(abs(i - j)) + 1.0)"},
		{"-a[0] * log(1.0 + a[1] * f32(abs(i - j)))", "a[1]", "-a[0] * (f32(abs(i - j)) / (a[1] * f32(abs(i - j)) + 1.0))"},
		{"a[i] * a[j] * a[i]", "a[j]", "a[i] * a[i]"},
		{"where(i < j, x, y * x)", "x", "where(i < j, 1.0, y)"},
	} {
		if got := Diff(parse(t, c.in), parse(t, c.leaf)).String(); got != c.want {
			t.Errorf("d(%s)/d%s\n got %s\nwant %s", c.in, c.leaf, got, c.want)
		}
	}
}
