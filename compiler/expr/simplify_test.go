package expr

import "testing"

func TestSimplify(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"2.0 * 3.0 + x", "x + 6.0"},
		{"0.1 + 0.2", "0.3"},
		{"16777216.0 + 1.0", "1.6777216e+07"},
		{"x + 0.0", "x + 0.0"},
		{"x + -0.0", "x"},
		{"abs(x) + 0.0", "abs(x)"},
		{"x * x + 0.0", "x * x"},
		{"x * y + 0.0", "x * y + 0.0"},
		{"0.0 + f32(i)", "f32(i)"},
		{"x + y + 0.0", "x + y + 0.0"},
		{"x + abs(y) + 0.0", "x + abs(y)"},
		{"x - 0.0", "x"},
		{"x - x", "x - x"},
		{"x * 0.0", "x * 0.0"},
		{"1.0 * x", "x"},
		{"x * -1.0", "-x"},
		{"x / 1.0", "x"},
		{"x / 4.0", "x * 0.25"},
		{"x / 3.0", "x / 3.0"},
		{"x / 1e-45", "x / 1e-45"},
		{"--x", "x"},
		{"-x * -y", "x * y"},
		{"-x * 2.0", "x * -2.0"},
		{"-(x * 2.0)", "x * -2.0"},
		{"-x + y", "y - x"},
		{"x - -y", "x + y"},
		{"abs(-x)", "abs(x)"},
		{"x == x", "x == x"},
		{"x < x", "false"},
		{"min(x, x)", "x"},
		{"floor(f32(i))", "f32(i)"},
		{"bits_f32(f32_bits(x))", "x"},
		{"exp(0.0)", "1.0"},
		{"0.0 / 0.0", "nan"},

		{"i + 3 - 5", "i - 2"},
		{"3 + (i - 3)", "i"},
		{"i - j + j", "i"},
		{"j + i - j", "i"},
		{"i - i", "0"},
		{"i * 0", "0"},
		{"2 * i * 3", "i * 6"},
		{"i / 0", "i / 0"},
		{"7 / 0", "7 / 0"},
		{"-7 / 2", "-3"},
		{"-7 % 2", "-1"},
		{"i % 1", "0"},
		{"-(i - j)", "j - i"},
		{"-(x - y)", "-(x - y)"},
		{"u + 0xfffffff0u + 8u", "u - 8u"},
		{"i + 2147483647 + 1", "i + -2147483648"},
		{"2147483647 + 1", "-2147483648"},
		{"i + 1 == 5", "i == 4"},
		{"i + 1 < 5", "i + 1 < 5"},
		{"i < i", "false"},
		{"i <= i", "true"},
		{"u < 0u", "false"},
		{"0u <= u", "true"},
		{"i <= 2147483647", "true"},
		{"min(3, min(5, i))", "min(i, 3)"},
		{"u & 0u | v", "v"},
		{"(u & 12u) & 10u", "u & 8u"},
		{"i ^ i", "0"},
		{"i ^ -1", "!i"},
		{"u << 0u", "u"},

		{"p && true || false", "p"},
		{"p && !p", "false"},
		{"p || !p", "true"},
		{"p && (p && q)", "p && q"},
		{"p && q && (q && p)", "p && q"},
		{"(p || q) || (i < j || q)", "p || q || i < j"},
		{"p && (q || p)", "p && (q || p)"},
		{"(u & v) & u", "u & v"},
		{"p == false", "!p"},
		{"!(i < j)", "j <= i"},
		{"!(x < y)", "!(x < y)"},
		{"!(x == y)", "x != y"},
		{"where(true, x, y)", "x"},
		{"where(1 < 0, x, y)", "y"},
		{"where(p, x, x)", "x"},
		{"where(!p, x, y)", "where(p, y, x)"},
		{"where(p, where(p, x, y), z)", "where(p, x, z)"},
		{"where(p, q, false)", "p && q"},
		{"where(p, false, true)", "!p"},
		{"a[i + 1 - 1]", "a[i]"},
	} {
		if got := Simplify(parse(t, c.in)).String(); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// TestLongChains simplifies conditions of very many parts, whose order decides how deep they are.
func TestLongChains(t *testing.T) {
	left, right := NewVar("p", Bool), NewVar("p", Bool)
	for n := range 20_000 {
		c := New(Lt, NewVar("i", I32), Int(int64(n)))
		left, right = New(And, left, c), New(And, c, right)
	}
	for _, e := range []*Expr{left, right} {
		if got := Simplify(e); got.Op != And || got.Args[0].Op == got.Args[1].Op {
			t.Errorf("%v && %v", got.Args[0].Op, got.Args[1].Op)
		}
	}
}

func TestSimplifyKeepsBits(t *testing.T) {
	s, r := newSource(1), newRig()
	for range 2000 {
		typ := Type(s.IntN(4))
		e := s.expr(typ, 5)
		simple := Simplify(e)
		if err := Typecheck(simple); err != nil || simple.Type != typ {
			t.Fatalf("%v\nbecame %v\nof type %v: %v", e, simple, simple.Type, err)
		}
		if again := Simplify(simple); !Equal(simple, again) {
			t.Errorf("%v\nbecame %v\n  then %v", e, simple, again)
		}
		before, after := Compile32(r, e), Compile32(r, simple)
		for range 20 {
			s.fill(r)
			if a, b := before.Run(), after.Run(); !sameBits(typ, a, b) {
				t.Fatalf("%v = %v\n%v = %v", e, a, simple, b)
			}
		}
	}
}
