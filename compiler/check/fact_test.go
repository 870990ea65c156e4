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
