package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/config"
)

// vetRules warn of specs that are allowed but probably unintended. Each rule looks at one
// training. A rule without a code reports several, and checks itself which are wanted.
var vetRules = []struct {
	code string
	run  func(c *checker, s *Spec)
}{
	{"V001", (*checker).vetPositions},
	{"V002", (*checker).vetMasks},
	{"V004", (*checker).vetEncoder},
	{"V005", (*checker).vetProgressive},
	{"V006", (*checker).vetExamples},
	{"V026", (*checker).vetHeldOut},
	{"V007", (*checker).vetEvaluation},
	{"V009", (*checker).vetInput},
	{"V011", (*checker).vetOrder},
	{"V012", (*checker).vetDrawn},
	{"V013", (*checker).vetPadding},
	{"V014", (*checker).vetWindows},
	{"V018", (*checker).vetUsual},
	{"V040", (*checker).vetStarts},
	{"", (*checker).vetProblems},
	{"V023", (*checker).vetBiases},
	{"V024", (*checker).vetDuring},
	{"V025", (*checker).vetLanes},
	{"V027", (*checker).vetBudget},
}

// vetAll warns of each training, and of definitions and stages that none uses.
func (c *checker) vetAll(s *Spec) {
	trainings := []*checker{c}
	if len(s.Stages) == 0 {
		c.vet(s)
	} else {
		trainings = nil
	}
	for _, stage := range s.Stages {
		if v := c.stageOf[stage.Name]; v != nil {
			v.list = nil
			v.vet(stage.Spec)
			c.list = append(c.list, v.list...)
			trainings = append(trainings, v)
		}
	}
	c.vetDefinitions(trainings)
	if c.wanted("V008") {
		c.vetStages(s)
	}
}

func (c *checker) vet(s *Spec) {
	for _, r := range vetRules {
		if r.code == "" || c.wanted(r.code) {
			r.run(c, s)
		}
	}
}

// wanted reports whether a warning is on.
func (c *checker) wanted(code string) bool {
	page, _ := diag.Lookup(code)
	return !c.get("vet." + page.Name).is("off")
}

// vetPositions warns of positions that tests use but training does not.
func (c *checker) vetPositions(s *Spec) {
	p, what := &s.Model.Position, "positions"
	trained, evaluated := s.positions()
	switch {
	case p.scheme().more == "":
		return
	case p.scheme().digits:
		what = "places of digits"
	case p.Kind == "random":
		trained = p.Max
	}
	if evaluated > trained {
		c.report("V001", c.at("model.embed.position"), "%s from %d to %d are evaluated and never trained", what, trained, evaluated-1).WithHelp("%s", p.scheme().more)
	}
}

// trainedDigits returns the number of digits in the longest training number.
func (s *Spec) trainedDigits() int {
	t := &s.Task
	if t.File != nil {
		return t.File.Run
	}
	_, hi := t.made().Digits()
	return t.longestNumber(t.Pad, hi, hi, tasks.Config.LongestAnswer)
}

// evaluatedDigits returns the number of digits in the longest test number.
func (s *Spec) evaluatedDigits() int {
	if p := s.Task.tested(); p != nil {
		return p.Run
	}
	e, most := &s.Eval, 0
	number := func(a, b int) int {
		return s.Task.longestNumber(e.Pad, a, b, func(p tasks.Config) int {
			_, answer, _ := p.Answers(a, b)
			return answer
		})
	}
	if g := e.Grid; g.First.Hi > 0 && s.Task.Kind == "sort" {
		most = g.First.Hi
	} else if g.First.Hi > 0 {
		most = number(g.First.Hi, g.Second.Hi)
	}
	for _, d := range slices.Concat([]int{e.Diagonal.Hi}, e.Digits, e.During.Digits) {
		most = max(most, number(d, d))
	}
	return most
}

// longestNumber returns the length of the longest number in problems with operands of a
// and b digits. answer returns the length of the longest answer for a kind.
func (t *Task) longestNumber(pad config.Pad, a, b int, answer func(p tasks.Config) int) int {
	if t.Hinted() || t.Interleave {
		return 1
	}
	most := max(a, b)
	for _, p := range t.made().Parts() {
		if n := answer(tasks.Config{Config: p}); n > 0 {
			most = max(most, n+max(pad.Less, 0))
		}
	}
	return pad.Width(most)
}

// vetDefinitions warns of masks and biases in the spec's own file that no training uses,
// and of their parameters without effect. Definitions in included files may be meant for
// other specs.
func (c *checker) vetDefinitions(trainings []*checker) {
	used := make(map[string]bool)
	for _, t := range trainings {
		for d := range t.used {
			used[d.path()] = true
		}
		for _, in := range t.uses.all {
			for name := range in.params {
				used[in.attr(name)] = true
			}
		}
	}
	for _, t := range trainings {
		for _, d := range t.defined {
			if !used[d.path()] {
				if d.at.Start.File == c.main && c.wanted("V017") {
					user, help := "no attention", fmt.Sprintf("write %s = %s in an attention block, as model.decoder.self, or remove it", d.kind, d.name)
					switch {
					case t.alone():
						help = fmt.Sprintf("write %s = %s in the block attention, or remove it", d.kind, d.name)
					case d.kind == "table":
						user, help = "no embedding and no output", fmt.Sprintf("write model.embed.token = learned(value = %s), or remove it", d.name)
					}
					c.report("V017", d.at, "%s uses the %s %s", user, d.kind, d.name).WithHelp("%s", help)
				}
				continue
			}
			c.inUse[d.at] = true
			for _, n := range d.names {
				at := d.attrs[n].name
				switch {
				case used[d.attr(n)]:
					c.inUse[at] = true
				case d.learned(n) && c.wanted("V003"):
					c.report("V003", at, "%s.%s is learned and never used", d.name, n).WithHelp("use it in the value of the %s", d.kind)
				}
			}
		}
	}
}

// vetEncoder warns of attributes of an encoder without layers.
func (c *checker) vetEncoder(s *Spec) {
	if s.Model.Loop != nil || s.Model.Encoder.Layers > 0 {
		return
	}
	for _, path := range c.order {
		if strings.HasPrefix(path, "model.encoder.self.") {
			c.report("V004", c.settings[path].name, "%s has no effect: the encoder has no layers", path).
				WithHelp("set model.encoder.layers = 1, or leave it out")
		}
	}
}

// vetProgressive warns of a progressive loss for a loop that runs once, or over more runs
// than there are.
func (c *checker) vetProgressive(s *Spec) {
	if !s.Train.Progressive {
		return
	}
	times, backprop := s.Model.Loop.Times, c.get("train.loss").int("backprop")
	switch {
	case times == 1:
		c.report("V005", c.at("train.loss"), "a progressive loss is plain cross entropy where model.decoder_only.times = 1").WithHelp("use loss = cross_entropy, or more times")
	case backprop > times:
		c.report("V005", c.at("train.loss"), "backprop = %d is more than model.decoder_only.times = %d", backprop, times).WithHelp("use backprop = auto, or at most %d", times)
	}
}

// vetExamples compares the number of examples with the number of distinct problems.
func (c *checker) vetExamples(s *Spec) {
	n, all := float64(s.Task.Examples), tasks.Distinct(s.Task.made().Config)
	if n > all {
		c.report("V006", c.at("task.examples"), "examples = %s, but there are only %s different problems", c.get("task.examples").text, short(all)).
			WithHelp("leave examples out: problems are drawn as they are needed")
	}
}

// vetEvaluation compares the tokens of tests with the tokens of training, which cost
// three times as much: forward, and backward for inputs and for weights.
func (c *checker) vetEvaluation(s *Spec) {
	examples := float64(s.Train.Budget.Examples)
	if s.Train.Budget.Steps > 0 {
		examples = float64(s.Train.Budget.Steps) * float64(s.Train.Batch)
	}
	trained, evaluated := 3*examples*meanTokens(s.trained()), s.problems()*meanTokens(s.evaluated())
	if examples > 0 && trained > 0 && evaluated > trained {
		c.report("V007", c.atFirst("eval.samples", "eval.grid", "eval.diagonal", "eval.digits", "train.budget", "task"), "evaluation takes about %s times the work of training", short(evaluated/trained)).
			WithHelp("use fewer samples or lengths, or a larger budget")
	}
}

// vetDuring warns if there is only one test during training, or if tests take most of the
// time. A pass without gradients costs a third of a step.
func (c *checker) vetDuring(s *Spec) {
	d, b := &s.Eval.During, s.Train.Budget
	batch := float64(s.Train.Batch)
	examples := func(b config.Budget) float64 { return max(float64(b.Examples), float64(b.Steps)*batch) }
	all, every := examples(b), examples(d.Every)
	if all == 0 || every == 0 {
		return
	}
	if every > all {
		c.report("V024", c.at("eval.during"), "every = %s is longer than the budget of %s: only the last step is tested", c.get("eval.during").arg("every").text, c.get("train.budget").text).
			WithHelp("test more often, as every = %.0fsteps", max(1, math.Floor(all/batch/10)))
		return
	}
	lengths := 4
	if len(d.Digits) > 0 {
		lengths = len(d.Digits)
	}
	asked := float64(lengths*d.Samples) * meanTokens(s.evaluated())
	if step := 3 * every * meanTokens(s.trained()); step > 0 && asked > step {
		c.report("V024", c.at("eval.during"), "a test takes about %s times the work of training between two tests", short(asked/step)).
			WithHelp("test less often, or fewer problems: samples = %d", max(1, int(float64(d.Samples)*step/asked/4)))
	}
}

// problems returns the number of test problems.
func (s *Spec) problems() float64 {
	e := &s.Eval
	if p := s.Task.TestFile; p != nil {
		return float64(min(p.Count, p.Lengths*e.Samples))
	}
	if p := s.Task.File; p != nil {
		return float64(min(p.heldOut(s.Task.Holdout), p.Lengths*e.Samples))
	}
	cells := len(e.Digits)
	if e.Diagonal.Lo > 0 {
		cells += e.Diagonal.Hi - e.Diagonal.Lo + 1
	}
	if g := e.Grid; g.First.Hi > 0 {
		cells += (g.First.Hi - g.First.Lo + 1) * (g.Second.Hi - g.Second.Lo + 1)
	}
	return float64(cells) * float64(e.Samples)
}

// meanTokens returns the mean number of tokens over shapes of problems.
func meanTokens(ls []lengths) float64 {
	sum := 0
	for _, l := range ls {
		sum += l.Source + l.Target
	}
	return float64(sum) / float64(max(len(ls), 1))
}

// vetStages warns of stages whose result nothing uses.
func (c *checker) vetStages(s *Spec) {
	for n, stage := range s.Stages {
		used := n == len(s.Stages)-1 && stage.Calibration == nil
		for _, later := range s.Stages[n+1:] {
			used = used || later.From == stage.Name
			if t := c.stageOf[later.Name]; t != nil && stage.Calibration != nil {
				used = used || t.uses.find(resultBias, stage.Name) != nil
			}
		}
		if !used {
			help := fmt.Sprintf("let a later stage say from = %s", stage.Name)
			if stage.Calibration != nil {
				help = fmt.Sprintf("use %s.self and %s.cross as biases of a later stage", stage.Name, stage.Name)
			}
			c.report("V008", c.where(c.stageBlock(stage.Name)), "the result of %s is never used", stage.Name).WithHelp("%s", help)
		}
	}
}

// vetInput warns of loops that never see their input.
func (c *checker) vetInput(s *Spec) {
	if l := s.Model.Loop; l != nil && l.Inject == "none" && l.State != "embed" {
		what := "noise"
		if l.Std == 0 {
			what = "zeros"
		}
		c.report("V009", c.at("model.decoder_only.state"), "the input never reaches the model: the loop starts from %s and nothing is injected", what).
			WithHelp("use inject = add(before = block), or state = embed")
	}
}

// vetStarts warns of initial biases in a model without biases.
func (c *checker) vetStarts(s *Spec) {
	if s.Model.InitBiases && !s.Model.Bias {
		c.report("V040", c.at("model.init"), "biases = uniform initializes biases, but the model has none").
			WithHelp("write bias = true, or init = xavier")
	}
}

// vetOrder warns of Abacus positions, and of masks and biases over places, for numbers
// that begin with the most significant digit.
func (c *checker) vetOrder(s *Spec) {
	t := &s.Task
	numbers := t.Kind != "or" && t.Kind != "parity" && t.Kind != "file" && !t.reads()
	if !numbers || t.ReversedOperands {
		return
	}
	what := "Abacus positions count"
	if !s.Model.Position.scheme().digits {
		if what = "di and dj count"; !slices.ContainsFunc(s.Model.Sites(), (*Site).coupled) {
			return
		}
	}
	c.report("V011", c.at("task.order"), "%s from the first digit, but order = %s begins numbers with another place", what, c.word("task.order")).
		WithHelp("use order = reversed, so that equal places get equal positions")
}

// vetUsual warns of numbers far from usual values.
func (c *checker) vetUsual(*Spec) {
	for i := range c.lang.schema.Rows {
		row := &c.lang.schema.Rows[i]
		if v := c.values[row.Path]; v != nil && c.settings[row.Path] != nil {
			c.vetNumber(row, row.Path, v)
		}
	}
}

// vetNumber checks a number, and the arguments of a choice.
func (c *checker) vetNumber(row *dsl.Row, path string, v *value) {
	if usual, odd := row.Unusual(v.num); odd && !slices.Contains(strings.Fields(row.Words), v.word) {
		c.report("V018", v.at, "%s = %s is implausible", path, v.text).WithHelp("usual values are %s", usual)
	}
	for _, o := range row.Choices {
		for i := range o.Args {
			if a := v.args[o.Args[i].Path]; o.Name == v.word && a != nil {
				c.vetNumber(&o.Args[i], join(path, o.Args[i].Path), a)
			}
		}
	}
}
