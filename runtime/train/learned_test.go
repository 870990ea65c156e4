package train

import (
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
)

// TestUnlearned compares the last losses with the loss of a guess. The answer to a parity is one
// of two symbols and an end: a guess has half of log 2 a label.
func TestUnlearned(t *testing.T) {
	flat := func(n int, loss float64) (all []float64) {
		for range n {
			all = append(all, loss)
		}
		return all
	}
	for _, c := range []struct {
		name   string
		step   int
		losses []float64 // of the reports
		says   string    // "": nothing
	}{
		{"too few steps", 99, flat(4, 9), ""},
		{"no reports", 100, nil, ""},
		{"worse than a guess", 100, flat(4, 0.36), "its loss is 0.360, and 0.347 is that of a guess"},
		{"better", 100, flat(4, 0.33), ""},
		{"at last", 400, []float64{9, 9, 9, 9, 9, 0.1, 0.1}, ""},                    // two of seven
		{"no longer", 400, []float64{0.1, 0.1, 0.1, 0.1, 0.7}, "its loss is 0.400"}, // two of five
		{"in the last of four", 400, []float64{0.1, 0.1, 0.1, 0.7}, "its loss is 0.700"},
		{"the last of many", 400, append(flat(40, 9), flat(8, 0.1)...), ""},
		{"the last of many, and one", 400, append(flat(41, 9), flat(7, 0.1)...), "its loss is 1.212"},
	} {
		problems, err := tasks.New(task.Config{Kind: "parity", DigitsLo: 1, DigitsHi: 12, Base: 10, Sequence: true}, 3)
		if err != nil {
			t.Fatal(err)
		}
		tr := &Trainer{Task: problems, Dir: t.TempDir(), State: State{Step: c.step, Examples: 5000}, Config: Config{MicroBatch: 1}, Plan: &device.Plan{}}
		log, _, err := track.Open(tr.Dir, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		for i, loss := range c.losses {
			if err := log.Write(track.Report{Step: i + 1, Loss: loss}); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		says, err := tr.Unlearned()
		if err != nil || (c.says == "") != (says == "") || !strings.Contains(says, c.says) {
			t.Errorf("%s: it says %q, %v, want %q", c.name, says, err, c.says)
		}
	}
}

// TestGuess computes the loss of a guess for answers of an encoder-decoder and for longer answers.
func TestGuess(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  task.Config
		want float64
	}{
		{"one of ten digits and an end", task.Config{Kind: "copy", DigitsLo: 1, DigitsHi: 1, Base: 10}, math.Log(10) / 2},
		{"one of nine, one of ten and an end", task.Config{Kind: "copy", DigitsLo: 2, DigitsHi: 2, Base: 10, Sequence: true}, (math.Log(9) + math.Log(10)) / 3},
	} {
		problems, err := tasks.New(c.cfg, 3)
		if err != nil {
			t.Fatal(err)
		}
		tr := &Trainer{Task: problems, State: State{Examples: 5000}, Config: Config{MicroBatch: 1}, Plan: &device.Plan{}}
		if got, err := tr.guess(); err != nil || math.Abs(got-c.want) > 0.005 {
			t.Errorf("%s: %g, %v, want %g", c.name, got, err, c.want)
		}
	}
}
