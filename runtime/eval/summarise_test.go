package eval

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// TestSummaries gives each task the means that its problems allow.
func TestSummaries(t *testing.T) {
	sum := task.Config{Kind: "sum", Pad: task.Pad{To: 8, Step: 3}, DigitsLo: 1, DigitsHi: 3, OperandsLo: 2, OperandsHi: 4, Base: 10}
	cells := []Cell{{Pair{1, 0}, 4, 4, 0}, {Pair{4, 0}, 6, 3, 0}, {Pair{7, 0}, 10, 1, 0}}
	for _, c := range []struct {
		name    string
		task    task.Config
		trained Pair
		cells   []Cell
		want    Result
	}{
		{"lengths", sequences["successor"], Pair{6, 0}, cells, Result{ID: share(0.75), OOD: share(0.1), Over: map[string]int{ID: 2, OOD: 1},
			ByLength: map[string]float64{"1": 1, "4": 0.5, "7": 0.1}, Trained: &[2]int{6, 0}}},
		{"sums", sum, Pair{3, 4}, []Cell{{Pair{3, 4}, 4, 4, 0}, {Pair{3, 6}, 4, 1, 0}}, Result{Second: "operands", ID: share(1), OOD: share(0.25), Over: map[string]int{ID: 1, OOD: 1},
			ByLength: map[string]float64{}, Trained: &[2]int{3, 4}}},
		{"a file", sequences["file"], Pair{7, 0}, cells, Result{Overall: share(0.4), Tested: task.OfTraining, Over: map[string]int{ID: 3},
			ByPrompt: map[string]float64{"1": 1, "4": 0.5, "7": 0.1}, Trained: &[2]int{7, 0}}},
		{"a file of longer prompts", sequences["file"], Pair{6, 0}, cells, Result{ID: share(0.75), OOD: share(0.1), Overall: share(0.4), Tested: task.OfTraining, Over: map[string]int{ID: 2, OOD: 1},
			ByPrompt: map[string]float64{"1": 1, "4": 0.5, "7": 0.1}, Trained: &[2]int{6, 0}}},
		{"a file of prompts beyond 100", sequences["file"], Pair{6, 0}, []Cell{{Pair{101, 0}, 2, 1, 0}}, Result{OOD100: share(0.5), Overall: share(0.5), Tested: task.OfTraining, Over: map[string]int{OOD100: 1},
			ByPrompt: map[string]float64{"101": 0.5}, Trained: &[2]int{6, 0}}},
	} {
		tk, err := tasks.New(c.task, 1)
		if err != nil {
			t.Fatal(err)
		}
		r := &Result{ByCell: c.cells}
		test := &Test{Model: Model{Task: tk}, Trained: c.trained}
		test.summarise(r, nil)
		c.want.ByCell = c.cells
		if diff := cmp.Diff(&c.want, r); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		test.Reader = textReader{}
		if test.summarise(r, []Pair{{4, 0}}); !cmp.Equal(&c.want, r) {
			t.Errorf("%s: a model of text has means: %+v", c.name, r)
		}
	}
}

// A textReader finds nothing in a text.
type textReader struct{ Reader }

func (textReader) Test(context.Context, *Model) (Text, error) { return Text{}, nil }

// TestTrainedOn estimates how many tested problems were trained on: all problems of one digit,
// none of long numbers or of longer lengths than in training.
func TestTrainedOn(t *testing.T) {
	tk, err := tasks.New(sequences["successor"], 1)
	if err != nil {
		t.Fatal(err)
	}
	test := &Test{Model: Model{Task: tk}, Trained: Pair{6, 0}}
	one, six, seven := Cell{Pair: Pair{1, 0}, Samples: 9}, Cell{Pair: Pair{6, 0}, Samples: 1000}, Cell{Pair: Pair{7, 0}, Samples: 1000}
	for _, c := range []struct {
		name     string
		examples int64
		cells    []Cell
		lo, hi   int
	}{
		{"not trained", 0, []Cell{one, six}, 0, 0},
		{"all of one digit", 1_000_000, []Cell{one}, 9, 9},
		{"beyond training", 1_000_000, []Cell{seven}, 0, 0},
		{"some of six digits", 600_000, []Cell{six}, 95, 115}, // 100,000 of all 900,000
		{"both", 600_000, []Cell{one, six, seven}, 104, 124},
		{"hardly any", 60, []Cell{six}, 0, 0},
	} {
		test.ExamplesTrained = c.examples
		r := &Result{ByCell: c.cells}
		if test.summarise(r, nil); r.TrainedOn != test.trainedOn(r) {
			t.Errorf("%s: the result says that %d were trained on", c.name, r.TrainedOn)
		}
		if got := test.trainedOn(&Result{ByCell: c.cells}); got < c.lo || got > c.hi {
			t.Errorf("%s: %d, want %d to %d", c.name, got, c.lo, c.hi)
		}
	}
}
