package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/processor"

	"github.com/arithlang/mlc/runtime/board"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// trainCmd is the verb train.
type trainCmd struct {
	deviceFlags
	initFlags
	flags.Training
	Quiet bool `help:"Show no progress." short:"q"`
	JSON  bool `help:"Print the run directory and the result as JSON." name:"json"`
}

// refuseAxes refuses a flag that sets what an axis of a sweep sets: the run would be under
// a name that says something else.
func (c *trainCmd) refuseAxes(axes []string) error {
	for _, set := range []struct {
		given           bool
		flag, attribute string
	}{
		{c.Seed != nil, "--seed", "train.seed"}, {c.InitSeed.Set, "--init-seed", "train.init_seed"}, {c.Steps > 0, "--steps", "train.budget"}, {c.Examples > 0, "--examples", "train.budget"},
		{c.FLOP > 0, "--flop", "train.budget"}, {c.Time > 0, "--time", "train.budget"},
	} {
		for _, axis := range axes {
			if set.given && (axis == set.attribute || strings.HasSuffix(axis, "."+set.attribute)) {
				return usagef("%s: an axis of the sweep that this program is of sets %s, and its name says so. Use the program of another training, or edit the sweep",
					set.flag, axis)
			}
		}
	}
	return nil
}

// Run trains, then tests.
func (c *trainCmd) Run(a app, name program) error {
	a.ranks.shards = c.ShardOptimizer
	return c.together(a, func(a app) error { return c.run(a, name) })
}

func (c *trainCmd) run(a app, name program) error {
	if c.Save < 0 {
		return usagef("--save %s must not be negative", c.Save)
	}
	if err := c.refuseAxes(a.axes()); err != nil {
		return err
	}
	if err := c.checkInitSeed(a); err != nil {
		return err
	}
	if c.InitSeed.Several() {
		return c.runLanes(a, name)
	}
	asked := c.Resume
	if err := c.settle(a); err != nil {
		return err
	}
	if err := c.initFlags.check(a, asked == flags.Resumes); err != nil {
		return err
	}
	if c.Pause >= 1 || c.Pause > 0 && a.whole != nil {
		return usagef("--pause %g: want a share of the budget below 1, of a spec without stages", c.Pause)
	}
	c.trains = true
	if a.whole != nil {
		return c.runStages(a, name)
	}
	if c.Until != "" || c.GoOn {
		return usagef("--until and --go-on: this spec has no stages")
	}
	machine, err := c.open(a)
	if err != nil {
		return err
	}
	begins, source, err := c.beginning(a)
	if err != nil {
		return err
	}
	at, err := c.directory(&a.model, machine)
	if err != nil {
		return err
	}
	defer at.Close()
	switch {
	case source == "":
	case c.Resume == flags.Resumes && at.rec.Init != source:
		return fmt.Errorf("the run in %s has begun with other weights than those of --init (%s): choose another --out", at.dir, cmp.Or(at.rec.Init, "random ones"))
	default:
		at.rec.Init = source
	}
	dir, rec := at.dir, at.rec
	ctx, cancel := a.untilInterrupt()
	defer cancel()
	t, err := c.trainer(a, machine, at.Dir, dir, &rec, begins)
	if err != nil {
		return err
	}
	done, err := t.Done()
	if err != nil {
		return err
	}
	if c.Resume == flags.Resumes {
		c.say(a, "%s", staleSpec(dir, a.model.identity()))
		c.sayGemm(a, dir, rec.Gemm, machine.About().Gemm)
	}
	if spec := a.model.Train.Budget; c.Resume == flags.Resumes && t.Config.Budget == rec.Budget && rec.Budget != spec {
		c.say(a, "%s has a budget of %s; that of the spec is %s\n", dir, rec.Training.String(), spec)
	}
	if done {
		c.sayDone(a, t.Config.Budget, t.State, &rec.Training, dir)
	} else {
		rec.Change(t.Config.Budget, t.State.Step)
		if err := fillRun(dir, a.model.identity(), rec); err != nil {
			return err
		}
		if source != "" { // so that a resumed run needs no file but its own
			if _, err := t.Save(); err != nil {
				return err
			}
		}
		c.say(a, "training %s: %s\nrun directory %s\n", a.model.Name, about(t), dir)
		c.sayThreads(a, t)
		c.sayHeldOut(a, t)
		err := c.train(ctx, a, t, goOn(name, dir))
		if errors.Is(err, train.ErrPaused) {
			c.say(a, "paused at step %d; go on with: %s\n", t.State.Step, goOn(name, dir))
			return nil
		}
		if err != nil {
			return err
		}
	}
	return c.finish(ctx, a, name, machine, dir, &rec, t.State)
}

// say tells the person who waits.
func (c *trainCmd) say(a app, format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(a.err, format, args...)
	}
}

// sayDone says why nothing is trained of a run that is at its end, whatever budget is
// asked for. Nothing is written to it then.
func (c *trainCmd) sayDone(a app, asked train.Budget, s train.State, trained *record.Training, dir string) {
	why := "its budget of " + asked.String() + " is used up"
	switch {
	case s.Stopped:
		why = fmt.Sprintf("it stopped at step %d: %s", s.Step, a.model.Train.StopReason())
	case asked != trained.Budget:
		why = fmt.Sprintf("%s are no more than that, and its budget stays %s", asked, trained.Budget)
	}
	c.say(a, "%s has been trained for %d steps, and nothing is to be trained: %s\n", dir, s.Step, why)
}

// sayHeldOut says once that no problem is held out, where the spec wants some to be.
func (c *trainCmd) sayHeldOut(a app, t *train.Trainer) {
	cfg := a.model.Task
	if cfg.Holdout == 0 || t.Task.HoldsOut() {
		return
	}
	c.say(a, "no held-out problems: task.holdout = %.4g %% of %.4g leaves none, so no exact match of them is reported\n", 100*cfg.Holdout, cfg.Distinct())
}

// goOn is the command that goes on with a run.
func goOn(name program, dir string) string {
	return fmt.Sprintf("%s train --resume --out %s", flag.Word(string(name)), flag.Word(dir))
}

// about says what is trained, and how.
func about(t *train.Trainer) string {
	on := t.Machine.About().String()
	if r, ok := t.Ranks.(*ranks); ok {
		on = fmt.Sprintf("%d ranks (%s), each %s", r.Size(), r.World.About(), on)
	}
	return fmt.Sprintf("%s parameters, %s, %s, on %s", track.Thousands(device.Trained(t.Params, t.Plan.NumParams)), t.Config.Budget,
		record.Seeds(t.Config.Seed, t.Config.InitSeed), on)
}

// train trains to the end, or says how to go on, which goOn does.
func (c *trainCmd) train(ctx context.Context, a app, t *train.Trainer, goOn string) error {
	err := t.Run(ctx)
	switch _, interrupted := interrupt.In(err); {
	case errors.Is(err, train.ErrPaused):
		return err
	case interrupted:
		return fmt.Errorf("%w at step %d, saved; go on with: %s", err, t.State.Step, goOn)
	case err != nil:
		return fmt.Errorf("%w\n%s", err, afterFailure(t.Dir, goOn))
	}
	if t.State.Stopped {
		c.say(a, "stopped at step %d: %s\n", t.State.Step, t.Config.StopReason())
	}
	text, err := t.Unlearned()
	if text != "" {
		c.say(a, "%s\n", text)
	}
	return err
}

// finish tests what was trained, prints what comes of it and says what can be done with the
// run in dir. On a device that the program has brought, tests are left to those who ask for
// them: a simulator takes hours for the answers of a processor.
func (c *trainCmd) finish(ctx context.Context, a app, name program, machine device.Machine, dir string, rec *record.Record, s train.State) error {
	if d := c.brought(a); d != nil {
		words := []string{string(name), "eval", dir}
		c.say(a, "not tested, which takes long on %s; test with: %s\nor on the device that has trained: %s\n", d.Name,
			flag.Line(words), flag.Line(append(words, "--device", d.Name, "--samples", "10")))
		if c.JSON {
			return printJSON(a, map[string]string{"run": dir})
		}
		return nil
	}
	test, err := newTest(a, machine, dir, rec, s)
	if err != nil {
		return err
	}
	t := tester{a, dir, fmt.Sprintf("%s eval %s", name, dir), c.Quiet, c.JSON, c.Picture, false}
	if err := t.reportAll(ctx, test); err != nil {
		return err
	}
	if a.model.Train.Best != nil {
		if best, err := train.Read(train.BestPath(dir)); err == nil && best.State.Examples != test.ExamplesTrained {
			c.say(a, "the best checkpoint is of step %d; test it with: %s eval %s --best\n", best.State.Step, name, dir)
		}
	}
	c.say(a, "next: %s solve %s '%s'\n", flag.Word(string(name)), flag.Word(dir), test.Task.Text(showpiece(test)))
	return nil
}

// afterFailure says what is left of a run that failed.
func afterFailure(dir, goOn string) string {
	if path, _ := newestCheckpoint(dir); path != "" {
		return fmt.Sprintf("the last checkpoint is %s; when the cause is gone, go on with: %s", path, goOn)
	}
	return "there is no checkpoint yet"
}

// showpiece is a problem with many carries, as long as what was tested but not
// longer than a line.
func showpiece(t *eval.Test) task.Problem {
	p := t.Task.Carries(1)
	for _, cell := range t.Cells {
		longer := t.Task.Carries(min(cell.I, 26))
		if _, err := t.Task.Width(longer); err == nil && len(longer.Answer) > len(p.Answer) {
			p = longer
		}
	}
	return p
}

// budget is what the command line says instead of the one given.
func (c *trainCmd) budget(b train.Budget) train.Budget {
	if asked := (train.Budget{Steps: c.Steps, Examples: c.Examples, FLOP: c.FLOP, Time: c.Time}); asked != (train.Budget{}) {
		return asked
	}
	return b
}

// directory claims the run directory: a new one, or the one to be resumed. The record
// of a new one is not written yet.
func (c *trainCmd) directory(m *Model, machine device.Machine) (at claim, err error) {
	id := m.identity()
	if c.Resume == flags.Resumes {
		return c.reopen(id)
	}
	at.rec = c.newRecord(id, m, machine.About())
	at.rec.Budget = c.budget(m.Train.Budget)
	at.dir, at.Dir, err = newRun(c.Out, id, at.rec.Started)
	return at, err
}

// newRecord is the record of a run that begins now; m is the model that it is for.
func (c *trainCmd) newRecord(id identity, m *Model, about device.About) record.Record {
	rec := record.Record{Name: id.name, SpecHash: id.hash, Version: id.version, Device: about.Device, DeviceName: about.Name, Seed: m.Train.Seed, InitSeed: c.InitSeed.Own(m.Train.InitSeed),
		Params: device.Trained(m.Params, m.Plan.NumParams), Precision: m.Train.Precision, Schedules: about.Schedules, Gemm: about.Gemm, Started: time.Now().UTC().Truncate(time.Second), Go: goruntime.Version(), CPU: processor.Name()}
	if about.Device == "cpu" {
		rec.CPU = about.How
	}
	if c.Seed != nil {
		rec.Seed = *c.Seed
	}
	return rec
}

// reopen claims the run that is to be resumed. It is locked before it is read: another
// process may have been training in it till then.
func (c *trainCmd) reopen(id identity) (claim, error) {
	dir := c.Out
	if dir == "" {
		var err error
		if dir, err = newestRun(id, c.Seed, c.InitSeed); err != nil {
			return claim{}, err
		}
	}
	held, err := occupy(dir)
	if record.Missing(err) {
		return claim{}, record.NoRun(dir)
	}
	if err != nil {
		return claim{}, err
	}
	rec, err := openRun(dir, id)
	if err == nil && c.Seed != nil && *c.Seed != rec.Seed {
		err = usagef("the run in %s has seed %d: resume it without --seed", dir, rec.Seed)
	}
	if err == nil && !begunBy(c.InitSeed, &rec) {
		err = usagef("the run in %s has %s: resume it without --init-seed", dir, record.Seeds(rec.Seed, rec.InitSeed))
	}
	if err == nil {
		err = c.sameGemm(dir, rec.Gemm)
	}
	if err == nil {
		err = clean(dir)
	}
	if err != nil {
		held.Close()
		return claim{}, err
	}
	record.Tell(dir)
	return claim{held, dir, rec}, nil
}

// A beginning is what training begins with besides random weights.
type beginning struct {
	given   map[string][]float32 // fixed parameters
	weights *train.Checkpoint    // of another model; nil: none
	from    string               // where they are
}

// trainer is ready for the next step of the run in dir, which may be that of a stage of
// what is held, with the budget of the command line if there is one.
func (c *trainCmd) trainer(a app, machine device.Machine, held *lock.Dir, dir string, rec *record.Record, b beginning) (*train.Trainer, error) {
	m := &a.model
	if err := m.complete(b.given); err != nil {
		return nil, err
	}
	problems, err := task.New(m.Task, rec.Seed)
	if err != nil {
		return nil, err
	}
	cfg := m.Train
	cfg.Seed, cfg.InitSeed, cfg.Budget = rec.Seed, rec.InitSeed, c.budget(rec.Budget)
	asked := questions{eval.Model{Machine: machine, Plan: &m.Plan, Task: problems, Seed: rec.Seed, Runs: m.Eval.Own(), Ranks: a.evalRanks()}}
	t := &train.Trainer{Machine: machine, Plan: &m.Plan, Params: m.Params, Task: problems, Config: cfg, Given: b.given, Dir: dir,
		Stage: rec.Stage, SaveEvery: c.Save, Pause: c.Pause, Still: held.Check,
		Meta:  map[string]string{"name": rec.Name, "spec_hash": rec.SpecHash, "mlc_version": m.Version},
		Match: asked.match, Score: asked.score, Tests: asked.tests(&m.Eval), Asked: asked.sizes(m, rec.Stage == ""),
		Status: track.NewStatus(a.err, c.Quiet)}
	t.Followers = []train.Follower{board.NewTraining(dir, rec.Settings(m.Spec), rec.Started)}
	if err := c.begin(a, t, dir, rec, b); err != nil {
		return nil, err
	}
	return t, a.lead(t)
}

// begin puts onto the machine what a training begins with, or goes on with.
func (c *trainCmd) begin(a app, t *train.Trainer, dir string, rec *record.Record, b beginning) error {
	t.Start()
	path, err := newestCheckpoint(dir)
	if err != nil {
		return err
	}
	if path != "" {
		from, err := readCheckpoint(path, dir, rec)
		if err == nil {
			err = t.Resume(from)
		}
		return badCheckpoint(dir, err)
	}
	if b.weights == nil && rec.Init != "" {
		return fmt.Errorf("%s was interrupted before it had its first weights, those of %s: train with --init in another --out", dir, rec.Init)
	}
	if b.weights == nil {
		return nil
	}
	missing, err := t.Adopt(b.weights)
	if len(missing) > 0 && err == nil {
		c.say(a, "%s has no %s: new weights there\n", b.from, someOf(missing))
	}
	return err
}

// someOf lists a few names.
func someOf(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
