package check

import (
	"time"

	"github.com/arithlang/mlc/runtime/config"
)

// assemble builds the Spec from the values. After errors values are missing, and the
// parts that need them stay zero. Such a spec is never returned to callers.
func (c *checker) assemble(name string) *Spec {
	s := &Spec{Name: name, Task: c.task(), Model: c.model(), Train: c.train(), Eval: c.eval()}
	s.Task.Sequence, s.Task.Padded = s.Model.Loop != nil, c.get("train.lengths").is("padded") || s.Task.reads()
	c.byLength(s)
	s.Train.Times, s.Train.Backprop = s.Model.Times(), c.backprop(s)
	if s.Model.Loop != nil {
		s.Eval.Loop = s.Model.Loop.Times
	}
	return s
}

// get returns a value, or an empty one if an error left it out.
func (c *checker) get(path string) *value {
	if v := c.values[path]; v != nil {
		return v
	}
	return &value{}
}

func (c *checker) int(path string) int     { return int(c.get(path).num) }
func (c *checker) num(path string) float64 { return c.get(path).num }
func (c *checker) word(path string) string { return c.get(path).word }
func (c *checker) flag(path string) bool   { return c.get(path).word == "true" }

// pair returns the ends of a range.
func (v *value) pair() (lo, hi int) {
	if len(v.list) == 2 {
		return int(v.list[0]), int(v.list[1])
	}
	return 0, 0
}

func (v *value) ints() []int {
	var out []int
	for _, x := range v.list {
		out = append(out, int(x))
	}
	return out
}

func (v *value) arg(name string) *value {
	if a := v.args[name]; a != nil {
		return a
	}
	return &value{}
}

func (v *value) int(name string) int       { return int(v.arg(name).num) }
func (v *value) num64(name string) float64 { return v.arg(name).num }

func (c *checker) task() Task {
	order, operands := c.word("task.order"), c.get("task.operands")
	t := config.Task{
		Kind:             c.kind,
		Of:               c.get("task.of").words,
		Below:            int64(operands.num64("bound")),
		Released:         operands.arg("sampling").is("released"),
		Repeated:         operands.arg("epochs").is("same"),
		Base:             c.int("task.base"),
		Used:             c.word("task.vocabulary") == "used",
		Started:          c.flag("task.start") && c.looped(),
		Unended:          c.word("task.end") == "false",
		Reversed:         order == "reversed" || order == "reversed_answer",
		ReversedOperands: order == "reversed",
		Interleave:       c.flag("task.interleave"),
		Pad:              c.pad("task.pad"),
		Hints:            c.word("task.hints"),
		RandomPad:        c.num("task.random_pad"),
		Examples:         int64(c.num("task.examples")),
		Curriculum:       c.curriculum(),
		Rounds:           c.longer(),
		Holdout:          c.num("task.holdout"),
		LossOnAll:        c.word("task.loss_on") == "all" || c.kind == "text",
		Scratchpad:       c.flag("task.scratchpad"),
		PartialProducts:  c.flag("task.partial_products"),
		Separator:        c.word("task.separator"),
		Tokens:           c.tokens(),
	}
	if v := c.get("task.split"); v.given && !v.is("none") {
		t.Split = new(uint64(v.num))
	}
	t.DigitsLo, t.DigitsHi = operands.arg("range").pair()
	t.LengthLo, t.LengthHi = c.get("task.length").pair()
	if c.kind == "sum" {
		t.OperandsLo, t.OperandsHi = c.get("task.terms").pair()
		t.Batch = c.int("train.batch")
	}
	problems, tests := c.readProblems(t.Tokens)
	t.Problems, t.Tests = problems.String(), tests.String()
	return Task{Task: t, Path: c.word("task.path"), File: problems, TestPath: c.word("task.test"), TestFile: tests}
}

func (c *checker) curriculum() (k config.Curriculum) {
	if v := c.get("task.curriculum"); v.is("digits") {
		k.From, k.Until = v.int("from"), v.num64("until")
	}
	if v := c.get("task.carries"); v.is("often") {
		k.Carries, k.Fade = v.num64("share"), v.num64("until")
	}
	return k
}

func (c *checker) pad(path string) config.Pad {
	v := c.get(path)
	p := config.Pad{To: v.int("to"), Step: v.int("step")}
	if n := v.int("answer"); n > 0 {
		p.Less = p.To - n
	}
	return p
}

func (c *checker) train() Train {
	loss, opt, sched, report, ramp := c.get("train.loss"), c.get("train.optimizer"), c.get("train.schedule"), c.get("train.report"), c.get("train.ramp")
	t := config.Train{
		Progressive: loss.is("progressive"),
		Backprop:    loss.int("backprop"),
		ExampleLoss: c.get("train.reduce").is("mean_of_examples"),
		SumLoss:     c.get("train.reduce").is("sum_over_batch"),
		Throttle:    c.get("train.throttle").is("loss"),
		LR:          opt.num64("lr"),
		Eps:         opt.num64("eps"),
		Decay:       opt.num64("decay"),
		Schedule:    sched.word,
		At:          sched.arg("at").list,
		Factor:      sched.arg("factor").list,
		Warmup:      sched.num64("warmup"),
		Cooldown:    sched.num64("cooldown"),
		Least:       sched.num64("min"),
		Clip:        c.num("train.clip"),
		Batch:       c.int("train.batch"),
		Ramp:        ramp.num64("over"),
		RampFrom:    ramp.int("from"),
		Chunk:       c.int("train.chunk"),
		MicroBatch:  c.int("train.microbatch"),
		Report:      config.Report{Every: report.int("every"), Problems: report.int("problems"), Full: report.is("full") || c.kind == "text"},
		Precision:   c.word("train.precision"),
		Seed:        uint64(c.num("train.seed")),
	}
	if v := c.get("train.init_seed"); v.given && !v.is("none") {
		t.InitSeed = new(uint64(v.num))
	}
	if b := opt.arg("betas").list; len(b) == 2 {
		t.Beta1, t.Beta2 = b[0], b[1]
	}
	if t.Progressive {
		t.Alpha = loss.num64("alpha")
	}
	t.Budget = c.get("train.budget").budget()
	switch stop := c.get("train.stop"); {
	case stop.is("accuracy"):
		t.Stop = &config.Stop{AtLeast: stop.num64("at_least"), HeldOut: stop.arg("on").is("held_out")}
	case stop.is("plateau"):
		t.Plateau = &config.Plateau{Patience: stop.int("patience"), By: stop.criterion()}
	}
	if keep := c.get("train.keep"); keep.is("best") {
		t.Best = new(keep.criterion())
	}
	muon := Muon{opt.num64("momentum"), opt.arg("nesterov").is("true"), opt.int("steps"), opt.arg("adjust").word}
	sgd := SGD{muon.Momentum, muon.Nesterov}
	average := c.get("train.average")
	return Train{Train: t, Optimizer: opt.word, Muon: muon, SGD: sgd, Averages: average.is("ema"), Average: average.num64("decay"), Grokfast: c.grokfast(), Lanes: c.int("train.lanes"), Smoothing: c.num("train.label_smoothing"), ByRuns: c.get("train.throttle").is("block"), Pos: c.place("train")}
}

// budget returns an amount of training.
func (v *value) budget() (b config.Budget) {
	switch v.of {
	case "steps":
		b.Steps = int(v.num)
	case "examples":
		b.Examples = int64(v.num)
	case "seconds":
		b.Time = time.Duration(v.num * float64(time.Second))
	case "FLOP":
		b.FLOP = v.num
	}
	return b
}

// criterion returns the arguments of a choice that compares tests during training.
func (v *value) criterion() config.Criterion {
	return config.Criterion{Loss: v.arg("metric").is("loss"), At: v.int("at"), Average: v.arg("of").is("average")}
}

func (c *checker) eval() Eval {
	e := config.Eval{
		Digits:     c.get("eval.digits").ints(),
		Operands:   c.get("eval.terms").ints(),
		Samples:    c.int("eval.samples"),
		Pad:        c.pad("eval.pad"),
		FirstToken: c.get("eval.metric").is("first_token"),
		Greedy:     c.get("eval.mode").is("greedy"),
		Times:      c.get("eval.times").ints(),
		Settle:     c.int("eval.settle"),
	}
	if g := c.get("eval.grid").ints(); len(g) == 4 {
		e.Grid = config.Grid{First: config.Span{Lo: g[0], Hi: g[1]}, Second: config.Span{Lo: g[2], Hi: g[3]}}
	}
	e.Diagonal.Lo, e.Diagonal.Hi = c.get("eval.diagonal").pair()
	if v := c.get("eval.during"); v.is("tests") {
		e.During = config.During{Every: v.arg("every").budget(), Digits: v.arg("digits").ints(), Samples: v.int("samples")}
	}
	return Eval{Eval: e, Pos: c.place("eval")}
}

// grokfast returns the filter of gradients, or nil.
func (c *checker) grokfast() *Grokfast {
	v := c.get("train.grokfast")
	if !v.is("ema") {
		return nil
	}
	return &Grokfast{Alpha: v.num64("alpha"), Lamb: v.num64("lamb")}
}
