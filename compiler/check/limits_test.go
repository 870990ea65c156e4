package check

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/dsl"
)

// TestLimits finds tasks that are not compiled yet for one of the two kinds of model, and not
// their neighbours.
func TestLimits(t *testing.T) {
	const (
		loop    = "\nmodel.decoder_only { layers = 1 }"
		decoder = "a decoder-only model: model.decoder_only"
	)
	for src, want := range map[string]string{
		"task or { operands = digits(1..3) }":             "E0401 task or is not compiled yet, today: " + decoder,
		"task subtraction { operands = below(1k) }":       "E0401 task subtraction is not compiled yet, today: " + decoder,
		"task file { path = \"p\" }":                      "E0401 task file is not compiled yet, today: " + decoder,
		"task file { path = \"p\"  holdout = 0% }" + loop: "",
		"task copy {}":                                                              "",
		"task addition { base = 16 }" + loop:                                        "E0402 task.base = 16 is not compiled yet, today: a base of at most 10",
		"task addition { base = 11 }" + loop:                                        "E0402 task.base = 11 is not compiled yet, today: a base of at most 10",
		"task addition { base = 10 }" + loop:                                        "",
		"task addition { base = 11 }":                                               "",
		"task addition { hints = cyclic }":                                          "E0403 task.hints = cyclic is not compiled yet, today: " + decoder,
		"task addition { hints = cyclic }" + loop:                                   "",
		"task addition { random_pad = 1% }":                                         "E0404 task.random_pad = 1% is not compiled yet, today: pad = zero(to = …)",
		"task addition { random_pad = 1% }" + loop:                                  "",
		"task addition { examples = 1  holdout = 0% }":                              "E0405 task.examples = 1 is not compiled yet, today: train.budget = 20Mexamples, which says for how long to train",
		"task addition { operands = below(2)  examples = 1 }" + loop:                "E0405 task.examples = 1 is not compiled yet, today: train.budget = 20Mexamples, which says for how long to train",
		"task addition { examples = 1  holdout = 0% }" + loop:                       "",
		"task addition { loss_on = all }":                                           "E0406 task.loss_on = all is not compiled yet, today: loss_on = answer",
		"task addition { loss_on = all }" + loop:                                    "",
		"task addition { vocabulary = used  hints = cyclic }" + loop:                "E0407 task.vocabulary = used is not compiled yet, today: vocabulary = full, or no hints and no random_pad",
		"task addition { vocabulary = used  random_pad = 1% }" + loop:               "E0407 task.vocabulary = used is not compiled yet, today: vocabulary = full, or no hints and no random_pad",
		"task addition { vocabulary = used }" + loop:                                "",
		"task addition { vocabulary = used }":                                       "",
		"task sum { operands = digits(1..3)  pad = zero(to = 8, step = 1) }":        "",
		"task sum { operands = digits(1..3)  pad = zero(to = 8, step = 1) }" + loop: "E0408 task sum is not compiled yet, today: an encoder-decoder",
	} {
		spec, list := resolve(map[string]string{"a.arith": "arith 2\n" + src + "\n", "p": "a=1\nb=2\n"}, "a.arith")
		var all []string
		for _, d := range withLimits(spec, list) {
			all = append(all, d.Code+" "+d.Message+", "+strings.ReplaceAll(d.Help, "\n", " "))
		}
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// TestCharge counts up to the most operations of a training, and of all, and reports once.
func TestCharge(t *testing.T) {
	for most, already := range map[int]int{maxNodes: 0, 1000: maxTotal - 1000} {
		c := newChecker(Options{})
		c.total = already
		s := &scope{checker: c, path: "p"}
		for n, want := range []bool{true, true, false, false} {
			if got := s.charge([]int{most - 1, 1, 1, 1}[n], &dsl.Expr{}); got != want {
				t.Errorf("%d after %d: charge %d is %v", most, already, n, got)
			}
		}
		if len(c.list) != 1 {
			t.Errorf("%d findings, want one: %v", len(c.list), c.list)
		}
	}
}
