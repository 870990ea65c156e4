package check

import (
	"strings"
	"testing"
)

// TestSenseless checks numbers that no model can have, implausible ones, and their
// neighbours.
func TestSenseless(t *testing.T) {
	param := func(args string) string {
		return "bias b { w = learned([H], " + args + ")  value = w[h] * i }\nmodel.decoder_only.self.bias = b"
	}
	for src, want := range map[string]string{
		"train.optimizer = adam(lr = 0)":                                                 "E0207",
		"train.optimizer = adamw(lr = 1000)":                                             "E0207",
		"train.optimizer = adam(lr = 0.5)":                                               "V018",
		"train.optimizer = adam(lr = 1e-8)":                                              "V018",
		"train.optimizer = adam(lr = 0.1)":                                               "",
		"train.optimizer = adam(eps = 0)":                                                "E0207",
		"train.optimizer = adam(eps = 0.1)":                                              "V018",
		"train.optimizer = adamw(decay = 0)":                                             "",
		"train.optimizer = adamw(decay = 100)":                                           "V018",
		"train.optimizer = lion(lr = 0)":                                                 "E0207",
		"train.optimizer = lion(betas = [0.9, 1])":                                       "E0207",
		"train.optimizer = lion(betas = [0.9])":                                          "E0210",
		"train.optimizer = lion(decay = -1)":                                             "E0207",
		"train.optimizer = lion(eps = 1e-8)":                                             "E0203",
		"train.optimizer = lion(decay = 3)":                                              "V018",
		"train.optimizer = lion":                                                         "",
		"train.optimizer = muon(lr = 0)":                                                 "E0207",
		"train.optimizer = muon(decay = 3)":                                              "V018",
		"train.optimizer = muon(momentum = 1)":                                           "E0207",
		"train.optimizer = muon(momentum = -0.1)":                                        "E0207",
		"train.optimizer = muon(momentum = 0)":                                           "",
		"train.optimizer = muon(steps = 0)":                                              "E0207",
		"train.optimizer = muon(steps = 21)":                                             "E0207",
		"train.optimizer = muon(steps = 1)":                                              "",
		"train.optimizer = muon(adjust = spectral)":                                      "E0208",
		"train.optimizer = muon(adjust = original)":                                      "",
		"train.optimizer = muon(nesterov = 1)":                                           "E0206",
		"train.optimizer = adamw(momentum = 0.9)":                                        "E0203",
		"train.optimizer = muon":                                                         "",
		"train.grokfast = ema(alpha = 1)":                                                "E0207",
		"train.grokfast = ema(lamb = -1)":                                                "E0207",
		"train.grokfast = ema(lamb = 20)":                                                "V018",
		"train.grokfast = ema()":                                                         "",
		"train.average = ema(decay = 1)":                                                 "E0207",
		"train.average = ema(decay = 0.2)":                                               "V018",
		"train.average = ema(decay = 0.99)":                                              "",
		"eval.during = tests(every = 0steps)":                                            "E0207",
		"eval.during = tests(every = 100)":                                               "E0205",
		"eval.during = tests(every = 1m)":                                                "E0333",
		"eval.during.samples = 50":                                                       "E0203",
		"eval.during.digits = [7]":                                                       "E0203",
		"eval.during = tests(every = 5steps, digits = [7, 7])\n":                         "E0204",
		"eval.during = tests(every = 5kexamples, digits = [6])\n":                        "",
		"train.keep = best()":                                                            "E0333",
		"train.stop = plateau()":                                                         "E0333",
		"train.keep = best(accuracy)\neval.during = tests(every = 5steps)":               "E0208",
		"train.stop = plateau(0)\neval.during = tests(every = 5steps)":                   "E0207",
		"train.stop = plateau(5, loss)\neval.during = tests(every = 200steps)":           "",
		"train.keep = best(at = 6)\neval.during = tests(every = 5steps)":                 "E0333",
		"train.keep = best(at = 6)\neval.during = tests(every = 5steps, digits = [5])\n": "E0333",
		"train.keep = best(at = 5)\neval.during = tests(every = 5steps, digits = [5])\n": "",
		"train.keep = best(of = average)\neval.during = tests(every = 5steps)":           "E0333",
		"train.keep = best(of = average)\neval.during = tests(every = 200steps)\ntrain.average = ema()": "",
		"eval.during = tests(every = 2ksteps)":                                                          "V024",
		"eval.during = tests(every = 5steps)":                                                           "V024",
		"eval.during = tests(every = 1ksteps)":                                                          "",
		"eval.during = tests(every = 640examples, digits = [3], samples = 10)\n":                        "",
		"eval.during = tests(every = 640examples, digits = [100], samples = 200)\n":                     "V024",
		"train.lanes = 8":                                                    "V025",
		"train.lanes = 8\nmodel.width = 8":                                   "",
		"train.clip = 1e-6":                                                  "V018",
		"train.clip = none":                                                  "",
		"train.stop = accuracy(at_least = 0%)":                               "E0207",
		"train.stop = accuracy(at_least = 1%)":                               "",
		"model.width = 1\nmodel.heads = 1":                                   "E0207",
		"model.ffn = swiglu(hidden = 0)":                                     "E0207",
		"model.ffn = swiglu(hidden = 255)":                                   "E0316",
		"model.head = swiglu(hidden = 255)":                                  "E0316",
		"model.head = gelu":                                                  "E0208",
		"model.ffn = swiglu(units = 8)":                                      "E0203",
		"model.ffn = swiglu":                                                 "",
		"model.norm = rmsnorm(eps = 0)":                                      "E0207",
		"model.norm = layernorm(eps = 1e-12)":                                "",
		"model.dropout = 90%":                                                "V018",
		"model.embed.token = learned(scale = 0)":                             "E0207",
		"model.embed.token = learned(scale = -1)":                            "E0207",
		"model.embed.token = learned(scale = 1e6)":                           "V018",
		"model.embed.position = cyclic(period = 1)":                          "E0207",
		"model.init = normal(std = 0)":                                       "E0207",
		"model.init = normal(std = 100)":                                     "V018",
		"model.decoder_only.self.scale = 0":                                  "V018",
		"model.decoder_only.self.scale = -1":                                 "E0207",
		"model.decoder_only.self.scale = 1 / width":                          "",
		"model.decoder_only.self.rotary = rope(fraction = 0%)":               "E0207",
		"model.decoder_only.self.rotary = rope(base = 1)":                    "E0207",
		"model.decoder_only.self.dropout = 80%":                              "V018",
		"eval.digits = [2, 3, 2]":                                            "E0204",
		"eval.times = [2, 2]":                                                "E0204",
		param("init = normal(0)"):                                            "E0207",
		param("init = uniform(1, 1)"):                                        "E0207",
		param("init = uniform(2, 1)"):                                        "E0207",
		param("init = 0, min = 1"):                                           "E0207",
		param("init = uniform(-2, -1), min = 0"):                             "E0207",
		param("init = uniform(0, 1), min = 0"):                               "",
		param("init = normal(1), min = 0"):                                   "",
		"vet { implausible_number = off }\ntrain.optimizer = adam(lr = 0.5)": "",

		"eval.digits = [3]\nmodel.embed.position = shifted":                              "",
		"model.embed.position = shifted(none)":                                           "E0208",
		"model.embed.position = shifted(max_offset = -1)":                                "E0207",
		"model.embed.position = shifted(table = 99)":                                     "E0203",
		"model.embed.position = shifted(max_offset = 500)":                               "",
		"model.embed.position = shifted(max_offset = 501)":                               "E0304",
		"eval.digits = [171]\nmodel.embed.position = shifted(learned, max_offset = 500)": "E0304",
		"eval.digits = [171]\nmodel.embed.position = shifted(max_offset = 500)":          "V001",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition { operands = digits(1..3) }\nmodel.decoder_only { layers = 2 }\neval.samples = 10\n" + src + "\n"}, "a.arith")
		var codes []string
		for _, d := range list {
			codes = append(codes, d.Code)
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}
