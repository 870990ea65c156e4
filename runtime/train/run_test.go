package train

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
)

// addition returns a task of numbers with at most these digits. It holds out a share.
func addition(t *testing.T, digits int, share float64) *task.Task {
	t.Helper()
	tk, err := tasks.New(task.Config{Kind: "addition", DigitsLo: 1, DigitsHi: digits, Base: 10, Sequence: true, Holdout: share}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return tk
}

// TestProgress extrapolates from the work of this process.
func TestProgress(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	cfg := Config{Batch: 10, Budget: Budget{Steps: 100}}
	for _, c := range []struct {
		name       string
		r          run
		rate       float64 // examples a second
		fraction   float64
		left, then time.Duration
	}{
		{"nothing is done", run{Trainer: &Trainer{Config: cfg}, start: ago(10 * time.Second)}, 0, 0, -1, 0},
		{"a quarter", run{Trainer: &Trainer{Config: cfg, State: State{Step: 25, Examples: 250}}, start: ago(10 * time.Second)}, 25, 0.25, 30 * time.Second, 0},
		{"a quarter by this process", run{Trainer: &Trainer{Config: cfg, State: State{Step: 75, Examples: 750}}, first: State{Step: 50, Examples: 500}, start: ago(10 * time.Second)}, 25, 0.75, 10 * time.Second, 0},
		{"all and more", run{Trainer: &Trainer{Config: cfg, State: State{Step: 110, Examples: 1100}}, start: ago(10 * time.Second)}, 110, 1.1, 0, 0},
		{"a test", run{Trainer: &Trainer{Config: cfg, Asked: Asked{After: 300}, State: State{Step: 50, Examples: 500}}, start: ago(10 * time.Second), asked: asked{tokens: 100, took: 2 * time.Second}}, 50, 0.5, 10 * time.Second, 6 * time.Second},
	} {
		p := c.r.progress()
		near := func(a, b float64) bool { return a >= 0.9*b-1e-9 && a <= 1.1*b+1e-9 }
		if !near(p.Rate, c.rate) || p.Fraction != c.fraction || p.Then != c.then || p.Test != nil || p.Left != c.left && !near(p.Left.Seconds(), c.left.Seconds()) {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
	r := run{Trainer: &Trainer{Config: cfg}, start: ago(time.Second), tested: &tested{}}
	if p := r.progress(); p.Test != nil {
		t.Errorf("before the first test it is %+v", p.Test)
	}
	r.tested.all = []track.Test{{Step: 4}, {Step: 8}}
	if p := r.progress(); p.Test == nil || p.Test.Step != 8 {
		t.Errorf("the last test is %+v", p.Test)
	}
}

// TestWhereARunGoesOn takes the time of earlier processes from the last report, or from the
// checkpoint if that is later.
func TestWhereARunGoesOn(t *testing.T) {
	for _, c := range []struct {
		name         string
		state        State
		pause        float64
		last         *track.Report
		before       time.Duration
		done, paused bool
	}{
		{"at the start", State{}, 0, nil, 0, false, false},
		{"after a report", State{Step: 4}, 0.5, &track.Report{Step: 4, Seconds: 1.5}, 1500 * time.Millisecond, false, false},
		{"after a later checkpoint", State{Step: 4, Elapsed: 2 * time.Second}, 0, &track.Report{Step: 3, Seconds: 1.5}, 2 * time.Second, false, false},
		{"at a pause", State{Step: 5}, 0.5, nil, 0, false, true},
		{"at the end", State{Step: 10}, 0, nil, 0, true, false},
		{"stopped", State{Step: 4, Stopped: true}, 0, nil, 0, true, false},
	} {
		r := newRun(&Trainer{Config: Config{Batch: 1, Budget: Budget{Steps: 10}, Report: Report{Every: 7}}, State: c.state, Pause: c.pause}, nil, c.last)
		if r.before != c.before || r.done() != c.done || r.paused() != c.paused || r.every != 7 || r.total != 10 || r.first != c.state {
			t.Errorf("%s: %v before, done %v, paused %v, a report every %d, %d steps, from %+v", c.name, r.before, r.done(), r.paused(), r.every, r.total, r.first)
		}
		if c.last != nil && r.report.Step != c.last.Step {
			t.Errorf("%s: the last report is of step %d", c.name, r.report.Step)
		}
		if got := r.elapsed(); got < c.before || got > c.before+time.Minute {
			t.Errorf("%s: trained for %v", c.name, got)
		}
	}
}

// TestSaves checks that checkpoints are saved at intervals, and by models that train together
// after the same step.
func TestSaves(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration
		ago   time.Duration
		lane  Lane
		want  bool
	}{
		{"only at the end", 0, time.Hour, nil, false},
		{"not yet", time.Hour, time.Minute, nil, false},
		{"due", time.Minute, time.Hour, nil, true},
		{"not with the others", time.Minute, time.Hour, fakeLane{}, false},
		{"with the others", 0, 0, fakeLane{save: true}, true},
	} {
		r := &run{Trainer: &Trainer{SaveEvery: c.every, Lane: c.lane}, saved: time.Now().Add(-c.ago)}
		if got := r.saves(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestStop ends training when enough answers to more problems than a report's are right.
func TestStop(t *testing.T) {
	type asked struct {
		heldOut  bool
		first, n int
	}
	proof := func(heldOut bool) asked { return asked{heldOut, 8, Proof} }
	for _, c := range []struct {
		name      string
		stop      *Stop
		reported  float64           // exact match on held-out problems
		says      map[asked]float64 // a Match's results
		stopped   bool
		questions []asked
	}{
		{"no reason", nil, 1, nil, false, nil},
		{"not good enough", &Stop{AtLeast: 0.5, HeldOut: true}, 0.49, nil, false, nil},
		{"by luck", &Stop{AtLeast: 0.5, HeldOut: true}, 0.5, map[asked]float64{proof(true): 0.4}, false, []asked{proof(true)}},
		{"good enough", &Stop{AtLeast: 0.5, HeldOut: true}, 0.5, map[asked]float64{proof(true): 0.5}, true, []asked{proof(true)}},
		{"of training, not good enough", &Stop{AtLeast: 0.5}, 1, map[asked]float64{{false, 0, 8}: 0.4}, false, []asked{{false, 0, 8}}},
		{"of training, good enough", &Stop{AtLeast: 0.5}, 0, map[asked]float64{{false, 0, 8}: 0.6, proof(false): 0.9}, true, []asked{{false, 0, 8}, proof(false)}},
	} {
		var questions []asked
		r := &run{Trainer: &Trainer{Config: Config{Stop: c.stop, Report: Report{Problems: 8}}, Task: addition(t, 5, 0)}, report: track.Report{ExactMatch: &c.reported}}
		r.Match = func(heldOut bool, first, n int) (float64, error) {
			q := asked{heldOut, first, n}
			questions = append(questions, q)
			return c.says[q], nil
		}
		if err := r.stop(); err != nil || r.State.Stopped != c.stopped || !slices.Equal(questions, c.questions) {
			t.Errorf("%s: stopped %v after %v, %v; want %v after %v", c.name, r.State.Stopped, questions, err, c.stopped, c.questions)
		}
	}
	failed := errors.New("failed")
	r := &run{Trainer: &Trainer{Config: Config{Stop: &Stop{AtLeast: 0.5}}, State: State{Step: 7}, Task: addition(t, 5, 0)}}
	r.Match = func(bool, int, int) (float64, error) { return 1, failed }
	if err := r.stop(); !errors.Is(err, failed) || err.Error() != "the test after step 7 failed: failed" || r.State.Stopped {
		t.Errorf("a test fails: %v", err)
	}
}

// TestMeasured checks that no report measures more problems than the task has.
func TestMeasured(t *testing.T) {
	few, err := tasks.New(task.Config{Kind: "addition", DigitsLo: 3, DigitsHi: 3, Base: 10, Sequence: true, Examples: 40, Holdout: 0.25}, 3)
	if err != nil {
		t.Fatal(err)
	}
	many := addition(t, 20, 0.25)
	for _, c := range []struct {
		name    string
		task    *task.Task
		asked   int
		heldOut bool
		want    int
	}{
		{"few", few, 3, true, 3},
		{"all that are held out", few, 5000, true, 10},
		{"all that are trained on", few, 5000, false, 30},
		{"of many", many, 5000, true, 5000},
		{"as usual", many, 0, true, Glance},
	} {
		tr := &Trainer{Task: c.task, Config: Config{Report: Report{Problems: c.asked}}}
		if got := tr.measured(c.heldOut); got != c.want {
			t.Errorf("%s: %d problems, want %d", c.name, got, c.want)
		}
	}
}

// A roomyMachine has room for any launch, and records the requests.
type roomyMachine struct {
	device.Machine
	least, most int
}

func (m *roomyMachine) Examples(least, most int, _ func(int) float64) int {
	m.least, m.most = least, most
	return most
}

// TestLaunchExamples requests launches as large as draws allow, and two if long problems are
// separate from short ones.
func TestLaunchExamples(t *testing.T) {
	padded, err := tasks.New(task.Config{Kind: "addition", DigitsLo: 1, DigitsHi: 4, Base: 10, Sequence: true, Padded: true}, 3)
	if err != nil {
		t.Fatal(err)
	}
	varies := addition(t, 4, 0)
	for _, c := range []struct {
		name string
		task *task.Task
		plan device.Plan
		cfg  Config
		want int
	}{
		{"a micro-batch", padded, device.Plan{}, Config{MicroBatch: 4, Chunk: 16}, 4},
		{"a chunk", padded, device.Plan{AnyLaunch: true}, Config{MicroBatch: 4, Chunk: 16}, 16},
		{"draws are shared", padded, device.Plan{AnyLaunch: true}, Config{MicroBatch: 4, Chunk: 16, Group: 8}, 8},
		{"long and short ones", varies, device.Plan{AnyLaunch: true}, Config{MicroBatch: 4, Chunk: 16}, 8},
		{"packed", varies, device.Plan{AnyLaunch: true, Packed: true}, Config{MicroBatch: 4, Chunk: 16}, 16},
		{"halves are no micro-batches", varies, device.Plan{AnyLaunch: true}, Config{MicroBatch: 4, Chunk: 12}, 12},
		{"an odd number", varies, device.Plan{AnyLaunch: true}, Config{MicroBatch: 1, Chunk: 7}, 7},
	} {
		m := new(roomyMachine)
		tr := &Trainer{Task: c.task, Plan: &c.plan, Config: c.cfg, Machine: m}
		if got := tr.launchExamples(); got != c.want || c.plan.AnyLaunch && m.least != c.cfg.MicroBatch {
			t.Errorf("%s: launches of %d, at least %d; want %d", c.name, got, m.least, c.want)
		}
	}
}
