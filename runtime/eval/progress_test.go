package eval

import (
	"testing"
	"time"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// TestProgress describes the next cells, and how many of many cells are done.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		p    Progress
		want string
	}{
		{Progress{Next: []Pair{{7, 7}}, Total: 20}, "testing length 7"},
		{Progress{Next: []Pair{{7, 7}, {8, 8}}, Done: 3, Total: 20}, "testing length 7 to length 8"},
		{Progress{Next: []Pair{{1, 2}, {2, 1}, {1, 3}}, Done: 3, Total: 21}, "testing 1 × 2 to 1 × 3, 3 of 21 cells done"},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestTogether doubles how many cells are tested at once until they take as long as the
// patience.
func TestTogether(t *testing.T) {
	test := &Test{Patience: 10 * time.Second}
	for _, c := range []struct {
		n    int
		took time.Duration
		want int
	}{{1, time.Second, 2}, {4, time.Second, 8}, {4, 8 * time.Second, 5}, {4, 20 * time.Second, 2}, {1, time.Minute, 1}, {3, 0, 6}} {
		if got := test.together(c.n, c.took); got != c.want {
			t.Errorf("%d cells took %v: %d next, want %d", c.n, c.took, got, c.want)
		}
	}
	if got := new(Test).together(4, time.Second); got != 1 {
		t.Errorf("without patience %d at once", got)
	}
}

// TestTokens counts the tokens that a model reads in a test: 9 tokens of 12+34=46$ for each run
// of its loop.
func TestTokens(t *testing.T) {
	cfg := task.Config{Kind: "addition", Sequence: true, DigitsLo: 1, DigitsHi: 2, Base: 10}
	tk, err := tasks.New(cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Recurrences = config.Recurrences{Plus: 1, Digits: 2}
	byLength, err := tasks.New(cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	one, three := Pair{1, 1}, Pair{3, 3}
	of := func(p Pair) float64 { // tokens of the longest problem of p
		x := tk.LongestIn(p.I, p.J)
		width, err := tk.Width(x[0])
		if len(x) != 1 || err != nil {
			t.Fatal(x, err)
		}
		source, target := tk.Shape(width)
		return float64(source + target)
	}
	if of(one) != 6 || of(three) != 12 { // 9+9=18 and 999+999=1998; the end is not read
		t.Fatalf("%g and %g tokens", of(one), of(three))
	}
	for _, c := range []struct {
		name   string
		test   *Test
		times  int // runs of the loop in training
		tokens float64
		runs   int // most runs by length
	}{
		{"no loop", &Test{Model: Model{Task: tk}}, 0, 5 * (6 + 12), 0},
		{"as many runs as in training", (Test{Model: Model{Task: tk}}).WithTimes(4), 4, 5 * (6 + 12), 0},
		{"twice as many", (Test{Model: Model{Task: tk}}).WithTimes(4), 2, 2 * 5 * (6 + 12), 0},
		{"by length", &Test{Model: Model{Task: byLength}}, 2, 5 * (3*6 + 7*12) / 2., 7},
		{"by length, but told", (Test{Model: Model{Task: byLength}}).WithTimes(2), 2, 5 * (6 + 12), 7},
	} {
		c.test.Settings.Mode, c.test.Settings.Samples, c.test.Cells = ModeVerify, 5, []Pair{three, one}
		if got := c.test.Tokens(c.times); got != c.tokens {
			t.Errorf("%s: %g tokens, want %g", c.name, got, c.tokens)
		}
		if got := c.test.MostRuns(); c.runs > 0 && got != c.runs {
			t.Errorf("%s: %d runs at most, want %d", c.name, got, c.runs)
		}
		if c.test.Settings.Times != c.test.Runs {
			t.Errorf("%s: the result says %d runs, not %d", c.name, c.test.Settings.Times, c.test.Runs)
		}
		c.test.Mode = ModeGreedy
		if got := c.test.Tokens(c.times); got != 0 {
			t.Errorf("%s: decoding reads %g tokens", c.name, got)
		}
	}
}
