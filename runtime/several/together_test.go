package several

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// An emptyMachine has no parameters.
type emptyMachine struct{ device.Machine }

func (emptyMachine) Root() device.Worker { return emptyWorker{} }
func (emptyMachine) Err() error          { return nil }

type emptyWorker struct{ device.Worker }

func (emptyWorker) GetFloats([]float32, device.Ref) {}

// TestTogether trains two models for some steps of a minute each, with failures and requests to
// end. It checks the steps and checkpoints of each.
func TestTogether(t *testing.T) {
	problems, err := tasks.New(task.Config{Kind: "addition", DigitsLo: 1, DigitsHi: 2, Base: 10, Sequence: true}, 3)
	if err != nil {
		t.Fatal(err)
	}
	asked := errors.New("asked to end")
	for _, c := range []struct {
		name  string
		every time.Duration     // between checkpoints
		step  func(n int) error // a step of all models; nil: it succeeds
		bad   int               // the step at which the second model is not finite
		end   int               // the step during which the end is requested
		steps [2]int            // done by each
		saved [2][]int          // the steps of each one's checkpoints
		errs  [2]string
	}{
		{name: "to the end", steps: [2]int{6, 6}, saved: [2][]int{{6}, {6}}},
		{name: "with checkpoints", every: 2 * time.Minute, steps: [2]int{6, 6}, saved: [2][]int{{2, 4, 6}, {2, 4, 6}}},
		{name: "asked to end", end: 4, steps: [2]int{4, 4}, saved: [2][]int{{4}, {4}}, errs: [2]string{asked.Error(), asked.Error()}},
		{name: "one is not finite", bad: 3, steps: [2]int{6, 2}, saved: [2][]int{{6}, nil}, errs: [2]string{"", "loss at step 3 is not a finite number"}},
		{name: "a step fails", step: func(n int) error {
			if n == 3 {
				return errors.New("out of memory")
			}
			return nil
		}, steps: [2]int{2, 2}, errs: [2]string{"out of memory", "out of memory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &together{machine: emptyMachine{}, lanes: 2, every: c.every}
				for range 2 {
					g.trainers = append(g.trainers, &train.Trainer{
						Machine: emptyMachine{}, Plan: &device.Plan{}, Task: problems, Dir: t.TempDir(), Status: track.NewStatus(nil, true),
						Config: train.Config{Batch: 4, MicroBatch: 4, LR: 1, Schedule: "constant", Budget: train.Budget{Steps: 6}, Report: train.Report{Every: 6}},
					})
				}
				var saved [2][]int
				note := func() {
					for i, tr := range g.trainers {
						all, err := train.Checkpoints(tr.Dir)
						if err != nil {
							t.Fatal(err)
						}
						for _, path := range all {
							c, err := train.Read(path)
							if err != nil {
								t.Fatal(err)
							}
							if !slices.Contains(saved[i], c.State.Step) {
								saved[i] = append(saved[i], c.State.Step)
							}
						}
					}
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				n := 0
				errs := g.with(ctx, func(examples int, rate float64) error {
					note()
					time.Sleep(time.Minute)
					n++
					if examples != 4 || rate != 1 {
						t.Errorf("a step of %d examples at %g", examples, rate)
					}
					if c.step != nil {
						if err := c.step(n); err != nil {
							return err
						}
					}
					good := train.Outcome{Loss: 1, GradNorm: 1, Tokens: 10, Rows: 4}
					g.outcomes = []train.Outcome{good, good}
					if n == c.bad {
						g.outcomes[1].Loss = math.NaN()
					}
					if n == c.end {
						cancel(asked)
					}
					return nil
				})
				note()
				for i, tr := range g.trainers {
					err := ""
					if errs[i] != nil {
						err = errs[i].Error()
					}
					if tr.State.Step != c.steps[i] || !slices.Equal(saved[i], c.saved[i]) || !strings.Contains(err, c.errs[i]) || c.errs[i] == "" && err != "" {
						t.Errorf("model %d: %d steps, want %d; saved after %v, want %v; %q, want %q", i, tr.State.Step, c.steps[i], saved[i], c.saved[i], err, c.errs[i])
					}
				}
			})
		})
	}
}

// TestLane is a step of all as a lane sees it.
func TestLane(t *testing.T) {
	outcomes := []train.Outcome{{Loss: 1, Tokens: 2}, {Loss: 4, Tokens: 6}}
	failed := errors.New("failed")
	for _, c := range []struct {
		name string
		more bool
		err  error
		want error
	}{
		{"done", true, nil, nil},
		{"the others have left", false, nil, errLeft},
		{"all have failed", true, failed, failed},
	} {
		var wishes []wish
		l := &lane{of: &together{outcomes: outcomes}, number: 1, err: c.err, want: func(w wish) bool { wishes = append(wishes, w); return c.more }}
		out, err := l.Step(8, 0.25)
		if err != c.want || err == nil && out != outcomes[1] || !slices.Equal(wishes, []wish{{8, 0.25}}) {
			t.Errorf("%s: %+v, %v, want %v; wishes %v", c.name, out, err, c.want, wishes)
		}
	}
}
