package runtime

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// scoredToy is the toy with losses in its forward pass, and full reports.
func scoredToy() program.Model {
	m := toyModel()
	score := len(m.CPU)
	m.CPU = append(m.CPU, cpu.Kernel{Name: "score", Run: func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		runToyPredict(w, e, []device.Ref{a[0], a[1], a[2], a[5]})
		source, target, labels, loss := w.I32(a[0]), w.I32(a[1]), w.I32(a[3]), w.F32(a[4])
		for i := range e.B * e.T {
			loss[i] = float32(toyLoss(w.Mem.F32[device.Params], e, source[i/e.T*e.S:], target[i], i%e.T, labels[i]))
		}
	}})
	layout := m.Plan.Forward.Layout
	m.Plan.Forward.Run = func(q device.Queue, e *device.Env) {
		l := layout(e)
		q.Launch(score, e, l.Source, l.Target, l.Pred, l.Labels, l.Loss, device.Ref{Space: device.Params})
	}
	m.Train.Report = train.Report{Every: 3, Problems: 40, Full: true}
	return m
}

// toyLoss returns the loss of a row of the toy.
func toyLoss(params []float32, e *device.Env, source []int32, input int32, row int, label int32) float64 {
	parts := toyRow(e, source, input, row)
	logits, best := toyLogits(params, parts[:])
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x - logits[best]))
	}
	return math.Log(sum) - float64(logits[label]-logits[best])
}

// TestFullReports computes exact match and loss of problems one by one from the saved run, and
// compares them with its last report. Reports are at the requested steps.
func TestFullReports(t *testing.T) {
	m := scoredToy()
	dir := trained(t, m)
	reports, err := track.All(damage.At(dir))
	if err != nil || len(reports) != 7 || reports[0].Step != 3 || reports[6].Step != 20 {
		t.Fatalf("reports are %+v: %v", reports, err)
	}
	last := reports[6]
	machine := processor.New(m.CPU, cpu.Go, 1, &m.Plan)
	path, err := rundir.NewestCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := train.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := saved.Put(machine, &m.Plan, m.Params); err != nil {
		t.Fatal(err)
	}
	params := make([]float32, m.Plan.NumParams)
	machine.Root().GetFloats(params, device.Ref{Space: device.Params})
	problems, err := tasks.New(m.Task, m.Train.Seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		problem     func(k int64) task.Problem
		match, loss *float64
	}{{problems.Train, last.TrainExactMatch, last.TrainLoss}, {problems.HeldOut, last.ExactMatch, last.HeldOutLoss}} {
		right, sum, labels := 0, 0.0, 0
		for k := range int64(40) {
			b, err := problems.One(c.problem(k))
			if err != nil {
				t.Fatal(err)
			}
			e := &device.Env{B: 1, T: b.T, S: b.S}
			wrong := false
			for row, label := range b.Labels {
				parts := toyRow(e, b.Source, b.Target[row], row)
				_, best := toyLogits(params, parts[:])
				wrong = wrong || best != label
				sum += toyLoss(params, e, b.Source, b.Target[row], row, label)
				labels++
			}
			if !wrong {
				right++
			}
		}
		if c.match == nil || *c.match != float64(right)/40 || c.loss == nil || math.Abs(*c.loss-sum/float64(labels)) > 1e-6 {
			t.Errorf("reported are %v and %v, want %g and %g", c.match, c.loss, float64(right)/40, sum/float64(labels))
		}
	}
	if *last.TrainLoss >= *reports[0].TrainLoss {
		t.Errorf("the loss goes from %g to %g", *reports[0].TrainLoss, *last.TrainLoss)
	}
}

// TestFullReportsResume stops between two reports and at a report, and continues to the same
// bytes with another number of threads.
func TestFullReportsResume(t *testing.T) {
	m := scoredToy()
	whole := trained(t, m, "--threads", "1")
	if _, metrics := final(t, whole); strings.Count(metrics, ",held_out_loss,train_exact_match,train_loss\n") != 1 {
		t.Fatalf("the table has no columns for it:\n%s", metrics)
	}
	for _, steps := range []int{6, 7} {
		dir := filepath.Join(t.TempDir(), "run")
		trainer := trainerIn(t, m, dir)
		ctx, stop := context.WithCancel(context.Background())
		healthy := trainer.Machine
		trainer.Machine = stopping{healthy, func() {
			if trainer.State.Step == steps-1 {
				stop()
			}
		}}
		if err := trainer.Run(ctx); !errors.Is(err, context.Canceled) || trainer.State.Step != steps {
			t.Fatalf("stopped after %d steps with %v", trainer.State.Step, err)
		}
		if s := call(t, m, "", "train", "--resume", "--out", dir, "--threads", "3"); s.code != 0 {
			t.Fatal(s.err)
		}
		sameRun(t, whole, dir)
	}
}

// stopping is a machine that calls sum when gradients are summed.
type stopping struct {
	device.Machine
	sum func()
}

func (s stopping) Sum(n int, f func(w device.Worker, i int)) {
	s.sum()
	s.Machine.Sum(n, f)
}

// TestReportsOfAll measures at most all problems, and stops at the exact match of a report.
func TestReportsOfAll(t *testing.T) {
	m := toyModel()
	m.Task.Below, m.Task.Holdout = 100, 0.1
	m.Train.Report = train.Report{Problems: 1000}
	m.Train.Stop = &train.Stop{AtLeast: 0.9, HeldOut: true}
	trainer := trainerIn(t, m, filepath.Join(t.TempDir(), "run"))
	asked := map[[2]int]bool{}
	trainer.Match = func(heldOut bool, first, n int) (float64, error) {
		asked[[2]int{first, n}] = true
		return 1, nil
	}
	if err := trainer.Run(t.Context()); err != nil || !trainer.State.Stopped {
		t.Fatalf("stopped %t: %v", trainer.State.Stopped, err)
	}
	if len(asked) != 2 || !asked[[2]int{0, 10}] || !asked[[2]int{1000, 1024}] {
		t.Errorf("asked are %v, want the 10 that are held out and a proof", asked)
	}
}
