package eval

import (
	"context"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// TestDuring tests two lengths during training, on problems that the test after training does not
// have.
func TestDuring(t *testing.T) {
	ctx := context.Background()
	cfg := &Config{Samples: 10, Loop: 4, During: config.During{Digits: []int{7, 2}, Samples: 30}}
	var later []task.Problem
	p, all := newPupil(t, sequences["addition"], func(t *task.Task) (all []task.Problem) {
		later = append(t.Cell(2, 2, 10), t.Cell(7, 7, 10)...)
		return append(t.Unseen(2, 2, 10, 30), t.Unseen(7, 7, 10, 30)...)
	})
	d := cfg.NewDuring(*p.model())
	if got := d.Lengths(); !slices.Equal(got, []int{2, 7}) {
		t.Errorf("lengths %v, want 2 and 7", got)
	}
	// 99+99=198$ has 9 rows before its last token, 9999999+9999999=19999998$ has 24. Each is read
	// twice, by a model that trains with four runs.
	if got, want := d.Tokens(), float64(30*(9+24)*2)/4; got != want {
		t.Errorf("a test reads %g tokens, want %g", got, want)
	}
	got, err := d.Run(ctx)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	right, err := p.model().Verify(ctx, all, ExactMatch)
	if err != nil {
		t.Fatal(err)
	}
	for k, n := range []int{2, 7} {
		count := 0
		for _, is := range right[30*k : 30*k+30] {
			if is {
				count++
			}
		}
		if l := got[k]; l.Length != n || l.Samples != 30 || l.Entries != 0 || l.ExactMatch != float64(count)/30 || l.Loss == nil || *l.Loss != 0.5 {
			t.Errorf("length %d: %+v, %d of 30 are right", n, l, count)
		}
	}
	for _, cell := range d.problems() {
		for _, x := range cell {
			if slices.ContainsFunc(later, func(y task.Problem) bool { return slices.Equal(x.Operands, y.Operands) }) {
				t.Errorf("%v is tested again after training", x.Operands)
			}
		}
	}
}

// TestSizeOfATest counts the memory of a launch of the longest problems, and the runs that lengths
// ask for.
func TestSizeOfATest(t *testing.T) {
	tk, err := tasks.New(sequences["addition"], 1)
	if err != nil {
		t.Fatal(err)
	}
	test := &Test{Model: Model{Plan: fakePlan(), Task: tk}, Settings: Settings{Mode: ModeVerify, Samples: 10}, Cells: []Pair{{1, 1}, {2, 2}, {1, 2}}}
	const most = maxTokensDecode / 9 // problems of 9 rows
	if room, largest := test.Workspace(); room != most*2*9 || largest != most*9 {
		t.Errorf("a launch takes %g elements, %d for the largest tensor, want %d and %d", room, largest, most*2*9, most*9)
	}
	if got := test.Tokens(2); got != 10*(6+9+8)/2 {
		t.Errorf("the test reads %g tokens, want those of 9+9=18, 99+99=198 and 9+99=108, ten times", got)
	}
	if test.Mode = ModeGreedy; test.Tokens(2) != 0 {
		t.Errorf("a test that decodes reads %g tokens", test.Tokens(2))
	}
	if room, largest := (&Test{}).Workspace(); room != 0 || largest != 0 {
		t.Errorf("a test of nothing takes %g elements", room)
	}
	byLength := sequences["addition"]
	byLength.Recurrences = config.Recurrences{Digits: 3}
	if tk, err = tasks.New(byLength, 1); err != nil {
		t.Fatal(err)
	}
	test.Task = tk
	if got := test.MostRuns(); got != 6 {
		t.Errorf("up to %d runs for numbers of two digits, want 6", got)
	}
}
