package train

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

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
	tr, m = toyTrainer(t, &launches)
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
