package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/config"
)

// TestCurricula resolves settings that change during training, and reports impossible
// ones.
func TestCurricula(t *testing.T) {
	const digits = "task addition { operands = digits(2..6) }\n"
	for text, want := range map[string]string{
		digits + "task.curriculum = digits(from = 2)":                                                                              "",
		digits + "task { curriculum = digits(from = 6, until = 100%)  carries = often }":                                           "",
		digits + "task.curriculum = digits(from = 1)":                                                                              "use a from between 2 and 6",
		digits + "task.curriculum = digits(from = 7)":                                                                              "use a from between 2 and 6",
		"task addition { operands = below(1Mi)  carries = often }":                                                                 "task.operands = digits(1..7)",
		"task addition { operands = digits(1..6)  examples = 100  carries = often }\nmodel.decoder_only { layers = 1 }":            "leave examples out",
		"task mixed { of = [subtraction, nx1]  operands = digits(1..6)  carries = often }\nmodel.decoder_only { layers = 1 }":      "leave it out",
		"task mixed { of = [subtraction, addition]  operands = digits(1..6)  carries = often }\nmodel.decoder_only { layers = 1 }": "",
		"task addition { operands = digits(1..6)  examples = 1  carries = often }\nmodel.decoder_only { layers = 1 }":              "leave examples out",
		digits + "task.carries = often\ntrain.budget = 5m":                                                                         "give the budget in steps or examples",
		digits + "task.carries = often\ntrain.budget = 8GFLOP":                                                                     "give the budget in steps or examples",
		digits + "task.carries = often\ntrain.budget = 5kexamples":                                                                 "",
		digits + "train.schedule = pieces(at = [0%, 50%, 50%], factor = [0, 1, 0])":                                                "from the smallest to the largest",
		digits + "train.schedule = pieces(at = [0%, 50%], factor = [0, 1, 0])":                                                     "a factor for each share",
		digits + "train.schedule = pieces(at = [10%, 50%], factor = [1, 0.5])":                                                     "",
	} {
		_, found := resolve(map[string]string{"a.arith": "arith 2\n" + text}, "a.arith")
		if want == "" && found.HasErrors() || want != "" && (len(found) != 1 || !strings.Contains(found[0].Help, want)) {
			t.Errorf("%s: want %q, found %v", text, want, found)
		}
	}
	s, found := resolve(map[string]string{"a.arith": "arith 2\n" + digits +
		"task { curriculum = digits(from = 3, until = 40%)  carries = often(until = 80%) }\ntrain.schedule = pieces(factor = [0, 1, 1, 0.5])"}, "a.arith")
	if found.HasErrors() {
		t.Fatal(found)
	}
	if want := (config.Curriculum{From: 3, Until: 0.4, Carries: 0.5, Fade: 0.8}); s.Task.Curriculum != want {
		t.Errorf("%+v, want %+v", s.Task.Curriculum, want)
	}
	for _, want := range []string{"digits(from = 3, until = 40%)", "often(share = 50%, until = 80%)", "pieces(at = [0%, 10%, 50%, 100%], factor = [0, 1, 1, 0.5])"} {
		if !strings.Contains(s.Resolved, want) {
			t.Errorf("no %s in\n%s", want, s.Resolved)
		}
	}
	plain, _ := resolve(map[string]string{"a.arith": "arith 2\n" + digits}, "a.arith")
	if strings.Contains(plain.Resolved, "curriculum") {
		t.Errorf("a curriculum in\n%s", plain.Resolved)
	}
}

// TestSums resolves sums of several numbers, and reports those without a common shape.
func TestSums(t *testing.T) {
	for text, want := range map[string]string{
		"task sum { operands = digits(1..6) }":                                                   "",
		"task sum { operands = digits(1..6)  pad = none }":                                       "write pad = zero(to = 8, step = 1)",
		"task sum { scratchpad = true  pad = zero(to = 30, answer = 31) }":                       "leave answer out of pad",
		"task sum { scratchpad = true  pad = zero(to = 30) }":                                    "",
		"task sum {}\ntrain.ramp = grow(over = 10%)":                                             "ramp = none",
		"task sum {}\neval.grid = [1..6, 1..3]":                                                  "write eval.grid = [1..6, 2..3]",
		"task sum {}\neval.grid = [1..6, 2..3]":                                                  "",
		"task addition { operands = digits(1..6)  terms = 2..5 }":                                "it is for sum",
		"task mixed { of = [addition, sum] }\nmodel.decoder_only { layers = 1 }":                 "",
		"task sum { operands = digits(1..6)  curriculum = digits(from = 2)  vocabulary = used }": "",
	} {
		_, found := resolve(map[string]string{"a.arith": "arith 2\n" + text + "\n"}, "a.arith")
		if strings.Contains(text, "mixed") {
			if !found.HasErrors() {
				t.Errorf("%s is taken", text)
			}
			continue
		}
		if want == "" && found.HasErrors() || want != "" && (len(found) == 0 || !strings.Contains(found[0].Help, want)) {
			t.Errorf("%s: want %q, found %v", text, want, found)
		}
	}
	s, found := resolve(map[string]string{"a.arith": "arith 2\ntask sum { operands = digits(1..6)  terms = 2..4  scratchpad = true  pad = zero(to = 62) }\neval { digits = [60]  terms = [2, 10] }"}, "a.arith")
	if found.HasErrors() {
		t.Fatal(found)
	}
	if source, target := s.TrainedShape(); source != 4*63+1 || target != 3*63 {
		t.Errorf("training has up to %d tokens and %d rows", source, target)
	}
	if rows := s.MeanRows(); rows != 2*63 {
		t.Errorf("problems of training have %d rows in the mean, want the rows of three numbers", rows)
	}
	if got := s.evaluated(); !slices.Contains(got, lengths{Source: 10*63 + 1, Target: 9 * 63}) || !slices.Contains(got, lengths{Source: 2*63 + 1, Target: 63}) {
		t.Errorf("tests have the shapes %v", got)
	}
}
