package verbs

import (
	"context"
	"time"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/world"
)

// settle decides for --resume=auto whether a run begins or continues. It ignores --init if the
// run already has weights.
func (c *Train) settle(a world.App) error {
	if c.Resume != flags.Either {
		return nil
	}
	dir := c.Out
	if dir == "" {
		var err error
		if dir, err = rundir.Find(a.Identity(), c.Seed, c.InitSeed); err != nil {
			return err
		}
	}
	if err := c.lull(a, dir); err != nil {
		return err
	}
	c.Resume = flags.Begins
	if dir == "" || !rundir.Exists(record.Path(dir)) {
		return nil
	}
	c.Out, c.Resume = dir, flags.Resumes
	if newest, err := rundir.NewestCheckpoint(dir); newest != "" || err != nil {
		c.initFlags = initFlags{}
		return err
	}
	return nil
}

// lulls is how long a scheduler may take to end a job before it starts it again.
const lulls = 30 * time.Second

// lull waits until no process trains in a directory: one that was told to end may still be
// running.
func (c *Train) lull(a world.App, dir string) error {
	for start, told := time.Now(), false; dir != "" && lock.Held(damage.At(dir)) && time.Since(start) < lulls; told = true {
		if !told {
			c.Say(a, "%s is training in %s: waiting for its end\n", lock.Owner(dir), dir)
		}
		select {
		case <-a.Ctx.Done():
			return context.Cause(a.Ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil // the lock reports who still has it
}
