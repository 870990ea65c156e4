package check

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
)

// ofRounds reports whether an attribute of a stage is rounds, or an argument of it.
func ofRounds(attr string) bool { return attr == "rounds" || strings.HasPrefix(attr, "rounds.") }

// roundsOf resolves the rounds of a stage, or returns nil.
func (c *checker) roundsOf(name string) *value {
	path := "stage." + name + ".rounds"
	e := c.expression(path)
	if e == nil {
		return nil
	}
	v := c.value(c.lang.rows["stage.rounds"], path, e)
	if v == nil || v.is("none") {
		return nil
	}
	v.given, v.at = true, c.firstOf(func(p string) bool { return p == path || strings.HasPrefix(p, path+".") })
	c.values[path] = v
	return v
}

// longer returns the rounds of the stage that c resolves.
func (c *checker) longer() (r config.Rounds) {
	v := c.rounds
	if v == nil {
		return r
	}
	r = config.Rounds{Until: v.int("until"), Step: v.int("step"), Samples: v.int("samples"), Votes: v.int("votes"), Length: v.int("length"), Newest: v.num64("newest")}
	if v.arg("length").is("none") || c.kind == "subtraction" || c.kind == "parity" {
		r.Length = -1
	}
	return r
}

// checkRounds reports rounds that do not lead to longer problems, or that need more than
// the model's own answers.
func (c *checker) checkRounds(s *Spec) {
	if c.rounds == nil {
		return
	}
	t, at := &s.Task, c.rounds.at
	say := func(help, format string, args ...any) {
		c.report("E0347", at, format, args...).WithHelp("%s", help)
	}
	_, _, known := t.made().Answers(1, 1)
	_, hi := t.digits()
	budget := c.get("train.budget")
	switch {
	case !known || t.Kind == "or":
		say("they are for addition, subtraction, multiplication, nx1, parity and successor", "task %s has no longer problems for rounds", t.Kind)
	case t.Kind == "multiplication" && t.Scratchpad:
		say("leave scratchpad out", "a scratchpad would be computed from the factors, but rounds have only answers of the model")
	case t.Below > 0:
		say(fmt.Sprintf("draw operands by their length: task.operands = digits(1..%d)", hi), "task.operands = below(%s), but rounds ask longer ones", c.get("task.operands").arg("bound").text)
	case t.Examples > 0:
		say("leave examples out: problems are drawn as they are needed", "task.examples = %s repeats the same problems, but rounds add others", c.get("task.examples").text)
	case t.Curriculum.Any():
		say("set it in the earlier stage", "a curriculum changes the problems over the budget, but rounds divide the budget")
	case t.Rounds.Until <= hi:
		say("use until = "+strconv.Itoa(hi+1)+" or more", "rounds until = %d add no problem that is longer than task.operands = %s", t.Rounds.Until, c.operands())
	case budget.of != "steps":
		say("give the budget in steps", "rounds have equal shares of the steps, but train.budget = %s gives no number of steps", budget.text)
	case s.Train.Budget.Steps < t.Rounds.Count(hi):
		say("give at least one step for each, or make step in rounds larger", "there are %d rounds, but train.budget = %s", t.Rounds.Count(hi), budget.text)
	case t.Rounds.Votes > 1 && !t.Hinted() && t.Kind != "addition" && t.Kind != "multiplication":
		say("use votes = 1", "votes = %d, but a problem of %s can only be asked in one way", t.Rounds.Votes, t.Kind)
	case t.Sequence && t.widthTells(t.Rounds.Until):
		_, most, _ := t.made().Answers(t.Rounds.Until, t.Rounds.Until)
		help := "write pad = zero(to = 1, step = 1, answer = 2): answers always have one place more than operands"
		if t.Kind == "multiplication" {
			help = fmt.Sprintf("write pad = zero(to = %d): all numbers have one width", most)
		}
		say(help, "numbers are as wide as the longest of operands and answer, so the width of a problem reveals the length of its answer, which rounds do not know")
	}
}

// widthTells reports whether the width of operands, up to the given number of digits,
// reveals the length of the answer.
func (t *Task) widthTells(digits int) bool {
	if t.Pad.To == 0 && !t.Interleave {
		return false
	}
	for a := t.DigitsLo; a <= digits; a++ {
		for _, b := range []int{t.DigitsLo, a} {
			width := func(answer int) int { return t.Pad.Width(max(a, answer+t.Pad.Less)) }
			if least, most, _ := t.made().Answers(a, b); width(least) != width(most) {
				return true
			}
		}
	}
	return false
}
