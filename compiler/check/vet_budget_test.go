package check

import "testing"

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
