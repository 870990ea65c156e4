package check

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/dsl/diag"
)

// TestDrawnPositionsAreRead checks which random positions are reported as unused.
func TestDrawnPositionsAreRead(t *testing.T) {
	for _, c := range []struct {
		position, site string
		found          bool
	}{
		{"random(inner = none, max = 256)", "bias = -abs(i - j)", true},
		{"random(inner = none, max = 256)", "mask = pi >= pj", true},
		{"random(inner = none, max = 256)", "bias = -abs(pi - pj)", false},
		{"random(inner = none, max = 256)", "bias = where(i > j, pi, 0)", false},
		{"random(inner = none, max = 256)", "rotary = rope(base = 10000)", false},
		{"random(inner = learned, max = 256)", "bias = -abs(i - j)", false},
		{"random(inner = sinusoidal, max = 256)", "bias = -abs(i - j)", false},
		{"none", "bias = -abs(i - j)", false},
	} {
		src := "arith 2\ntask addition { operands = digits(4..4) }\nmodel.embed.position = " + c.position + "\nmodel.decoder_only {\n  layers = 1\n  self { " + c.site + " }\n}\neval.digits = [4]\n"
		_, list := resolve(map[string]string{"a.arith": src}, "a.arith")
		if list.HasErrors() {
			t.Errorf("%s, %s: %v", c.position, c.site, list)
		}
		if got := slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return d.Code == "V012" }); got != c.found {
			t.Errorf("%s, %s: found is %v", c.position, c.site, got)
		}
	}
}
