package check

import (
	"testing"

	"github.com/arithlang/mlc/runtime/config"
)

// TestBudget warns of additions with too short a training, and of nothing else.
func TestBudget(t *testing.T) {
	const ten = "task addition { operands = digits(1..10)\n order = reversed }\nmodel { embed { position = abacus(table = 128, max_offset = 16) }\n decoder_only { times = 2 } }\neval.digits = [10]\n"
	for text, want := range map[string]string{
		"train.budget = 1500steps":                                                  "V027",
		"train.budget = 199kexamples":                                               "V027",
		"train.budget = 200kexamples":                                               "",
		"train.budget = 200kexamples\ntrain.loss = progressive()":                   "V027",
		"train.budget = 6000steps\ntrain.loss = progressive()":                      "",
		"train.budget = 1500steps\ntrain.batch = 256":                               "",
		"train.budget = 1500steps\ntrain.microbatch = 4":                            "V027",
		"train.budget = 10m":                                                        "",
		"train.budget = 1500steps\nmodel.decoder_only.self.mask = i - j <= 30":      "",
		"train.budget = 1500steps\nmodel.decoder_only.self.bias = alibi":            "",
		"train.budget = 1500steps\ntask.operands = digits(1..5)\neval.digits = [5]": "",
		"train.budget = 1500steps\nvet { short_training = off }":                    "",
	} {
		_, list := resolve(map[string]string{"b.arith": "arith 2\n" + ten, "a.arith": "arith 2\ninclude \"b.arith\"\n" + text}, "a.arith")
		got := ""
		for _, d := range list {
			got += d.Code
		}
		if got != want {
			t.Errorf("%s: %q, want %q: %v", text, got, want, list)
		}
	}
}

// TestDuring warns of tests during training that come after the budget's end or take longer than
// the training. It compares nothing with a budget of time.
func TestDuring(t *testing.T) {
	for text, want := range map[string]string{
		"train.budget = 1000steps":                    "",
		"train.budget = 99steps":                      "V024",
		"train.budget = 100steps":                     "",
		"train.budget = 10m":                          "",
		"train.budget = 6399examples":                 "V024",
		"train.budget = 6400examples":                 "",
		"train.budget = 1000steps\ntrain.batch = 512": "",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\ntask successor { operands = digits(1..6) }\neval { digits = [6]\n samples = 10\n during = tests(every = 100steps) }\ntrain.batch = 64\n" + text}, "a.arith")
		got := ""
		for _, d := range list {
			if d.Code == "V024" {
				got += d.Code
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q: %v", text, got, want, list)
		}
	}
}

// TestProblems counts test problems: samples for each length, of a file at most those that are
// held out.
func TestProblems(t *testing.T) {
	file := &Problems{Count: 200, Lengths: 5}
	for _, c := range []struct {
		spec Spec
		want float64
	}{
		{Spec{Eval: Eval{Eval: config.Eval{Samples: 10, Digits: []int{1, 5}}}}, 20},
		{Spec{Eval: Eval{Eval: config.Eval{Samples: 10, Diagonal: config.Span{Lo: 3, Hi: 6}}}}, 40},
		{Spec{Eval: Eval{Eval: config.Eval{Samples: 10, Grid: config.Grid{First: config.Span{Lo: 1, Hi: 3}, Second: config.Span{Lo: 2, Hi: 6}}}}}, 150},
		{Spec{Eval: Eval{Eval: config.Eval{Samples: 10}}, Task: Task{TestFile: file}}, 50},
		{Spec{Eval: Eval{Eval: config.Eval{Samples: 100}}, Task: Task{File: file}}, 200},
		{Spec{Eval: Eval{Eval: config.Eval{Samples: 100}}, Task: Task{Task: config.Task{Holdout: 0.1}, File: file}}, 20},
		{Spec{Eval: Eval{Eval: config.Eval{Samples: 100}}, Task: Task{Task: config.Task{Holdout: 0.001}, File: file}}, 1},
	} {
		if got := c.spec.problems(); got != c.want {
			t.Errorf("%+v has %v problems, want %v", c.spec.Eval, got, c.want)
		}
	}
}
