// Package rounds times contestants that alternate, so that other load on a machine affects all of
// them. Command bench uses it on a processor, package beside of prove on a GPU. The contestants
// are compiled trainers and their peers in other libraries.
package rounds

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A Contestant runs steps of training.
type Contestant struct {
	Title string
	// Start warms up the contestant.
	Start func(ctx context.Context) (Runner, error)
}

// A Runner is a started Contestant.
type Runner interface {
	// Run returns the seconds that so many steps take.
	Run(steps int) (seconds float64, err error)
	// Peak returns the peak memory in bytes; 0 if unknown.
	Peak() int64
	// Stop ends it, and may be called more than once.
	Stop() error
}

// A Result holds the measurements of a Contestant.
type Result struct {
	Title   string
	Start   time.Duration // until the end of the first step after warming up
	Steps   int           // steps a round
	Seconds []float64     // seconds a step, by round
	Base    []float64     // the first contestant's seconds a step in the same rounds
	Peak    int64         // peak resident memory in bytes; 0 if unknown
	Err     error         // why it failed
}

// Options of Measure and Duels.
type Options struct {
	Rounds int
	Length time.Duration                    // approximate length of a contestant's turn; at least a step
	Say    func(format string, args ...any) // reports progress; may be nil
}

// Median returns the median of xs, the mean of the two in the middle if there are two.
func Median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// Ratio returns the median, over rounds, of the step time divided by the first contestant's, and
// whether it is known.
func (r *Result) Ratio() (ratio float64, known bool) {
	if r.Err != nil || len(r.Seconds) == 0 || len(r.Base) != len(r.Seconds) {
		return 0, false
	}
	all := make([]float64, len(r.Seconds))
	for i := range all {
		all[i] = r.Seconds[i] / r.Base[i]
	}
	return Median(all), true
}

// Duels measures the first contestant with each of the others, one after another: memory may hold
// two, but not all. The first result joins all its duels.
func Duels(ctx context.Context, first Contestant, others []Contestant, o Options) []Result {
	if len(others) == 0 {
		return Measure(ctx, []Contestant{first}, o)
	}
	var all []Result
	for i, other := range others {
		pair := Measure(ctx, []Contestant{first, other}, o)
		pair[1].Base = pair[0].Seconds
		if i == 0 {
			all = append(all, pair[0])
		} else {
			all[0].add(pair[0])
		}
		all = append(all, pair[1])
	}
	return all
}

// add joins two measurements.
func (r *Result) add(more Result) {
	r.Seconds = append(r.Seconds[:len(r.Seconds):len(r.Seconds)], more.Seconds...)
	r.Peak = max(r.Peak, more.Peak)
	r.Err = cmp.Or(r.Err, more.Err)
}

// Measure alternates contestants. One that fails drops out, and the others continue.
func Measure(ctx context.Context, cs []Contestant, o Options) []Result {
	say := o.Say
	if say == nil {
		say = func(string, ...any) {}
	}
	results := make([]Result, len(cs))
	running := make([]Runner, len(cs))
	for i, c := range cs {
		r := &results[i]
		r.Title = c.Title
		begin := time.Now()
		p, seconds, err := start(ctx, c)
		if r.Err = err; err != nil {
			say("  %-28s %v", c.Title, err)
			continue
		}
		defer p.Stop()
		running[i], r.Start = p, time.Since(begin)
		r.Steps = max(int(o.Length.Seconds()/seconds+0.5), 1)
		say("  %-28s ready after %.1f s", c.Title, r.Start.Seconds())
	}
	for range o.Rounds {
		for i, p := range running {
			if r := &results[i]; r.Err == nil && ctx.Err() == nil {
				r.round(p, say)
			}
		}
	}
	for i := range results {
		if r := &results[i]; r.Err == nil {
			r.Peak = running[i].Peak()
		}
	}
	return results
}

// start returns a contestant that has run one step after warming up, and the seconds of that
// step.
func start(ctx context.Context, c Contestant) (Runner, float64, error) {
	p, err := c.Start(ctx)
	if err != nil {
		return nil, 0, err
	}
	seconds, err := p.Run(1)
	if err != nil {
		p.Stop()
		return nil, 0, err
	}
	return p, seconds, nil
}

// round runs a round of a contestant.
func (r *Result) round(p Runner, say func(format string, args ...any)) {
	seconds, err := p.Run(r.Steps)
	if r.Err = err; err != nil {
		say("  %-28s %v", r.Title, err)
		return
	}
	r.Seconds = append(r.Seconds, seconds/float64(r.Steps))
	say("  %-28s %.4f s a step", r.Title, r.Seconds[len(r.Seconds)-1])
}
