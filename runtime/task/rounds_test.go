package task_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/config"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/rounds"
)

// rounded gives a task rounds.
func rounded(c Config) Config {
	c.Base, c.DigitsLo, c.DigitsHi = max(c.Base, 10), 1, 3
	c.Rounds = config.Rounds{Until: 8, Step: 2, Samples: 10, Votes: 1, Length: 1, Newest: 0.5}
	return c
}

// asking has a task of each form, by the form's name.
var asking = map[string]Config{
	"addition":    {Kind: "addition", Sequence: true, Reversed: true, ReversedOperands: true, Pad: Pad{To: 1, Step: 1, Less: -1}},
	"hints":       {Kind: "addition", Sequence: true, Reversed: true, Hints: "cyclic"},
	"no end":      {Kind: "addition", Sequence: true, Unended: true, Used: true, Pad: Pad{To: 20}},
	"interleaved": {Kind: "multiplication", Sequence: true, Interleave: true, Pad: Pad{To: 20}},
	"subtraction": {Kind: "subtraction", Sequence: true, Reversed: true},
	"successor":   {Kind: "successor", Reversed: true, Pad: Pad{To: 7, Step: 1}},
	"nx1":         {Kind: "nx1", Reversed: true, Pad: Pad{To: 7, Step: 1}},
	"parity":      {Kind: "parity", Scratchpad: true, Pad: Pad{To: 20}},
	"last bit":    {Kind: "parity", Sequence: true},
}

// TestAsked checks that problems of a round have the round's lengths, differ, and have no answers.
func TestAsked(t *testing.T) {
	for name, cfg := range asking {
		cfg = rounded(cfg)
		task, err := tasks.New(cfg, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		known := map[string]bool{}
		for round, want := range []config.Span{{Lo: 4, Hi: 5}, {Lo: 6, Hi: 7}, {Lo: 8, Hi: 8}} {
			for k := range 50 {
				p := rounds.Asked(task, round, k)[0]
				for i, x := range p.Operands {
					if (len(x) < want.Lo || len(x) > want.Hi) && (i == 0 || cfg.Kind != "nx1") {
						t.Errorf("%s: round %d asks %v", name, round, p.Operands)
					}
				}
				if known[task.Text(p)] {
					t.Errorf("%s asks %s again", name, task.Text(p))
				}
				known[task.Text(p)] = true
				solved := task.Solved(p.Operands)
				p.Start = 0
				room, err1 := task.Width(p)
				width, err2 := task.Width(solved)
				if err1 != nil || err2 != nil || room < width {
					t.Errorf("%s: %v has room for %d, and needs %d (%v, %v)", name, p.Operands, room, width, err1, err2)
				}
				if !strings.HasPrefix(task.Written(p), task.Written(solved)[:strings.Index(task.Written(solved), "=")+1]) {
					t.Errorf("%s: %s is asked as %s", name, task.Written(solved), task.Written(p))
				}
				p.Answer = solved.Answer
				if got, ok := rounds.Reads(task, p, task.Reference(p)[:len(task.Reference(p))-spare(cfg)]); !ok || got != p.Answer {
					t.Errorf("%s: the answer to %v is read as %q", name, p.Operands, got)
				}
			}
		}
		if again, _ := tasks.New(cfg, 1); !cmp.Equal(rounds.Asked(again, 1, 7), rounds.Asked(task, 1, 7)) {
			t.Errorf("%s: the same seed asks other problems", name)
		}
		if other, _ := tasks.New(cfg, 2); cmp.Equal(rounds.Asked(other, 1, 7), rounds.Asked(task, 1, 7)) {
			t.Errorf("%s: another seed asks the same problems", name)
		}
	}
}

// spare returns the number of tokens that a reference has and no reply has.
func spare(c Config) int {
	if c.Unended {
		return 1
	}
	return 0
}

// TestReads checks that replies which are not written like answers are rejected.
func TestReads(t *testing.T) {
	task, err := tasks.New(rounded(asking["addition"]), 1)
	if err != nil {
		t.Fatal(err)
	}
	p := rounds.Asked(task, 0, 0)[0]
	p.Answer = task.Solved(p.Operands).Answer
	right := task.Reference(p)
	plus := tokenOf(task, '+')
	for what, c := range map[string]struct {
		spoil func(reply []int32) []int32
		ok    bool
	}{
		"whole":        {func(r []int32) []int32 { return r }, true},
		"another":      {func(r []int32) []int32 { return slices.Replace(r, 0, 1, tokenOf(task, '7')) }, true},
		"no end":       {func(r []int32) []int32 { return r[:len(r)-1] }, false},
		"too short":    {func(r []int32) []int32 { return r[1:] }, false},
		"too long":     {func(r []int32) []int32 { return slices.Insert(r, 0, r[0]) }, false},
		"no digit":     {func(r []int32) []int32 { return slices.Replace(r, 1, 2, plus) }, false},
		"nothing":      {func(r []int32) []int32 { return r[:0] }, false},
		"ends at once": {func(r []int32) []int32 { return r[len(r)-1:] }, false},
	} {
		if answer, ok := rounds.Reads(task, p, c.spoil(slices.Clone(right))); ok != c.ok || ok == (answer == "") {
			t.Errorf("%s: %q, %v", what, answer, ok)
		}
	}
}

// TestVotes checks that a problem is asked in several ways with the same answer.
func TestVotes(t *testing.T) {
	cfg := rounded(asking["hints"])
	cfg.Rounds.Votes = 3
	task, err := tasks.New(cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	starts := map[int]bool{}
	for k := range 20 {
		asked := rounds.Asked(task, 0, k)
		a, b := asked[0].Operands, asked[1].Operands
		if len(asked) != 3 || a[0] != b[1] || a[1] != b[0] || !slices.Equal(a, asked[2].Operands) {
			t.Errorf("asked %v", asked)
		}
		for _, p := range asked {
			starts[p.Start] = true
		}
	}
	if len(starts) < 20 {
		t.Errorf("hints begin with %d letters", len(starts))
	}
	cfg = rounded(asking["successor"])
	cfg.Rounds.Votes = 3
	if _, err := tasks.New(cfg, 1); err == nil || !strings.Contains(err.Error(), "one way only") {
		t.Error(err)
	}
}

// TestInRounds checks that training uses kept problems, as often as Newest says, and true ones. It
// never uses the true answer of a problem that was kept with another.
func TestInRounds(t *testing.T) {
	for name, cfg := range asking {
		task, err := tasks.New(rounded(cfg), 1)
		if err != nil {
			t.Fatal(err)
		}
		var kept [][]Problem
		for round := range 2 {
			p := rounds.Asked(task, round, 0)[0]
			p.Answer = "1" // a wrong answer, of no problem's length
			kept = append(kept, []Problem{p})
		}
		in := rounds.WithAnswers(task, kept)
		count := map[string]int{}
		const n = 4000
		for k := range n {
			p := in.Train(int64(k))
			if !cmp.Equal(p, in.Train(int64(k))) {
				t.Fatalf("%s: example %d is not always the same", name, k)
			}
			of := "true"
			for round, set := range kept {
				if slices.Equal(p.Operands, set[0].Operands) && p.Answer == "1" {
					of = "round " + string(rune('0'+round))
				}
			}
			if of == "true" && (p.Answer != task.Solved(p.Operands).Answer || len(p.Operands[0]) > 3) {
				t.Fatalf("%s: %v = %s", name, p.Operands, p.Answer)
			}
			count[of]++
		}
		// Half of the examples are the last round's. The others have seven lengths, and three of
		// these are the task's.
		for of, want := range map[string]float64{"true": 0.5 * 3 / 7, "round 0": 0.5 * 2 / 7, "round 1": 0.5 + 0.5*2/7} {
			if got := float64(count[of]) / n; got < want-0.02 || got > want+0.02 {
				t.Errorf("%s: %s in %.3f of the examples, want %.3f", name, of, got, want)
			}
		}
		if cmp.Equal(task.Train(5), in.Train(5)) && cmp.Equal(task.Train(6), in.Train(6)) && cmp.Equal(task.Train(7), in.Train(7)) {
			t.Errorf("%s: rounds change nothing", name)
		}
		if !cmp.Equal(task.HeldOut(5), in.HeldOut(5)) {
			t.Errorf("%s: rounds change what is held out", name)
		}
	}
}

// TestRoundTexts checks that a kept problem is read as it was written.
func TestRoundTexts(t *testing.T) {
	for name, cfg := range asking {
		task, err := tasks.New(rounded(cfg), 1)
		if err != nil {
			t.Fatal(err)
		}
		p := rounds.Asked(task, 1, 3)[0]
		p.Start, p.Answer = 0, "1234567"
		got, err := rounds.ParseAnswered(task, rounds.Answered(task, p))
		if got.Start = 0; err != nil || !cmp.Equal(got, p) {
			t.Errorf("%s: %v, want %v (%v)", name, got, p, err)
		}
		for _, bad := range []string{"", "=", "1", "12+", "=5", task.Text(p), task.Text(p) + "=", task.Text(p) + "=x", task.Text(p) + "=1=2"} {
			if got, err := rounds.ParseAnswered(task, bad); err == nil {
				t.Errorf("%s: %q is read as %v", name, bad, got)
			}
		}
	}
}

// TestRoundsBegin checks that all rounds have equal shares of the steps, and that each step has
// the right round.
func TestRoundsBegin(t *testing.T) {
	r := config.Rounds{Until: 50, Step: 3}
	const steps = 1000
	n := r.Count(10)
	if n != 14 || r.Lengths(10, 0) != (config.Span{Lo: 11, Hi: 13}) || r.Lengths(10, n-1) != (config.Span{Lo: 50, Hi: 50}) {
		t.Errorf("%d rounds, %v to %v", n, r.Lengths(10, 0), r.Lengths(10, n-1))
	}
	for step := range steps + 1 {
		round := r.At(10, step, steps)
		if begin := r.Begin(10, round, steps); begin > step || round+1 < n && r.Begin(10, round+1, steps) <= step {
			t.Fatalf("step %d is in round %d, which begins at %d", step, round, begin)
		}
		if step > 0 { // as a trainer pauses
			share := float64(round) / float64(n)
			if float64(step)/steps < share || step == r.Begin(10, round, steps) && float64(step-1)/steps >= share {
				t.Fatalf("round %d does not begin at step %d by its share", round, step)
			}
		}
	}
}
