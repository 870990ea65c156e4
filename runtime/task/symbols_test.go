package task_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
)

// TestSymbolsBeyondASCII checks that the last symbol of ASCII and the first one after it differ.
func TestSymbolsBeyondASCII(t *testing.T) {
	task := must(t, Config{Kind: "file", Sequence: true, Separator: "=", Problems: "a\u007f=1\nb\u0080=2\nc\u0081=3\n"}, 1)
	seen := map[int32]rune{}
	for _, r := range "abc\u007f\u0080\u0081123" {
		id := tokenOf(task, r)
		if other, twice := seen[id]; twice || id == sequence.PadID || task.Symbol(id) != string(r) {
			t.Errorf("%q is token %d, %q, as %q is", r, id, task.Symbol(id), other)
		}
		seen[id] = r
	}
	for _, text := range []string{"a\u007f", "b\u0080", "c\u0081"} {
		if p, err := task.Parse(text); err != nil || p.Answer != map[string]string{"a": "1", "b": "2", "c": "3"}[text[:1]] {
			t.Errorf("%q has the answer %q, %v", text, p.Answer, err)
		} else if b, err := task.One(p); err != nil || b.Target[0] != tokenOf(task, rune(text[0])) || b.Target[1] != tokenOf(task, []rune(text)[1]) {
			t.Errorf("%q is written %v: %v", text, b.Target, err)
		}
	}
}

// TestAxes checks what lengths count.
func TestAxes(t *testing.T) {
	for _, c := range []struct {
		cfg           Config
		first, second string
		carries       string // of two digits, or two entries
	}{
		{Config{Kind: "addition", Sequence: true, DigitsLo: 1, DigitsHi: 3, Base: 10}, "digits of the first operand", "digits of the second operand", "99+99"},
		{Config{Kind: "successor", DigitsLo: 1, DigitsHi: 3, Base: 10}, "digits", "", "99"},
		{Config{Kind: "sum", DigitsLo: 1, DigitsHi: 3, OperandsLo: 2, OperandsHi: 4, Base: 10, Pad: Pad{To: 8, Step: 3}}, "digits", "operands", "99+99+99+99"},
		{Config{Kind: "sort", Sequence: true, DigitsLo: 1, DigitsHi: 3, LengthLo: 1, LengthHi: 5, Base: 10}, "digits of an entry", "entries", ""},
		{Config{Kind: "file", Sequence: true, Separator: "=", Problems: "a=1\nb=2\n"}, "tokens of the prompt", "", ""},
		{Config{Kind: "mixed", Of: []string{"subtraction", "addition"}, Sequence: true, DigitsLo: 1, DigitsHi: 3, Base: 10}, "digits of the first operand", "digits of the second operand", "10-99"},
	} {
		task := must(t, c.cfg, 1)
		if first, second := task.Axes(); first != c.first || second != c.second {
			t.Errorf("lengths of %s count %q and %q, want %q and %q", c.cfg.Kind, first, second, c.first, c.second)
		}
		p := task.Carries(2)
		if got := task.Text(p); c.carries != "" && got != c.carries {
			t.Errorf("%s: %s has many carries, want %s", c.cfg.Kind, got, c.carries)
		}
		if long := task.Carries(5).Operands; task.Arrays() && (len(p.Operands) != 2 || len(p.Operands[0]) != 2 || len(long) != 5 || len(long[0]) != 3) {
			t.Errorf("arrays of two and five entries are %v and %v", p.Operands, long)
		}
	}
	for name, c := range map[string]struct {
		cfg  Config
		want bool
	}{
		"sequences":        {Config{Kind: "addition", Sequence: true, DigitsLo: 1, DigitsHi: 3, Base: 10}, true},
		"padded sequences": {Config{Kind: "addition", Sequence: true, DigitsLo: 1, DigitsHi: 3, Base: 10, Padded: true}, false},
		"two stacks":       {Config{Kind: "addition", DigitsLo: 1, DigitsHi: 3, Base: 10}, false},
	} {
		if got := must(t, c.cfg, 1).Varies(); got != c.want {
			t.Errorf("lengths of %s vary: %v", name, got)
		}
	}
	if all := sequence.Letters(); len(all) != NumLetters || strings.Join(all, "") != letters() || all[0] != "A" || all[NumLetters-1] != "ω" || slices.Contains(all, "") {
		t.Errorf("%d letters, %q", len(all), all)
	}
}

// TestChance compares the chance of a problem with its count in training.
func TestChance(t *testing.T) {
	const drawn = 40_000
	for name, cfg := range map[string]Config{
		"addition":   {Kind: "addition", Sequence: true, DigitsLo: 1, DigitsHi: 2, Base: 3},
		"held out":   {Kind: "addition", Sequence: true, DigitsLo: 1, DigitsHi: 2, Base: 3, Holdout: 0.25},
		"n times 1":  {Kind: "nx1", Sequence: true, DigitsLo: 1, DigitsHi: 2, Base: 3},
		"sort":       {Kind: "sort", Sequence: true, DigitsLo: 1, DigitsHi: 2, LengthLo: 1, LengthHi: 2, Base: 3},
		"or":         {Kind: "or", Sequence: true, DigitsLo: 2, DigitsHi: 4, Base: 2},
		"sum":        {Kind: "sum", DigitsLo: 1, DigitsHi: 1, OperandsLo: 2, OperandsHi: 3, Base: 3, Pad: Pad{To: 8, Step: 3}},
		"of a range": {Kind: "addition", Below: 7, Base: 3},
	} {
		task := must(t, cfg, 1)
		count := map[string]int{}
		problems := map[string]Problem{}
		for k := range int64(drawn) {
			p := task.Train(k)
			text := strings.Join(p.Operands, " ")
			count[text]++
			problems[text] = p
		}
		all, off := 0.0, 0.0
		for text, p := range problems {
			chance := ChanceOf(task, p)
			all += chance
			off = max(off, abs(chance-float64(count[text])/drawn))
		}
		if abs(all-1) > 0.01 || off > 0.006 {
			t.Errorf("%s: chances of %d problems add up to %g, and one is off by %g", name, len(problems), all, off)
		}
	}
	within := must(t, Config{Kind: "addition", Sequence: true, DigitsLo: 2, DigitsHi: 3, Base: 10}, 1)
	for _, operands := range [][]string{{"1", "22"}, {"22", "4444"}, {"4444", "22"}, {"22", "1"}} {
		if got := ChanceOf(within, Problem{Operands: operands}); got != 0 {
			t.Errorf("%q, which training does not have, has the chance %g", operands, got)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }
