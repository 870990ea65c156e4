package train

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/arithlang/mlc/runtime/track"
)

// A run is this process's part of a Trainer's training.
type run struct {
	*Trainer
	log    *track.Log
	report track.Report
	over   bool // the budget is used up
	every  int  // steps between reports
	total  int  // steps; 0: unknown
	start  time.Time
	saved  time.Time
	before time.Duration // trained by earlier processes
	first  State
	tested *tested // nil: no tests during training
	asked  asked
}

// asked is the tokens and the time of this process's tests. It predicts the time of others.
type asked struct {
	tokens float64
	took   time.Duration
}

// time times a test of so many tokens.
func (a *asked) time(tokens float64, ask func() error) error {
	start := time.Now()
	err := ask()
	a.took += time.Since(start)
	a.tokens += tokens
	return err
}

func newRun(t *Trainer, log *track.Log, last *track.Report) *run {
	now := time.Now()
	r := &run{Trainer: t, log: log, every: t.Config.reportEvery(), total: t.Config.Steps(), start: now, saved: now, first: t.State}
	if last != nil {
		r.report = *last
		r.before = time.Duration(last.Seconds * float64(time.Second))
	}
	r.before = max(r.before, t.State.Elapsed) // includes steps after the last report
	r.over = r.used() >= 1
	return r
}

func (r *run) elapsed() time.Duration { return r.before + time.Since(r.start) }

// used is the used part of the budget, steps under way included.
func (r *run) used() float64 { return r.Config.used(r.ahead(), r.elapsed()) }

// done reports whether training is over.
func (r *run) done() bool { return r.State.Stopped || r.over }

// paused reports whether training has reached its Pause.
func (r *run) paused() bool { return r.Pause > 0 && r.used() >= r.Pause }

// advance does one step, and the report, test and checkpoint due after it.
func (r *run) advance() error {
	before := r.ahead()
	examples := r.Config.batch(r.used())
	rate := r.Config.rate(r.Config.middle(r.ahead(), examples, r.elapsed()))
	if err := r.enqueue(examples, rate); err != nil {
		return err
	}
	r.over = r.used() >= 1 // time passes: read once a step, so that the last step is reported
	due := r.ahead().Step%r.every == 0 || r.over
	test := r.tested.due(before, r.ahead(), r.over)
	save := r.saves()
	if due || test || save {
		if _, err := r.Wait(); err != nil {
			return err
		}
	}
	r.note()
	if due {
		if err := r.asked.time(r.Asked.Report, r.test); err != nil {
			return err
		}
		if err := r.still(); err != nil {
			return err
		}
		if err := r.log.Write(r.report); err != nil {
			return fmt.Errorf("cannot write metrics: %w", err)
		}
		if err := r.stop(); err != nil {
			return err
		}
	}
	if test || r.State.Stopped {
		if err := r.testLengths(); err != nil {
			return err
		}
	}
	r.Status.Update(r.progress(), false)
	if !save {
		return nil
	}
	r.saved = time.Now()
	return r.save()
}

// saves reports whether a checkpoint is due.
func (r *run) saves() bool {
	if r.Lane != nil {
		return r.Lane.Saves()
	}
	return r.SaveEvery > 0 && time.Since(r.saved) >= r.SaveEvery
}

// note makes the report of the last finished step.
func (r *run) note() {
	s, last := &r.State, r.stepper.last
	if s.Step == r.report.Step {
		return
	}
	r.report = track.Report{Step: s.Step, Examples: s.Examples, Tokens: s.Tokens, Loss: last.Loss, LR: r.stepper.rate, GradNorm: last.GradNorm,
		ExactMatch: r.report.ExactMatch, TrainExactMatch: r.report.TrainExactMatch, HeldOutLoss: r.report.HeldOutLoss, Seconds: r.elapsed().Seconds(), Stage: cmp.Or(r.Stage, "train")}
}

// test measures a report's exact match on held-out problems. A Full report also has losses, and
// scores on training problems.
func (r *run) test() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("the test after step %d failed: %w", r.State.Step, err)
		}
	}()
	if !r.Config.Report.Full {
		if r.Task.HoldsOut() {
			var match float64
			match, err = r.glance(true)
			r.report.ExactMatch = &match
		}
		return err
	}
	s, err := r.Score(false, r.measured(false))
	if err != nil {
		return err
	}
	r.report.TrainExactMatch, r.report.TrainLoss = s.ExactMatch, &s.Loss
	if !r.Task.HoldsOut() {
		return nil
	}
	held, err := r.Score(true, r.measured(true))
	r.report.ExactMatch, r.report.HeldOutLoss = held.ExactMatch, &held.Loss
	return err
}

// measured is how many problems a report measures, at most all.
func (t *Trainer) measured(heldOut bool) int {
	n := problems(t.Config.Report)
	if set := t.Task.Set(heldOut); set > 0 {
		n = int(min(int64(n), set))
	}
	return n
}

// glance is the exact match on the problems of a report.
func (t *Trainer) glance(heldOut bool) (float64, error) {
	return t.Match(heldOut, 0, t.measured(heldOut))
}

// save writes a checkpoint. If the budget is a time, it records the time.
func (r *run) save() error {
	if r.Config.Budget.Time > 0 {
		r.State.Elapsed = r.elapsed()
	}
	if err := r.still(); err != nil {
		return err
	}
	if err := errors.Join(r.log.Sync(), r.tested.sync()); err != nil {
		return fmt.Errorf("cannot write metrics: %w", err)
	}
	_, err := r.Save()
	return err
}

// stop ends training if the exact match suffices.
func (r *run) stop() error {
	s := r.Config.Stop
	if s == nil {
		return nil
	}
	var match float64
	var err error
	if s.HeldOut {
		match, err = r.proven(*r.report.ExactMatch)
	} else {
		match, err = r.StopMatch()
	}
	if err != nil {
		return fmt.Errorf("the test after step %d failed: %w", r.State.Step, err)
	}
	r.State.Stopped = match >= s.AtLeast
	return nil
}

// StopMatch is the exact match that Config.Stop compares.
func (t *Trainer) StopMatch() (float64, error) {
	glance, err := t.glance(t.Config.Stop.HeldOut)
	if err != nil {
		return 0, err
	}
	return t.proven(glance)
}

// proven returns a glance too low to stop, else the exact match of more problems: a model that
// errs on one in thirty sometimes has all 64 right.
func (t *Trainer) proven(glance float64) (float64, error) {
	if s := t.Config.Stop; glance >= s.AtLeast {
		return t.Match(s.HeldOut, problems(t.Config.Report), Proof)
	}
	return glance, nil
}

// progress extrapolates from the work of this process.
func (r *run) progress() track.Progress {
	here := time.Since(r.start)
	p := track.Progress{Report: r.report, Fraction: r.used(), Total: r.total, Left: -1}
	p.Rate = float64(r.State.Examples-r.first.Examples) / here.Seconds()
	if gained := p.Fraction - r.Config.used(r.first, r.before); gained > 0 {
		p.Left = time.Duration(float64(here) * max(1-p.Fraction, 0) / gained)
	}
	if r.asked.tokens > 0 {
		p.Then = time.Duration(float64(r.asked.took) * r.Asked.After / r.asked.tokens)
	}
	if t := r.tested; t != nil && len(t.all) > 0 {
		p.Test = &t.all[len(t.all)-1]
	}
	return p
}
