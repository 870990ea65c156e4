package eval

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSettlingTest counts answers that stay the same and the runs that they took,
// the same in one piece, cell by cell, and taken up again.
func TestSettlingTest(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	test := grid(t, time.Hour)
	test.Mode, test.Settings.Times = ModeSettle, 8
	want, err := test.Run(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, c := range want.ByCell {
		problems := test.Task.Cell(c.I, c.J, test.Samples)
		replies, runs, err := test.Settle(ctx, problems, 8)
		if err != nil {
			t.Fatal(err)
		}
		right, err := test.counts(problems, replies, ExactMatch)
		if err != nil {
			t.Fatal(err)
		}
		correct := 0
		for i := range problems {
			total += runs[i]
			if right[i] {
				correct++
			}
		}
		if correct != c.Correct {
			t.Errorf("%v: %d right answers settle, the test has %d", c.Pair, correct, c.Correct)
		}
	}
	if want.RunsTaken != total || want.MeanRuns <= 2 || want.MeanRuns >= 8 {
		t.Errorf("%d runs, %g a problem; settling one by one took %d", want.RunsTaken, want.MeanRuns, total)
	}
	for _, c := range []struct {
		dir      string
		patience time.Duration
	}{{t.TempDir(), 0}, {dir, 0}} {
		test := grid(t, c.patience)
		test.Mode, test.Settings.Times = ModeSettle, 8
		got, err := test.Run(ctx, c.dir)
		if err != nil {
			t.Fatal(err)
		}
		got.SecondsEval = want.SecondsEval
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-at once +again:\n%s", diff)
		}
	}
}
