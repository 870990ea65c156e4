package config

import (
	"strconv"
	"strings"
)

// A Length describes the size of a problem before it is answered.
type Length struct {
	Digits   int // digits of the longest operand
	Operands int // operands, or entries of an array
	Prompt   int // tokens up to and including the =, without fillers
}

// Recurrences say how often a loop runs on a problem: Plus, and a multiple of each of its
// lengths. For the zero Recurrences the loop runs equally often on all problems.
type Recurrences struct{ Plus, Digits, Operands, Prompt int }

// ByLength reports whether the number of runs depends on the problem.
func (r Recurrences) ByLength() bool { return r.Digits != 0 || r.Operands != 0 || r.Prompt != 0 }

// Of returns the number of runs for a problem, at least 1.
func (r Recurrences) Of(l Length) int {
	return max(1, r.Plus+r.Digits*l.Digits+r.Operands*l.Operands+r.Prompt*l.Prompt)
}

// String writes it as a spec does.
func (r Recurrences) String() string {
	var b strings.Builder
	for _, t := range []struct {
		n    int
		name string
	}{{r.Digits, "digits"}, {r.Operands, "operands"}, {r.Prompt, "prompt"}} {
		if t.n == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" + ")
		}
		if t.n != 1 {
			b.WriteString(strconv.Itoa(t.n) + " * ")
		}
		b.WriteString(t.name)
	}
	switch {
	case b.Len() == 0:
		return strconv.Itoa(r.Plus)
	case r.Plus > 0:
		b.WriteString(" + " + strconv.Itoa(r.Plus))
	case r.Plus < 0:
		b.WriteString(" - " + strconv.Itoa(-r.Plus))
	}
	return b.String()
}
