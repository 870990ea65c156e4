package check

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/tasks"
)

// checkTask reports attributes that the kind of task needs, and attributes that it cannot
// use.
func (c *checker) checkTask(t *Task) {
	needs := map[string]string{"mixed": "of", "file": "path", "text": "path"}[t.Kind]
	if needs != "" && c.values["task."+needs] == nil {
		row := c.lang.rows["task."+needs]
		c.report("E0308", c.where("task"), "task %s needs %s", t.Kind, needs).WithHelp("add %s = …: %s", needs, row.Doc)
	}
	for _, k := range t.kinds() {
		if (k == "or" || k == "sort") && t.Pad.To > 0 {
			c.report("E0319", c.at("task.pad"), "leading zeros would change the problems of task %s", k).WithHelp("use pad = none")
		}
	}
	if n := t.hintedPlaces(); t.Hints == "fixed" && n > hintLetters {
		c.report("E0207", c.at("task.hints"), "fixed hints do not repeat within a number, but there are only %d letters for numbers of up to %d places", hintLetters, n).
			WithHelp("use hints = cyclic, or shorter numbers")
	}
	if t.Released && t.Below != 1<<20 {
		c.report("E0320", c.get("task.operands").arg("sampling").at, "the released lists have 2^20 numbers, but the bound is %s", c.get("task.operands").arg("bound").text).
			WithHelp("use below(1Mi, sampling = released), or sampling = permutation")
	}
	if p := t.File; p != nil && p.Prompts == 1 && t.Holdout > 0 {
		c.report("E0321", c.atFirst("task.holdout", "task.path"), "all lines of %s have the same prompt, so none can be held out", t.Path).
			WithHelp("add problems, or write holdout = 0%%")
	}
	if t.Unended && (t.Pad.To == 0 || c.pad("eval.pad").To == 0) {
		c.report("E0337", c.at("task.end"), "end = false, but the width of an answer is unknown").
			WithHelp("set task.pad = zero(to = …) and the same for eval.pad, or leave end out")
	}
	c.checkSum(t)
	c.checkProducts(t)
	c.checkCurriculum(t)
	c.limitTask(t)
}

// checkProducts reports a scratchpad for products whose numbers are not written lowest
// digit first, without padding. It reports partial products without a scratchpad.
func (c *checker) checkProducts(t *Task) {
	if t.PartialProducts && !t.Scratchpad {
		c.report("E0342", c.at("task.partial_products"), "partial products are part of a scratchpad").
			WithHelp("write scratchpad = true, or leave partial_products out")
	}
	if t.Kind != "multiplication" || !t.Scratchpad {
		return
	}
	for path, wrong := range map[string]bool{"task.order": !t.Reversed, "task.pad": t.Pad.To > 0, "task.interleave": t.Interleave, "task.hints": t.Hinted()} {
		if wrong {
			c.report("E0342", c.at(path), "a scratchpad for products is written lowest digit first, without padding, interleaving or hints").
				WithHelp("write order = reversed, and leave pad, interleave and hints out")
		}
	}
}

// checkSum reports sums that do not have one shape in a batch, or too few places for all
// digits.
func (c *checker) checkSum(t *Task) {
	if t.Kind != "sum" {
		return
	}
	if t.Pad.To == 0 {
		c.report("E0342", c.at("task.pad"), "numbers of a sum have one width, but task.pad = none").WithHelp("write pad = zero(to = %d, step = 1)", t.DigitsHi+2)
	}
	if t.Scratchpad && t.Pad.Less != 0 {
		c.report("E0342", c.at("task.pad"), "a scratchpad adds further numbers to its sums, but pad gives the answer another width").WithHelp("leave answer out of pad")
	}
	if c.get("train.ramp").is("grow") {
		c.report("E0342", c.at("train.ramp"), "all sums of a batch have the same number of operands, but the batch grows").WithHelp("leave ramp out, or write ramp = none")
	}
	if g := c.get("eval.grid").ints(); len(g) == 4 && g[2] < 2 {
		c.report("E0342", c.at("eval.grid"), "the second range of a grid of sums is the number of operands, at least 2").WithHelp("write eval.grid = [%d..%d, 2..%d]", g[0], g[1], max(g[3], 2))
	}
}

// checkCurriculum reports a curriculum for problems that are not drawn as needed, or with
// a budget that does not say how many there will be.
func (c *checker) checkCurriculum(t *Task) {
	for _, path := range []string{"task.curriculum", "task.carries"} {
		v := c.get(path)
		if v.word == "" || v.is("none") {
			continue
		}
		from, budget := v.int("from"), c.get("train.budget")
		switch {
		case t.Below > 0:
			c.report("E0340", v.at, "%s = %s, but task.operands = below(%s) draws all numbers, short and long", path, v.word, c.get("task.operands").arg("bound").text).
				WithHelp("draw operands by their length: task.operands = digits(1..%d)", t.places(t.Below-1))
		case t.Examples > 0:
			c.report("E0340", v.at, "%s = %s, but task.examples = %s repeats the same problems", path, v.word, c.get("task.examples").text).
				WithHelp("leave examples out: problems are drawn as they are needed")
		case from > 0 && (from < t.DigitsLo || from > t.DigitsHi):
			c.report("E0340", v.at, "operands cannot begin with up to %d digits if task.operands = %s", from, c.operands()).
				WithHelp("use a from between %d and %d", t.DigitsLo, t.DigitsHi)
		case path == "task.carries" && !slices.Contains(t.kinds(), "addition"):
			c.report("E0340", v.at, "task.carries is about addition, which is not among the mixed tasks").WithHelp("leave it out")
		case budget.of != "steps" && budget.of != "examples":
			c.report("E0340", v.at, "%s = %s depends on the budget, but train.budget = %s gives no number of problems", path, v.word, budget.text).
				WithHelp("give the budget in steps or examples")
		}
	}
}

// seq2seqKinds are the tasks that an encoder-decoder can learn.
var seq2seqKinds = []string{"successor", "addition", "nx1", "parity", "copy", "sum"}

// limitTask records tasks that only one of the two kinds of model can learn today.
func (c *checker) limitTask(t *Task) {
	loop := "a decoder-only model: model.decoder_only"
	for _, l := range []struct {
		holds bool
		path  string // of the attribute
		limit
	}{
		{!t.Sequence && !slices.Contains(seq2seqKinds, t.Kind), "task", limit{"E0401", loop}},
		{t.Sequence && t.Base > 10, "task.base", limit{"E0402", "a base of at most 10"}},
		{!t.Sequence && t.Hinted(), "task.hints", limit{"E0403", loop}},
		{!t.Sequence && t.RandomPad > 0, "task.random_pad", limit{"E0404", "pad = zero(to = …)"}},
		{t.Examples > 0 && (!t.Sequence || t.Below > 0), "task.examples", limit{"E0405",
			"train.budget = 20Mexamples, which says for how long to train"}},
		{t.Sequence && t.Used && (t.Hinted() || t.RandomPad > 0), "task.vocabulary", limit{"E0407", "vocabulary = full, or no hints and no random_pad"}},
		{t.Sequence && t.Kind == "sum", "task", limit{"E0408", "an encoder-decoder"}},
		{!t.Sequence && t.LossOnAll && !t.reads(), "task.loss_on", limit{"E0406", "loss_on = answer"}},
	} {
		if !l.holds {
			continue
		}
		what := "task " + t.Kind
		if l.path != "task" {
			what = fmt.Sprintf("%s = %s", l.path, c.get(l.path).text)
		}
		c.limited(l.limit, c.at(l.path), "%s", what)
	}
}

// hintedPlaces returns the number of places in the longest training number, as it is
// written.
func (t *Task) hintedPlaces() int {
	_, hi := t.digits()
	n := hi
	for _, p := range t.made().Parts() {
		most := tasks.Config{Config: p}.LongestAnswer()
		if most == 0 {
			continue
		}
		if p.Kind == "subtraction" && t.Pad.To == 0 {
			most-- // the sign takes no letter
		}
		n = max(n, most+t.Pad.Less)
	}
	return t.Pad.Width(n)
}
