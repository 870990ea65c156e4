package specs

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/internal/full"
)

// TestCeilingsOfTasks compares the compiler's warning with the best possible model for each way to
// write problems. The compiler warns exactly if that model is wrong somewhere.
func TestCeilingsOfTasks(t *testing.T) {
	// Of the operands of two digits, from 0 to width of source and answer.
	const (
		addition = "task addition { operands = digits(1..2)  pad = zero(to = 3)  order = "
		plain    = addition + "plain }\n"
		answer   = addition + "reversed_answer }\n"
		reversed = addition + "reversed }\n"
		side     = addition + "reversed  interleave = true }\n"
		narrow   = "task addition { operands = digits(1..2)  pad = zero(to = 2, answer = 3)  order = reversed }\n"
		wide     = "task addition { operands = digits(1..2)  pad = zero(to = 5, answer = 3)  order = reversed }\n"
		octal    = "task addition { base = 8  operands = digits(1..2)  pad = zero(to = 3)  order = reversed }\n"
		next     = "task successor { operands = digits(1..3)  pad = zero(to = 4)  order = reversed }\n"
		nextUp   = "task successor { operands = digits(1..3)  pad = zero(to = 4)  order = plain }\n"
		times    = "task nx1 { operands = digits(1..2)  pad = zero(to = 3)  order = reversed }\n"
		timesOf  = "task nx1 { operands = digits(1..2)  pad = zero(to = 3)  order = reversed  interleave = true }\n"
		bits     = "task parity { base = 2  operands = digits(1..8)  pad = zero(to = 8)  order = reversed  scratchpad = true }\n"
		bit      = "task parity { base = 2  operands = digits(1..5)  pad = zero(to = 5)  scratchpad = false }\n"
		text     = "task addition { operands = digits(1..2)  order = reversed }\n"
		again    = "task copy { base = 2  operands = digits(1..5) }\n"
		back     = "task copy { base = 2  operands = digits(1..5)  order = reversed_answer }\n"
		odd      = "task parity { operands = digits(1..5)  scratchpad = false }\n"
		textUp   = "task addition { operands = digits(1..2)  order = plain }\n"

		one, two = "1", "2"
		previous = "i - j <= 1"
		itself   = "i == j"
		shift    = "j == max(i - 1, 0)"
		both     = "j == i + 1 || j == i + 5"                                                 // a_i, b_i where they have three places
		heads    = "h == 0 && (j == i + 1 || j == i + 5) || h == 1 && (j == i || j == i + 4)" // and those before
		behind   = "(j == i || j == i + 4)"
	)
	decoder := func(task, layers, self, cross string, more ...string) string {
		return task + "model { heads = 2  encoder.layers = 0  decoder { layers = " + layers + "  self.mask = " + self + "  cross.mask = " + cross + " }\n" + strings.Join(more, "\n") + "\n}"
	}
	loop := func(task, layers, self string, more ...string) string {
		return task + "model { heads = 2  decoder_only { layers = " + layers + "  self.mask = " + self + " }\n" + strings.Join(more, "\n") + "\n}"
	}
	const (
		cycle   = "embed.position = cyclic(sinusoidal, period = 2)"
		abacus  = "embed.position = abacus()"
		sines   = "embed.position = sinusoidal"
		alibi   = "decoder.self.bias = alibi()"
		rope    = "decoder.cross.rotary = rope()"
		ropes   = "decoder_only.self.rotary = rope()"
		exactly = "j == i + 1"
	)
	counts := make(map[bool]int)
	for _, src := range full.Some([]string{
		decoder(reversed, one, previous, heads), decoder(reversed, one, previous, both), decoder(reversed, two, previous, both),
		decoder(reversed, one, previous, behind), decoder(reversed, one, itself, heads), decoder(reversed, one, previous, both, sines),
		decoder(plain, two, previous, both), decoder(plain, two, previous, "true", sines), decoder(answer, two, previous, both),
		decoder(answer, one, previous, "h == 0 && (j == 3 - i || j == 7 - i) || h == 1 && (j == 4 - i || j == 8 - i)"),
		decoder(side, two, previous, "j == 2 * i + 2 || j == 2 * i + 3"), decoder(side, one, previous, "j == 2 * i + 2 || j == 2 * i + 3"),
		decoder(side, two, previous, "j == 2 * i + 2"), decoder(side, two, previous, "true"), decoder(side, one, previous, "true", cycle),
		decoder(narrow, one, previous, "j == i || j == i + 4"), decoder(narrow, two, previous, "j == i + 1 || j == i + 4"), decoder(narrow, one, previous, "h == 0 && (j == i + 1 || j == i + 4) || h == 1 && (j == i || j == i + 3)"),
		decoder(wide, two, previous, "j == i + 1 || j == i + 7"), decoder(wide, two, previous, both),
		decoder(octal, two, previous, both), decoder(octal, two, previous, behind), decoder(octal, one, previous, heads),
		decoder(next, one, previous, exactly), decoder(next, two, previous, exactly), decoder(next, two, itself, exactly), decoder(next, one, itself, "true", rope), decoder(next, one, previous, "j <= 1"),
		decoder(nextUp, two, previous, exactly), decoder(nextUp, two, previous, "j > i", sines), decoder(next, two, previous, exactly, alibi),
		decoder(times, two, previous, "j == i + 1 || j == 5"), decoder(times, two, previous, exactly), decoder(timesOf, two, previous, "j == 2 * i + 2 || j == 2 * i + 3"), decoder(timesOf, two, previous, "j == 2 * i + 2"),
		decoder(bits, one, previous, exactly), decoder(bits, one, previous, "j == i || j == i + 2"), decoder(bit, one, previous, "true"), decoder(bit, one, previous, "j <= 4"),
		loop(text, two, "i - j <= 3"), loop(text, two, "true", ropes), loop(text, one, "j >= 2", abacus), loop(text, two, "j >= 1", ropes), loop(textUp, two, "i - j <= 2", ropes), loop(text, two, "i - j <= 2", abacus),
		loop(text, two, "j >= 0", abacus),
		loop(again, one, shift, "decoder_only.times = digits"), loop(again, one, shift, "decoder_only.times = digits - 1"), loop(again, one, shift, "decoder_only.times = 4"), loop(again, one, shift, "decoder_only.times = prompt - 2"),
		loop(again, two, previous, "decoder_only.times = digits - 1"), loop(back, one, shift, "decoder_only.times = 2 * digits - 1"), loop(back, one, shift, "decoder_only.times = digits + operands"),
		loop(odd, one, shift, "decoder_only.times = digits"), loop(odd, one, shift, "decoder_only.times = operands + 2"), loop(odd, one, previous, "decoder_only.times = prompt"),
		loop(text, one, previous, "decoder_only.times = prompt"), loop(text, one, previous, "decoder_only.times = 2 * digits - 1"), loop(text, one, previous, "decoder_only.times = 2 * digits + operands - 1"),
	}, 20) {
		read := func(string) ([]byte, error) { return []byte("arith 2\n" + src), nil }
		spec, list := check.Resolve(check.Options{Path: "a.arith", Read: read})
		if spec == nil {
			t.Fatalf("%s: %v", src, list)
		}
		best := ceiling(spec, written(spec.Task))
		warned := slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return d.Code == "V014" })
		if warned != (best < 1) {
			t.Errorf("%s\nthe best is %g, the compiler warns: %t", src, best, warned)
		}
		counts[warned]++
	}
	if least := full.Either(6, 15); counts[true] < least || counts[false] < least {
		t.Errorf("too few of a kind: %v", counts)
	}
}

// written lists all problems of a task, as it writes them.
func written(task check.Task) []problem {
	size := func(digits int) (n int) {
		n = 1
		for range digits {
			n *= task.Base
		}
		return n
	}
	first, second := 0, 1
	switch {
	case task.Kind == "addition":
		second = size(task.DigitsHi)
	case task.Kind == "nx1":
		second = 10
	}
	if task.Sequence {
		first = 1
	}
	var all []problem
	for a := first; a < size(task.DigitsHi); a++ {
		for b := min(first, second-1); b < second; b++ {
			all = append(all, one(task, a, b))
		}
	}
	return all
}

// one returns the problem of two numbers.
func one(task check.Task, a, b int) problem {
	answer := map[string]int{"addition": a + b, "successor": a + 1, "nx1": a * b, "copy": a}[task.Kind]
	width, said := task.Pad.To, task.Pad.To-task.Pad.Less
	x, y, z := digitsOf(task, a, width), digitsOf(task, b, width), digitsOf(task, answer, said)
	if task.Kind == "nx1" {
		y = strconv.Itoa(b)
		if task.Interleave {
			y = strings.Repeat(y, width)
		}
	}
	if task.Kind == "parity" {
		z = parities(x, task.Scratchpad)
		if !task.Scratchpad && task.Pad.To == 0 {
			z = z[len(z)-1:]
		}
	}
	if task.ReversedOperands {
		x, y = backwards(x), backwards(y)
	}
	if task.Reversed && (task.Kind != "parity" || task.Scratchpad) {
		z = backwards(z)
	}
	source := x
	switch op := map[string]string{"addition": "+", "nx1": "*"}[task.Kind]; {
	case task.Interleave:
		source = op + interleaved(x, y)
	case op != "":
		source = x + op + y
	}
	if task.Sequence {
		return problem{"", source + "=" + z, strings.Repeat(string(anything), len(source)) + z + "$"}
	}
	return problem{"^" + source + "$", "^" + z, z + "$"}
}

// digitsOf returns the digits of a number, at least width of them.
func digitsOf(task check.Task, n, width int) string {
	text := strconv.FormatInt(int64(n), task.Base)
	return strings.Repeat("0", max(width-len(text), 0)) + text
}

// parities returns the parities of the last bits of a number, or of all its bits behind zeros.
func parities(bits string, each bool) string {
	out := []byte(strings.Repeat("0", len(bits)))
	ones := 0
	for i := len(bits) - 1; i >= 0; i-- {
		ones += int(bits[i] - '0')
		if each {
			out[i] = byte('0' + ones%2)
		}
	}
	if !each {
		out[len(out)-1] = byte('0' + ones%2)
	}
	return string(out)
}

func backwards(text string) string {
	out := []byte(text)
	slices.Reverse(out)
	return string(out)
}
