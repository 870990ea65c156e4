package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
)

// resumption is the flag --resume: whether a run begins or is gone on with.
type resumption uint8

const (
	begins  resumption = iota // a new run, in a directory that has none
	resumes                   // a run that is there
	either                    // --resume=auto: the run, if it is there
)

// Decode reads the flag, which needs no value.
func (r *resumption) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		*r = resumes
		return nil
	}
	switch text := fmt.Sprint(ctx.Scan.Pop().Value); text {
	case "auto":
		*r = either
	case "true":
		*r = resumes
	case "false":
		*r = begins
	default:
		return fmt.Errorf("%.60q: want --resume, or --resume=auto", text)
	}
	return nil
}

// IsBool says that the flag needs no value.
func (r *resumption) IsBool() bool { return true }

// settle decides whether a run begins, where that hangs on what is there. Weights to begin
// with are of no use to one that has weights.
func (c *trainCmd) settle(a app) error {
	if c.Resume != either {
		return nil
	}
	dir := c.Out
	if dir == "" {
		var err error
		if dir, err = findRun(a.identity(), c.Seed, c.InitSeed); err != nil {
			return err
		}
	}
	if err := c.lull(a, dir); err != nil {
		return err
	}
	c.Resume = begins
	if dir == "" || !exists(record.Path(dir)) {
		return nil
	}
	c.Out, c.Resume = dir, resumes
	if newest, err := newestCheckpoint(dir); newest != "" || err != nil {
		c.initFlags = initFlags{}
		return err
	}
	return nil
}

// lulls is how long a scheduler may take to end a job that it starts again.
const lulls = 30 * time.Second

// lull waits until no process trains in a directory: one that was told to end may be about to.
func (c *trainCmd) lull(a app, dir string) error {
	for start, told := time.Now(), false; dir != "" && lock.Held(damage.At(dir)) && time.Since(start) < lulls; told = true {
		if !told {
			c.say(a, "%s is training in %s: waiting for its end\n", lock.Owner(dir), dir)
		}
		select {
		case <-a.ctx.Done():
			return context.Cause(a.ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil // who has it then is said when it is to be locked
}
