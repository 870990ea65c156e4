package task

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
)

// Text is a problem as a person writes it.
func (t *Task) Text(p Problem) string { return strings.Join(p.Operands, t.of(p).kind.op) }

// Written is a problem as a sequence has it, prompt=answer, with fillers as
// spaces; for an encoder-decoder, as Text.
func (t *Task) Written(p Problem) string {
	if !t.cfg.Sequence {
		return t.Text(p)
	}
	d := t.draft(p)
	d.of.mustWrite(d)
	if f, ok := t.kind.family.(*lines); ok && t.vocab.words != nil {
		return t.join(d.tokens[:d.prompt-1]) + f.separator + t.join(d.tokens[d.prompt:len(d.tokens)-1])
	}
	var b strings.Builder
	for _, id := range d.tokens[:len(d.tokens)-1] {
		b.WriteString(t.vocab.symbols[id])
	}
	return b.String()
}

// Carries is a problem with many carries, of numbers of n digits; of arrays, one
// of n entries; of a file, one that is held out.
func (t *Task) Carries(n int) Problem {
	if t.Listed() {
		return t.HeldOut(0)
	}
	if t.Sums() {
		return t.longest(n, t.cfg.OperandsHi)
	}
	if t.Arrays() {
		return t.longest(min(n, t.cfg.DigitsHi), n)
	}
	if len(t.parts) > 0 {
		return t.parts[0].Carries(n)
	}
	return t.longest(n, n)
}

// Parse reads a problem as a person writes it; the error says what is expected.
func (t *Task) Parse(text string) (Problem, error) {
	var problem Problem
	err := error(nil)
	for _, u := range t.parts {
		if problem, err = u.Parse(text); err == nil {
			return problem, nil
		}
	}
	if len(t.parts) > 0 {
		return Problem{}, err
	}
	if t.Listed() {
		return t.parseListed(text)
	}
	fail := func(why string) (Problem, error) {
		return Problem{}, fmt.Errorf("%s: %s; expected %s, such as %s", quote(text), why, t.kind.expects, t.kind.example)
	}
	plain := text
	if t.kind.op == "*" {
		plain = strings.ReplaceAll(plain, "×", "*")
		if !strings.Contains(digits[:t.cfg.Base], "x") {
			plain = strings.ReplaceAll(plain, "x", "*")
		}
	}
	operands := []string{strings.TrimSpace(plain)}
	if t.kind.arity != 1 {
		operands = strings.Split(plain, t.kind.op)
	}
	if t.kind.arity > 0 && len(operands) != t.kind.arity || t.Sums() && len(operands) < 2 {
		return fail(fmt.Sprintf("found %q %d times", t.kind.op, len(operands)-1))
	}
	for i, x := range operands {
		x = strings.ToLower(strings.TrimSpace(x))
		if x == "" {
			return fail("a number is missing")
		}
		if len(x) > config.MaxDigits {
			return fail(fmt.Sprintf("%d digits are too many, the limit is %d", len(x), config.MaxDigits))
		}
		x, err := t.kind.family.parse(t, x)
		if err != nil {
			return fail(err.Error())
		}
		operands[i] = x
	}
	if t.single() && len(operands[1]) > 1 {
		return fail(fmt.Sprintf("%s is no digit", quote(operands[1])))
	}
	return t.solved(operands), nil
}

// solved is the problem of these operands.
func (t *Task) solved(operands []string) Problem {
	d := t.draft(Problem{Operands: slices.Clone(operands)})
	t.solve(d)
	return d.problem()
}

// Correct reports whether a reply, with its end, is the answer to a problem. Of
// sequences with hints only the digits count, of sorting only as many tokens as
// the answer has (McLeish et al. 2024, arXiv:2405.17399, the released code).
func (t *Task) Correct(p Problem, reply []int32) bool {
	want := t.reference(p)
	if !t.EndCounts() {
		want = want[:len(want)-1]
		return len(reply) >= len(want) && slices.Equal(reply[:len(want)], want)
	}
	reply = slices.DeleteFunc(slices.Clone(reply), t.IsHint)
	if end := slices.Index(reply, t.EOS()); end >= 0 {
		reply = reply[:end+1]
	}
	return slices.Equal(reply, slices.DeleteFunc(want, t.IsHint))
}

// reference is the tokens of the answer to a problem, with the end.
func (t *Task) reference(p Problem) []int32 {
	if t.cfg.Sequence {
		d := t.draft(p)
		d.of.mustWrite(d)
		return d.tokens[d.prompt:]
	}
	b, err := t.One(p)
	if err != nil {
		panic("BUG: a problem without a width is judged: " + err.Error())
	}
	return b.Labels
}

// quote shortens what it quotes: the text may be anything.
func quote(text string) string {
	if r := []rune(text); len(r) > 40 {
		text = string(r[:37]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
