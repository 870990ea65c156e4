package vector

import (
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// counted compiles a kernel for AVX2. It returns its instructions by the size T, and its
// assembly.
func counted(t *testing.T, body string) (count func(size int) int, text string) {
	t.Helper()
	ks, err := kernel.Parse("kernel k map\n  in     x f32[T, 64]\n  out    y f32[T, 64]\n  scalar T\n  grid   g < 1\n\n" + body + "\nend\n")
	if err != nil {
		t.Fatal(err)
	}
	l := kernelOf(ks[0])
	code, err := files("Header.", []*Kernel{l})
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = strings.Cut(string(code["kernels_amd64.s"]), "TEXT ·kAVX2(SB)")
	_, text, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, "\n// func")
	return func(size int) int {
		return int(l.Instructions[avx2.name].Total(kernel.Scalars{"T": float64(size)}))
	}, text
}

var instruction = regexp.MustCompile(`^\t[A-Z]`)

// lines counts the instructions of a text.
func lines(text string) (n int) {
	for line := range strings.Lines(text) {
		if instruction.MatchString(line) {
			n++
		}
	}
	return n
}

// inLoop counts the instructions from a label to the jump to it.
func inLoop(t *testing.T, text, label string) int {
	t.Helper()
	_, body, ok := strings.Cut(text, "\n"+label+":\n")
	end := regexp.MustCompile(`\tJ\w+ +` + label + `\n`).FindStringIndex(body)
	if !ok || end == nil {
		t.Fatalf("no loop %s in\n%s", label, text)
	}
	return lines(body[:end[1]])
}

// TestInstructions compares counts with the assembly. Without a loop over data, every
// instruction counts once. A loop counts the instructions between its labels once per
// iteration. The loop over the only cell of the grid surrounds everything.
func TestInstructions(t *testing.T) {
	count, text := counted(t, "set y[0, e] = x[0, e] * 2.0 for e < 20")
	if got, want := count(7), lines(text); got != want {
		t.Errorf("%d instructions, want %d as in\n%s", got, want, text)
	}

	count, text = counted(t, "reduce s = sum(x[0, e])\nset y[0, 0] = s\nset y[0, e + 1] = x[0, e] - s for e < 24")
	if got, want := count(7), lines(text); got != want {
		t.Errorf("sums: %d instructions, want %d as in\n%s", got, want, text)
	}

	count, text = counted(t, "set y[0, e] = x[0, e] * 2.0 for e < T")
	loop := inLoop(t, text, label(t, text, "loop", 1))
	if got := count(80) - count(72); got != loop {
		t.Errorf("%d instructions for another vector, want %d as in\n%s", got, loop, text)
	}
	if got, whole := count(81)-count(80), lines(text); got < 1 || count(80)+got > whole+9*loop {
		t.Errorf("%d instructions for a tail, %d in all, of\n%s", got, count(81), text)
	}

	count, text = counted(t, "for r = 0 until T\n  set y[r, e] = x[r, e] * 2.0 for e < 8\nend")
	loop = inLoop(t, text, label(t, text, "loop", 1))
	if got := count(9) - count(8); got != loop {
		t.Errorf("%d instructions for another row, want %d as in\n%s", got, loop, text)
	}

	count, _ = counted(t, "for r = 0 until T\n  if r < 3\n    set y[r, e] = x[r, e] * 2.0 for e < 8\n  end\nend")
	if less, more := count(9)-count(8), count(3)-count(2); less >= more {
		t.Errorf("%d instructions for a row that does nothing, %d for another", less, more)
	}
}

// label returns the nth label of a kind in a text, from 0.
func label(t *testing.T, text, kind string, n int) string {
	t.Helper()
	all := regexp.MustCompile(`(?m)^(`+kind+`\d+):$`).FindAllStringSubmatch(text, -1)
	if n >= len(all) {
		t.Fatalf("%d labels %s in\n%s", len(all), kind, text)
	}
	return all[n][1]
}

// TestMeter checks that rare code is left out and that a body counts for each of its runs.
func TestMeter(t *testing.T) {
	m := newMeter()
	write := func(n int) func() {
		return func() {
			for range n {
				m.wrote()
			}
		}
	}
	write(2)()
	m.rarely(write(100))
	m.within(func() { write(3)(); m.times(ratio(expr.Int(40), 8), write(7)) }, func(c cost.Tally) cost.Tally { return c.Over("i", expr.Int(0), expr.Int(10)) })
	write(1)()
	if got, want := m.total().Total(nil), float64(2+10*(3+5*7)+1); got != want {
		t.Errorf("%g instructions, want %g", got, want)
	}
}
