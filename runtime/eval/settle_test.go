package eval

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/damage"
)

// TestSettlingTest counts settled answers and their runs. The result is the same in one piece,
// cell by cell, and resumed.
func TestSettlingTest(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	test := grid(t, time.Hour)
	test.Mode, test.Settings.Times = ModeSettle, 8
	want, err := test.Run(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	var total Cell
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
		one := Cell{Pair: c.Pair, Samples: len(problems)}
		for i := range problems {
			one.Runs += runs[i]
			if right[i] {
				one.Correct++
			}
		}
		if one != c {
			t.Errorf("settling one by one gives %v, the test has %v", one, c)
		}
		total.Samples += one.Samples
		total.Runs += one.Runs
	}
	if mean := float64(total.Runs) / float64(total.Samples); want.MeanRuns != mean || mean <= 2 || mean >= 8 {
		t.Errorf("%g runs a problem; settling one by one took %g", want.MeanRuns, mean)
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

// TestRunsOfSomeLengths wants the mean of runs to cover the lengths that are asked for, and in
// the file the spec's lengths.
func TestRunsOfSomeLengths(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	settling := func(cells ...Pair) *Result {
		test := grid(t, time.Hour)
		test.Mode, test.Settings.Times, test.Own, test.Cells = ModeSettle, 8, []Pair{{1, 2}, {3, 3}}, cells
		r, err := test.Run(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	own, other := settling(Pair{1, 2}, Pair{3, 3}), settling(Pair{4, 4})
	file, err := Load(damage.At(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(file.ByCell) != 3 || file.MeanRuns != own.MeanRuns {
		t.Errorf("with other lengths a mean of %g runs is %g", own.MeanRuns, file.MeanRuns)
	}
	if c := file.ByCell[2]; other.MeanRuns != float64(c.Runs)/float64(c.Samples) || other.MeanRuns == own.MeanRuns {
		t.Errorf("of the length that was asked for %g runs, of the cell %v", other.MeanRuns, c)
	}
	if again := settling(Pair{1, 2}, Pair{3, 3}); again.MeanRuns != own.MeanRuns {
		t.Errorf("asked again, %g runs, not %g", again.MeanRuns, own.MeanRuns)
	}

	// Cells without runs are tested again.
	for i := range file.ByCell {
		file.ByCell[i].Runs = 0
	}
	if err := file.save(dir); err != nil {
		t.Fatal(err)
	}
	if again := settling(Pair{1, 2}, Pair{3, 3}); again.MeanRuns != own.MeanRuns {
		t.Errorf("of cells without runs, %g runs, not %g", again.MeanRuns, own.MeanRuns)
	}
}
