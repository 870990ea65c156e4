package task

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
)

// Text is a problem as a person writes it.
func (t *Task) Text(p Problem) string { return strings.Join(p.Operands, t.of(p).kind.Op) }

// Written is a problem as a sequence, prompt=answer, with fillers as spaces; for an
// encoder-decoder, Text.
func (t *Task) Written(p Problem) string {
	if !t.cfg.Sequence {
		return t.Text(p)
	}
	d := t.Draft(p)
	d.of.mustWrite(d)
	if t.Listed() && t.cfg.Tokens != (Config{}).Tokens { // these join tokens by their own rule
		return t.join(d.Tokens[:d.Prompt-1]) + t.cfg.Separator + t.join(d.Tokens[d.Prompt:len(d.Tokens)-1])
	}
	var b strings.Builder
	for _, id := range d.Tokens[:len(d.Tokens)-1] {
		b.WriteString(t.vocab.Symbols[id])
	}
	return b.String()
}

// Carries returns a problem of n digits with many carries, an array of n entries, or a held-out
// problem of a file.
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
	if f, ok := t.kind.Family.(Listing); ok {
		return f.ParseLine(t, text)
	}
	fail := func(why string) (Problem, error) {
		return Problem{}, fmt.Errorf("%s: %s; expected %s, such as %s", Quote(text), why, t.kind.Expects, t.kind.Example)
	}
	plain := text
	if t.kind.Op == "*" {
		plain = strings.ReplaceAll(plain, "×", "*")
		if !strings.Contains(Digits[:t.cfg.Base], "x") {
			plain = strings.ReplaceAll(plain, "x", "*")
		}
	}
	operands := []string{strings.TrimSpace(plain)}
	if t.kind.Arity != 1 {
		operands = strings.Split(plain, t.kind.Op)
	}
	if t.kind.Arity > 0 && len(operands) != t.kind.Arity || t.Sums() && len(operands) < 2 {
		return fail(fmt.Sprintf("found %q %d times", t.kind.Op, len(operands)-1))
	}
	for i, x := range operands {
		x = strings.ToLower(strings.TrimSpace(x))
		if x == "" {
			return fail("a number is missing")
		}
		if len(x) > config.MaxDigits {
			return fail(fmt.Sprintf("%d digits are too many, the limit is %d", len(x), config.MaxDigits))
		}
		x, err := t.kind.Family.Parse(t, x)
		if err != nil {
			return fail(err.Error())
		}
		operands[i] = x
	}
	if t.single() && len(operands[1]) > 1 {
		return fail(fmt.Sprintf("%s is no digit", Quote(operands[1])))
	}
	return t.Solved(operands), nil
}

// Solved returns the problem of these operands with its answer.
func (t *Task) Solved(operands []string) Problem {
	d := t.Draft(Problem{Operands: slices.Clone(operands)})
	t.solve(d)
	return d.Problem()
}

// Correct reports whether a reply, with its end, is the answer to a problem. With hints only
// the digits count; in sorting only as many tokens as the answer has (McLeish et al. 2024,
// arXiv:2405.17399, the released code).
func (t *Task) Correct(p Problem, reply []int32) bool {
	want := t.Reference(p)
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

// Reference returns the tokens of a problem's answer, with the end.
func (t *Task) Reference(p Problem) []int32 {
	if t.cfg.Sequence {
		d := t.Draft(p)
		d.of.mustWrite(d)
		return d.Tokens[d.Prompt:]
	}
	b, err := t.One(p)
	if err != nil {
		panic("BUG: a problem without a width is judged: " + err.Error())
	}
	return b.Labels
}

// Quote quotes a text, shortened.
func Quote(text string) string {
	if r := []rune(text); len(r) > 40 {
		text = string(r[:37]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
