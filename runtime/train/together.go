package train

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/arithlang/mlc/runtime/device"
)

// Together trains several models at once. Their Trainers differ only in initial weights, and
// draw the same problems. The Machine computes each step for all models; it stores an element
// of all Lanes side by side. The machine of each Trainer shows one lane. Its directory gets the
// same bytes as if it trained alone.
type Together struct {
	Machine  device.Machine
	Lanes    int
	Trainers []*Trainer    // at most Lanes, all after equally many steps
	Every    time.Duration // between checkpoints; 0: only at the end

	outcomes []Outcome // of the last step, by lane
}

// A lane is the coroutine of one Trainer. It runs until it wants a step, and continues after
// the step of all.
type lane struct {
	together *Together
	number   int
	want     func(wish) bool
	save     bool  // after the next step
	err      error // of the last step of all
}

// A wish is a step that a lane wants.
type wish struct {
	examples int
	rate     float64
}

// errLeft is the error of a lane that is not continued.
var errLeft = errors.New("the others have failed")

// step waits for a step of all, and takes this lane's outcome.
func (l *lane) step(t *Trainer, examples int, rate float64) error {
	if t.stepper == nil {
		t.stepper = &stepper{Trainer: t}
	}
	if !l.want(wish{examples, rate}) {
		return errLeft
	}
	if l.err != nil {
		return l.err
	}
	out := l.together.outcomes[l.number]
	f := flight{step: t.State.Step, examples: examples, tokens: out.Tokens, rows: out.Rows, rate: rate}
	t.stepper.last, t.stepper.rate = out, rate
	if err := f.check(&out); err != nil {
		return err
	}
	f.count(&t.State)
	return nil
}

// landed notes the outcomes of a step.
func (g *Together) landed(s *stepper, f *flight) {
	g.outcomes = resize(g.outcomes, g.Lanes)
	for i := range g.outcomes {
		g.outcomes[i] = s.outcome(f, i)
	}
}

// Run runs all Trainers to their end, and returns the error of each. If one fails or stops
// early, the others continue. When ctx is done all are saved after the same step.
func (g *Together) Run(ctx context.Context) []error {
	lead := *g.Trainers[0]
	lead.Machine, lead.together = g.Machine, g
	return g.run(ctx, lead.enqueue)
}

// run is Run with a function that does a step of all.
func (g *Together) run(ctx context.Context, step func(examples int, rate float64) error) []error {
	until, end := context.WithCancelCause(context.Background())
	defer end(nil)
	errs := make([]error, len(g.Trainers))
	next := make([]func() (wish, bool), len(g.Trainers))
	for i, t := range g.Trainers {
		t.lane = &lane{together: g, number: i}
		var stop func()
		next[i], stop = iter.Pull(func(yield func(wish) bool) {
			t.lane.want = yield
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
		save := g.Every > 0 && time.Since(saved) >= g.Every
		if save {
			saved = time.Now()
		}
		for _, t := range g.Trainers {
			t.lane.err, t.lane.save = err, save
		}
	}
}
