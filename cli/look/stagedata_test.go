package look

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// TestRows folds rows at the width of a line, with the entries of a token below each other.
func TestRows(t *testing.T) {
	show := func(rows ...row) string {
		s := &sample{out: new(strings.Builder)}
		s.rows(rows...)
		return s.out.String()
	}
	if diff := cmp.Diff("  symbol    1   +   2\n  token     5  18   6\n  says      .   3\n", show(row{"symbol", []string{"1", "+", "2"}}, row{"token", []string{"5", "18", "6"}}, row{"says", []string{".", "3"}})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("  symbol      1 12345     é\n", show(row{"symbol", []string{"1", "12345", "é"}})); diff != "" {
		t.Error(diff)
	}
	long := make([]string, 2*lineTokens+1)
	for i := range long {
		long[i] = "x"
	}
	long[lineTokens] = "y"
	full := strings.Repeat("   x", lineTokens)
	if diff := cmp.Diff("  a      "+full+"\n  b         z\n  a         y"+full[4:]+"\n  b      \n  a         x\n  b      \n", show(row{"a", long}, row{"b", []string{"z"}})); diff != "" {
		t.Error(diff)
	}
	tk, err := tasks.New(task.Config{Kind: "successor", DigitsLo: 1, DigitsHi: 3, Base: 10}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := (&sample{task: tk}).symbols([]int32{5, -1, 0}); !cmp.Equal(got, []string{"0", ".", "$"}) {
		t.Errorf("tokens are shown as %q", got)
	}
}

// TestSample shows a problem as the model reads it, with its labels.
func TestSample(t *testing.T) {
	for _, c := range []struct {
		cfg  task.Config
		text string
		want string
	}{
		{task.Config{Kind: "successor", Below: 1000, Base: 10, Reversed: true, Pad: task.Pad{To: 4}}, "129", `
training: 129 = 130
  source    ^   0   1   2   9   $
  token    16   5   6   7  14   0
  target    ^   0   3   1   0
  token    16   5   8   6   5
  says      0   3   1   0   $
`},
		{task.Config{Kind: "addition", DigitsLo: 1, DigitsHi: 3, Base: 10, Sequence: true}, "12+34", `
training: 12+34 = 46
  12+34=46
  symbol    1   2   +   3   4   =   4   6   $
  token     5   6  14   7   8  17   8  10   3
  place     0   1   2   3   4   5   6   7   8
  abacus    1   2   0   1   2   0   1   2   0
  says      .   .   .   .   .   4   6   $
`},
	} {
		tk, err := tasks.New(c.cfg, 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := tk.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		s := &sample{out: &out, task: tk, cfg: &c.cfg}
		s.show("training", p)
		if diff := cmp.Diff(c.want, out.String()); diff != "" || s.err != nil {
			t.Errorf("%s: %v\n%s", c.text, s.err, out.String())
		}
	}
}

// TestPositionsText names the positions that the embedding takes.
func TestPositionsText(t *testing.T) {
	for position, want := range map[string]string{
		"none":                                 "none in the embedding",
		"sinusoidal":                           "sinusoidal, the place",
		"cyclic(sinusoidal, period = 3)":       "cyclic (sinusoidal), the place modulo 3",
		"random(sinusoidal, max = 128)":        "random (sinusoidal), in training ascending numbers drawn below 128, the same for 32 examples",
		"abacus(max_offset = 9, table = 64)":   "abacus, the place of a digit in its number, from 1; training adds 0 to 9 to digits, the same for 32 examples",
		"abacus(max_offset = 0, table = 64)":   "abacus, the place of a digit in its number, from 1",
		"coupling(max_offset = 9, table = 64)": "abacus, the place of a digit in its number, from 1; training adds 0 to 9 to all tokens, drawn for each example",
	} {
		spec, found := check.Resolve(check.Options{Path: "../../specs/small/looped.arith", Read: os.ReadFile,
			Set: []string{"model.embed.position=" + position, "train.microbatch=32"}})
		if found.HasErrors() {
			t.Errorf("%s: %v", position, found)
			continue
		}
		if got := positionsText(spec); got != want {
			t.Errorf("%s: %q, want %q", position, got, want)
		}
	}
}
