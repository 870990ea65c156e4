package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/config"
)

// TestRules checks the findings about attributes that contradict each other. Similar specs have
// none.
func TestRules(t *testing.T) {
	const (
		plain   = "task addition {}\n"
		rest    = "\nmodel.decoder_only { layers = 2 }\neval { digits = [2]  samples = 10 }\n"
		loop    = "task copy { operands = digits(1..3) }" + rest
		during  = "eval.during = tests(every = 500steps, digits = [1])\ntrain.keep = best(at = 1)\n"
		product = "E0342 a scratchpad for products is written lowest digit first, without padding, interleaving or hints (write order = reversed, and leave pad, interleave and hints out)"
	)
	for src, want := range map[string]string{
		plain + "train { batch = 8  microbatch = 9 }":                                                              "E0305 microbatch = 9 is larger than batch = 8 (use microbatch = auto, or at most 8)",
		plain + "train { batch = 8  microbatch = 8 }":                                                              "",
		plain + "train { batch = 8  chunk = 9 }":                                                                   "E0334 chunk = 9 is larger than batch = 8 (use chunk = auto, or at most 8)",
		plain + "train { batch = 8  chunk = 8 }":                                                                   "",
		plain + "train { batch = 8  chunk = 6  microbatch = 4 }":                                                   "E0334 chunk = 6 is no multiple of microbatch = 4, the examples of a launch (use microbatch = auto, or chunk = 4)",
		plain + "train { batch = 8  chunk = 2  microbatch = 4 }":                                                   "E0334 chunk = 2 is no multiple of microbatch = 4, the examples of a launch (use microbatch = auto, or chunk = 4)",
		plain + "train { batch = 8  chunk = 4  microbatch = 2 }":                                                   "",
		plain + "train.schedule = trapezoid(warmup = 60%, cooldown = 40%)":                                         "",
		plain + "train.schedule = trapezoid(warmup = 60%, cooldown = 41%)":                                         "E0310 warmup = 60% and cooldown = 41% exceed the budget (together they are at most 100%)",
		plain + "train.schedule = pieces(at = [0%, 10%], factor = [1])":                                            "E0341 pieces have 2 points and 1 factor (give a factor for each share of the budget)",
		plain + "train { batch = 8  ramp = grow(over = 50%, from = 9) }":                                           "E0330 from = 9 is larger than batch = 8, which the batch grows to (use at most 8, or auto for one microbatch)",
		plain + "train { batch = 8  ramp = grow(over = 50%, from = 8) }":                                           "",
		loop + "train.stop = accuracy(at_least = 90%, on = held_out)\ntask.holdout = 0%":                           "E0327 training stops at an exact match of held-out problems, but task.holdout = 0% holds out none (write stop = accuracy(on = train, …), or hold some out: task.holdout = 1%)",
		loop + "train.stop = accuracy(at_least = 90%, on = train)\ntask.holdout = 0%":                              "",
		plain + "model { width = 10  heads = 4 }":                                                                  "E0301 heads = 4 does not divide width = 10 (use 2 or 5)",
		plain + "model { width = 7  heads = 3 }":                                                                   "E0301 heads = 3 does not divide width = 7 (use 1 or 7)",
		plain + "model { width = 12  heads = 7 }":                                                                  "E0301 heads = 7 does not divide width = 12 (use 6 or 12)",
		plain + "model { width = 4  heads = 5 }":                                                                   "E0301 heads = 5 does not divide width = 4 (use 4)",
		plain + "model { width = 10  heads = 4  head_width = 3 }":                                                  "",
		plain + "model.embed.position = sinusoidal\nmodel.width = 9\nmodel.heads = 3":                              "E0306 sinusoidal positions need an even width, not 9 (use width = 10)",
		plain + "eval.times = [2]":                                                                                 "E0318 only a decoder-only model can run [2] times (leave it out, or write model.decoder_only)",
		plain + "eval.settle = 2":                                                                                  "E0318 only a decoder-only model can run 2 times (leave it out, or write model.decoder_only)",
		plain + "train.loss = progressive()":                                                                       "E0318 a progressive loss needs the recurrences of a decoder-only model (use loss = cross_entropy, or write model.decoder_only)",
		loop + "model.decoder_only.self.rotary = rope(fraction = 30%)":                                             "E0317 rotary embedding rotates pairs, but 30% of a head of width 16 is 4.8 (choose a fraction that leaves an even number)",
		loop + "model.decoder_only.self.rotary = rope(fraction = 25%)":                                             "",
		loop + "model.decoder_only.self.rotary = rope(of = input, fraction = 28%)\nmodel.width = 100":              "",
		loop + "model.decoder_only.self.rotary = rope(of = input, fraction = 27%)\nmodel.width = 100":              "E0317 rotary embedding rotates pairs, but 27% of a vector of width 100 is 27 (choose a fraction that leaves an even number)",
		loop + "model.embed.position = abacus(table = 5, max_offset = 1)":                                          "V011 Abacus positions count from the first digit, but order = plain begins numbers with another place (use order = reversed, so that equal places get equal positions)",
		loop + "model.embed.position = abacus(table = 4, max_offset = 1)":                                          "E0304 table = 4 has too few rows for digits 4 places from the start of a number (use table = 5: a row for each place of the longest number and offset, and one for all other tokens)",
		loop + "model.embed.position = abacus(table = 3, max_offset = 1)":                                          "E0304 table = 3 has too few rows for digits 4 places from the start of a number (use table = 5: a row for each place of the longest number and offset, and one for all other tokens)",
		loop + "train.lanes = 8\nmodel { width = 8 }\ntrain.precision = bf16":                                      "E0356 lanes compute in f32, but precision = bf16 (write precision = f32, or leave lanes out)",
		loop + "eval.during = tests(every = 5m)":                                                                   "E0333 every = 5m is a time, so two runs would not be tested after the same steps (write steps, examples or FLOP, as every = 500steps)",
		loop + "eval.during = tests(every = 500steps)\ntrain.keep = best(at = 4)":                                  "E0333 train.keep counts the length 4, but eval.during.digits = auto does not say which lengths are tested (write eval.during.digits = [4])",
		loop + "eval.during = tests(every = 500steps, digits = [3])\ntrain.keep = best(at = 4)":                    "E0333 train.keep counts the length 4, but eval.during.digits = [3] does not test it (add it there, or leave out at)",
		loop + "eval.during = tests(every = 500steps, digits = [4])\ntrain.keep = best(at = 4)":                    "",
		loop + "eval.during = tests(every = 500steps, digits = [3])\ntrain.keep = best(at = 3)\ntask.holdout = 0%": "",
		loop + "eval.during = tests(every = 500steps)\ntrain.keep = best(of = average)":                            "E0333 train.keep compares averaged weights, but train.average = none (write of = weights, or train.average = ema())",
		loop + during + "task.holdout = 1%":                                                                        "E0333 train.keep counts the length 1, but training has all problems of this length (count a longer length, or hold some out: task.holdout = 10%)",
		loop + during + "task.holdout = 10%":                                                                       "",
		loop + during + "task.holdout = 0%":                                                                        "",
		loop + "train.keep = best()":                                                                               "E0333 train.keep = best compares tests during training, but eval.during = none (write eval.during = tests(every = 500steps), or leave it out)",
		loop + "train.stop = plateau()":                                                                            "E0333 train.stop = plateau compares tests during training, but eval.during = none (write eval.during = tests(every = 500steps), or leave it out)",
		"task sum { operands = digits(1..3)  pad = none }":                                                         "E0342 numbers of a sum have one width, but task.pad = none (write pad = zero(to = 5, step = 1))",
		"task sum { operands = digits(1..3)  pad = zero(to = 8, step = 1, answer = 2) }":                           "",
		"task sum { operands = digits(1..3)  pad = zero(to = 8, step = 1) }\ntrain.ramp = grow(over = 50%)":        "E0342 all sums of a batch have the same number of operands, but the batch grows (leave ramp out, or write ramp = none)",
		"task sum { operands = digits(1..3)  pad = zero(to = 8, step = 1) }\neval.grid = [1..3, 1..4]":             "E0342 the second range of a grid of sums is the number of operands, at least 2 (write eval.grid = [1..3, 2..4])",
		"task sum { operands = digits(1..3)  pad = zero(to = 8, step = 1) }\neval.grid = [1..3, 2..4]":             "",
		"task multiplication { order = plain  scratchpad = true }" + rest:                                          product,
		"task multiplication { order = reversed  scratchpad = true }" + rest:                                       "",
		"task multiplication { order = reversed  scratchpad = true pad = zero(to = 50) }" + rest:                   product,
		"task multiplication { order = reversed  scratchpad = true  hints = cyclic }" + rest:                       product,
		"task multiplication { order = reversed  scratchpad = true  interleave = true }" + rest:                    product,
		plain + "train.schedule = pieces(at = [50%, 10%], factor = [1, 0.5])":                                      "E0341 the points [50%, 10%] do not ascend (list shares of the budget from the smallest to the largest, each once)",
		plain + "train.throttle = loss":                                                                            "E0318 throttle counts the recurrences of a decoder-only model (leave it out, or write model.decoder_only)",
		loop + "model.embed.position = learned(max = 7)":                                                           "",
		loop + "model.embed.position = learned(max = 6)":                                                           "E0304 max = 6 is fewer than the 7 positions of the longest problem (use learned(max = 7))",
		"task file { path = \"p\"  test = \"q\" }\nmodel.decoder_only { layers = 1 }":                              "E0230 q has the token \"3\", but p does not (add problems with it to p: training cannot learn a token that it never reads)",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\n" + src + "\n", "p": "a=1\nb=2\n", "q": "c=3\n"}, "a.arith")
		var all []string
		for _, d := range list {
			all = append(all, d.Code+" "+d.Message+" ("+d.Help+")")
		}
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// TestBox visits the corners of a box of lengths, and its diagonal.
func TestBox(t *testing.T) {
	var got [][2]int
	box(config.Span{Lo: 1, Hi: 3}, config.Span{Lo: 2, Hi: 6}, func(i, j int) { got = append(got, [2]int{i, j}) })
	if want := [][2]int{{1, 6}, {3, 2}, {1, 2}, {2, 3}, {3, 4}, {3, 5}, {3, 6}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestShortNumber writes numbers with three digits.
func TestShortNumber(t *testing.T) {
	for want, x := range map[string]float64{"0.123": 0.12345, "12300": 12345, "1230000": 1234567, "1.23e+07": 12345678, "0.00123": 0.0012345, "1.23e-06": 0.0000012345, "1": 0.9999, "0": 0} {
		if got := shortNumber(x); got != want {
			t.Errorf("%g is written %s, want %s", x, got, want)
		}
	}
}

// TestVocabularies counts the tokens of tasks, and those that answers may have.
func TestVocabularies(t *testing.T) {
	const loop = "\nmodel.decoder_only { layers = 1 }"
	for src, want := range map[string][4]int{ // all, said, the first and the last digit
		"addition {}": {17, 17, 5, 14}, "addition { base = 12 }": {19, 19, 5, 14}, "addition { vocabulary = used }": {13, 13, 0, 9}, "successor { vocabulary = used }": {12, 12, 0, 9},
		"successor { vocabulary = used  base = 3 }": {5, 5, 0, 2},
		"addition {}" + loop:                        {19, 19, 4, 13}, "addition { hints = cyclic }" + loop: {121, 121, 4, 13}, "sort {}" + loop: {118, 118, 4, 13},
		"addition { vocabulary = used }" + loop: {13, 13, 0, 9}, "copy { vocabulary = used  start = true }" + loop: {13, 13, 0, 9},
		"copy { vocabulary = used  end = false  pad = zero(to = 70) }" + loop: {11, 10, 0, 9},
		"file { path = \"p\" }" + loop:                                        {8, 8, 2, 4},
	} {
		spec, list := resolve(map[string]string{"a.arith": "arith 2\ntask " + src + "\n", "p": "a=1\nb=2\nb3=2\n"}, "a.arith")
		if spec == nil {
			t.Errorf("%s: %s", src, textOf(list, nil))
			continue
		}
		first, last := spec.Task.Digits()
		if got := [4]int{spec.Task.Vocab(), spec.Task.Said(), first, last}; got != want {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
	}
}
