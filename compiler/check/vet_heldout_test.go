package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestHeldOut checks shares that hold out none of a few problems, and settings that
// depend on held-out problems.
func TestHeldOut(t *testing.T) {
	for src, want := range map[string]string{
		"task parity { operands = digits(1..6) }":                                                                                         "V026",
		"task parity { operands = digits(1..6)  holdout = 20% }":                                                                          "",
		"task parity { operands = digits(1..6)  holdout = 0% }":                                                                           "",
		"task copy { operands = digits(1..1) }":                                                                                           "V026",
		"task copy { operands = digits(1..1) }\nvet { nothing_held_out = off }":                                                           "",
		"task copy { operands = digits(1..9) }":                                                                                           "",
		"task successor { operands = below(7) }":                                                                                          "", // at least one
		"task copy { operands = digits(1..1) }\ntrain.stop = accuracy(on = train)":                                                        "V026",
		"task copy { operands = digits(1..1) }\ntrain.stop = accuracy()":                                                                  "E0327",
		"task copy { operands = digits(1..9) }\ntrain.stop = accuracy()":                                                                  "",
		"task copy { operands = digits(1..9) }\ntrain.keep = best(at = 1)\n" + tests:                                                      "E0333",
		"task copy { operands = digits(1..9) }\ntrain.keep = best(at = 9)\n" + tests:                                                      "",
		"task copy { operands = digits(1..9) }\ntrain.keep = best()\n" + tests:                                                            "",
		"task copy { operands = digits(1..9)  holdout = 0% }\ntrain.keep = best(at = 1)\n" + tests:                                        "",
		"task mixed { of = [addition, successor]  operands = digits(1..1) }\nmodel.decoder_only { layers = 2 }":                           "V026",
		"task addition { operands = digits(1..1)  examples = 5000 }\nmodel.decoder_only { layers = 2 }\nvet { too_many_examples = off }":  "V026",
		"task addition { operands = digits(1..20)  examples = 5000 }\nmodel.decoder_only { layers = 2 }\nvet { too_many_examples = off }": "",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\n" + src + "\neval { digits = [9]  samples = 10 }\n"}, "a.arith")
		var codes []string
		for _, d := range list {
			codes = append(codes, d.Code)
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

const tests = "eval { during = tests(every = 5steps, digits = [1, 9])   }"

// TestEnoughHeldOut follows the advice to hold out more. The suggested share holds
// problems out, and the next smaller suggestion does not.
func TestEnoughHeldOut(t *testing.T) {
	shares := []int{1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90}
	named := map[int]bool{}
	for code, src := range map[string]string{
		"V026":  "task parity { operands = digits(1..1)  holdout = %d%% }\ntrain.seed = %d\n",
		"E0327": "task parity { operands = digits(1..1)  holdout = %d%% }\ntrain.seed = %d\ntrain.stop = accuracy()\n",
		"E0333": "task copy { operands = digits(1..9)  holdout = %d%% }\ntrain.seed = %d\ntrain.keep = best(at = 1)\n" + tests + "\n",
	} {
		// advice returns the help of the finding for a share, or "".
		advice := func(share, seed int) string {
			_, list := resolve(map[string]string{"a.arith": "arith 2\n" + fmt.Sprintf(src, share, seed) + "eval { digits = [9]  samples = 10 }\n"}, "a.arith")
			for _, d := range list {
				if d.Code == code {
					return d.Help
				}
			}
			return ""
		}
		for seed := range 80 {
			_, more, found := strings.Cut(advice(1, seed), "hold some out: ")
			if !found { // some are held out, or none by any share
				continue
			}
			var percent int
			if _, err := fmt.Sscanf(more, "task.holdout = %d%%", &percent); err != nil {
				t.Fatalf("%s: %q: %v", code, more, err)
			}
			named[percent] = true
			if help := advice(percent, seed); help != "" {
				t.Errorf("%s, seed %d: %d %% are named, and then %q", code, seed, percent, help)
			}
			if less := shares[slices.Index(shares, percent)-1]; advice(less, seed) == "" {
				t.Errorf("%s, seed %d: %d %% are named, and %d are enough", code, seed, percent, less)
			}
		}
	}
	for _, share := range shares[2:] {
		if !named[share] {
			t.Errorf("%d %% are never named", share)
		}
	}
}
