package check

import (
	"strings"
	"testing"
)

// TestHeldOut finds shares that hold out no problem of few, and what goes by them.
func TestHeldOut(t *testing.T) {
	for src, want := range map[string]string{
		"task parity { digits = 1..6 }":                                                                    "V026",
		"task parity { digits = 1..6  holdout = 20% }":                                                     "",
		"task parity { digits = 1..6  holdout = 0% }":                                                      "",
		"task copy { digits = 1..1 }":                                                                      "V026",
		"task copy { digits = 1..1 }\nvet { V026 = off }":                                                  "",
		"task copy { digits = 1..9 }":                                                                      "",
		"task successor { below = 7 }":                                                                     "", // one at least
		"task copy { digits = 1..1 }\ntrain.stop = accuracy(on = train)":                                   "V026",
		"task copy { digits = 1..1 }\ntrain.stop = accuracy()":                                             "E0327",
		"task copy { digits = 1..9 }\ntrain.stop = accuracy()":                                             "",
		"task copy { digits = 1..9 }\ntrain.keep = best(at = 1)\n" + tests:                                 "E0333",
		"task copy { digits = 1..9 }\ntrain.keep = best(at = 9)\n" + tests:                                 "",
		"task copy { digits = 1..9 }\ntrain.keep = best()\n" + tests:                                       "",
		"task copy { digits = 1..9  holdout = 0% }\ntrain.keep = best(at = 1)\n" + tests:                   "",
		"task mixed { of = [addition, successor]  digits = 1..1 }\nmodel.loop { layers = 2 }":              "V026",
		"task addition { digits = 1..1  examples = 5000 }\nmodel.loop { layers = 2 }\nvet { V006 = off }":  "V026",
		"task addition { digits = 1..20  examples = 5000 }\nmodel.loop { layers = 2 }\nvet { V006 = off }": "",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 1\n" + src + "\neval { digits = [9]  samples = 10 }\n"}, "a.arith")
		var codes []string
		for _, d := range list {
			codes = append(codes, d.Code)
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

const tests = "eval { every = 5steps  during = [1, 9] }"
