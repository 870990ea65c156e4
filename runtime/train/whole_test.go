package train

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/track"
)

// toyTrainer returns a trainer of the toy in a new directory, at its first step.
func toyTrainer(t *testing.T, launches *[]device.Env) (*Trainer, *memory) {
	m := newMemory()
	tr := &Trainer{Status: track.NewStatus(nil, true), Machine: m, Plan: m.toy(launches), Params: []device.Param{{Name: "w", Shape: []int{1}, Init: device.Init{Kind: "const", A: 10}}},
		Task: addition(t, 2, 0.2), Dir: t.TempDir(), Config: Config{Schedule: "constant", LR: 1, Batch: 6, MicroBatch: 2, Chunk: 4, Budget: Budget{Steps: 5}, Report: Report{Every: 2, Problems: 8}}}
	tr.Match = func(bool, int, int) (float64, error) { return 0.25, nil }
	tr.Start()
	return tr, m
}

// TestTraining trains to the end in one process, and in two with a pause between.
func TestTraining(t *testing.T) {
	ctx := context.Background()
	var launches []device.Env
	tr, m := toyTrainer(t, &launches)
	if err := tr.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if w := m.floats[device.Params][0]; math.Abs(float64(w)-5) > 1e-5 {
		t.Errorf("after 5 steps of 1 from 10 the parameter is %g", w)
	}
	reports, err := track.Until(tr.Dir, 5)
	if err != nil {
		t.Fatal(err)
	}
	var steps []int
	for _, r := range reports {
		steps = append(steps, r.Step)
		if r.Examples != int64(6*r.Step) || r.ExactMatch == nil || *r.ExactMatch != 0.25 || r.LR != 1 || math.Abs(r.GradNorm-1) > 1e-5 || r.Loss <= 0 || r.Stage != "train" {
			t.Errorf("a report says %+v", r)
		}
	}
	if !slices.Equal(steps, []int{2, 4, 5}) {
		t.Errorf("reports of steps %v", steps)
	}
	var sizes []int
	for _, e := range launches[:3] {
		sizes = append(sizes, e.B, int(e.Example))
	}
	if want := []int{2, 0, 2, 2, 2, 4}; !slices.Equal(sizes, want) || len(launches) != 15 {
		t.Errorf("%d launches; examples, and the first of each: %v, want %v", len(launches), sizes, want)
	}
	if done, err := tr.Done(); !done || err != nil {
		t.Errorf("after the last step it is done: %v, %v", done, err)
	}

	whole := tr.State
	tr, _ = toyTrainer(t, &launches)
	tr.Pause = 0.5
	if err := tr.Run(ctx); !errors.Is(err, ErrPaused) || tr.State.Step != 3 {
		t.Fatalf("a pause after step %d, %v", tr.State.Step, err)
	}
	if done, err := tr.Done(); done || err != nil {
		t.Errorf("at the pause it is done: %v, %v", done, err)
	}
	saved, err := Checkpoints(tr.Dir)
	if err != nil || len(saved) != 1 {
		t.Fatalf("checkpoints %v, %v", saved, err)
	}
	c, err := Read(saved[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := tr.Dir
	tr, m = toyTrainer(t, &launches)
	tr.Dir = dir
	if err := errors.Join(tr.Resume(c), tr.Run(ctx)); err != nil {
		t.Fatal(err)
	}
	if tr.State != whole || math.Abs(float64(m.floats[device.Params][0])-5) > 1e-5 {
		t.Errorf("two processes end at %+v with %g, one at %+v", tr.State, m.floats[device.Params], whole)
	}
	delete(c.Meta, sums)
	if err := tr.Resume(c); err == nil || !strings.Contains(err.Error(), "added numbers in another order") {
		t.Errorf("a checkpoint of another order: %v", err)
	}
}

// TestLaunchesDoNotMatter trains with launches of several sizes and kinds, and finds equal losses
// and weights.
func TestLaunchesDoNotMatter(t *testing.T) {
	var want []track.Report
	for _, c := range []struct {
		name    string
		repeats bool
		change  func(*device.Plan, *Config)
		most    int // examples of the largest launch
	}{
		{"micro-batches of two", false, func(*device.Plan, *Config) {}, 2},
		{"one chunk", false, func(_ *device.Plan, c *Config) { c.MicroBatch, c.Chunk = 6, 0 }, 6},
		{"packed", false, func(p *device.Plan, _ *Config) { p.Packed = true }, 2},
		{"packed, with room for more", true, func(p *device.Plan, _ *Config) { p.Packed = true }, 2},
		{"two passes", false, func(_ *device.Plan, c *Config) { c.Progressive, c.Alpha, c.Times, c.Backprop = true, 0.5, 4, 2 }, 2},
		{"two passes, with room for more", true, func(p *device.Plan, c *Config) {
			p.Packed, c.Progressive, c.Alpha, c.Times, c.Backprop = true, true, 0.5, 4, 2
		}, 2},
		{"draws are shared", false, func(_ *device.Plan, c *Config) { c.Group, c.MicroBatch, c.Chunk = 4, 4, 8 }, 4},
	} {
		var launches []device.Env
		tr, m := toyTrainer(t, &launches)
		m.repeats = c.repeats
		c.change(tr.Plan, &tr.Config)
		if err := tr.Run(context.Background()); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := track.Until(tr.Dir, 5)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].Seconds = 0
			got[i].GradNorm = math.Round(got[i].GradNorm*1e4) / 1e4 // of sums in several orders
		}
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if w := m.floats[device.Params][0]; math.Abs(float64(w)-5) > 1e-5 {
			t.Errorf("%s: the weight is %g, want 5", c.name, w)
		}
		most := 0
		for _, e := range launches {
			most = max(most, e.B)
			if (e.Actual != device.Extent{}) != c.repeats {
				t.Errorf("%s: a launch of %+v", c.name, e)
			}
		}
		if most != c.most {
			t.Errorf("%s: launches of up to %d examples, want %d", c.name, most, c.most)
		}
	}
}

// TestTestsDuringTraining tests lengths after steps 2, 4 and 5, and keeps the weights of the best
// test.
func TestTestsDuringTraining(t *testing.T) {
	for _, c := range []struct {
		name     string
		matches  []float64 // of the tests
		average  []float64 // of the averaged weights; nil: none
		best     *config.Criterion
		plateau  *config.Plateau
		steps    int // of the training
		kept     int // the step of the best checkpoint; 0: none
		measured int
	}{
		{"the best is in the middle", []float64{0.1, 0.5, 0.4}, nil, &config.Criterion{}, nil, 5, 4, 3},
		{"the first of equals", []float64{0.5, 0.5, 0.5}, nil, &config.Criterion{}, nil, 5, 2, 3},
		{"the last", []float64{0.1, 0.2, 0.3}, nil, &config.Criterion{}, nil, 5, 5, 3},
		{"none is kept", []float64{0.1, 0.2, 0.3}, nil, nil, nil, 5, 0, 3},
		{"a plateau", []float64{0.5, 0.5, 0.6}, nil, nil, &config.Plateau{Patience: 1}, 4, 0, 2},
		{"a longer plateau", []float64{0.5, 0.5, 0.6}, nil, nil, &config.Plateau{Patience: 2}, 5, 0, 3},
		{"averaged weights", []float64{0.1, 0.2, 0.3}, []float64{0.3, 0.2, 0.1}, &config.Criterion{Average: true}, nil, 5, 2, 6},
	} {
		var launches []device.Env
		tr, m := toyTrainer(t, &launches)
		measured := 0
		tr.Config.Best, tr.Config.Plateau = c.best, c.plateau
		if c.average != nil {
			tr.Plan.States = []string{config.AverageState}
			m.of(device.Ref{Space: device.State}, 1)[0] = -7
		}
		tr.Tests = &Tests{Every: Budget{Steps: 2}, Lengths: []int{3}, Measure: func() ([]track.Length, error) {
			of, n := c.matches, measured
			if c.average != nil {
				n = measured / 2
				if m.floats[device.Params][0] == -7 {
					of = c.average
				}
			}
			measured++
			loss := 1.0
			return []track.Length{{Length: 3, ExactMatch: of[n], Loss: &loss}}, nil
		}}
		if err := tr.Run(context.Background()); err != nil || tr.State.Step != c.steps || measured != c.measured {
			t.Errorf("%s: %d steps and %d tests, %v; want %d and %d", c.name, tr.State.Step, measured, err, c.steps, c.measured)
		}
		if stopped := c.steps < 5; tr.State.Stopped != stopped {
			t.Errorf("%s: stopped %v", c.name, tr.State.Stopped)
		}
		kept := 0
		if best, err := Read(BestPath(tr.Dir)); err == nil {
			kept = best.State.Step
			if w := best.tensors["w"].Data[0]; math.Abs(float64(w)-float64(10-kept)) > 1e-5 {
				t.Errorf("%s: after %d steps the best weight is %g", c.name, kept, w)
			}
		}
		if kept != c.kept {
			t.Errorf("%s: the best is of step %d, want %d", c.name, kept, c.kept)
		}
		if tests, err := track.Tests(damage.At(tr.Dir), 5); err != nil || len(tests) != (c.steps+1)/2 {
			t.Errorf("%s: %d tests are written, %v", c.name, len(tests), err)
		}
	}
}
