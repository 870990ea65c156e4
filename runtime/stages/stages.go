// Package stages trains a program with stages, one after the other, each in a separate
// directory, with rounds within a stage. Only programs of such specs link it.
package stages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/verbs"
	"github.com/arithlang/mlc/runtime/world"
)

// The states of a stage, in the order of time.
const (
	waiting   = "waiting"
	running   = "running"   // begun, perhaps by a process that was stopped
	unreached = "unreached" // the budget ended below the exact match that the stage stops at
	done      = record.StageDone
)

// A pipelineRun is a run of a pipeline: a directory with one for each stage in it. Its record
// lists the finished stages and is written after everything else of a stage. So a process can
// stop anywhere, and another one continues.
type pipelineRun struct {
	cmd   *verbs.Train
	app   world.App
	whole *Pipeline
	rundir.Claim
	stage   *Stage // the stage that machine is for; nil: no machine
	machine device.Machine
}

// Train runs all unfinished stages, then tests the last one.
func Train(c *verbs.Train, a world.App) error {
	p := a.Whole.(*Pipeline)
	until := len(p.Stages) - 1
	if c.Until != "" {
		until = slices.Index(p.Names(), c.Until)
	}
	if until < 0 {
		return world.Usagef("--until %s: there is no such stage; the stages are %s", c.Until, strings.Join(p.Names(), ", "))
	}
	for i := range p.Stages[:until+1] { // check all before the first one trains
		if s := &p.Stages[i]; s.Model != nil {
			if err := inSteps(s, c.Budget(s.Model.Train.Budget)); err != nil {
				return err
			}
		}
	}
	ctx, cancel := a.UntilInterrupt()
	defer cancel()
	j := &pipelineRun{cmd: c, app: a, whole: p}
	defer j.close()
	if err := j.open(until); err != nil {
		return err
	}
	for i := range p.Stages[:until+1] {
		if j.Record.Stages[i].State == done {
			continue
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w; continue with: %s", context.Cause(ctx), j.goOn())
		}
		if err := j.do(ctx, i); err != nil {
			return fmt.Errorf("stage %s: %w", p.Stages[i].Name, err)
		}
	}
	return j.finish(ctx, until)
}

// open makes the run directory, or opens the one to resume, for the stages up to until.
func (j *pipelineRun) open(until int) (err error) {
	c, p := j.cmd, j.whole
	id := j.app.Identity()
	if c.Resume == flags.Resumes {
		j.Claim, err = c.Reopen(id)
	} else {
		j.Claim, err = j.begin(id)
	}
	if err != nil {
		return err
	}
	if j.Record.Stage != "" {
		return world.Usagef("%s is the directory of stage %s: resume the whole run with --out %s", j.Path, j.Record.Stage, filepath.Dir(filepath.Clean(j.Path)))
	}
	if err := j.check(); err != nil {
		return damage.In(record.Path(j.Path), err)
	}
	if c.Resume == flags.Resumes {
		c.Say(j.app, "%s", rundir.StaleSpec(j.Path, id))
	}
	if err := j.lengthen(until); err != nil {
		return err
	}
	if !j.done(until) {
		if err := rundir.Fill(j.Path, id, j.Record); err != nil {
			return err
		}
	}
	c.Say(j.app, "%s in %d stages, run directory %s\n", p.Name, len(p.Stages), j.Path)
	return nil
}

// done reports whether all stages up to until are finished.
func (j *pipelineRun) done(until int) bool {
	return !slices.ContainsFunc(j.Record.Stages[:until+1], func(s *record.Stage) bool { return s.State != done })
}

// check returns damage unless the record has the stages of the program.
func (j *pipelineRun) check() error {
	stages := j.whole.Stages
	if len(j.Record.Stages) != len(stages) {
		return damage.Errorf("it has %d stages instead of %d", len(j.Record.Stages), len(stages))
	}
	for i, r := range j.Record.Stages {
		switch {
		case r.Name != stages[i].Name || r.Trains() != (stages[i].Model != nil):
			return damage.Errorf("stage %d is the %s %s, not %s", i+1, r.Kind, r.Name, stages[i].Name)
		case !slices.Contains([]string{waiting, running, unreached, done}, r.State):
			return damage.Errorf("stage %s cannot be %q", r.Name, r.State)
		}
	}
	return nil
}

// lengthen sets the command line's budget for trainings up to stage until that have not begun.
// A training that has begun gets the budget when it continues. If all are done, the last one is
// trained longer, unless another stage has already begun from it.
func (j *pipelineRun) lengthen(until int) error {
	budget := j.cmd.Budget(train.Budget{})
	if budget == (train.Budget{}) {
		return nil
	}
	last, open := -1, false
	for i, s := range j.Record.Stages[:until+1] {
		if !s.Trains() {
			continue
		}
		last, open = i, open || s.State != done
		if s.State == waiting {
			s.Change(budget, 0)
		}
	}
	if open || last < 0 || j.Record.Stages[last].Budget == budget {
		return nil
	}
	s := j.Record.Stages[last]
	for i, later := range j.whole.Stages {
		if later.From == s.Name && j.Record.Stages[i].State != waiting {
			return world.Usagef("the trainings up to stage %s are done, and %s has begun from it, so there is nothing to train longer: "+
				"leave the budget out, or train in another --out", s.Name, later.Name)
		}
	}
	from, _, err := j.result(&j.whole.Stages[last])
	if err != nil {
		return err
	}
	cfg := j.whole.Stages[last].Model.Train
	if cfg.Budget = budget; cfg.Spent(from.State) {
		j.cmd.SayDone(j.of(&j.whole.Stages[last]), cfg.Budget, from.State, &s.Training, filepath.Join(j.Path, s.Name))
		return nil
	}
	s.State, s.Last = running, ""
	return nil
}

// begin makes the directory and the record of a new run.
func (j *pipelineRun) begin(id rundir.Identity) (at rundir.Claim, err error) {
	p := j.whole
	machine, err := j.on(&p.Stages[0])
	if err != nil {
		return at, err
	}
	rec := j.cmd.NewRecord(id, p.last().Model, machine.About())
	for _, s := range p.Stages {
		r := &record.Stage{Name: s.Name, Kind: "calibration", State: waiting, Seed: rec.Seed}
		if s.Model != nil {
			r.Kind, r.Budget, r.InitSeed = "training", s.Model.Train.Budget, j.cmd.InitSeed.Own(s.Model.Train.InitSeed)
			if j.cmd.Seed == nil {
				r.Seed = s.Model.Train.Seed
			}
		}
		rec.Stages = append(rec.Stages, r)
	}
	at.Record = rec
	at.Path, at.Dir, err = rundir.New(j.cmd.Out, id, rec.Started, j.cmd.Label)
	return at, err
}

// on returns the machine for a stage. Consecutive calls for the same stage share it. The
// machine is announced once.
func (j *pipelineRun) on(s *Stage) (device.Machine, error) {
	if j.stage == s {
		return j.machine, nil
	}
	j.free()
	machine, err := j.cmd.Flags.Open(j.of(s))
	if err != nil {
		return nil, err
	}
	j.machine, j.stage, j.app.Told = machine, s, true
	return machine, nil
}

// of returns the app for a stage's model.
func (j *pipelineRun) of(s *Stage) world.App {
	a := j.app
	a.Model = *s.Model
	return a
}

// free releases the machine's resources, such as device memory.
func (j *pipelineRun) free() {
	world.CloseMachine(j.machine) // the next call reports a lost device
	j.machine, j.stage = nil, nil
}

// close releases machine and directory.
func (j *pipelineRun) close() {
	j.free()
	if j.Dir != nil {
		j.Dir.Close()
	}
}

// set records the state of a stage.
func (j *pipelineRun) set(s *Stage, state string) error {
	if err := j.Check(); err != nil {
		return err
	}
	r := j.state(s.Name)
	path, err := rundir.NewestCheckpoint(j.place(s))
	if err != nil {
		return err
	}
	r.State, r.Last = state, ""
	if state == done && path != "" {
		r.Last = filepath.Base(path)
	}
	return rundir.WriteRecord(j.Path, j.Record)
}

// goOn is the command that resumes the run.
func (j *pipelineRun) goOn() string { return j.app.GoOn(j.Path) }

// do runs a stage.
func (j *pipelineRun) do(ctx context.Context, i int) error {
	s := &j.whole.Stages[i]
	if err := j.set(s, running); err != nil {
		return err
	}
	j.cmd.Say(j.app, "stage %d of %d, %s: ", i+1, len(j.Record.Stages), s.Name)
	var err error
	if s.Model != nil {
		err = j.train(ctx, s)
	} else {
		err = j.calibrate(ctx, s)
	}
	if err != nil {
		return err
	}
	return j.set(s, done)
}

// place is the directory of a stage.
func (j *pipelineRun) place(s *Stage) string { return filepath.Join(j.Path, s.Name) }

// state returns the record of a stage.
func (j *pipelineRun) state(name string) *record.Stage {
	return j.Record.Stages[slices.IndexFunc(j.Record.Stages, func(r *record.Stage) bool { return r.Name == name })]
}

// record reads the record of a training, which must belong to the same run as the record of all
// stages. The error is record.Missing if the training has none yet.
func (j *pipelineRun) record(s *Stage) (record.Record, error) {
	rec, err := record.Read(j.place(s))
	if err != nil {
		return rec, err
	}
	state := j.state(s.Name)
	says := map[string]string{"spec_hash": rec.SpecHash, "seed": strconv.FormatUint(rec.Seed, 10), "init_seed": rundir.SeedText(rec.InitSeed)}
	return rec, rundir.Same(record.Path(j.place(s)), says, record.Path(j.Path),
		rundir.Says("spec_hash", j.Record.SpecHash),
		rundir.Says("seed", strconv.FormatUint(state.Seed, 10)),
		rundir.Says("init_seed", rundir.SeedText(state.InitSeed)))
}

// result returns the last checkpoint of a finished training, and its record. No other
// checkpoint can replace it: later stages would begin from something that the spec does not
// say.
func (j *pipelineRun) result(s *Stage) (*train.Checkpoint, record.Record, error) {
	newest, err := rundir.NewestCheckpoint(j.place(s))
	if err != nil {
		return nil, record.Record{}, err
	}
	want := j.state(s.Name).Last
	if newest == "" || want != "" && filepath.Base(newest) != want {
		return nil, record.Record{}, fmt.Errorf("by %s %s is done, but its last checkpoint %s is missing: %s", record.Path(j.Path), s.Name,
			filepath.Join(j.place(s), train.Folder, cmp.Or(want, "there")), bringBack)
	}
	rec, err := j.record(s)
	if record.Missing(err) {
		err = record.NoRun(j.place(s))
	}
	if err != nil {
		return nil, rec, err
	}
	c, err := rundir.ReadCheckpoint(newest, j.place(s), &rec)
	if damage.Is(err) {
		err = fmt.Errorf("%w\n%s is done: %s", err, s.Name, bringBack)
	}
	return c, rec, err
}

const bringBack = "bring it back, or train in another --out"

// trained returns a machine with the trained weights of stage s, and its record.
func (j *pipelineRun) trained(s *Stage) (machine device.Machine, rec record.Record, state train.State, err error) {
	from, rec, err := j.result(s)
	if err != nil {
		return nil, rec, state, err
	}
	if machine, err = j.on(s); err != nil {
		return nil, rec, state, err
	}
	if err := from.Put(machine, &s.Model.Plan, s.Model.Params); err != nil {
		return nil, rec, state, err
	}
	return machine, rec, from.State, machine.Err()
}

// train trains a stage from its present state.
func (j *pipelineRun) train(ctx context.Context, s *Stage) error {
	a, dir, state := j.of(s), j.place(s), j.state(s.Name)
	machine, err := j.on(s)
	if err != nil {
		return err
	}
	rec, err := j.record(s)
	if record.Missing(err) {
		rec = j.cmd.NewRecord(rundir.IdentityOf(s.Model), s.Model, machine.About())
		rec.Stage, rec.Seed, rec.InitSeed = s.Name, state.Seed, state.InitSeed
	} else if err != nil {
		return err
	}
	rec.Training = state.Training
	b, err := j.beginning(s)
	if err != nil {
		return err
	}
	t, err := j.cmd.Trainer(a, machine, j.Dir, dir, &rec, b)
	if err != nil {
		return err
	}
	rounds := j.roundsOf(s, t)
	if rounds != nil {
		if err := rounds.check(state.Budget); err != nil {
			return err
		}
	}
	state.Change(t.Config.Budget, t.State.Step)
	rec.Training = state.Training
	id := rundir.IdentityOf(s.Model)
	id.Models = j.app.Identity().Models // all files that the spec reads: it is the spec of all stages
	if err := errors.Join(rundir.WriteRecord(j.Path, j.Record), rundir.Fill(dir, id, rec)); err != nil {
		return err
	}
	j.cmd.Say(a, "training %s\n", verbs.About(t))
	j.cmd.SayThreads(a, t)
	j.cmd.SayHeldOut(a, t)
	if rounds != nil {
		err = rounds.train(ctx)
	} else {
		err = j.cmd.ToEnd(ctx, a, t, j.goOn())
	}
	if err != nil {
		return err
	}
	return j.reached(s, t)
}

// beginning returns the results of earlier stages that a stage begins from.
func (j *pipelineRun) beginning(s *Stage) (b verbs.Beginning, err error) {
	if b.Given, err = j.given(s); err != nil {
		return b, err
	}
	if s.From != "" {
		from := j.whole.stage(s.From)
		b.From = j.place(from)
		b.Weights, _, err = j.result(from)
	}
	return b, err
}

// reached returns an error if a stage that another one begins from has missed its exact match:
// the attention of an untrained model says nothing.
func (j *pipelineRun) reached(s *Stage, t *train.Trainer) error {
	j.state(s.Name).Short = ""
	stop, reader := s.Model.Train.Stop, j.whole.reader(s.Name)
	if stop == nil || t.State.Stopped || reader == "" {
		return nil
	}
	match, err := t.StopMatch()
	if err != nil {
		return err
	}
	if match >= stop.AtLeast {
		return nil
	}
	problems := "held-out problems"
	if !stop.HeldOut {
		problems = "problems of training"
	}
	what := fmt.Sprintf("its budget of %s is used up and %s, which %s begins from, has an exact match of %s %% on %s; the spec wants %.10g %%",
		t.Config.Budget, s.Name, reader, track.Percent(match), problems, 100*stop.AtLeast)
	if j.cmd.GoOn {
		j.state(s.Name).Short = fmt.Sprintf("%s of %.10g %% exact match", track.Percent(match), 100*stop.AtLeast)
		j.cmd.Say(j.app, "%s; continuing all the same\n", what)
		return nil
	}
	return errors.Join(j.set(s, unreached), fmt.Errorf("%s. Train it longer with %s --until %s --steps N, or continue all the same with %s --go-on",
		what, j.goOn(), s.Name, j.goOn()))
}

// calibrate calibrates the biases of a stage.
func (j *pipelineRun) calibrate(ctx context.Context, s *Stage) error {
	p := j.whole
	from := p.stage(s.From)
	machine, rec, _, err := j.trained(from)
	if err != nil {
		return err
	}
	problems, err := from.Model.NewTask(rec.Seed)
	if err != nil {
		return err
	}
	j.cmd.Say(j.app, "attention of %s in %s\n", from.Name, s.Calibration.Reads())
	dir := j.place(s)
	kept, err := s.Calibration.Calibrate(ctx, eval.Model{Machine: machine, Plan: &from.Model.Plan, Task: problems, Seed: rec.Seed, Runs: from.Model.Eval.Loop}, record.Calibrated{
		Dir: dir, Name: j.Record.Name, SpecHash: j.Record.SpecHash, Version: j.app.Identity().Version, Seed: rec.Seed, InitSeed: rec.InitSeed, Stage: s.Name, From: s.From,
		Uses:  func(site string) bool { return p.uses(s.Name, site) },
		Begin: func() error { return errors.Join(j.Check(), rundir.Make(dir)) },
	})
	if _, interrupted := interrupt.In(err); interrupted {
		return fmt.Errorf("%w; continue with: %s", err, j.goOn())
	}
	if err != nil {
		return err
	}
	j.cmd.Say(j.app, "%s", kept)
	return nil
}

// finish tests the last stage that was asked for.
func (j *pipelineRun) finish(ctx context.Context, until int) error {
	p := j.whole
	s := &p.Stages[until]
	if s.Model != nil {
		a, dir := j.of(s), j.place(s)
		machine, rec, state, err := j.trained(s)
		if err != nil {
			return err
		}
		if err := j.cmd.Finish(ctx, a, machine, dir, &rec, state); err != nil {
			return err
		}
	} else if j.cmd.JSON {
		if err := world.PrintJSON(j.app, map[string]string{"run": j.place(s)}); err != nil {
			return err
		}
	}
	if until < len(p.Stages)-1 {
		j.cmd.Say(j.app, "%s is done; continue with: %s\n", s.Name, j.goOn())
	}
	return nil
}

// given returns the values of a stage's fixed parameters: the program's own, and the results of
// earlier calibrations, which must belong to this run.
func (j *pipelineRun) given(s *Stage) (map[string][]float32, error) {
	given := s.Model.Tables()
	files := map[string]map[string]ckpt.Tensor{}
	for _, g := range s.Given {
		path := filepath.Join(j.Path, g.Stage, j.whole.stage(g.Stage).Calibration.File())
		if files[path] == nil {
			f, err := ckpt.Read(path)
			if err != nil {
				return nil, fmt.Errorf("stage %s needs the result of %s: %w", s.Name, g.Stage, err)
			}
			from := j.state(j.whole.stage(g.Stage).From)
			err = rundir.Same(path, f.Meta, record.Path(j.Path),
				rundir.Says("name", j.Record.Name),
				rundir.Says("spec_hash", j.Record.SpecHash),
				rundir.Says("stage", g.Stage),
				rundir.Says("seed", strconv.FormatUint(from.Seed, 10)),
				rundir.Says("init_seed", rundir.SeedText(from.InitSeed)))
			if err != nil {
				return nil, err
			}
			files[path] = map[string]ckpt.Tensor{}
			for _, t := range f.Tensors {
				files[path][t.Name] = t
			}
		}
		t, ok := files[path][g.Tensor]
		if !ok {
			return nil, fmt.Errorf("%s has no tensor %s, which stage %s needs: the run belongs to another program", path, g.Tensor, s.Name)
		}
		given[g.Param] = t.Data
	}
	return given, nil
}
