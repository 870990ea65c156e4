package task

import (
	"fmt"
	"strings"
)

// maxDigits bounds what solve takes, so that a slip does not ask for a terabyte.
const maxDigits = 10_000

// Text is a problem as a person writes it.
func (t *Task) Text(p Problem) string { return strings.Join(p.Operands, t.kind.op) }

// Carries is the problem in which every operand has n of the highest digits.
func (t *Task) Carries(n int) Problem {
	operands := make([]string, t.kind.arity)
	for i := range operands {
		operands[i] = strings.Repeat(digits[t.cfg.Base-1:t.cfg.Base], n)
	}
	return t.solved(operands)
}

// Parse reads a problem as a person writes it; the error says what is expected.
func (t *Task) Parse(text string) (Problem, error) {
	fail := func(why string) (Problem, error) {
		return Problem{}, fmt.Errorf("%s: %s; expected %s, such as %s", quote(text), why, t.kind.expects, t.kind.example)
	}
	operands := []string{strings.TrimSpace(text)}
	if t.kind.arity > 1 {
		operands = strings.Split(text, t.kind.op)
	}
	if len(operands) != t.kind.arity {
		return fail(fmt.Sprintf("found %q %d times", t.kind.op, len(operands)-1))
	}
	for i, x := range operands {
		x = strings.ToLower(strings.TrimSpace(x))
		if x == "" {
			return fail("a number is missing")
		}
		if bad := strings.Trim(x, digits[:t.cfg.Base]); bad != "" {
			return fail(fmt.Sprintf("%q is no digit of base %d", []rune(bad)[0], t.cfg.Base))
		}
		if len(x) > maxDigits {
			return fail(fmt.Sprintf("%d digits are too many, the limit is %d", len(x), maxDigits))
		}
		operands[i] = trim(x)
	}
	return t.solved(operands), nil
}

// quote shortens what it quotes: the text may be anything.
func quote(text string) string {
	if r := []rune(text); len(r) > 40 {
		text = string(r[:37]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
