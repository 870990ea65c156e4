package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
)

// A campaign is many trials on one site.
type campaign struct {
	site     *site
	seed     uint64
	subjects []*subject
	runs     []*specimen
}

// A trial is one case: its steps, its number of faults, and its finding.
type trial struct {
	kind   string
	number int
	about  string // name of the subject
	steps  []string
	faults int
	err    error // the trial's finding
}

func (t *trial) did(format string, args ...any) {
	t.steps = append(t.steps, fmt.Sprintf(format, args...))
}

// String returns all that a person needs to reproduce the trial.
func (t *trial) String() string {
	return fmt.Sprintf("%s/%d of %s: %s\n%v", t.kind, t.number, t.about, strings.Join(t.steps, "; "), t.err)
}

// kinds are the kinds of trials.
var kinds = []struct {
	name string
	do   func(*campaign, *rand.Rand, *trial) error
}{
	{"kill", (*campaign).kill},
	{"fail", (*campaign).fail},
	{"damage", (*campaign).damage},
	{"crowd", (*campaign).crowd},
}

// newCampaign furnishes a site and does all work once undisturbed.
func newCampaign(s *site, seed uint64) (*campaign, error) {
	c := &campaign{site: s, seed: seed, subjects: subjects()}
	if err := s.furnish(); err != nil {
		return nil, err
	}
	for _, subject := range c.subjects {
		if err := subject.measure(s); err != nil {
			return nil, fmt.Errorf("%s, undisturbed: %w", subject.name, err)
		}
	}
	var err error
	c.runs, err = specimens(s)
	return c, err
}

// one runs the trial of a number. Only what the machine does meanwhile can differ for the same
// seed.
func (c *campaign) one(kind string, number int) *trial {
	t := &trial{kind: kind, number: number}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", kind, number)
	rng := rand.New(rand.NewPCG(c.seed, h.Sum64()))
	for _, k := range kinds {
		if k.name == kind {
			t.err = k.do(c, rng, t)
			return t
		}
	}
	t.err = fmt.Errorf("unknown kind of case %q: want kill, fail, damage or crowd", kind)
	return t
}

// many runs up to jobs trials at once, until they have made so many faults or ctx ends. It calls
// ended with each trial.
func (c *campaign) many(ctx context.Context, kind string, faults, jobs int, ended func(*trial)) (made int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	next := 0
	for range jobs {
		all.Go(func() {
			for {
				mu.Lock()
				if made >= faults || next > 4*faults || ctx.Err() != nil {
					mu.Unlock()
					return
				}
				number := next
				next++
				mu.Unlock()
				t := c.one(kind, number)
				mu.Lock()
				made += t.faults
				ended(t)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return made
}

func pick[T any](rng *rand.Rand, all []T) T { return all[rng.IntN(len(all))] }

var trace = regexp.MustCompile(`(?m)^(panic: |fatal error: |goroutine \d+ \[|unexpected fault address|SIG[A-Z]+: )`)

// clean returns an error if a process hung or ended with a trace of the Go runtime.
func (r said) clean() error {
	switch {
	case r.hung:
		return fmt.Errorf("hangs:\n%s%s", r.out, r.err)
	case trace.MatchString(r.err):
		return fmt.Errorf("a trace of the Go runtime:\n%.2000s", r.err)
	}
	return nil
}

// subject draws a wanted subject, and slow ones seldom.
func (c *campaign) subject(rng *rand.Rand, want func(*subject) bool) *subject {
	for {
		s := pick(rng, c.subjects)
		if want(s) && (!s.slow || rng.IntN(40) == 0) {
			return s
		}
	}
}
