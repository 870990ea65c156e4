// Package several trains many models at once, each in a lane of vectors. The models differ in
// their initial weights. Only programs of specs with train.lanes link it.
package several

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/verbs"
	"github.com/arithlang/mlc/runtime/world"
)

// A lanesRun is the verb train for several models.
type lanesRun struct{ *verbs.Train }

// A member is one of several models that are trained at once, with a separate run directory.
type member struct {
	seed   uint64
	dir    string
	steps  int // steps already trained
	result *eval.Result
	loss   float64 // of the last report
	err    error
}

// Train trains a model for each seed of a range of --init-seed. Each core trains as many models
// at once as the program has lanes.
func Train(verb *verbs.Train, a world.App) error {
	c := &lanesRun{verb}
	if err := c.checkLanes(a); err != nil {
		return err
	}
	out, err := c.folder(a)
	if err != nil {
		return err
	}
	members, err := c.members(a, out)
	if err != nil {
		return err
	}
	groups := inGroups(members, a.Model.Lanes.N)
	_, threads, err := c.Processor()
	if err != nil {
		return err
	}
	side := min(threads, len(groups))
	if err := c.affordLanes(a, side, threads); err != nil {
		return err
	}
	ctx, over := a.UntilInterrupt()
	defer over()
	plan := &a.Model.Plan
	c.Say(a, "training %s: %s parameters, %s, seed %d, init seeds %s, %d at once in lanes, on %d of %d threads\nrun directories in %s\n", a.Model.Name,
		track.Thousands(device.Trained(a.Model.Params, plan.NumParams)), c.Budget(a.Model.Train.Budget), c.seed(a), c.InitSeed, min(a.Model.Lanes.N, len(members)), side, threads, out)
	c.eachGroup(groups, side, func(g []*member, first bool) { c.group(ctx, a, g, max(1, threads/side), first) })
	goOn := fmt.Sprintf("%s train --init-seed %s --resume --out %s", a.Args[0], c.InitSeed, flag.Word(out))
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w, saved; continue with: %s", context.Cause(ctx), goOn)
	case slices.ContainsFunc(members, func(m *member) bool { return errors.Is(m.err, train.ErrPaused) }):
		c.Say(a, "paused; continue with: %s\n", goOn)
		return nil
	}
	return c.reportMembers(a, members)
}

// checkLanes returns an error for flags that models in lanes do not support.
func (c *lanesRun) checkLanes(a world.App) error {
	refuse := func(format string, args ...any) error {
		return world.Usagef("--init-seed %s: "+format, append([]any{c.InitSeed}, args...)...)
	}
	switch {
	case c.Pause >= 1:
		return refuse("--pause %g: want a share of the budget below 1", c.Pause)
	case c.Device != "auto" && c.Device != "cpu":
		return refuse("several models are trained only on the processor, not with --device %s", c.Device)
	case c.Budget(a.Model.Train.Budget).Time > 0:
		return refuse("a budget of time would give each model another number of steps: use --steps or --examples")
	case c.Resume == flags.Resumes && c.Out == "":
		return refuse("name the folder of the runs to resume with --out")
	}
	return nil
}

// seed returns the seed of all random numbers except the initial weights.
func (c *lanesRun) seed(a world.App) uint64 {
	if c.Seed != nil {
		return *c.Seed
	}
	return a.Model.Train.Seed
}

// folder returns the directory of the run directories.
func (c *lanesRun) folder(a world.App) (string, error) {
	if c.Out != "" {
		return c.Out, rundir.Make(c.Out)
	}
	return rundir.Dated(a.Identity(), time.Now().UTC())
}

// members returns the models, each with the steps that it has been trained.
func (c *lanesRun) members(a world.App, out string) ([]*member, error) {
	var all []*member
	for i := range c.InitSeed.Last - c.InitSeed.First + 1 {
		m := &member{seed: c.InitSeed.First + i}
		m.dir = filepath.Join(out, fmt.Sprintf("init-seed-%d", m.seed))
		there := rundir.Exists(record.Path(m.dir))
		if there && c.Resume == flags.Begins {
			return nil, fmt.Errorf("%s has a run of init seed %d in it already: continue it with --resume --out %s, or choose another --out", out, m.seed, flag.Word(out))
		}
		if there {
			path, err := rundir.NewestCheckpoint(m.dir)
			if err != nil {
				return nil, err
			}
			if path != "" {
				from, err := train.Read(path)
				if err != nil {
					return nil, err
				}
				m.steps = from.State.Step
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// inGroups deals models to trainings of at most n models. The models of a training have done
// the same number of steps.
func inGroups(members []*member, n int) [][]*member {
	var out [][]*member
	rest := slices.Clone(members)
	slices.SortStableFunc(rest, func(x, y *member) int { return cmp.Compare(x.steps, y.steps) })
	for len(rest) > 0 {
		alike := len(rest)
		if i := slices.IndexFunc(rest, func(m *member) bool { return m.steps != rest[0].steps }); i > 0 {
			alike = i
		}
		count := (alike + n - 1) / n
		for i := range count {
			out = append(out, rest[alike*i/count:alike*(i+1)/count])
		}
		rest = rest[alike:]
	}
	return out
}

// eachGroup calls train for each group, side groups at a time.
func (c *lanesRun) eachGroup(groups [][]*member, side int, train func(g []*member, first bool)) {
	var busy sync.WaitGroup
	room := make(chan struct{}, side)
	for i, g := range groups {
		room <- struct{}{}
		busy.Go(func() {
			train(g, i == 0)
			<-room
		})
	}
	busy.Wait()
}

// affordLanes returns an error if memory is short for simultaneous trainings.
func (c *lanesRun) affordLanes(a world.App, side, threads int) error {
	n, err := world.Needs(&a.Model, true)
	if err != nil {
		return err
	}
	lanes := float64(a.Model.Lanes.N)
	n.Params, n.Uses, n.Work, n.Update, n.Batch = n.Params*lanes*float64(side), n.Uses*lanes, n.Work*lanes, n.Update*lanes, n.Batch*lanes*float64(side)
	n.Side = side
	if err := a.Afford(n, threads); err != nil {
		return fmt.Errorf("%w; or make train.lanes smaller", err)
	}
	return indexedLanes(&a.Model)
}

// group trains some models at once, and tests each. Errors are stored in each member.
func (c *lanesRun) group(ctx context.Context, a world.App, members []*member, threads int, first bool) {
	isa, _, _ := c.Processor()
	plan := &a.Model.Plan
	all := processor.NewLanes(a.Model.Lanes.CPU, a.Model.Lanes.N, isa, threads, plan)
	tests := processor.New(a.Model.CPU, isa, threads, plan)
	training := &together{machine: all, lanes: a.Model.Lanes.N, every: c.Save}
	var runs []*laneRun
	for _, m := range members {
		lane := len(runs)
		r, err := c.laneRun(a, m, newLaneView(all, a.Model.Lanes.N, lane, tests), first && lane == 0)
		if m.err = err; err != nil {
			continue
		}
		defer r.Close()
		runs = append(runs, r)
		training.trainers = append(training.trainers, r.trainer)
	}
	if len(runs) == 0 {
		return
	}
	for i, err := range training.run(ctx) {
		runs[i].err = err
	}
	for _, r := range runs {
		if r.err == nil && ctx.Err() == nil {
			r.err = c.testLane(ctx, a, r)
		}
	}
}

// A laneRun is the training of a member.
type laneRun struct {
	*member
	rundir.Claim
	trainer *train.Trainer
	view    *laneView
}

// laneRun prepares the next step of a member.
func (c *lanesRun) laneRun(a world.App, m *member, view *laneView, shown bool) (*laneRun, error) {
	one := *c.Train
	one.Out, one.InitSeed = m.dir, flags.Seeds{First: m.seed, Last: m.seed, Set: true}
	one.Quiet = c.Quiet || !shown
	if one.Resume = flags.Begins; c.Resume != flags.Begins && rundir.Exists(record.Path(m.dir)) {
		one.Resume = flags.Resumes
	}
	at, err := one.Directory(&a.Model, view)
	if err != nil {
		return nil, err
	}
	r := &laneRun{member: m, Claim: at, view: view}
	r.trainer, err = one.Trainer(a, view, at.Dir, at.Path, &r.Record, verbs.Beginning{})
	if err == nil {
		r.Record.Change(r.trainer.Config.Budget, r.trainer.State.Step)
		err = rundir.Fill(at.Path, rundir.IdentityOf(&a.Model), r.Record)
	}
	if err != nil {
		at.Close()
		return nil, err
	}
	return r, nil
}

// testLane tests a trained model as the spec says.
func (c *lanesRun) testLane(ctx context.Context, a world.App, r *laneRun) error {
	test, err := verbs.NewTest(a, r.view, r.Claim.Path, &r.Record, r.trainer.State)
	if err != nil {
		return err
	}
	reports, err := track.Until(r.Claim.Path, r.trainer.State.Step)
	if err != nil {
		return err
	}
	if n := len(reports); n > 0 {
		r.loss = reports[n-1].Loss
	}
	t := verbs.Tester{App: a, Dir: r.Claim.Path, Quiet: true}
	r.result, err = t.Test(ctx, test)
	return err
}

// reportMembers prints the result of each model, and names the best.
func (c *lanesRun) reportMembers(a world.App, members []*member) error {
	var failed []error
	var best *member
	for _, m := range members {
		if m.err != nil {
			failed = append(failed, fmt.Errorf("init seed %d: %w", m.seed, m.err))
			continue
		}
		if best == nil || m.better(best) {
			best = m
		}
		var err error
		if c.JSON {
			err = world.PrintJSON(a, verbs.Printed{Run: m.dir, Result: m.result})
		} else {
			_, err = fmt.Fprintf(a.Out, "init seed %-4d  loss %.4f  %s\n", m.seed, m.loss, m.result.Summary())
		}
		if err != nil {
			return err
		}
	}
	if best != nil {
		c.Say(a, "init seed %d is the best; test it further with: %s eval %s\n", best.seed, a.Args[0], best.dir)
	}
	return errors.Join(failed...)
}

// better reports whether a model has more right answers than another or, with equally many,
// less loss.
func (m *member) better(than *member) bool {
	mine, its := m.result.Fraction(), than.result.Fraction()
	return mine > its || mine == its && m.loss < than.loss
}

// indexedLanes returns an error if the arrays of all lanes have more elements than an index
// reaches.
func indexedLanes(m *program.Model) error {
	e, err := world.Longest(m)
	if err != nil {
		return err
	}
	largest := max(m.Plan.NumParams, m.Plan.Gradients.Layout(&e).Largest)
	if err := world.Countable(m.Lanes.N*largest, "of models in lanes"); err != nil {
		return fmt.Errorf("%w: make train.lanes smaller", err)
	}
	return nil
}
