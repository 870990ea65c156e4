package check

import (
	"testing"

	"github.com/arithlang/mlc/runtime/config"
)

// TestRecurrencesByLength reads recurrences and computes them for the longest training
// problems.
func TestRecurrencesByLength(t *testing.T) {
	for _, c := range []struct {
		task, times string
		want        config.Recurrences
		most        int
		text        string
	}{
		{"copy { operands = digits(1..20) }", "digits", config.Recurrences{Digits: 1}, 20, "digits"},
		{"copy { operands = digits(1..20) }", "2 * (digits + 3) - prompt + prompt * 2", config.Recurrences{Plus: 6, Digits: 2, Prompt: 1}, 6 + 40 + 21, "2 * digits + prompt + 6"},
		{"addition { operands = digits(1..6) }", "3 * operands - 2 + digits - digits", config.Recurrences{Plus: -2, Operands: 3}, 4, "3 * operands - 2"},
		{"addition { operands = below(1M) }", "digits + 1", config.Recurrences{Plus: 1, Digits: 1}, 7, "digits + 1"},
		{"addition { operands = digits(1..6)  pad = zero(to = 8) }", "prompt", config.Recurrences{Prompt: 1}, 18, "prompt"},
		{"sort { operands = digits(1..2)  length = 1..5 }", "operands", config.Recurrences{Operands: 1}, 5, "operands"},
		{"mixed { of = [copy, addition]  operands = digits(1..4) }", "prompt - 20", config.Recurrences{Plus: -20, Prompt: 1}, 1, "prompt - 20"},
		{"copy { operands = digits(1..20) }", "-(2 - digits)", config.Recurrences{Plus: -2, Digits: 1}, 18, "digits - 2"},
		{"copy { operands = digits(1..20) }", "digits - digits + 3", config.Recurrences{}, 3, ""},
	} {
		src := "arith 2\ntask " + c.task + "\nmodel.decoder_only.times = " + c.times + "\n"
		spec, list := Resolve(Options{Path: "a.arith", Read: func(string) ([]byte, error) { return []byte(src), nil }})
		if spec == nil {
			t.Fatalf("%s: %v", src, list)
		}
		if spec.Task.Recurrences != c.want || spec.Model.Loop.Times != c.most || spec.Train.Backprop != c.most || spec.Eval.ByLength != c.want.ByLength() {
			t.Errorf("%s%+v, %d at most, want %+v, %d", src, spec.Task.Recurrences, spec.Model.Loop.Times, c.want, c.most)
		}
		if got := spec.Task.Recurrences.String(); c.text != "" && got != c.text {
			t.Errorf("%s is written %s, want %s", c.times, got, c.text)
		}
	}
}
