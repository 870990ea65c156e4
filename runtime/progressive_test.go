package runtime

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/train"
)

// loopedToy is the toy trained in every way that a looped model supports. Its kernels ignore
// runs: all passes of an example are identical.
func loopedToy() program.Model {
	m := toyModel()
	c := &m.Train
	c.Times, c.Backprop, c.Progressive, c.Alpha, c.Throttle = 8, 3, true, 0.25, true
	c.SumLoss, c.Rows = true, 10
	c.Batch, c.MicroBatch, c.Chunk, c.Group = 50, 4, 12, 8
	return m
}

// A launched is the environment of a launch of the gradients.
type launched struct {
	Example                   uint32
	B, NoGrad, WithGrad, Runs int
	Scale                     float32
}

// launches records the launches of one step, in order.
func launches(t *testing.T, m program.Model) []launched {
	t.Helper()
	var mu sync.Mutex
	var all []launched
	healthy := m.CPU[toyGradients].Run
	m.CPU[toyGradients].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		mu.Lock()
		all = append(all, launched{e.Example, e.B, e.NoGrad, e.WithGrad, e.Times, e.Scale})
		mu.Unlock()
		healthy(w, e, a)
	}
	if _, err := trainerOf(t, m, processor.New(m.CPU, cpu.Go, 2, &m.Plan)).Step(0.01); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(all, func(a, b launched) int { return cmp.Compare(a.Example, b.Example) })
	return all
}

// TestPassesOfAStep wants a full and a drawn pass of every launch. Drawn passes are equal
// exactly within a group of 8, and follow their shares.
func TestPassesOfAStep(t *testing.T) {
	m := loopedToy()
	all := launches(t, m)
	if len(all) != 2*13 {
		t.Fatalf("%d launches of 13 micro-batches", len(all))
	}
	weight := (1 + math.Min(8./4, 3./2)) / 3 / (50 * 10)
	draws := map[uint32][2]int{}
	different := false
	for i := 0; i < len(all); i += 2 {
		full, drawn := all[i], all[i+1]
		want := launched{uint32(2 * i), min(4, 50-2*i), 5, 3, 8, float32(0.75 * weight)}
		if diff := gocmp.Diff(want, full); diff != "" {
			t.Errorf("the full pass: -want +got:\n%s", diff)
		}
		if drawn.Scale != float32(0.25*weight) || drawn.NoGrad+drawn.WithGrad > 8 || drawn.WithGrad < 1 || drawn.WithGrad > 3 {
			t.Errorf("the drawn pass: %+v", drawn)
		}
		runs := [2]int{drawn.NoGrad, drawn.WithGrad}
		if known, ok := draws[drawn.Example/8]; ok && known != runs {
			t.Errorf("group %d has draws %v and %v", drawn.Example/8, known, runs)
		}
		different = different || runs != draws[0] && drawn.Example >= 8
		draws[drawn.Example/8] = runs
	}
	if !different {
		t.Error("all groups have the same draws")
	}
	m.Train.Alpha = 1
	if n := len(launches(t, m)); n != 13 {
		t.Errorf("alpha = 1: %d launches, want 13", n)
	}
	m.Train.Alpha = 0
	for _, l := range launches(t, m) {
		if l.NoGrad != 5 || l.WithGrad != 3 {
			t.Errorf("alpha = 0: %+v", l)
		}
	}
}

// TestLossOfPasses compares with a plain loss, since passes are identical: the reported loss is
// the same, and the gradient is the throttled sum over the batch.
func TestLossOfPasses(t *testing.T) {
	step := func(m program.Model) train.Outcome {
		out, err := trainerOf(t, m, processor.New(m.CPU, cpu.Go, 1, &m.Plan)).Step(0.01)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	plain := loopedToy()
	plain.Train.Progressive, plain.Train.SumLoss, plain.Train.Throttle = false, false, false
	plain.Train.Backprop = plain.Train.Times
	want, got := step(plain), step(loopedToy())
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-5*want {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	const labels = 50 * 8
	near("the loss", got.Loss, want.Loss)
	near("the gradient", got.GradNorm, want.GradNorm*2.5/3*labels/(50*10))
	if got.Tokens != labels || got.Rows != labels {
		t.Errorf("%d labels in %d rows, want %d", got.Tokens, got.Rows, labels)
	}
}

// TestAllOfItResumes stops runs with a growing batch, with a budget in examples and the same in
// FLOP, and continues to the same bytes. Only the first run reports at every step.
func TestAllOfItResumes(t *testing.T) {
	for _, c := range []struct {
		budget train.Budget
		stops  []int
	}{
		{train.Budget{Examples: 15 * 50}, []int{1, 7, 19}},
		{train.Budget{FLOP: 100 * 8 * 15 * 50}, []int{20}},
	} {
		m := loopedToy()
		m.Train.Ramp, m.Train.RowFLOP, m.Train.Budget = 0.6, 100, c.budget
		whole := trained(t, m, "--threads", "1", "--cpu", "go")
		if _, metrics := final(t, whole); !strings.Contains(metrics, `"step":29,"examples":764,`) {
			t.Fatalf("the batch does not grow to 15 times 50 examples in 29 steps:\n%s", metrics)
		}
		sameRun(t, whole, trained(t, m, "--threads", "3"))
		for _, steps := range c.stops {
			dir := filepath.Join(t.TempDir(), "run")
			stopAt(t, m, dir, steps)
			if s := call(t, m, "", "train", "--resume", "--out", dir); s.code != 0 {
				t.Fatal(s.err)
			}
			sameRun(t, whole, dir)
		}
	}
}

// TestStop wants training to end at the first report with enough right answers, and to stay
// ended.
func TestStop(t *testing.T) {
	for _, heldOut := range []bool{true, false} {
		m := toyModel()
		m.Train.Budget.Steps = 200
		m.Train.Stop = &train.Stop{AtLeast: 0.5, HeldOut: heldOut}
		dir := trained(t, m)
		checkpoint, metrics := final(t, dir)
		reports := strings.Count(metrics, `"step":`)
		if reports < 2 || reports > 90 {
			t.Errorf("held out %t: %d reports of 100 before the stop", heldOut, reports)
		}
		if s := call(t, m, "", "train", "--resume", "--out", dir); s.code != 0 || !strings.Contains(s.err, "stopped at step") {
			t.Fatalf("resuming what has stopped: exit %d\n%s", s.code, s.err)
		}
		if again, same := final(t, dir); string(again) != string(checkpoint) || same != metrics {
			t.Error("resuming what has stopped goes on training")
		}
		killed := filepath.Join(t.TempDir(), "run")
		stopAt(t, m, killed, 4)
		if s := call(t, m, "", "train", "--resume", "--out", killed); s.code != 0 {
			t.Fatal(s.err)
		}
		sameRun(t, dir, killed)
	}
}

// TestStopIsProven has all of the first problems right from the second report, but enough of
// many others only at the fourth.
func TestStopIsProven(t *testing.T) {
	for _, heldOut := range []bool{true, false} {
		m := toyModel()
		m.Train.Stop = &train.Stop{AtLeast: 0.97, HeldOut: heldOut}
		trainer := trainerIn(t, m, filepath.Join(t.TempDir(), "run"))
		proofs := map[int]float64{2: 0.9, 3: 0.96, 4: 0.98}
		trainer.Match = func(held bool, first, n int) (float64, error) {
			step := trainer.State.Step
			switch {
			case first == 0 && n == 64 && held == heldOut && step > 1:
				return 1, nil
			case first == 0 && n == 64:
				return 0.95, nil
			case first == 64 && n == 1024 && held == heldOut && step > 1:
				return proofs[step], nil
			}
			t.Errorf("after %d steps %d problems from %d on are tested, held out %t", step, n, first, held)
			return 0, nil
		}
		if err := trainer.Run(t.Context()); err != nil || !trainer.State.Stopped || trainer.State.Step != 4 {
			t.Errorf("held out %t: after %d steps: stopped %t, %v", heldOut, trainer.State.Step, trainer.State.Stopped, err)
		}
		if match, err := trainer.StopMatch(); match != 0.98 || err != nil {
			t.Errorf("held out %t: stopped at a match of %g, %v", heldOut, match, err)
		}
	}
}

// TestMatch counts right answers to the given problems.
func TestMatch(t *testing.T) {
	trainer := trainerIn(t, toyModel(), filepath.Join(t.TempDir(), "run"))
	trainer.Config.Budget.Steps = 60
	if err := trainer.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	parts := map[float64]bool{}
	for _, heldOut := range []bool{true, false} {
		whole, err := trainer.Match(heldOut, 0, 600)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for first := range 3 {
			part, err := trainer.Match(heldOut, 200*first, 200)
			if err != nil {
				t.Fatal(err)
			}
			sum += part / 3
			parts[part] = true
		}
		if math.Abs(sum-whole) > 1e-9 {
			t.Errorf("held out %t: %g of 600, %g of its parts", heldOut, whole, sum)
		}
	}
	if len(parts) < 3 {
		t.Errorf("six samples with matches %v: they are not of different problems", parts)
	}
}
