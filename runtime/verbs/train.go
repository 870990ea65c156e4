// Package verbs has the verbs of every program: train, eval, solve and info. Packages bench,
// stages and several add a verb and other ways to train.
package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/world"
)

// Train is the verb train.
type Train struct {
	world.Flags
	initFlags
	flags.Training
	Quiet bool `help:"Show no progress." short:"q"`
	JSON  bool `help:"Print the run directory and the result as JSON." name:"json"`

	Way Way `kong:"-"` // trains stages, or several models at once; nil: the program has neither
}

// A Way trains programs that need more than one model trained from its first step to its last.
type Way func(c *Train, a world.App) error

// refuseAxes refuses a flag for an attribute that an axis of a sweep sets: the run's name would
// be wrong.
func (c *Train) refuseAxes(axes []string) error {
	for _, set := range []struct {
		given           bool
		flag, attribute string
	}{
		{c.Seed != nil, "--seed", "train.seed"}, {c.InitSeed.Set, "--init-seed", "train.init_seed"}, {c.Steps > 0, "--steps", "train.budget"}, {c.Examples > 0, "--examples", "train.budget"},
		{c.FLOP > 0, "--flop", "train.budget"}, {c.Time > 0, "--time", "train.budget"},
	} {
		for _, axis := range axes {
			if set.given && (axis == set.attribute || strings.HasSuffix(axis, "."+set.attribute)) {
				return world.Usagef("%s: this program belongs to a sweep with an axis for %s, and its name has the value. Use the program of another training, or edit the sweep",
					set.flag, axis)
			}
		}
	}
	return nil
}

// Run trains, then tests.
func (c *Train) Run(a world.App) error {
	a.Ranks.Sharded = c.ShardOptimizer
	return c.Together(a, c.run)
}

func (c *Train) run(a world.App) error {
	if c.Save < 0 {
		return world.Usagef("--save %s must not be negative", c.Save)
	}
	if err := c.Label.Check(); err != nil {
		return world.Usagef("%w", err)
	}
	if err := c.refuseAxes(a.Axes()); err != nil {
		return err
	}
	if err := c.checkInitSeed(a); err != nil {
		return err
	}
	if c.InitSeed.Several() {
		if c.Way == nil {
			return world.Usagef("--init-seed %s: this program trains one model at a time: give a single seed, or build it with train.lanes = 32", c.InitSeed)
		}
		return c.Way(c, a)
	}
	asked := c.Resume
	if err := c.settle(a); err != nil {
		return err
	}
	if err := c.initFlags.check(a, asked == flags.Resumes); err != nil {
		return err
	}
	if c.Pause >= 1 || c.Pause > 0 && a.Whole != nil {
		return world.Usagef("--pause %g: want a share of the budget below 1, of a spec without stages", c.Pause)
	}
	c.Trains = true
	if a.Whole != nil {
		return c.Way(c, a)
	}
	if c.Until != "" || c.GoOn {
		return world.Usagef("--until and --go-on: this spec has no stages")
	}
	machine, err := c.Open(a)
	if err != nil {
		return err
	}
	begins, source, err := c.beginning(a)
	if err != nil {
		return err
	}
	at, err := c.Directory(&a.Model, machine)
	if err != nil {
		return err
	}
	defer at.Close()
	switch {
	case source == "":
	case c.Resume == flags.Resumes && at.Record.Init != source:
		return fmt.Errorf("the run in %s has begun with other weights than --init (%s): choose another --out", at.Path, cmp.Or(at.Record.Init, "random ones"))
	default:
		at.Record.Init = source
	}
	dir, rec := at.Path, at.Record
	ctx, cancel := a.UntilInterrupt()
	defer cancel()
	t, err := c.Trainer(a, machine, at.Dir, dir, &rec, begins)
	if err != nil {
		return err
	}
	done, err := t.Done()
	if err != nil {
		return err
	}
	if c.Resume == flags.Resumes {
		c.Say(a, "%s", rundir.StaleSpec(dir, rundir.IdentityOf(&a.Model)))
		c.sayGemm(a, dir, rec.Gemm, machine.About().Gemm)
	}
	if spec := a.Model.Train.Budget; c.Resume == flags.Resumes && t.Config.Budget == rec.Budget && rec.Budget != spec {
		c.Say(a, "%s has a budget of %s; the spec's budget is %s\n", dir, rec.Training.String(), spec)
	}
	if done {
		c.SayDone(a, t.Config.Budget, t.State, &rec.Training, dir)
	} else {
		rec.Change(t.Config.Budget, t.State.Step)
		if err := rundir.Fill(dir, rundir.IdentityOf(&a.Model), rec); err != nil {
			return err
		}
		if source != "" { // so that a resumed run needs no other file
			if _, err := t.Save(); err != nil {
				return err
			}
		}
		c.Say(a, "training %s: %s\nrun directory %s\n", a.Model.Name, About(t), dir)
		c.SayThreads(a, t)
		c.SayHeldOut(a, t)
		err := c.ToEnd(ctx, a, t, a.GoOn(dir))
		if errors.Is(err, train.ErrPaused) {
			c.Say(a, "paused at step %d; continue with: %s\n", t.State.Step, a.GoOn(dir))
			return nil
		}
		if err != nil {
			return err
		}
	}
	return c.Finish(ctx, a, machine, dir, &rec, t.State)
}

// Say prints to the person who waits, unless quiet.
func (c *Train) Say(a world.App, format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(a.Err, format, args...)
	}
}

// SayDone says why a finished run is not trained further, whatever budget is asked for. Nothing
// is written to the run.
func (c *Train) SayDone(a world.App, asked train.Budget, s train.State, trained *record.Training, dir string) {
	why := "its budget of " + asked.String() + " is used up"
	switch {
	case s.Stopped:
		why = fmt.Sprintf("it stopped at step %d: %s", s.Step, a.Model.Train.StopReason())
	case asked != trained.Budget:
		why = fmt.Sprintf("it has reached %s already, and its budget stays %s", asked, trained.Budget)
	}
	c.Say(a, "%s has been trained for %d steps, and nothing is left to train: %s\n", dir, s.Step, why)
}

// SayHeldOut says once that no problem is held out although the spec asks for some.
func (c *Train) SayHeldOut(a world.App, t *train.Trainer) {
	cfg := a.Model.Task
	if cfg.Holdout == 0 || t.Task.HoldsOut() {
		return
	}
	c.Say(a, "no held-out problems: task.holdout = %.4g %% of %.4g leaves none, so no exact match is reported for them\n", 100*cfg.Holdout, t.Task.Distinct())
}

// About describes a training.
func About(t *train.Trainer) string {
	on := t.Machine.About().String()
	if r, ok := t.Ranks.(*world.Ranks); ok {
		on = fmt.Sprintf("%d ranks (%s), each %s", r.Size(), r.World.About(), on)
	}
	return fmt.Sprintf("%s parameters, %s, %s, on %s", track.Thousands(device.Trained(t.Params, t.Plan.NumParams)), t.Config.Budget,
		record.Seeds(t.Config.Seed, t.Config.InitSeed), on)
}

// ToEnd trains to the end. If interrupted, it says how to continue: by the command goOn.
func (c *Train) ToEnd(ctx context.Context, a world.App, t *train.Trainer, goOn string) error {
	err := t.Run(ctx)
	switch _, interrupted := interrupt.In(err); {
	case errors.Is(err, train.ErrPaused):
		return err
	case interrupted:
		return fmt.Errorf("%w at step %d, saved; continue with: %s", err, t.State.Step, goOn)
	case err != nil:
		return fmt.Errorf("%w\n%s", err, afterFailure(t.Dir, goOn))
	}
	if t.State.Stopped {
		c.Say(a, "stopped at step %d: %s\n", t.State.Step, t.Config.StopReason())
	}
	text, err := t.Unlearned()
	if text != "" {
		c.Say(a, "%s\n", text)
	}
	return err
}

// Finish tests the trained model, prints the result and says what can be done with the run in
// dir. On a simulated device it leaves tests to the user: a simulator takes hours for the
// answers of a processor.
func (c *Train) Finish(ctx context.Context, a world.App, machine device.Machine, dir string, rec *record.Record, s train.State) error {
	if d := c.Brought(a); d != nil {
		words := []string{a.Args[0], "eval", dir}
		c.Say(a, "not tested, which takes long on %s; test with: %s\nor on the device that has trained: %s\n", d.Name,
			flag.Line(words), flag.Line(append(words, "--device", d.Name, "--samples", "10")))
		if c.JSON {
			return world.PrintJSON(a, map[string]string{"run": dir})
		}
		return nil
	}
	test, err := NewTest(a, machine, dir, rec, s)
	if err != nil {
		return err
	}
	t := Tester{a, dir, fmt.Sprintf("%s eval %s", a.Args[0], dir), c.Quiet, c.JSON, c.Picture, false}
	if err := t.reportAll(ctx, test); err != nil {
		return err
	}
	if a.Model.Train.Best != nil {
		if best, err := train.Read(train.BestPath(dir)); err == nil && best.State.Examples != test.ExamplesTrained {
			c.Say(a, "the best checkpoint is of step %d; test it with: %s eval %s --best\n", best.State.Step, a.Args[0], dir)
		}
	}
	next, _, _ := strings.Cut(strings.TrimLeft(test.Task.Text(showpiece(test)), "\n"), "\n") // of a text, a line
	c.Say(a, "next: %s solve %s '%s'\n", flag.Word(a.Args[0]), flag.Word(dir), next)
	return nil
}

// afterFailure says what is left of a failed run.
func afterFailure(dir, goOn string) string {
	if path, _ := rundir.NewestCheckpoint(dir); path != "" {
		return fmt.Sprintf("the last checkpoint is %s; when the cause is gone, continue with: %s", path, goOn)
	}
	return "there is no checkpoint yet"
}

// showpiece returns a problem with many carries, as long as the tested ones but at most as long
// as a line.
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

// Budget returns the command line's budget, or else b.
func (c *Train) Budget(b train.Budget) train.Budget {
	if asked := (train.Budget{Steps: c.Steps, Examples: c.Examples, FLOP: c.FLOP, Time: c.Time}); asked != (train.Budget{}) {
		return asked
	}
	return b
}

// Directory claims the run directory: a new one, or the one to resume. The record of a new one
// is not written yet.
func (c *Train) Directory(m *program.Model, machine device.Machine) (at rundir.Claim, err error) {
	id := rundir.IdentityOf(m)
	if c.Resume == flags.Resumes {
		return c.Reopen(id)
	}
	at.Record = c.NewRecord(id, m, machine.About())
	at.Record.Budget = c.Budget(m.Train.Budget)
	at.Path, at.Dir, err = rundir.New(c.Out, id, at.Record.Started, c.Label)
	return at, err
}

// NewRecord returns the record of a run of m that begins now.
func (c *Train) NewRecord(id rundir.Identity, m *program.Model, about device.About) record.Record {
	rec := record.Record{Name: id.Name, SpecHash: id.Hash, Version: id.Version, Device: about.Device, DeviceName: about.Name, Seed: m.Train.Seed, InitSeed: c.InitSeed.Own(m.Train.InitSeed),
		Params: device.Trained(m.Params, m.Plan.NumParams), Precision: m.Train.Precision, Schedules: about.Schedules, Gemm: about.Gemm, Started: time.Now().UTC().Truncate(time.Second), Go: goruntime.Version(), CPU: processor.Name()}
	if about.Device == "cpu" {
		rec.CPU = about.How
	}
	if c.Seed != nil {
		rec.Seed = *c.Seed
	}
	return rec
}

// Reopen claims the run to resume. It locks the run before it reads it: another process may
// have been training in it.
func (c *Train) Reopen(id rundir.Identity) (rundir.Claim, error) {
	dir := c.Out
	if dir == "" {
		var err error
		if dir, err = rundir.Newest(id, c.Seed, c.InitSeed); err != nil {
			return rundir.Claim{}, err
		}
	}
	held, err := rundir.Occupy(dir)
	if record.Missing(err) {
		return rundir.Claim{}, record.NoRun(dir)
	}
	if err != nil {
		return rundir.Claim{}, err
	}
	rec, err := rundir.Open(dir, id)
	if err == nil && c.Seed != nil && *c.Seed != rec.Seed {
		err = world.Usagef("the run in %s has seed %d: resume it without --seed", dir, rec.Seed)
	}
	if err == nil && !rundir.BegunBy(c.InitSeed, &rec) {
		err = world.Usagef("the run in %s has %s: resume it without --init-seed", dir, record.Seeds(rec.Seed, rec.InitSeed))
	}
	if err == nil {
		err = c.sameGemm(dir, rec.Gemm)
	}
	if err == nil {
		err = rundir.Clean(dir)
	}
	if err == nil {
		err = c.Label.Add(dir)
	}
	if err != nil {
		held.Close()
		return rundir.Claim{}, err
	}
	record.Tell(dir)
	return rundir.Claim{Dir: held, Path: dir, Record: rec}, nil
}

// A Beginning is the initial state of a training in addition to random weights.
type Beginning struct {
	Given   map[string][]float32 // fixed parameters
	Weights *train.Checkpoint    // of another model; nil: random weights
	From    string               // where Weights come from
}

// Trainer returns a trainer for the next step of the run in dir. The run may be a stage of the
// run that is held. The command line's budget, if there is one, replaces the record's.
func (c *Train) Trainer(a world.App, machine device.Machine, held *lock.Dir, dir string, rec *record.Record, b Beginning) (*train.Trainer, error) {
	m := &a.Model
	if err := m.Complete(b.Given); err != nil {
		return nil, err
	}
	problems, err := m.NewTask(rec.Seed)
	if err != nil {
		return nil, err
	}
	cfg := m.Train
	cfg.Seed, cfg.InitSeed, cfg.Budget = rec.Seed, rec.InitSeed, c.Budget(rec.Budget)
	asked := Questions{eval.Model{Machine: machine, Plan: &m.Plan, Task: problems, Seed: rec.Seed, Runs: m.Eval.Own(), Ranks: a.EvalRanks()}}
	t := &train.Trainer{Machine: machine, Plan: &m.Plan, Params: m.Params, Task: problems, Config: cfg, Given: b.Given, Dir: dir,
		Stage: rec.Stage, SaveEvery: c.Save, Pause: c.Pause, Still: held.Check,
		Meta:  map[string]string{"name": rec.Name, "spec_hash": rec.SpecHash, "mlc_version": m.Version},
		Match: asked.Match, Score: asked.score, Tests: asked.tests(&m.Eval), Asked: asked.sizes(m, rec.Stage == ""),
		Status: track.NewStatus(a.Err, c.Quiet)}
	if err := c.begin(a, t, dir, rec, b); err != nil {
		return nil, err
	}
	return t, a.Lead(t)
}

// begin loads the initial weights of a training, or its last checkpoint.
func (c *Train) begin(a world.App, t *train.Trainer, dir string, rec *record.Record, b Beginning) error {
	t.Start()
	path, err := rundir.NewestCheckpoint(dir)
	if err != nil {
		return err
	}
	if path != "" {
		from, err := rundir.ReadCheckpoint(path, dir, rec)
		if err == nil {
			err = t.Resume(from)
		}
		return rundir.BadCheckpoint(dir, err)
	}
	if b.Weights == nil && rec.Init != "" {
		return fmt.Errorf("%s was interrupted before it had the first weights, from %s: train with --init in another --out", dir, rec.Init)
	}
	if b.Weights == nil {
		return nil
	}
	missing, err := t.Adopt(b.Weights)
	if len(missing) > 0 && err == nil {
		c.Say(a, "%s has no %s: new weights there\n", b.From, someOf(missing))
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

// sameGemm refuses to continue a run whose products were computed differently so far, since
// their bits differ.
func (c *Train) sameGemm(dir, was string) error {
	by, _, err := c.ByLibrary()
	switch {
	case err != nil:
		return err
	case by && was == "":
		return world.Usagef("the run in %s uses mlc's products: resume it without --gemm %s", dir, c.Gemm)
	case !by && was != "":
		return world.Usagef("the run in %s uses products by %s: resume it with --gemm %s", dir, was, world.Cublaslt)
	}
	return nil
}

// sayGemm warns if the library differs from the one of a run's first steps.
func (c *Train) sayGemm(a world.App, dir, was, now string) {
	if was != now {
		c.Say(a, "%s used products by %s and continues with %s: bits may differ from an uninterrupted run\n", dir, was, now)
	}
}

// SayThreads says which threads of a training have nothing to do, and suggests a remedy.
func (c *Train) SayThreads(a world.App, t *train.Trainer) {
	m, ok := world.Local(t.Machine).(*processor.Machine)
	if !ok {
		return
	}
	threads, chunks, ranks := m.Threads(), t.Config.Chunks(), max(a.Ranks.Count(), 1)
	if have := goruntime.GOMAXPROCS(0); threads > have {
		c.Say(a, "%d threads take turns on %d cores: the bits are the same, and it is no faster\n", threads, have)
	}
	if wait := threads*ranks - chunks; wait > 0 {
		c.Say(a, "%d threads, and a step has %d chunks of %d examples: %d threads wait while gradients are computed. %s. mlc bench %s.arith --cores %d simulates it\n",
			threads*ranks, chunks, max(t.Config.Chunk, t.Config.MicroBatch), wait, remedy(t.Config.Batch, threads*ranks), a.Identity().Name, threads*ranks)
	}
}

// remedy says how a batch can keep the threads busy.
func remedy(batch, threads int) string {
	size := train.Serving(batch, threads)
	if size == 0 {
		return fmt.Sprintf("a batch of %d has work for %d threads at most, with train.chunk = 1: make train.batch larger", batch, batch)
	}
	return fmt.Sprintf("train.chunk = %d has work for all; it belongs in the spec, since it changes the order of sums", size)
}
