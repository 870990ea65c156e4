package lower_test

import (
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/internal/full"
)

// sites are masks and biases of attentions: narrow windows of all slopes and
// others, with closed rows, and biases that fail at closed cells.
var sites = []struct{ name, mask, bias string }{
	{"slope 1", "j <= i && i - 2 <= j", ""},
	{"slope 1 with a bias", "j <= i + 1 && i - 1 <= j", "f32((i - j) * (h + 1)) / 8.0"},
	{"slope 2", "2*i - 1 <= j && j <= 2*i + 1", ""},
	{"slope -1", "abs(J - 2 - i - j) <= 1", "0.1 * f32(j)"},
	{"slope -2", "J - 4 - 2*i <= j && j <= J - 1 - 2*i", ""},
	{"slope 0", "j < 3 && 0 <= j", ""},
	{"all but the diagonal of a window", "j <= i + 2 && i - 2 <= j && j != i", "f32(6 / (i - j))"},
	{"a window of one head", "j <= i && i - 1 <= j && h == 1", ""},
	{"a window far behind", "j <= i - 3 && i - 4 <= j", ""},
	{"causal", "j <= i", "f32(6 / (1 + i - j))"},
	{"before", "j < i", ""},
	{"wide", "j <= i && i - j < 12", ""},
	{"steep and wide", "J - 20 - 2*i <= j && j <= J - 1 - 2*i", ""},
	{"steep, wide and soon beyond all keys", "2*i - 3 <= j && j < 2*i + 9", ""},
	{"scattered", "(i + j) % 3 != 1 && i % 4 != 2", "f32(h + 1) / f32(1 + abs(i - j))"},
	{"by head", "h <= j && j <= i + 2*h", ""},
	{"closed", "5 <= j && j <= 3", ""},
}

func parseSite(t *testing.T, text string, params map[string]bool) *expr.Expr {
	t.Helper()
	e, err := expr.Parse(text, func(name string) (expr.Type, bool) {
		if params[name] {
			return expr.F32, true
		}
		return expr.I32, true
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestAttentionKernels runs the functions of a model with each site, with sizes
// below the window's and beyond a block of queries.
func TestAttentionKernels(t *testing.T) {
	shapes := []kernel.Scalars{
		{"B": 2, "T": 1, "S": 1, "C": 1, "P": 0, "N": 1},
		{"B": 1, "T": 2, "S": 3, "C": 2, "P": 0, "N": 1},
		{"B": 2, "T": 7, "S": 11, "C": 7, "P": 0, "N": 1},
		{"B": 1, "T": 37, "S": 34, "C": 37, "P": 0, "N": 1},
	}
	for _, s := range full.Some(sites, 9) {
		for _, learned := range full.Some([]bool{true, false}, 1) {
			name := s.name
			change := func(spec *check.Spec) {
				site := &check.Site{Mask: parseSite(t, s.mask, nil), Scale: 0.5, Dropout: 0.25}
				if s.bias != "" {
					site.Bias = parseSite(t, s.bias, nil)
				}
				if learned {
					site.Bias, site.Params = network(t, s.bias)
				}
				cross := *site
				spec.Model.Decoder.Layers = 1
				spec.Model.Decoder.Self, spec.Model.Decoder.Cross = site, &cross
			}
			if learned {
				name += ", learned"
			}
			t.Run(name, func(t *testing.T) { runAll(t, build(t, variant{name, change}), shapes, "attention") })
		}
	}
}

// network returns a bias with all kinds of parameters. A layer of two units reads a distance on
// a learned scale, and a table of distances is added to another bias.
func network(t *testing.T, bias string) (*expr.Expr, []check.BiasParam) {
	text := "w2[h, 0] * max(w1[0] * log(1.0 + abs(c[] * f32(i - j))), 0.0) + " +
		"w2[h, 1] * max(w1[1] * log(1.0 + abs(c[] * f32(i - j))) / (1.0 + f32(i)), 0.0) + far[h, max(min(i - j, 2), -2) + 2]"
	if bias != "" {
		text += " + " + bias
	}
	init := check.Init{Kind: "uniform", A: -1, B: 1}
	params := []check.BiasParam{{Name: "w1", Shape: []int{2}, Init: init}, {Name: "w2", Shape: []int{2, 2}, Init: init},
		{Name: "far", Shape: []int{2, 5}, Init: init}, {Name: "c", Init: init}}
	return parseSite(t, text, map[string]bool{"w1": true, "w2": true, "far": true, "c": true}), params
}
