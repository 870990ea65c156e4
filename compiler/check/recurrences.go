package check

import (
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// maxRecurrences is the largest number of recurrences in training.
const maxRecurrences = 1 << 10

// recurrences reads how often a loop runs: a whole number, or a linear expression in the
// lengths of a problem.
func (c *checker) recurrences(row *dsl.Row, path string, e *dsl.Expr) *value {
	lengths := strings.Fields(row.Words)
	if !slices.ContainsFunc(names(e), func(name string) bool { return slices.Contains(lengths, name) }) {
		return c.numeric(row, path, e)
	}
	x, ok := linear(e)
	if !ok {
		c.report("E0206", e.Range, "%s = %s is no sum of whole numbers and multiples of digits, operands and prompt", path, text(e)).
			WithHelp("write a whole number, or a sum such as digits + 1 or 2 * digits + 3")
		return nil
	}
	if n := float64(x.Plus); !x.ByLength() && (n < row.Min || n > row.Max) {
		c.outside(row, path, e)
		return nil
	}
	return &value{text: dsl.Format(e), num: float64(x.Plus), recurrences: x}
}

// linear returns a sum of whole numbers and multiples of lengths. The multiples must not
// be negative.
func linear(e *dsl.Expr) (x config.Recurrences, ok bool) {
	x, ok = terms(e)
	return x, ok && min(x.Digits, x.Operands, x.Prompt) >= 0
}

func terms(e *dsl.Expr) (x config.Recurrences, ok bool) {
	switch e.Kind {
	case dsl.Number:
		n := dsl.Unit{Factor: 1}.Value(e.Text)
		return config.Recurrences{Plus: int(n)}, e.Unit == "" && n == math.Trunc(n) && n <= maxRecurrences
	case dsl.Name:
		x, ok = map[string]config.Recurrences{"digits": {Digits: 1}, "operands": {Operands: 1}, "prompt": {Prompt: 1}}[e.Text]
		return x, ok
	case dsl.Unary:
		x, ok = terms(e.Arg(0))
		return multiplied(x, -1), ok && e.Text == "-"
	case dsl.Binary:
		a, first := terms(e.Arg(0))
		b, second := terms(e.Arg(1))
		if !first || !second {
			return x, false
		}
		switch e.Text {
		case "+":
			return added(a, b), true
		case "-":
			return added(a, multiplied(b, -1)), true
		case "*":
			if b.ByLength() {
				a, b = b, a
			}
			x = multiplied(a, b.Plus)
			return x, !b.ByLength() && max(x.Plus, x.Digits, x.Operands, x.Prompt) <= maxRecurrences && min(x.Plus, x.Digits, x.Operands, x.Prompt) >= -maxRecurrences
		}
	}
	return x, false
}

func added(a, b config.Recurrences) config.Recurrences {
	return config.Recurrences{Plus: a.Plus + b.Plus, Digits: a.Digits + b.Digits, Operands: a.Operands + b.Operands, Prompt: a.Prompt + b.Prompt}
}

func multiplied(a config.Recurrences, n int) config.Recurrences {
	return config.Recurrences{Plus: n * a.Plus, Digits: n * a.Digits, Operands: n * a.Operands, Prompt: n * a.Prompt}
}

// byLength computes the number of recurrences for the longest training problems, if it
// depends on lengths.
func (c *checker) byLength(s *Spec) {
	by := c.get("model.decoder_only.times").recurrences
	if s.Model.Loop == nil || !by.ByLength() {
		return
	}
	s.Task.Recurrences, s.Eval.ByLength, s.Model.Loop.Times = by, true, 1
	if t, err := tasks.New(task.Config(s.Task.Task), 0); err == nil { // other rules report the error
		s.Model.Loop.Times = t.MostRecurrences()
	}
}

// checkByLength reports recurrences by length that the task has no lengths for, and
// losses and budgets that need a constant number.
func (c *checker) checkByLength(s *Spec) {
	const path = "model.decoder_only.times"
	by := s.Task.Recurrences
	if !by.ByLength() {
		return
	}
	at, text := c.at(path), c.get(path).text
	switch {
	case s.Task.File != nil && (by.Digits != 0 || by.Operands != 0):
		c.report("E0350", at, "times = %s, but problems of a file have no known digits or operands", text).
			WithHelp("write times = prompt, which counts the tokens up to the answer")
	case s.Task.reads():
		c.report("E0350", at, "times = %s, but all windows of a text have the same length", text).WithHelp("write a number")
	case s.Model.Loop.Times > maxRecurrences:
		c.report("E0350", at, "times = %s is %d for the longest problems of training", text, s.Model.Loop.Times).
			WithHelp("use at most %d, or shorter problems", maxRecurrences)
	case s.Train.Progressive:
		c.report("E0350", c.at("train.loss"), "a progressive loss draws from the same recurrences for all problems, but model.decoder_only.times = %s", text).
			WithHelp("write loss = cross_entropy, whose gradients go through all recurrences")
	case !c.get("train.throttle").is("none"):
		c.report("E0350", c.at("train.throttle"), "throttle needs the same number of recurrences for all problems, but model.decoder_only.times = %s", text).
			WithHelp("leave it out")
	case s.Train.Budget.FLOP > 0:
		c.report("E0350", c.at("train.budget"), "a budget in FLOP needs the same number of recurrences for all problems, but model.decoder_only.times = %s", text).
			WithHelp("write steps, examples or a time")
	}
}
