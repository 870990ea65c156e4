package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/philox"
)

// In rounds a model is trained on its own answers to longer and longer problems (Lee et
// al. 2025, arXiv:2502.01612). What is asked is a function of the seed and of round and
// number; nothing here tells the model, or the filter, what is right.

// Rounds is how the task's training goes on to longer problems.
func (t *Task) Rounds() config.Rounds { return t.cfg.Rounds }

// Asked returns problem k that is asked in a round, as often as there are votes: with the
// operands in turn in either order where that changes nothing, and with hints from other
// letters. The Answer of each is one that no answer to operands as long is longer than: it
// says how much room there is, and nothing of what is right.
func (t *Task) Asked(round, k int) []Problem {
	src := philox.NewSource(t.seed, philox.Asked, uint64(round)<<32|uint64(k), uint16(t.part))
	d := draft{of: t}
	lengths := t.cfg.Rounds.Lengths(t.cfg.DigitsHi, round)
	t.operands(&d, src, t.kind.arity, func(int) int { return lengths.Lo + src.Intn(lengths.Hi-lengths.Lo+1) })
	d.answer = t.bound(d.operands)
	all := make([]Problem, t.cfg.Rounds.Votes)
	for i := range all {
		if t.cfg.Sequence {
			t.hint(&d, src)
		}
		all[i] = d.problem()
		if i%2 == 1 && t.kind.commutes() {
			slices.Reverse(all[i].Operands)
		}
	}
	return all
}

// bound is a number that no answer to operands of these lengths is longer than.
func (t *Task) bound(x [][]byte) []byte {
	n := t.cfg.asked(len(x[0]), len(x[len(x)-1]))
	if t.kind.name == "subtraction" {
		return append([]byte("-1"), strings.Repeat("0", n-2)...)
	}
	return append([]byte("1"), strings.Repeat("0", n-1)...)
}

// commutes reports whether operands may change places.
func (k *kind) commutes() bool { return k.name == "addition" || k.name == "multiplication" }

// Reads is the answer to a problem that was Asked, as a reply has it; not ok where that is
// not written as answers are.
func (t *Task) Reads(p Problem, reply []int32) (answer string, ok bool) {
	room, err := t.Width(p)
	p.Answer = t.Decode(p, reply)
	plain := p.Answer
	if t.kind.name == "subtraction" {
		plain = strings.TrimPrefix(plain, "-")
	}
	if plain == "" || strings.Trim(plain, digits[:t.cfg.Base]) != "" {
		return "", false
	}
	if width, err2 := t.Width(p); cmp.Or(err, err2) != nil || width > room {
		return "", false
	}
	want := t.reference(p)
	if !t.Ends() {
		want = want[:len(want)-1]
	}
	if !slices.Equal(reply, want) {
		return "", false
	}
	return p.Answer, true
}

// Truly is how many problems have right answers, which training is not told.
func (t *Task) Truly(problems []Problem) (right int) {
	for _, p := range problems {
		if t.solved(p.Operands).Answer == p.Answer {
			right++
		}
	}
	return right
}

// WithAnswers returns the task in the round behind these, of each of which it has what is
// kept: an example of training is of the last with the chance of Newest, else of any
// length, each equally likely. Those of the task's own lengths have true answers.
func (t *Task) WithAnswers(kept [][]Problem) *Task {
	u := *t
	u.answers = kept
	return &u
}

// inRounds makes training example k.
func (t *Task) inRounds(d *draft, k int64) {
	src := philox.NewSource(t.seed, philox.Mixed, uint64(k), uint16(t.part))
	set := t.answers[len(t.answers)-1]
	if src.Float64() >= t.cfg.Rounds.Newest {
		own := t.cfg.DigitsHi - t.cfg.DigitsLo + 1
		last := t.cfg.Rounds.Lengths(t.cfg.DigitsHi, len(t.answers)-1)
		n := src.Intn(own + last.Hi - t.cfg.DigitsHi)
		if set = nil; n >= own {
			set = t.answers[(n-own)/t.cfg.Rounds.Step]
		}
	}
	if len(set) == 0 {
		t.anew(d, k, false)
		return
	}
	p := set[src.Intn(len(set))]
	d.of = t
	d.room(len(p.Operands))
	for i, x := range p.Operands {
		d.operands[i] = append(d.operands[i][:0], x...)
	}
	d.answer = append(d.answer[:0], p.Answer...)
	if t.cfg.Sequence {
		t.decorate(d, src, false)
	}
}

// checkRounds wants rounds that lead to longer problems of one kind.
func (c *Config) checkRounds() error {
	r := c.Rounds
	if !r.Any() {
		return nil
	}
	k, _ := kindOf(c)
	family, plain := k.family.(numbers)
	switch {
	case !plain || c.Below > 0 || c.Examples > 0 || c.Curriculum.Any():
		return fmt.Errorf("rounds are for numbers that are drawn anew by their digits, of one kind, without a curriculum")
	case r.Until <= c.DigitsHi || r.Step < 1 || r.Samples < 1 || r.Votes < 1 || r.Newest < 0 || r.Newest > 1:
		return fmt.Errorf("rounds up to %d digits by %d, of %d problems with %d votes, behind problems of %d digits: want longer ones", r.Until, r.Step, r.Samples, r.Votes, c.DigitsHi)
	case r.Votes > 1 && !c.hinted() && (family.digit || !k.commutes()):
		return fmt.Errorf("%d votes on a problem that can be asked in one way only", r.Votes)
	}
	return nil
}

// ParseAnswered reads a problem with an answer as Answered writes it.
func (t *Task) ParseAnswered(line string) (Problem, error) {
	text, answer, _ := strings.Cut(line, "=")
	p, err := t.Parse(text)
	plain := strings.TrimPrefix(answer, "-")
	if err == nil && (plain == "" || strings.Trim(plain, digits[:t.cfg.Base]) != "") {
		err = fmt.Errorf("%s has no answer", quote(line))
	}
	p.Answer = cmp.Or(answer, p.Answer)
	return p, err
}

// Answered is a problem with its answer, as a person writes it.
func (t *Task) Answered(p Problem) string { return t.Text(p) + "=" + p.Answer }
