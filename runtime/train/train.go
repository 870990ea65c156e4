// Package train is the training loop: batches of package task through a plan on a
// machine, the schedule, checkpoints and reports. Package runtime gives it a
// device and a run directory.
//
// Training depends only on the configuration and the State: equal seeds give equal checkpoints,
// byte for byte, on any number of workers and after any interruptions. Only a budget of time
// reads the clock.
package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
)

// A Trainer is one run.
type Trainer struct {
	Machine   device.Machine
	Plan      *device.Plan
	Params    []device.Param
	Task      *task.Task
	Config    Config
	State     State
	Given     map[string][]float32 // values of fixed parameters; the rest are 0
	Dir       string               // the run directory
	Stage     string               // recorded in every report; "": train
	Meta      map[string]string    // recorded in every checkpoint
	SaveEvery time.Duration        // between checkpoints; 0: only at the end
	Still     func() error         // an error once Dir is gone, called before every write; nil: not called
	Match     Match                // called at every report
	Score     Measure              // called instead if reports are Full
	Tests     *Tests               // during training; nil: none
	Asked     Asked
	Status    *track.Status
	Pause     float64 // the share of the budget after which training pauses; 0: no pause
	Ranks     Ranks   // that train together; nil: this process trains alone

	// Among models that train together, a Trainer of one has a Lane, and the Trainer whose Machine
	// computes their steps has their number as Models and a function to call after each step.
	Lane   Lane
	Models int // 0: one
	Landed func(outcomes []Outcome)

	stepper *stepper
}

// A Lane takes the steps of one of several models that train together.
type Lane interface {
	// Step waits for a step of all models, and returns this model's outcome.
	Step(examples int, rate float64) (Outcome, error)
	// Saves reports whether a checkpoint follows the last step: models that train together are
	// saved after the same step.
	Saves() bool
}

// Asked is the size of tests in tokens that the model reads. It predicts the time of a test
// from the time of another.
type Asked struct {
	Report float64 // of a report
	After  float64 // of the evaluation after training; 0: not known
}

// A Match tests exact match on problems first … first+n-1, held out or of training.
type Match func(heldOut bool, first, n int) (float64, error)

// A Score tells how well a model answers some problems.
type Score struct {
	ExactMatch *float64 // nil: a text has no answers
	Loss       float64  // mean of the labels, nats
}

// A Measure scores the first n problems, held out or of training, without dropout.
type Measure func(heldOut bool, n int) (Score, error)

// The numbers of problems of a Match: a few at every report that does not set its own, and many
// others if these are right enough to stop.
const (
	Glance = 64
	Proof  = 1024
)

// Prepare makes the Trainer ready for its first step: it calls SetTask, then Start.
func (t *Trainer) Prepare(problems task.Config, with task.Kit) error {
	err := t.SetTask(problems, with)
	if err == nil {
		t.Start()
	}
	return err
}

// SetTask makes the Task from the Config's seed, and checks the settings. Parameters keep their
// values.
func (t *Trainer) SetTask(problems task.Config, with task.Kit) (err error) {
	if t.Task, err = task.New(problems, t.Config.Seed, with); err != nil {
		return err
	}
	return t.Check()
}

// Check returns an error about the settings and the problems, in the words of a spec.
func (t *Trainer) Check() error {
	if err := t.Config.Check(); err != nil {
		return err
	}
	if t.Task.NeedsLength() && t.Config.Length() == 0 {
		return fmt.Errorf("E0340: a curriculum goes by the share of the training that is behind, and a budget of %s does not say how many problems there will be: give the budget in steps or examples", t.Config.Budget)
	}
	return nil
}

// Learn replaces the problems by others, no longer than before. No step may be under way.
func (t *Trainer) Learn(problems *task.Task) { t.Task, t.stepper = problems, nil }

// Start sets parameters and the optimizer's states to their values before the first step.
func (t *Trainer) Start() {
	w := t.Machine.Root()
	for _, s := range spaces(t.Plan) {
		w.Zero(device.Ref{Space: s.space}, t.Plan.NumParams)
	}
	var values []float32 // one parameter at a time: a second arena may not fit
	for i, p := range t.Params {
		values = resize(values, p.Elems())
		if p.Init.Kind == "given" {
			clear(values)
			copy(values, t.Given[p.Name])
		} else {
			initial(values, p, i, config.Initial(t.Config.Seed, t.Config.InitSeed))
		}
		w.PutFloats(device.Ref{Space: device.Params, Off: p.Off}, values)
	}
	t.State = State{}
}

// Resume sets parameters, the optimizer's states and the State from a checkpoint. It refuses a
// checkpoint of another summation order: training would end differently than without the
// interruption.
func (t *Trainer) Resume(c *Checkpoint) error {
	if c.Meta[sums] != Sums {
		return fmt.Errorf("%s: this run was begun by mlc %s, which added numbers in another order: go on with that version, or begin a new run. "+
			"To test or to solve, or to begin from its weights, it is as good as before", c.Path, c.Meta["mlc_version"])
	}
	if err := c.Put(t.Machine, t.Plan, t.Params); err != nil {
		return err
	}
	t.State = c.State
	return t.prune() // a killed process may not have done this
}

// Adopt sets parameters from the checkpoint of another model, by name. It returns the names of
// parameters that the checkpoint lacks. Given parameters stay.
func (t *Trainer) Adopt(c *Checkpoint) (missing []string, err error) {
	for _, p := range t.Params {
		from, ok := c.tensors[p.Name]
		switch {
		case p.Init.Kind == "given":
			continue
		case !ok:
			missing = append(missing, p.Name)
			continue
		case !slices.Equal(from.Shape, p.Shape):
			return nil, fmt.Errorf("%s: its %s has shape %v, that of this model %v: it is too different to go on from", c.Path, p.Name, from.Shape, p.Shape)
		}
		t.Machine.Root().PutFloats(device.Ref{Space: device.Params, Off: p.Off}, from.Data)
	}
	return missing, t.Machine.Err()
}

// Done reports whether training is over: the budget is used up, or training has stopped early.
func (t *Trainer) Done() (bool, error) {
	if err := t.Check(); err != nil || t.State.Step == 0 {
		return false, err
	}
	var last *track.Report
	reports, err := track.Until(t.Dir, t.State.Step)
	if len(reports) > 0 {
		last = &reports[len(reports)-1]
	}
	return newRun(t, nil, last).done(), err
}

// still is an error once the run directory is gone.
func (t *Trainer) still() error {
	if t.Still == nil {
		return nil
	}
	return t.Still()
}

// Run trains until the budget is used up, training stops early, pauses, or ctx is done. It
// saves in each case. If ctx is done the error is its cause. Run continues from the State, and
// from the metrics in Dir up to its step.
func (t *Trainer) Run(ctx context.Context) (err error) {
	if err := t.Check(); err != nil {
		return err
	}
	if s := t.Config.Stop; s != nil && s.HeldOut && !t.Task.HoldsOut() {
		return errors.New("no problem is held out, and training is to stop at an exact match on held-out ones: hold some out, or stop at that on problems of training")
	}
	if err := t.comparable(); err != nil {
		return err
	}
	log, last, err := track.Open(t.Dir, t.State.Step, t.Config.Report.Full)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	r := newRun(t, log, last)
	if err := r.openTests(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.tested.close()) }()
	for ctx.Err() == nil && !r.done() && !r.paused() {
		if err := r.advance(); err != nil {
			t.Status.Clear()
			return err
		}
	}
	if _, err := t.Wait(); err != nil {
		t.Status.Clear()
		return err
	}
	if t.stepper != nil {
		r.note()
	}
	t.Status.Update(r.progress(), true)
	if err := r.save(); err != nil {
		return err
	}
	switch {
	case r.done():
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return ErrPaused
}

// ErrPaused is the error of Run after a pause.
var ErrPaused = errors.New("paused")
