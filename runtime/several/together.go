package several

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/train"
)

// together trains several models at once. Their Trainers differ only in initial weights, and
// draw the same problems. The machine computes each step for all models; it stores an element
// of all lanes side by side. The machine of each Trainer shows one lane. Its directory gets the
// same bytes as if it trained alone.
type together struct {
	machine  device.Machine
	lanes    int
	trainers []*train.Trainer // at most lanes, all after equally many steps
	every    time.Duration    // between checkpoints; 0: only at the end

	outcomes []train.Outcome // of the last step, by lane
}

// A lane is the coroutine of one Trainer. It runs until it wants a step, and continues after
// the step of all.
type lane struct {
	of     *together
	number int
	want   func(wish) bool
	save   bool  // after the next step
	err    error // of the last step of all
}

// A wish is a step that a lane wants.
type wish struct {
	examples int
	rate     float64
}

// errLeft is the error of a lane that is not continued.
var errLeft = errors.New("the others have failed")

// Step implements train.Lane.
func (l *lane) Step(examples int, rate float64) (out train.Outcome, err error) {
	if !l.want(wish{examples, rate}) {
		return out, errLeft
	}
	if l.err != nil {
		return out, l.err
	}
	return l.of.outcomes[l.number], nil
}

// Saves implements train.Lane.
func (l *lane) Saves() bool { return l.save }

// run trains all models to their end, and returns the error of each. If one fails or stops
// early, the others continue. When ctx is done all are saved after the same step.
func (g *together) run(ctx context.Context) []error {
	lead := *g.trainers[0]
	lead.Machine, lead.Models = g.machine, g.lanes
	lead.Landed = func(outcomes []train.Outcome) { g.outcomes = outcomes }
	return g.with(ctx, lead.Follow)
}

// with is run with a function that does a step of all.
func (g *together) with(ctx context.Context, step func(examples int, rate float64) error) []error {
	until, end := context.WithCancelCause(context.Background())
	defer end(nil)
	errs := make([]error, len(g.trainers))
	lanes := make([]lane, len(g.trainers))
	next := make([]func() (wish, bool), len(g.trainers))
	for i, t := range g.trainers {
		lanes[i] = lane{of: g, number: i}
		t.Lane = &lanes[i]
		var stop func()
		next[i], stop = iter.Pull(func(yield func(wish) bool) {
			lanes[i].want = yield
			errs[i] = t.Run(until)
		})
		defer stop()
	}
	saved := time.Now()
	for {
		if ctx.Err() != nil {
			end(context.Cause(ctx))
		}
		var wanted *wish
		for _, next := range next {
			if w, more := next(); more && wanted != nil && *wanted != w {
				panic("BUG: models that train together want different steps")
			} else if more {
				wanted = &w
			}
		}
		if wanted == nil {
			return errs
		}
		err := step(wanted.examples, wanted.rate)
		save := g.every > 0 && time.Since(saved) >= g.every
		if save {
			saved = time.Now()
		}
		for i := range lanes {
			lanes[i].err, lanes[i].save = err, save
		}
	}
}
