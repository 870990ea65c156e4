// Package rounds asks a model longer and longer problems, and makes examples of its answers
// (Lee et al. 2025, arXiv:2502.01612). A question depends on the seed, the round and its
// number. Nothing here tells the model, or the filter, the right answer.
package rounds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
)

// Asked returns problem k of a round once for each vote. If the kind commutes, every other copy
// has its operands reversed. Each copy draws its own first letter of hints. Its Answer is
// Bound: it reveals how long an answer may be, and nothing else.
func Asked(t *task.Task, round, k int) []task.Problem {
	src := t.Source(philox.Asked, uint64(round)<<32|uint64(k))
	c, d := t.Config(), t.Draft(task.Problem{})
	lengths := c.Rounds.Lengths(c.DigitsHi, round)
	t.DrawOperands(d, src, t.Kind().Arity, func(int) int { return lengths.Lo + src.Intn(lengths.Hi-lengths.Lo+1) })
	d.Answer = t.Bound(d.Operands)
	all := make([]task.Problem, c.Rounds.Votes)
	for i := range all {
		t.Hint(d, src)
		all[i] = d.Problem()
		if i%2 == 1 && t.Kind().Commutes() {
			slices.Reverse(all[i].Operands)
		}
	}
	return all
}

// Reads is the answer that a reply gives to an Asked problem; not ok: the reply is malformed.
func Reads(t *task.Task, p task.Problem, reply []int32) (answer string, ok bool) {
	room, err := t.Width(p)
	p.Answer = t.Decode(p, reply)
	plain := p.Answer
	if t.Kind().Name == "subtraction" {
		plain = strings.TrimPrefix(plain, "-")
	}
	if plain == "" || strings.Trim(plain, task.Digits[:t.Config().Base]) != "" {
		return "", false
	}
	if width, err2 := t.Width(p); cmp.Or(err, err2) != nil || width > room {
		return "", false
	}
	want := t.Reference(p)
	if !t.Ends() {
		want = want[:len(want)-1]
	}
	if !slices.Equal(reply, want) {
		return "", false
	}
	return p.Answer, true
}

// Truly counts the problems that have right answers. Training does not use it.
func Truly(t *task.Task, problems []task.Problem) (right int) {
	for _, p := range problems {
		if t.Solved(p.Operands).Answer == p.Answer {
			right++
		}
	}
	return right
}

// ParseAnswered reads a problem with the answer that Answered writes.
func ParseAnswered(t *task.Task, line string) (task.Problem, error) {
	text, answer, _ := strings.Cut(line, "=")
	p, err := t.Parse(text)
	plain := strings.TrimPrefix(answer, "-")
	if err == nil && (plain == "" || strings.Trim(plain, task.Digits[:t.Config().Base]) != "") {
		err = fmt.Errorf("%s has no answer", task.Quote(line))
	}
	p.Answer = cmp.Or(answer, p.Answer)
	return p, err
}

// Answered is a problem with its answer, as a person writes it.
func Answered(t *task.Task, p task.Problem) string { return t.Text(p) + "=" + p.Answer }

// WithAnswers returns the task after rounds that kept these problems. A training example is
// from the last round with probability Newest, else of any length so far, each equally likely.
// Examples of the task's own lengths have true answers.
func WithAnswers(t *task.Task, kept [][]task.Problem) *task.Task {
	if len(kept) == 0 {
		return t
	}
	c := t.Config()
	return t.WithRounds(func(src *philox.Source) (p task.Problem, ok bool) {
		set := kept[len(kept)-1]
		if src.Float64() >= c.Rounds.Newest {
			own := c.DigitsHi - c.DigitsLo + 1
			last := c.Rounds.Lengths(c.DigitsHi, len(kept)-1)
			n := src.Intn(own + last.Hi - c.DigitsHi)
			if set = nil; n >= own {
				set = kept[(n-own)/c.Rounds.Step]
			}
		}
		if len(set) == 0 {
			return p, false
		}
		return set[src.Intn(len(set))], true
	})
}
