package runtime

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/verbs"
)

// TestNoFillersInQuestions measures exact match during training like tests do: without fillers
// (token 0), which only training uses.
func TestNoFillersInQuestions(t *testing.T) {
	m := toyModel()
	m.Task = task.Config{Kind: "addition", DigitsLo: 1, DigitsHi: 3, Base: 10, Sequence: true, RandomPad: 0.5, Holdout: 0.1}
	asked, fillers := 0, 0
	m.CPU[toyPredict].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		asked += e.B
		if slices.Contains(w.I32(a[1])[:e.B*e.T], 0) {
			fillers++
		}
	}
	problems, err := tasks.New(m.Task, 1)
	if err != nil {
		t.Fatal(err)
	}
	if problems.Train(0).Fillers == nil {
		t.Fatal("problems of training have no fillers")
	}
	asking := verbs.Questions{Model: eval.Model{Machine: processor.New(m.CPU, cpu.Go, 1, &m.Plan), Plan: &m.Plan, Task: problems, Seed: 1}}
	for _, heldOut := range []bool{false, true} {
		if _, err := asking.Match(heldOut, 0, 64); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 2*64 || fillers > 0 {
		t.Errorf("%d problems were asked, and %d times with fillers", asked, fillers)
	}
}

// TestPadOfTests pads problems of tests by eval.pad, not as in training.
func TestPadOfTests(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "--steps", "1", "-q")
	for _, c := range []struct {
		pad   task.Pad
		width int // of a problem of three digits
	}{
		{task.Pad{}, 4}, {task.Pad{To: 7, Step: 3}, 7}, {task.Pad{To: 12, Step: 2}, 12}, {task.Pad{To: 1, Step: 3}, 4},
	} {
		m.Eval.Pad = c.pad
		test := testModel(t, m, dir)
		p, err := test.Task.Parse("999")
		if err != nil {
			t.Fatal(err)
		}
		width, err := test.Task.Width(p)
		if err != nil || width != c.width || test.Pad != [2]int{c.pad.To, c.pad.Step} {
			t.Errorf("padded to %v, a problem has the width %d (%v), and the result says %v", c.pad, width, err, test.Pad)
		}
	}
}
