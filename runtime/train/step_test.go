package train

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/task"
)

// TestOutcome checks the mean of the labels' losses, with each pass weighted, and the norm of the
// gradient, for one model and for two.
func TestOutcome(t *testing.T) {
	losses := [maxPasses][]float32{{1, 2, 4, 8}, {16, 32, 64, 128}}
	f := &flight{tokens: 5, rows: 6, losses: losses, squares: []float32{9, 16}}
	for _, c := range []struct {
		name  string
		s     *stepper
		model int
		want  Outcome
	}{
		{"one pass", &stepper{Trainer: &Trainer{}}, 0, Outcome{Loss: 3, GradNorm: 3, Tokens: 5, Rows: 6}},
		{"two passes", &stepper{Trainer: &Trainer{Config: Config{Progressive: true, Alpha: 0.25}}}, 0, Outcome{Loss: 0.75*3 + 0.25*48, GradNorm: 3, Tokens: 5, Rows: 6}},
		{"the second pass alone", &stepper{Trainer: &Trainer{Config: Config{Progressive: true, Alpha: 1}}}, 0, Outcome{Loss: 48, GradNorm: 3, Tokens: 5, Rows: 6}},
		{"the first of two models", &stepper{Trainer: &Trainer{Models: 2}}, 0, Outcome{Loss: 1, GradNorm: 3, Tokens: 5, Rows: 6}},
		{"the second of two models", &stepper{Trainer: &Trainer{Models: 2}}, 1, Outcome{Loss: 2, GradNorm: 4, Tokens: 5, Rows: 6}},
	} {
		if got := c.s.outcome(f, c.model); math.Abs(got.Loss-c.want.Loss) > 1e-12 || got.GradNorm != c.want.GradNorm || got.Tokens != c.want.Tokens || got.Rows != c.want.Rows {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if all := (&stepper{Trainer: &Trainer{Models: 2}}).outcomes(f); len(all) != 2 || all[0].Loss != 1 || all[1].Loss != 2 {
		t.Errorf("of two models %+v", all)
	}
}

// TestNotFinite checks that the error names the step, and whether the loss or the gradient is not
// a number.
func TestNotFinite(t *testing.T) {
	f := &flight{step: 6, rate: 0.5}
	for _, c := range []struct {
		out  Outcome
		want string // "": finite
	}{
		{Outcome{Loss: 1, GradNorm: 2}, ""},
		{Outcome{Loss: math.NaN(), GradNorm: 2}, "loss at step 7 is not a finite number (loss NaN, gradient norm 2, learning rate 0.5)"},
		{Outcome{Loss: math.Inf(1), GradNorm: math.NaN()}, "loss at step 7"},
		{Outcome{Loss: 1, GradNorm: math.Inf(1)}, "gradient at step 7"},
		{Outcome{Loss: math.Inf(-1), GradNorm: 1}, "loss at step 7"},
	} {
		if err := f.check(&c.out); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.out, err, c.want)
		}
	}
}

// TestAhead counts the unfinished steps.
func TestAhead(t *testing.T) {
	begun := State{Step: 3, Examples: 30, Tokens: 300, Rows: 3000, Stopped: true}
	tr := &Trainer{State: begun}
	if got := tr.ahead(); got != begun {
		t.Errorf("before the first step: %+v", got)
	}
	tr.stepper = &stepper{Trainer: tr, flights: []*flight{{examples: 4, tokens: 40, rows: 400}, {examples: 5, tokens: 50, rows: 500}}}
	if got, want := tr.ahead(), (State{Step: 5, Examples: 39, Tokens: 390, Rows: 3900, Stopped: true}); got != want {
		t.Errorf("two steps are under way: %+v, want %+v", got, want)
	}
	if tr.State != begun {
		t.Errorf("they are done: %+v", tr.State)
	}
}

// TestChunksOfAStep cuts a batch into chunks, and examples where draws change.
func TestChunksOfAStep(t *testing.T) {
	for _, c := range []struct{ batch, chunk, want int }{{8, 4, 2}, {9, 4, 3}, {12, 4, 3}, {1, 4, 1}} {
		s := &stepper{Trainer: &Trainer{Config: Config{Chunk: c.chunk}}, batch: task.Batch{B: c.batch}}
		if got := s.chunks(); got != c.want {
			t.Errorf("%d examples in chunks of %d: %d, want %d", c.batch, c.chunk, got, c.want)
		}
	}
	s := &stepper{Trainer: &Trainer{Config: Config{Group: 4}}}
	for _, c := range []struct{ lo, end, want int }{{0, 16, 4}, {3, 16, 4}, {4, 16, 8}, {4, 6, 6}, {13, 16, 16}} {
		if got := s.drawn(c.lo, c.end); got != c.want {
			t.Errorf("draws change after %d before %d, of %d, want %d", c.lo, got, c.end, c.want)
		}
	}
	s.Config.Group = 0
	if got := s.drawn(3, 16); got != 16 {
		t.Errorf("without groups draws change at %d", got)
	}
	s.now, s.Config.Times, s.Config.Backprop = &flight{}, 5, 2
	if got, want := s.pass(1, 0), (pass{3, 2}); got != want {
		t.Errorf("a pass is %+v, want %+v", got, want)
	}
	s.batch.Recurrences = []int{7, 9}
	if got, want := s.pass(1, 0), (pass{0, 9}); got != want {
		t.Errorf("by length a pass is %+v, want %+v", got, want)
	}
}

// A fakeLane has an outcome for the step that it wants.
type fakeLane struct {
	out  Outcome
	err  error
	save bool
}

func (l fakeLane) Step(examples int, rate float64) (Outcome, error) {
	if examples != 8 || rate != 0.25 {
		return Outcome{}, fmt.Errorf("a step of %d examples at %g", examples, rate)
	}
	return l.out, l.err
}

func (l fakeLane) Saves() bool { return l.save }

// TestLane checks one model's view of a step of several.
func TestLane(t *testing.T) {
	good := Outcome{Loss: 4, GradNorm: 5, Tokens: 6, Rows: 7}
	for _, c := range []struct {
		name string
		lane fakeLane
		want string // "": the step is done
	}{
		{"done", fakeLane{out: good}, ""},
		{"all have failed", fakeLane{err: errors.New("failed")}, "failed"},
		{"this one is not finite", fakeLane{out: Outcome{Loss: math.NaN(), Tokens: 6, Rows: 7}}, "loss at step 12 is not a finite number"},
	} {
		tr := &Trainer{State: State{Step: 11, Examples: 20}, Lane: c.lane}
		err := tr.enqueue(8, 0.25)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || tr.State.Step != 11 {
				t.Errorf("%s: %v at step %d, want %s", c.name, err, tr.State.Step, c.want)
			}
			continue
		}
		if want := (State{Step: 12, Examples: 28, Tokens: 6, Rows: 7}); err != nil || tr.State != want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, tr.State, err, want)
		}
		if tr.stepper.last != good || tr.stepper.rate != 0.25 {
			t.Errorf("%s: the last step is %+v at %g", c.name, tr.stepper.last, tr.stepper.rate)
		}
	}
}
