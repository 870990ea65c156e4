package check

import (
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
)

// TestFacts compares the facts of an expression with its values in float32.
func TestFacts(t *testing.T) {
	at := []int{0, 1, 2, 3, 7, 11, 100, 4097, 70001, maxLength - 1, maxLength}
	for _, text := range []string{
		"clip(i, 0, 11) + 16777216.0 - 16777216.0", // 12 at 11
		"16777216.0 + clip(j, 0, 3) - 16777215",
		"i * i - j * j",
		"0.1 * i - j / 3",
		"floor(i / 7) * 0.3 + floor(-1e-7 * j)",
		"(i + 1) / (j + 1) - sqrt(i * j)",
		"sqrt(i - j)",
		"1 / (i - j)",
		"i / j",
		"-4 / (0.3 - J)",
		"mod(i - j, 7) * 1e9",
		"3e38 * i - 3e38 * j",
		"clip(3e38 * i - 3e38 * j, -5, floor(j / 2))",
		"abs(127 * i - 127 * j) / I",
		"where(i < j, 1e30 * i, -0.7 * j)",
	} {
		files := map[string]string{"a.arith": "arith 2\ntask successor {}\nmodel.heads = 1\nmodel.decoder.cross.mask = i < 0\nmodel.decoder.cross.bias = " + text}
		spec, list := resolve(files, "a.arith")
		if spec == nil {
			t.Error(textOf(list, files))
			continue
		}
		bias := spec.Model.Decoder.Cross.Bias
		f := newChecker(Options{}).fact(bias)
		for _, i := range at {
			for _, j := range at {
				x := expr.Eval32(bias, cellEnv{vars: map[string]int{"i": i, "j": j, "H": 1, "I": maxLength, "J": maxLength}}).F
				if math.IsNaN(x) && !f.nan || x < f.lo || x > f.hi {
					t.Errorf("%s at i = %d, j = %d is %v, outside of %+v", text, i, j, x, f)
				}
			}
		}
	}
}

// TestWholeOperands: indices and remainders must have equal values on every device.
func TestWholeOperands(t *testing.T) {
	for _, c := range []struct {
		value string
		want  string // part of the message; "": no finding
	}{
		{"w[clip(i, 0, 10) + 16777216.0 - 16777216.0]", ""},
		{"w[clip(i, 0, 11) + 16777216.0 - 16777216.0]", "not always between 0 and 11"},
		{"w[clip(i, 0, 11) * 0.5 * 2]", "is a whole number, but"},
		{"w[floor(clip(i, 0, 119) * 0.1)]", ""},
		{"w[floor(clip(i, 0, 120) * 0.1)]", "not always between 0 and 11"},
		{"w[clip(i * i, 0, 11)]", ""},
		{"w[mod(floor(i / 3), 12)]", ""},
		{"mod(i, floor(H / 2))", ""},
		{"mod(127 * i, 3)", ""},
		{"mod(i * i, 3)", "i * i may be too large"},
		{"mod(mod(i, 3) * mod(i, 3), 3)", ""},
		{"mod(floor(1e10 * i), 3)", "floor(1e10 * i) may be too large"},
		{"mod(clip(floor(1e10 * i), 0, 2147483647), 3)", "may be too large"}, // 2^31 as a float32
		{"mod(clip(floor(1e10 * i), 0, 2000000000), 3)", ""},
		{"mod(floor(s), 3)", "may be NaN"},
		{"mod(clip(floor(s), 0, 9), 3)", ""},
		{"mod(i, 1073741824)", ""},
		{"mod(i, 1073741825)", "larger than 2^30"},
		{"mod(i, j)", "not always positive"},
	} {
		files := map[string]string{"a.arith": "arith 2\ntask successor {}\nbias b {\n  w = learned([12])\n  s = learned([])\n  value = w[0] + s + " +
			c.value + "\n}\nmodel.decoder.cross.bias = b"}
		_, list := resolve(files, "a.arith")
		if len(list) > 1 || (len(list) == 1) != (c.want != "") || len(list) == 1 && !strings.Contains(list[0].Message, c.want) {
			t.Errorf("%s, want %q: %s", c.value, c.want, textOf(list, files))
		}
	}
}

// TestBoundsOfFacts holds bounds at their last values.
func TestBoundsOfFacts(t *testing.T) {
	const most = math.MaxInt32
	for f, want := range map[fact]bool{{lo: -most, hi: most}: true, {lo: -most - 1, hi: most}: false, {lo: -most, hi: most + 1}: false} {
		if f.fits32() != want {
			t.Errorf("%v to %v fits into 32 bits: want %v", f.lo, f.hi, want)
		}
	}
	inf := math.Inf(1)
	for text, want := range map[string]bool{
		"3e38 * i - j":            false, // one operand may be infinite, never both
		"j - 3e38 * i":            false,
		"3e38 * i + j":            false,
		"3e38 * i - 3e38 * j":     true,
		"-3e38 * i - (-3e38 * j)": true,
		"3e38 * i + (-3e38 * j)":  true,
		"-3e38 * i + 3e38 * j":    true,
		"-3e38 * i - 3e38 * j":    false,
		"3e38 * i + 3e38 * j":     false,
		"3e38 * i * (j + 1)":      false,
		"3e38 * i * j":            true,
	} {
		spec, list := resolve(map[string]string{"a.arith": "arith 2\ntask successor {}\nmodel.decoder.cross.mask = i < 0\nmodel.decoder.cross.bias = " + text}, "a.arith")
		if spec == nil {
			t.Fatal(text, list)
		}
		if f := newChecker(Options{}).fact(spec.Model.Decoder.Cross.Bias); f.nan != want {
			t.Errorf("%s may be NaN: %v, want %v: %+v", text, f.nan, want, f)
		}
	}
	for _, c := range []struct {
		a, b   fact
		lo, hi float64
	}{
		{fact{lo: 1, hi: 6}, fact{lo: 2, hi: 3}, 1. / 3, 3},
		{fact{lo: -6, hi: 6}, fact{lo: 2, hi: 3}, -3, 3},
		{fact{lo: 1, hi: 6}, fact{lo: -1, hi: 3}, -inf, inf},
		{fact{lo: 1, hi: 6}, fact{lo: 0, hi: 3}, -inf, inf},
	} {
		if lo, hi := quotients(c.a, c.b); lo != c.lo || hi != c.hi {
			t.Errorf("%+v / %+v is %v to %v, want %v to %v", c.a, c.b, lo, hi, c.lo, c.hi)
		}
	}
	for _, c := range []struct {
		a, b   fact
		lo, hi float64
	}{
		{fact{lo: 0, hi: 1}, fact{lo: 1, hi: inf}, 0, inf},
		{fact{lo: 1, hi: inf}, fact{lo: 0, hi: 1}, 0, inf},
		{fact{lo: -2, hi: 3}, fact{lo: -5, hi: 7}, -15, 21},
		{fact{lo: -3, hi: -2}, fact{lo: -5, hi: -1}, 2, 15},
	} {
		if lo, hi := products(c.a, c.b); lo != c.lo || hi != c.hi {
			t.Errorf("%+v * %+v is %v to %v, want %v to %v", c.a, c.b, lo, hi, c.lo, c.hi)
		}
	}
	args := []fact{{lo: 2, hi: 5, nan: true}, {lo: 3, hi: 9}} // min and max give the other operand for NaN
	for op, want := range map[expr.Op][2]float64{expr.Min: {2, 9}, expr.Max: {3, 9}} {
		e := expr.New(op, expr.NewVar("x", expr.F32), expr.NewVar("y", expr.F32))
		if lo, hi := newChecker(Options{}).extent(e, args); lo != want[0] || hi != want[1] {
			t.Errorf("%v of %+v is %v to %v, want %v", e, args, lo, hi, want)
		}
	}
}

// TestSpan bounds variables by the model, the period of cyclic positions among them.
func TestSpan(t *testing.T) {
	for _, c := range []struct {
		position, name string
		lo, hi         float64
	}{
		{"cyclic(period = 7)", "pi", 0, 6},
		{"cyclic(period = 7)", "pj", 0, 6},
		{"cyclic(period = 7)", "i", 0, maxLength},
		{"none", "pi", 0, maxLength},
		{"none", "h", 0, 3},
		{"none", "H", 4, 4},
		{"none", "J", 1, maxLength},
		{"none", "n", 0, maxLength},
		{"none", "c", 0, 23},
	} {
		ch := newChecker(options(map[string]string{"a.arith": "arith 2\ntask successor {}\nmodel { width = 24\n heads = 4\n embed.position = " + c.position + " }\n"}, "a.arith"))
		ch.merge()
		ch.fold()
		ch.resolveValues()
		if lo, hi := ch.span(c.name); lo != c.lo || hi != c.hi {
			t.Errorf("%s of %s is %v to %v, want %v to %v", c.name, c.position, lo, hi, c.lo, c.hi)
		}
	}
}
