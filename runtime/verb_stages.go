package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// A stageRecord is what a pipeline's run.json says of a stage.
type stageRecord struct {
	Name   string       `json:"name"`
	Kind   string       `json:"kind"` // training, calibration
	State  string       `json:"state"`
	Seed   uint64       `json:"seed"`
	Budget train.Budget `json:"budget,omitzero"`
}

// The states of a stage, whose order is that of time.
const (
	waiting   = "waiting"
	running   = "running"   // begun, perhaps by a process that was stopped
	unreached = "unreached" // trained to the end of its budget without the exact match that it stops at
	done      = "done"
)

// A pipelineRun is a run of a pipeline: a directory with one for each stage in it. Its
// record says which are done, and is written when everything else of a stage is, so
// that a process that was stopped anywhere can be gone on with.
type pipelineRun struct {
	cmd  *trainCmd
	app  app
	name program
	dir  string
	rec  record
}

// runStages does all stages that are not done yet, then tests the last one.
func (c *trainCmd) runStages(a app, name program) error {
	p := a.whole
	until := len(p.Stages) - 1
	if c.Until != "" {
		until = slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Name == c.Until })
	}
	if until < 0 {
		var names []string
		for _, s := range p.Stages {
			names = append(names, s.Name)
		}
		return usagef("--until %s: there is no such stage; there are %s", c.Until, strings.Join(names, ", "))
	}
	ctx, cancel := a.untilInterrupt()
	defer cancel()
	j := &pipelineRun{cmd: c, app: a, name: name}
	if err := j.open(until); err != nil {
		return err
	}
	for i := range p.Stages[:until+1] {
		if j.rec.Stages[i].State == done {
			continue
		}
		if err := j.do(ctx, i); err != nil {
			return fmt.Errorf("stage %s: %w", p.Stages[i].Name, err)
		}
	}
	return j.finish(ctx, until)
}

// open makes the run directory, or opens the one to be resumed. The budget of the
// command line is for the trainings up to stage until.
func (j *pipelineRun) open(until int) (err error) {
	c, p := j.cmd, j.app.whole
	id := j.app.identity()
	if c.Resume {
		j.dir, j.rec, err = c.reopen(id)
	} else {
		j.rec, err = j.begin(id)
	}
	if err != nil {
		return err
	}
	if j.rec.Stage != "" {
		return usagef("%s is of the stage %s: resume the run that it lies in, with --out %s", j.dir, j.rec.Stage, filepath.Dir(filepath.Clean(j.dir)))
	}
	if len(j.rec.Stages) != len(p.Stages) {
		return fmt.Errorf("%s is damaged: it has %d stages of %d", filepath.Join(j.dir, recordFile), len(j.rec.Stages), len(p.Stages))
	}
	for _, s := range j.rec.Stages[:until+1] {
		if s.Kind == "training" && s.State != done {
			s.Budget = c.budget(s.Budget)
		}
	}
	if c.Resume {
		err = writeRecord(j.dir, j.rec)
	} else {
		j.dir, err = createRun(c.Out, id, j.rec)
	}
	if err == nil {
		c.say(j.app, "%s in %d stages, run directory %s\n", p.Name, len(p.Stages), j.dir)
	}
	return err
}

// begin is the record of a new run.
func (j *pipelineRun) begin(id identity) (record, error) {
	p := j.app.whole
	first := j.app.of(&p.Stages[0])
	machine, err := j.cmd.deviceFlags.open(first)
	if err != nil {
		return record{}, err
	}
	defer free(machine)
	rec := j.cmd.newRecord(id, p.last().Model, machine.About())
	for _, s := range p.Stages {
		r := &stageRecord{Name: s.Name, Kind: "calibration", State: waiting, Seed: rec.Seed}
		if s.Model != nil {
			r.Kind, r.Budget = "training", s.Model.Train.Budget
			if j.cmd.Seed == nil {
				r.Seed = s.Model.Train.Seed
			}
		}
		rec.Stages = append(rec.Stages, r)
	}
	return rec, nil
}

// free gives back what a machine holds, if that is more than the host's memory.
func free(m device.Machine) {
	if c, ok := m.(io.Closer); ok {
		c.Close()
	}
}

// set says how far a stage is.
func (j *pipelineRun) set(i int, state string) error {
	j.rec.Stages[i].State = state
	return writeRecord(j.dir, j.rec)
}

// goOn is the command that goes on with the run.
func (j *pipelineRun) goOn() string { return goOn(j.name, j.dir) }

// do does a stage.
func (j *pipelineRun) do(ctx context.Context, i int) error {
	if err := j.set(i, running); err != nil {
		return err
	}
	s := &j.app.whole.Stages[i]
	j.cmd.say(j.app, "stage %d of %d, %s: ", i+1, len(j.rec.Stages), s.Name)
	var err error
	if s.Model != nil {
		err = j.train(ctx, i, s)
	} else {
		err = j.calibrate(ctx, s)
	}
	if err != nil {
		return err
	}
	return j.set(i, done)
}

// place is the directory of a stage.
func (j *pipelineRun) place(s *Stage) string { return filepath.Join(j.dir, s.Name) }

// trained is the machine with what stage s has trained, and its record.
func (j *pipelineRun) trained(s *Stage) (device.Machine, record, error) {
	dir := j.place(s)
	rec, err := readRecord(dir)
	if err != nil {
		return nil, rec, err
	}
	machine, err := j.cmd.deviceFlags.open(j.app.of(s))
	if err != nil {
		return nil, rec, err
	}
	if _, err := train.Load(newestCheckpoint(dir), machine, &s.Model.Plan, s.Model.Params); err != nil {
		return nil, rec, badCheckpoint(dir, err)
	}
	return machine, rec, machine.Err()
}

// train trains a stage from where it is.
func (j *pipelineRun) train(ctx context.Context, i int, s *Stage) error {
	a, dir := j.app.of(s), j.place(s)
	machine, err := j.cmd.deviceFlags.open(a)
	if err != nil {
		return err
	}
	defer free(machine)
	rec := j.cmd.newRecord(s.Model.identity(), s.Model, machine.About())
	if old, err := readRecord(dir); err == nil {
		rec.Started = old.Started
	}
	rec.Stage, rec.Seed, rec.Budget = s.Name, j.rec.Stages[i].Seed, j.rec.Stages[i].Budget
	if err := fillRun(dir, s.Model.identity(), rec); err != nil {
		return err
	}
	b, err := j.beginning(s)
	if err != nil {
		return err
	}
	t, err := j.cmd.trainer(a, machine, dir, rec, b)
	if err != nil {
		return err
	}
	j.cmd.say(a, "training %s\n", about(t))
	if err := j.cmd.train(ctx, a, t, j.goOn()); err != nil {
		return err
	}
	return j.reached(i, s, t)
}

// beginning is what a stage has from those before it.
func (j *pipelineRun) beginning(s *Stage) (b beginning, err error) {
	if b.given, err = s.given(j.dir); err != nil {
		return b, err
	}
	if s.From != "" {
		b.weights = newestCheckpoint(j.place(j.app.whole.stage(s.From)))
	}
	return b, nil
}

// reached wants a stage that another begins from to have the exact match that it
// trains for: the attention of one that has not learned its task says nothing.
func (j *pipelineRun) reached(i int, s *Stage, t *train.Trainer) error {
	stop, reader := s.Model.Train.Stop, j.app.whole.reader(s.Name)
	if stop == nil || t.State.Stopped || reader == "" {
		return nil
	}
	report, err := track.Last(t.Dir)
	if err != nil {
		return err
	}
	match := 0.0
	if report != nil {
		match = report.ExactMatch
	}
	what := fmt.Sprintf("its budget of %s is used up and %s, which %s begins from, has an exact match of %.4g %% on held-out problems; the spec wants %.4g %%",
		t.Config.Budget, s.Name, reader, 100*match, 100*stop.AtLeast)
	if !stop.HeldOut {
		what += " on those of training"
	}
	if j.cmd.GoOn {
		j.cmd.say(j.app, "%s; going on all the same\n", what)
		return nil
	}
	return errors.Join(j.set(i, unreached), fmt.Errorf("%s. Train it longer with %s --until %s --steps N, or go on all the same with %s --go-on",
		what, j.goOn(), s.Name, j.goOn()))
}

// calibrate makes the biases of a stage.
func (j *pipelineRun) calibrate(ctx context.Context, s *Stage) error {
	p := j.app.whole
	from := p.stage(s.From)
	machine, rec, err := j.trained(from)
	if err != nil {
		return err
	}
	defer free(machine)
	problems, err := task.New(from.Model.Task, rec.Seed)
	if err != nil {
		return err
	}
	k := s.Calibration
	j.cmd.say(j.app, "attention of %s in decoder layer %d, mean over %d problems\n", from.Name, k.Layer, k.Samples)
	self, cross, err := attend(ctx, from.Model, machine, problems, rec.Seed, k)
	if errors.Is(err, train.ErrInterrupted) {
		return fmt.Errorf("%w; go on with: %s", err, j.goOn())
	}
	if err != nil {
		return err
	}
	dir := j.place(s)
	if err := makeDir(dir); err != nil {
		return err
	}
	c := newCalibration(j.app.identity(), s)
	sites := c.sites(k, self, cross)
	if err := c.calibrated(dir, p, k, sites); err != nil {
		return err
	}
	for _, site := range sites {
		j.cmd.say(j.app, "lines of %s attention that are kept:\n%s", site.name, *site.result)
	}
	return nil
}

// finish tests the last stage that was to be done.
func (j *pipelineRun) finish(ctx context.Context, until int) error {
	p := j.app.whole
	s := &p.Stages[until]
	if s.Model != nil {
		a := j.app.of(s)
		test, err := j.cmd.load(a, j.place(s))
		if err != nil {
			return err
		}
		if err := j.cmd.report(ctx, a, j.name, test, j.place(s)); err != nil {
			return err
		}
	}
	if until < len(p.Stages)-1 {
		j.cmd.say(j.app, "%s is done; go on with: %s\n", s.Name, j.goOn())
	}
	return nil
}
