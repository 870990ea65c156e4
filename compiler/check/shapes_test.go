package check

import (
	"strings"
	"testing"
)

// TestShapes sets attributes to values of the wrong shape, and checks the message and its
// help.
func TestShapes(t *testing.T) {
	for src, want := range map[string]string{
		"eval.grid = 1..3":                                   "E0206 eval.grid is a pair of ranges, not 1..3 (write grid = [1..100, 1..100])",
		"eval.grid = [1..3, 4..2]":                           "E0207 eval.grid = 4..2 is empty (write 2..4)",
		"eval.grid = [1..3]":                                 "E0206 eval.grid is a pair of ranges, not [1..3] (write grid = [1..100, 1..100])",
		"eval.grid = [1..3, 2]":                              "",
		"eval.grid = [1..3, 2..1001]":                        "E0207 eval.grid = 1001 is out of range (it lies between 1 and 1000)",
		"eval.digits = []":                                   "E0210 eval.digits takes numbers, not 0 (write digits = [6, 10, 15, 20, 60])",
		"eval.digits = 3":                                    "E0206 eval.digits takes a list, not 3 (write digits = [3])",
		"eval.digits = [3, x]":                               "E0206 eval.digits takes a number, not x (write a number, or arithmetic on numbers, width and heads)",
		"eval.digits = [3, 0]":                               "E0207 eval.digits = 0 is out of range (it lies between 1 and 32768)",
		"eval.diagonal = 3":                                  "",
		"eval.diagonal = 0..3":                               "E0207 eval.diagonal = 0 is out of range (it lies between 1 and 32768)",
		"eval.diagonal = a..b":                               "E0206 eval.diagonal takes a number, not a (write a number, or arithmetic on numbers, width and heads); E0206 eval.diagonal takes a number, not b (write a number, or arithmetic on numbers, width and heads)",
		"eval.during = tests(every = [3])":                   "E0206 eval.during.every takes a number, not [3] (write a number with its unit; units here are steps and examples, also with k, M or G in front, epochs, s, m, h, d, and FLOP)",
		"eval.during = tests(every = 0steps)":                "E0207 eval.during.every = 0steps is out of range (it lies between 1steps and 1e+15steps)",
		"train.report.every = 3":                             "E0205 train.report.every needs a unit (units here are steps, ksteps, Msteps, Gsteps)",
		"train.report.every = 3steps":                        "",
		"train.report.every = 0steps":                        "E0207 train.report.every = 0steps is out of range (it lies between 1steps and 1000000000steps)",
		"train.optimizer = lion(betas = [0.9, 0.99, 0.999])": "E0210 train.optimizer.betas takes 2 numbers, not 3 (write betas = [0.9, 0.99])",
		"train.optimizer = lion(betas = 0.9)":                "E0206 train.optimizer.betas takes a list, not 0.9 (write betas = [0.9])",
		"model.width = \"x\"":                                "E0206 model.width takes a number, not \"x\" (write a number, or arithmetic on numbers, width and heads)",
		"model.width = 8 + x":                                "E0206 model.width takes a number, not x (write a number, or arithmetic on numbers, width and heads)",
		"model.width = [3]":                                  "E0206 model.width takes a number, not [3] (write a number, or arithmetic on numbers, width and heads)",
		"model.dropout = x":                                  "E0206 model.dropout takes a number, not x (write a number with its unit; units here are %)",
		"model.dropout = 100":                                "E0205 model.dropout needs a unit (units here are %)",
		"model.dropout = 100%":                               "E0207 model.dropout = 100% is out of range (it lies between 0% and 99%)",
		"model.norm = rmsnorm(at = [])":                      "E0206 model.norm.at takes a list of names, not [] (write at = [self, cross])",
		"model.norm = rmsnorm(at = self)":                    "E0206 model.norm.at takes a list of names, not self (write at = [self, cross])",
		"model.norm = rmsnorm(at = [self, self])":            "E0204 model.norm.at names self twice (leave one out)",
		"model.norm = rmsnorm(at = [self, other])":           "E0208 model.norm.at cannot be \"other\" (one of self, cross, ffn, output)",
		"task.base = 1":                                      "E0207 task.base = 1 is out of range (it lies between 2 and 36)",
		"task.base = 10.5":                                   "E0206 task.base takes a whole number, not 10.5 (write 10 or 11)",
		"train.seed = -1":                                    "E0207 train.seed = -1 is out of range (it lies between 0 and 1e+15)",
		"train.budget = 3":                                   "E0205 train.budget needs a unit (units here are steps and examples, also with k, M or G in front, epochs, s, m, h, d, and FLOP)",
		"train.budget = 0steps":                              "E0207 train.budget = 0steps is out of range (it lies between 1steps and 1e+15steps)",
		"train.budget = 1e16steps":                           "E0207 train.budget = 1e16steps is out of range (it lies between 1steps and 1e+15steps)",
		"train.budget = 3m":                                  "",
		"train.stop = accuracy(at_least = 101%)":             "E0207 train.stop.at_least = 101% is out of range (it is above 0% and at most 100%)",
		"eval.metric = 3":                                    "E0206 eval.metric is a name, not 3 (one of exact_match, first_token)",
		"train.loss = masked":                                "E0208 train.loss cannot be \"masked\" (one of cross_entropy, progressive)",
		"task.order = x":                                     "E0208 task.order cannot be \"x\" (one of reversed, reversed_answer, plain)",
		"stage one { from = 3 }":                             "E0206 stage.one.from is the name of a stage, not 3 (write from = none, or the name of an earlier stage)",
		"stage one { from = \"x\" }":                         "E0206 stage.one.from is the name of a stage, not \"x\" (write from = none, or the name of an earlier stage)",
		"stage one {}\nstage two { from = on }":              "E0209 there is no stage \"on\" before this one (write from = none, one)",
		"sweep { model.dropout = uniform(10%, 20%) }":        "E0210 uniform draws a value, but the search tries all combinations (write search = random(trainings = 20) in the sweep, or list the values)",
		"sweep {\n search = random(trainings = 2)\n model.dropout = uniform(30%, 0.5)\n}":      "E0210 uniform takes the ends of an interval, two numbers with one unit (as in uniform(1e-4, 1e-2) or uniform(10%, 40%))",
		"sweep {\n search = random(trainings = 2)\n model.dropout = uniform(30%)\n}":           "E0210 uniform takes the ends of an interval, two numbers with one unit (as in uniform(1e-4, 1e-2) or uniform(10%, 40%))",
		"sweep {\n search = random(trainings = 2)\n model.dropout = uniform(lo = 10%, 30%)\n}": "E0210 uniform takes the ends of an interval, two numbers with one unit (as in uniform(1e-4, 1e-2) or uniform(10%, 40%))",
		"sweep {\n search = random(trainings = 2)\n model.dropout = uniform(10%, hi = 30%)\n}": "E0210 uniform takes the ends of an interval, two numbers with one unit (as in uniform(1e-4, 1e-2) or uniform(10%, 40%))",
		"sweep {\n search = random(trainings = 2)\n train.clip = uniform(1, 1)\n}":             "E0210 uniform(1, 1) is no interval to draw from (the first number is the smaller one, and above 0 for loguniform)",
		"sweep {\n search = random(trainings = 2)\n train.clip = loguniform(0, 1)\n}":          "E0210 loguniform(0, 1) is no interval to draw from (the first number is the smaller one, and above 0 for loguniform)",
		"mask m { value = table(abs(i - j)) }\nmodel.decoder_only.self.mask = m":               "E0209 table is a bias, and mask.m.value is a mask (a mask sees h (head), i (query), j (key), pi and pj (their positions), di and dj (their places in numbers), ni and nj (which numbers those are), layer (from 1) and the lengths H, I, J)",
		"bias m { value = 1..3 }\nmodel.decoder_only.self.bias = m":                            "E0212 a range belongs in sum(m = lo..hi, …) only (compare twice: lo <= m && m <= hi)",
		"model.width = 3%":                         "E0205 \"%\" is not a unit of model.width (units here are k, M, G, Ki, Mi, Gi)",
		"model.dropout = 3k":                       "E0205 \"k\" is not a unit of model.dropout (units here are %)",
		"train.budget = 3step":                     "E0205 \"step\" is not a unit of train.budget (did you mean \"steps\"?)",
		"train.budget = 3x":                        "E0205 \"x\" is not a unit of train.budget (units here are steps and examples, also with k, M or G in front, epochs, s, m, h, d, and FLOP)",
		"model.width = sqrt(heads, 3)":             "E0206 model.width takes a number, not sqrt(heads, 3) (write a number, or arithmetic on numbers, width and heads)",
		"model.width = 60 + heads":                 "E0206 model.width cannot depend on heads, which is not known yet (write a number)",
		"model.width = heads + x":                  "E0206 model.width cannot depend on heads, which is not known yet (write a number); E0206 model.width takes a number, not x (write a number, or arithmetic on numbers, width and heads)",
		"model.width = 2 * model.width":            "E0206 model.width cannot depend on model.width, which is not known yet (write a number)",
		"model.heads = heads":                      "E0206 model.heads cannot depend on heads, which is not known yet (write a number)",
		"model.width = x\nmodel.heads = width":     "E0206 model.width takes a number, not x (write a number, or arithmetic on numbers, width and heads)",
		"model.width = -64":                        "E0207 model.width = -64 is out of range (it lies between 2 and 65536)",
		"model.ffn = relu(hidden = 3, hidden = 4)": "E0204 hidden of relu is set twice (first set at 5:27)",
		"model.ffn = relu(hidden = 3, 4)":          "E0210 relu takes no argument without a name here (its arguments are hidden, rank, init, out)",
		"model.ffn = relu(wide = 3)":               "E0203 relu has no argument \"wide\" (it has hidden, rank, init, out)",
		"train.grokfast = none(3)":                 "E0210 none takes no argument without a name here (it takes none)",
		"train.grokfast = none(x = 3)":             "E0203 none has no arguments (write none alone)",
		"train.grokfast = emma":                    "E0208 train.grokfast cannot be \"emma\" (did you mean \"ema\"?)",
		"task.pad = zero":                          "E0210 zero needs to (write zero(to = …))",
		"calibrate c { model.width = 8 }":          "E0314 c has no attention to read (write from = and a stage); E0201 calibrate.c has no block \"model\" (a calibration trains nothing: set model in a stage)",
		"stage s { vet.implausible_number = off }": "E0201 stage.s has no block \"vet\" (it has from, rounds, task, model, mask, bias, table, train, eval)",
		"stage s { attention.width = 8 }":          "E0201 stage.s has no block \"attention\" (it has from, rounds, task, model, mask, bias, table, train, eval)",
		"sweep { k a { vet.unused_bias = off } }":  "E0201 sweep.k.a has no block \"vet\" (it has task, model, mask, bias, table, train, eval)",
		"sweep { stage {} }":                       "E0201 sweep has no block \"stage\" (it has search, task, model, mask, bias, table, train, eval)",
		"sweep.k.a.train.seed = 3":                 "",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition { operands = digits(1..3) }\nmodel.decoder_only { layers = 2 }\neval.samples = 10\n" + src + "\n"}, "a.arith")
		var all []string
		for _, d := range list {
			all = append(all, d.Code+" "+d.Message+" ("+d.Help+")")
		}
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// TestKindsOfArguments leaves arguments out that a kind of task does not have, and refuses them.
func TestKindsOfArguments(t *testing.T) {
	const loop = "\nmodel.decoder_only { layers = 1 }\n"
	for src, want := range map[string]string{
		"task subtraction { operands = below(1k, sampling = released) }" + loop:                    "E0214 task.operands.sampling does not belong to task subtraction",
		"task subtraction { operands = below(1k) }" + loop:                                         "below(bound = 1k, epochs = reordered)",
		"task parity { operands = below(1k) }" + loop:                                              "below(bound = 1k, sampling = permutation, epochs = reordered)",
		"task file { path = \"p\" }" + loop + "eval.during = tests(every = 1ksteps, digits = [3])": "E0214 eval.during.digits does not belong to task file",
		"task file { path = \"p\" }" + loop + "eval.during = tests(every = 1ksteps)":               "tests(every = 1ksteps, samples = 100)",
		"task copy {}" + loop + "eval.during = tests(every = 1ksteps)":                             "digits = auto",
	} {
		spec, list := resolve(map[string]string{"a.arith": "arith 2\n" + src, "p": "a=1\nb=2\n"}, "a.arith")
		got := ""
		if spec != nil {
			got = spec.Resolved
		}
		for _, d := range list {
			got += d.Code + " " + d.Message + "\n"
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", src, want, got)
		}
	}
}

// TestArithmetic computes numbers of a spec.
func TestArithmetic(t *testing.T) {
	for value, want := range map[string]int{
		"width = 3k": 3000, "width = 3Ki": 3072, "width = 128 / 2": 64, "width = -2 * -8": 16, "width = sqrt(256)": 16,
	} {
		spec, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition {}\nmodel." + value}, "a.arith")
		if len(list) > 0 || spec.Model.Width != want {
			t.Errorf("%s: %+v, %v, want %d", value, spec, list, want)
		}
	}
	for value, want := range map[string]int{"width / 16": 4, "60 - model.width + 4 * 2": 4, "sqrt(width)": 8, "width - 60": 4} {
		spec, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition {}\nmodel.heads = " + value}, "a.arith")
		if len(list) > 0 || spec.Model.Heads != want {
			t.Errorf("%s: %+v, %v, want %d heads", value, spec, list, want)
		}
	}
}
