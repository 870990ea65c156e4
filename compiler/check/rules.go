package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/config"
)

// checkRules reports attributes that contradict each other. The spec is complete.
func (c *checker) checkRules(s *Spec) {
	c.checkTask(&s.Task)
	c.checkRounds(s)
	c.checkStop(s)
	c.checkDuring(s)
	c.checkBiases(s)
	c.checkHeads(s.Model.Width, s.Model.Heads)
	c.checkProjections(&s.Model)
	c.checkTables(&s.Model)
	c.checkPlaces(s)
	c.checkHalves(s)
	c.checkPositions(s)
	if s.Train.MicroBatch > s.Train.Batch {
		c.report("E0305", c.at("train.microbatch"), "microbatch = %d is larger than batch = %d", s.Train.MicroBatch, s.Train.Batch).
			WithHelp("use microbatch = auto, or at most %d", s.Train.Batch)
	}
	c.checkChunk(s)
	c.checkRamp(&s.Train)
	c.checkLanes(s)
	c.checkCalibrated(s)
	c.checkPieces(&s.Train)
	if s.Train.Warmup+s.Train.Cooldown > 1 {
		v := c.values["train.schedule"].args
		c.report("E0310", c.at("train.schedule"), "warmup = %s and cooldown = %s exceed the budget", v["warmup"].text, v["cooldown"].text).
			WithHelp("together they are at most 100%%")
	}
	if s.Model.Loop == nil {
		c.checkRuns(s)
	}
	c.checkByLength(s)
}

// checkPieces reports points of a schedule that do not ascend, or lack a factor.
func (c *checker) checkPieces(t *Train) {
	const path = "train.schedule"
	if n := len(t.At); n != len(t.Factor) {
		c.report("E0341", c.at(path), "pieces have %s and %s", plural(n, "point"), plural(len(t.Factor), "factor")).WithHelp("give a factor for each share of the budget")
	} else if !slices.IsSorted(t.At) || len(slices.Compact(slices.Clone(t.At))) < n {
		c.report("E0341", c.at(path), "the points %s do not ascend", c.get(path).arg("at").text).WithHelp("list shares of the budget from the smallest to the largest, each once")
	}
}

// checkChunk reports chunks that are larger than the batch, or that whole launches do not
// fill. Launches may be smaller if a microbatch is a draw group.
func (c *checker) checkChunk(s *Spec) {
	const path = "train.chunk"
	chunk, launch := s.Train.Chunk, s.Train.MicroBatch
	switch {
	case chunk > s.Train.Batch:
		c.report("E0334", c.at(path), "chunk = %d is larger than batch = %d", chunk, s.Train.Batch).
			WithHelp("use chunk = auto, or at most %d", s.Train.Batch)
	case launch > 0 && chunk%launch != 0 && s.DrawGroup() == 0:
		c.report("E0334", c.at(path), "chunk = %d is no multiple of microbatch = %d, the examples of a launch", chunk, launch).
			WithHelp("use microbatch = auto, or chunk = %d", max(chunk/launch, 1)*launch)
	}
}

// checkRamp reports a batch that cannot grow from its first size.
func (c *checker) checkRamp(t *Train) {
	if t.RampFrom > t.Batch {
		c.report("E0330", c.get("train.ramp").arg("from").at, "from = %d is larger than batch = %d, which the batch grows to", t.RampFrom, t.Batch).
			WithHelp("use at most %d, or auto for one microbatch", t.Batch)
	}
}

// checkStop reports a stop by held-out problems if there are none.
func (c *checker) checkStop(s *Spec) {
	if stop := s.Train.Stop; stop != nil && stop.HeldOut && !s.holdsOut(s.Task.Holdout) {
		c.report("E0327", c.at("train.stop"), "training stops at an exact match of held-out problems, but task.holdout = %s holds out none", c.get("task.holdout").text).
			WithHelp("write stop = accuracy(on = train, …)%s", s.enoughHeldOut(", or hold some out: ", s.holdsOut))
	}
}

// checkDuring reports settings that depend on tests during training which are not made.
func (c *checker) checkDuring(s *Spec) {
	during, tests := &s.Eval.During, c.get("eval.during")
	if during.Every.Time > 0 {
		c.report("E0333", tests.arg("every").at, "every = %s is a time, so two runs would not be tested after the same steps", tests.arg("every").text).
			WithHelp("write steps, examples or FLOP, as every = 500steps")
	}
	if !during.Any() {
		c.checkUntested()
		return
	}
	lengths := during.Digits
	for _, x := range c.criteria(s) {
		v := c.get(x.path)
		switch at := x.by.At; {
		case x.by.Average && !s.Train.Averages:
			c.report("E0333", c.at(x.path), "%s compares averaged weights, but train.average = none", x.path).
				WithHelp("write of = weights, or train.average = ema()")
		case at > 0 && s.Task.File == nil && len(lengths) == 0:
			c.report("E0333", v.at, "%s counts the length %d, but eval.during.digits = auto does not say which lengths are tested", x.path, at).
				WithHelp("write eval.during.digits = [%d]", at)
		case at > 0 && s.Task.File == nil && !slices.Contains(lengths, at):
			c.report("E0333", v.at, "%s counts the length %d, but eval.during.digits = %s does not test it", x.path, at, tests.arg("digits").text).
				WithHelp("add it there, or leave out at")
		case at > 0 && s.Task.File == nil && s.seesAll(at, s.Task.Holdout):
			c.report("E0333", v.at, "%s counts the length %d, but training has all problems of this length", x.path, at).
				WithHelp("count a longer length%s", s.enoughHeldOut(", or hold some out: ", func(share float64) bool { return !s.seesAll(at, share) }))
		}
	}
}

// checkUntested reports comparisons of tests during training if there are no such tests.
func (c *checker) checkUntested() {
	for _, path := range []string{"train.keep", "train.stop"} {
		v := c.get(path)
		if c.kind == "text" && (v.is("best") || v.is("plateau") || v.is("accuracy")) {
			c.report("E0333", c.at(path), "%s = %s compares tests of answers, which a text does not have", path, v.word).
				WithHelp("leave it out: reports have the loss on the held-out text")
		} else if v.is("best") || v.is("plateau") {
			c.report("E0333", c.at(path), "%s = %s compares tests during training, but eval.during = none", path, v.word).
				WithHelp("write eval.during = tests(every = 500steps), or leave it out")
		}
	}
}

// A criterion compares tests during training, for the attribute at path.
type criterion struct {
	path string
	by   config.Criterion
}

// criteria lists the criteria of a spec.
func (c *checker) criteria(s *Spec) (all []criterion) {
	if b := s.Train.Best; b != nil {
		all = append(all, criterion{"train.keep", *b})
	}
	if p := s.Train.Plateau; p != nil {
		all = append(all, criterion{"train.stop", p.By})
	}
	return all
}

// checkRuns reports settings of a loop's recurrences of a model that is not decoder-only.
func (c *checker) checkRuns(s *Spec) {
	for _, path := range []string{"eval.times", "eval.settle"} {
		if v := c.values[path]; v != nil && !v.is("none") {
			c.report("E0318", c.at(path), "only a decoder-only model can run %s times", v.text).
				WithHelp("leave it out, or write model.decoder_only")
		}
	}
	if s.Train.Progressive {
		c.report("E0318", c.at("train.loss"), "a progressive loss needs the recurrences of a decoder-only model").
			WithHelp("use loss = cross_entropy, or write model.decoder_only")
	}
	if !c.get("train.throttle").is("none") {
		c.report("E0318", c.at("train.throttle"), "throttle counts the recurrences of a decoder-only model").
			WithHelp("leave it out, or write model.decoder_only")
	}
}

// at returns the place of an attribute's value, or of its block if the value is the
// default.
func (c *checker) at(path string) diag.Range {
	if v := c.values[path]; v != nil && v.given {
		return v.at
	}
	return c.where(path)
}

// atFirst returns the place of the first of the attributes that the spec sets.
func (c *checker) atFirst(paths ...string) diag.Range {
	for _, p := range paths {
		if v := c.values[p]; v != nil && v.given {
			return v.at
		}
	}
	return c.at(paths[0])
}

func (c *checker) checkHeads(width, heads int) {
	if width%heads == 0 || !c.get("model.head_width").is("auto") {
		return
	}
	below, above := heads, heads
	for width%below != 0 {
		below--
	}
	help := fmt.Sprintf("use %d", below)
	for above < width && width%above != 0 {
		above++
	}
	if width%above == 0 {
		help += fmt.Sprintf(" or %d", above)
	}
	c.report("E0301", c.atFirst("model.heads", "model.width"), "heads = %d does not divide width = %d", heads, width).WithHelp("%s", help)
}

// operands returns the range of digits of the operands, as it is written, for messages.
func (c *checker) operands() string {
	v := c.get("task.operands")
	return fmt.Sprintf("digits(%s)", v.arg("range").text)
}

// checkHalves reports odd numbers that must be halved: the units of gated layers, and the
// rotated part of a head.
func (c *checker) checkHalves(s *Spec) {
	for _, path := range []string{"model.ffn", "model.head"} {
		if v := c.get(path); Activations[v.word].Gated && v.int("hidden")%2 != 0 {
			c.report("E0316", c.at(path), "the gate halves hidden = %d, which is odd", v.int("hidden")).WithHelp("use hidden = %d", v.int("hidden")+1)
		}
	}
	width := c.num("model.width")
	for _, path := range []string{"model.decoder_only.self", "model.encoder.self", "model.decoder.self", "model.decoder.cross"} {
		v := c.get(path + ".rotary")
		whole, what := float64(s.Model.HeadUnits()), "head"
		if v.arg("of").is("input") {
			whole, what = width, "vector"
		}
		// A share is seldom exact in float64: 28% of 100 is slightly more than 28.
		if n := whole * v.num64("fraction"); v.is("rope") && math.Abs(math.Remainder(n, 2)) > 1e-9*whole {
			c.report("E0317", c.at(path+".rotary"), "rotary embedding rotates pairs, but %s of a %s of width %s is %s", v.args["fraction"].text, what, short(whole), short(n)).
				WithHelp("choose a fraction that leaves an even number")
		}
	}
}

// short returns a number for a message.
func short(x float64) string { return fmt.Sprintf("%.4g", x) }

// checkPositions reports a table of positions that is too small.
func (c *checker) checkPositions(s *Spec) {
	const path = "model.embed.position"
	p := &s.Model.Position
	if (p.Kind == "sinusoidal" || p.Inner == "sinusoidal") && s.Model.Width%2 != 0 {
		c.report("E0306", c.atFirst("model.width", path), "sinusoidal positions need an even width, not %d", s.Model.Width).
			WithHelp("use width = %d", s.Model.Width+1)
	}
	trained, tested := s.positions()
	all, shifted := max(trained, tested), ""
	if p.MaxOffset > 0 {
		shifted = " at the largest offset"
	}
	switch {
	case p.scheme().digits && all >= p.Table:
		c.report("E0304", c.at(path), "table = %d has too few rows for digits %d places from the start of a number", p.Table, all).
			WithHelp("use table = %d: a row for each place of the longest number and offset, and one for all other tokens", all+1)
	case p.Kind == "learned" && all > p.Max:
		c.report("E0304", c.at(path), "max = %d is fewer than the %d positions of the longest problem", p.Max, all).
			WithHelp("use learned(max = %d)", all)
	case p.Max > 0 && trained > p.Max:
		c.report("E0304", c.at(path), "max = %d is fewer than the %d positions of the longest problem of training%s", p.Max, trained, shifted).
			WithHelp("use a max of %d or more", trained)
	case p.Max > 0 && p.Rows() > 0 && tested > p.Max:
		c.report("E0304", c.at(path), "max = %d is fewer than the %d positions of the longest problem of tests, which count from 0", p.Max, tested).
			WithHelp("use a max of %d or more", tested)
	}
}
