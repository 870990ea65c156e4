package flat

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// TestParseErrors wants errors to say where and what.
func TestParseErrors(t *testing.T) {
	const header = "flat k row\n  out y f32[4]\n"
	for text, want := range map[string]string{
		"kernel k row":                           `line 1: "kernel" stands where a kernel should begin`,
		"flat k":                                 "line 1: flat wants a name and a kind",
		header + "tile t f32[1":                  "line 3: tile wants the form name type[size]",
		header + "load t = 1":                    `line 3: "load" begins no statement`,
		header:                                   "line 3: the kernel has no end",
		header + "cells\n set y[0] 1.0":          "line 4: set wants the form target = value",
		header + "cells\n set y[i] = 1.0 for i":  `line 4: "i" is no axis`,
		header + "cells\n set y[0] = x[0]":       "line 4: column 1: unknown name x",
		header + "cells\n var v = 1.0":           "line 4: var wants a name and a type",
		header + "cells\n var v f64":             `line 4: no type is called "f64"`,
		header + "cells\n fill y[4 = 1.0":        `line 4: fill wants the form target = value`,
		header + "cells\n random y[4] = 3 of 1u": `line 4: "3 of 1u" wants the form stream of example from base`,
		header + "cells\n dot y[0; 1, 1] = y[0; 1, 1] for 1, 1, 1":                      `line 4: dot wants a product`,
		header + "cells\n dot y[0; 1, 1] = y[0; 1, 1] * y[0; 1, 1] for 1, 1":            "has 2 expressions, not 3",
		header + "cells\n dot y[0, 1] = y[0; 1, 1] * y[0; 1, 1] for 1, 1, 1":            "wants the form name[offset; row stride, column stride]",
		header + "cells\n dot y[0; 1, 1] = y[0; 1, 1] * y[0; 1, 1] for 1, 1, 1; less 1": "wants the form most m, n",
		header + "cells\n reduce s = product(y[e]) for e < 4":                           `is no reduction`,
		header + "cells\n for i = 0 to 4\n end":                                         "line 4: for wants the form name = first until end",
		header + "cells\n for i = 0 until 4; alone\n end":                               "wants the form apart with tiles",
		header + "cells\n if 1.0 < 2.0\n set y[0] = 1.0\n":                              "the kernel has no end",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestRunErrors has one mistake a case that only a run can see.
func TestRunErrors(t *testing.T) {
	const form = `flat k row
  in     x f32[N]
  inout  y f32[N]
  scalar N
  grid   g < 2
  tile   t f32[4]
  tile   r u32[4]
cells
  BODY
  set    y[g] = 1.0
end`
	for body, want := range map[string]string{
		"set y[g] = x[N]":                  "g = 0: set y[g] = x[N]: index [3] is outside x[3]",
		"set y[g - 1] = 1.0":               "set y[g - 1] = 1.0: index [-1] is outside y[3]",
		"set y[g] = f32(1 / (g - 1))":      "g = 1: set y[g] = f32(1 / (g - 1)): division by zero",
		"set y[0] = 1.0":                   "cell 2 writes element 0 of y, as cell 1 does",
		"let a = y[0]":                     "cell 2 reads element 0 of y, which cell 1 writes",
		"fill t[N + 2] = 1.0":              "t has 4 elements, not 5",
		"fill t[g - 1] = 1.0":              "size g - 1 is -1",
		"random r[5] = 1 of 1u from 0":     "r has 4 elements, not 5",
		"random r[4] = 1 of 1u from g - 1": "the first word is -1",
		"dot t[0; 2, 1] = x[0; 2, 1] * x[0; 2, 1] for 2, 2, 2":                "element (1, 1) at 3 is outside x[3]",
		"dot t[0; 3, 1] = x[0; 0, 0] * x[0; 0, 0] for 2, 3, 1":                "element (1, 1) at 4 is outside t[4]",
		"dot t[0; 2, 1] = x[0; 0, 0] * x[0; 0, 0] for N - 1, 2, 1; most 1, 2": "2 rows and 2 columns are above the bounds",
		"dot t[0; 2, 1] = x[0; 0, 0] * x[0; 0, 0] for 2, 2, g - 1":            "its sizes are 2, 2, -1",
	} {
		ks, err := Parse(strings.Replace(form, "BODY", body, 1))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		bufs := []kernel.Buffer{{F: make([]float32, 3)}, {F: make([]float32, 3)}}
		s := kernel.Scalars{"N": 3, "seed0": 0, "seed1": 0, "step": 0, "layer": 0}
		if err := Run(ks[0], s, bufs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// TestApartIsReversed wants turns that are apart to show that they are not.
func TestApartIsReversed(t *testing.T) {
	for clause, want := range map[string]float32{"": 3, "; apart": 0} {
		ks, err := Parse("flat k row\nout y f32[1]\ntile t f32[1]\ncells\nfor i = 0 until 4" + clause +
			"\nset t[0] = f32(i)\nend\nset y[0] = t[0]\nend")
		if err != nil {
			t.Fatal(err)
		}
		y := []float32{-1}
		if err := Run(ks[0], nil, []kernel.Buffer{{F: y}}); err != nil || y[0] != want {
			t.Errorf("%q: %v, %v, want %v", clause, y[0], err, want)
		}
	}
}
