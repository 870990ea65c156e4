package check

import (
	"math"
	"testing"
)

// TestBounds: the known interval of an expression is the smallest that contains its
// values. A wider one would refuse correct specs.
func TestBounds(t *testing.T) {
	for text, want := range map[string][2]float64{
		"clip(i, 2, 5) + 0.0":                              {2, 5},
		"clip(i, 2, 5) + clip(j, 1, 3) + 0.0":              {3, 8},
		"clip(i, 2, 5) - clip(j, 1, 3) + 0.0":              {-1, 4},
		"-clip(i, 2, 5) + 0.0":                             {-5, -2},
		"clip(i, 2, 5) * (clip(j, 1, 3) - 2) + 0.0":        {-5, 5},
		"clip(i, 2, 5) / clip(j, 1, 4)":                    {0.5, 5},
		"sqrt(clip(i, 4, 9))":                              {2, 3},
		"sqrt(max(clip(i, 0, 9) - 5, 0))":                  {0, 2},
		"abs(clip(i, 2, 5) - 3) + 0.0":                     {0, 2},
		"abs(clip(i, 2, 5)) + 0.0":                         {2, 5},
		"abs(clip(i, 2, 5) - 9) + 0.0":                     {4, 7},
		"min(clip(i, 2, 5), clip(j, 3, 4)) + 0.0":          {2, 4},
		"max(clip(i, 2, 5), clip(j, 3, 4)) + 0.0":          {3, 5},
		"mod(clip(i, 2, 50), clip(j, 3, 4)) + 0.0":         {0, 3},
		"mod(clip(i, 2, 50) - 9, clip(j, 3, 4)) + 0.0":     {0, 3},
		"floor(clip(i, 2, 5) / 2) + 0.0":                   {1, 2},
		"where(i < j, clip(i, 2, 5), clip(j, 1, 3)) + 0.0": {1, 5},
		"I + 0.0":     {1, maxLength},
		"i + 0.0":     {0, maxLength},
		"h + 0.0":     {0, 3},
		"H + 0.0":     {4, 4},
		"0.0 * i":     {0, 0},
		"2.5 + 0 * j": {2.5, 2.5},
	} {
		files := map[string]string{"a.arith": "arith 2\ntask successor {}\nmodel.width = 16\nmodel.heads = 4\nmodel.decoder.cross.bias = " + text}
		spec, list := resolve(files, "a.arith")
		if spec == nil {
			t.Error(textOf(list, files))
			continue
		}
		c := newChecker(Options{})
		c.values["model.heads"] = &value{num: 4}
		f := c.fact(spec.Model.Decoder.Cross.Bias)
		near := func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6*math.Abs(b)+1e-12 }
		if !near(f.lo, want[0]) || !near(f.hi, want[1]) {
			t.Errorf("%s lies between %g and %g, want %g and %g", text, f.lo, f.hi, want[0], want[1])
		}
	}
}
