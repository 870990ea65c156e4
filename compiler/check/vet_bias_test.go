package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestStrayBiases checks cells of biases that are not finite: always, for some
// parameters, or only where a mask closes them.
func TestStrayBiases(t *testing.T) {
	param := func(args, value string) string {
		return "bias b { w = learned([H]" + args + ")  value = " + value + " }\nmodel.decoder_only.self.bias = b"
	}
	for src, want := range map[string]string{
		"model.decoder_only.self.bias = 1 / (i - j)":                                                                                "E0329 +Inf for h = 0, i = 0, j = 0",
		"model.decoder_only.self.bias = log(j - i)":                                                                                 "E0329 -Inf for h = 0, i = 0, j = 0",
		"model.decoder_only.self.bias = exp(exp(1000 * i))":                                                                         "E0329 +Inf for h = 0, i = 1, j = 0",
		"model.decoder_only.self.bias = exp(i + j)":                                                                                 "E0329 +Inf for h = 0, i = 89, j = 0",
		"model.decoder_only.self.bias = exp(i + j)\neval.digits = [3]":                                                              "",
		"model.decoder_only.self.bias = 1 / (h - 2)":                                                                                "E0329 +Inf for h = 2, i = 0, j = 0",
		"model.decoder_only.self.bias = 1 / (i - 17)":                                                                               "E0329 +Inf for h = 0, i = 17, j = 0",
		"model.decoder_only.self.bias = 0 / (i - j)":                                                                                "E0329 NaN for h = 0, i = 0, j = 0",
		"model.decoder_only.self.bias = 1 / (i - j)\nmodel.decoder_only.self.mask = j < i \nvet.no_key = off":                       "",
		"model.decoder_only.self.bias = log(j - i)\nmodel.decoder_only.self.mask = false\nvet { no_key = off  blind_window = off }": "",
		"model.decoder_only.self.bias = sqrt(i - j)":                                                                                "",
		"model.decoder_only.self.bias = 1 / (i - j - 1)":                                                                            "E0329 +Inf for h = 0, i = 1, j = 0",
		"model.embed.position = random\nmodel.decoder_only.self.bias = exp(pi / 20)":                                                "E0329 +Inf for h = 0, i = 0, j = 0",
		"model.embed.position = random(max = 50)\nmodel.decoder_only.self.bias = exp(pi / 20)\neval.digits = [2, 3]":                "",
		"model.decoder_only.self.bias = log(5 - dj) + log(5 - di)\neval.digits = [3]\nvet.digit_order = off":                        "",
		"model.decoder_only.self.bias = log(4 - dj)\neval.digits = [3]":                                                             "E0329 -Inf for h = 0, i = 3, j = 3",
		"model.decoder_only.self.bias = log(dj)\neval.digits = [3]":                                                                 "E0329 -Inf for h = 0, i = 4, j = 4",
		"model.decoder_only.self.bias = log(4 - nj)\neval.digits = [3]\nvet.digit_order = off":                                      "",
		"model.decoder_only.self.mask = abs(dj - di) <= 1\neval.digits = [3]\nvet.blind_window = off":                               "V011 di and dj count from the first digit",
		param("", "w[h] / (i - j)"):                                                                                                 "E0329 NaN for h = 0, i = 0, j = 0",
		param("", "1 / w[h]"):                                                                                                       "E0329 +Inf for h = 0, i = 0, j = 0",
		param(", init = 1", "1 / w[h]"):                                                                                             "",
		param(", init = 1", "log(w[h])"):                                                                                            "V023 NaN for h = 0, i = 0, j = 0",
		param(", init = 1, min = 1e-3", "log(w[h])"):                                                                                "",
		param(", init = uniform(0, 1)", "log(1 + w[h] * (i - j))"):                                                                  "V023 -Inf for h = 0, i = 1, j = 0",
		param(", init = uniform(0, 1), min = 0", "log(1 + w[h] * (i - j))"):                                                         "",
		param(", init = normal(1)", "sqrt(w[h])"):                                                                                   "V023 NaN for h = 0, i = 0, j = 0",
		param(", init = uniform(0, 1)", "-exp(w[h]) * abs(i - j)"):                                                                  "",
		"model.decoder_only.self.bias = alibi + kerple + sandwich + rpe + t5 + fire":                                                "",
	} {
		files := map[string]string{"a.arith": "arith 2\ntask addition { operands = digits(1..3) }\nmodel.decoder_only { layers = 2 }\neval.samples = 10\n" + src + "\n"}
		if !strings.Contains(src, "eval.digits") {
			files["a.arith"] += "eval.digits = [3, 400]\n"
		}
		_, list := resolve(files, "a.arith")
		got := textOf(list, files)
		code, text, _ := strings.Cut(want, " ")
		if len(list) > 1 || (want == "") != (len(list) == 0) || want != "" && (list[0].Code != code || !strings.Contains(list[0].Message, text)) {
			t.Errorf("%s:\n%s, want %q", src, got, want)
		}
	}
}

// TestLikelyValues tries initial values, their bounds, and values below and above them.
func TestLikelyValues(t *testing.T) {
	least := -0.5
	for _, c := range []struct {
		param BiasParam
		want  []float64
		begin int
	}{
		{BiasParam{Init: Init{Kind: "uniform", A: 1, B: 4}}, []float64{2, 1, 4, -1, 9}, 3},
		{BiasParam{Init: Init{Kind: "uniform", A: 1, B: 4}, Min: &least}, []float64{2, 1, 4, -0.5, 9}, 3},
		{BiasParam{Init: Init{Kind: "normal", A: 3}}, []float64{-2, -6, 6, -13, 13}, 3},
		{BiasParam{Init: Init{Kind: "xavier", A: 2, B: 4}}, []float64{-1. / 3, -1, 1, -3, 3}, 3},
		{BiasParam{Init: Init{Kind: "file"}}, nil, 1},
	} {
		got, begin := c.param.likely()
		if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" || begin != c.begin {
			t.Errorf("%+v begins with %d: %s", c.param.Init, begin, diff)
		}
	}
}
