package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// kill kills work up to four times, then lets it finish. It kills after a random time, or at a
// system call that changes files.
func (c *campaign) kill(rng *rand.Rand, t *trial) error {
	s := c.subject(rng, func(*subject) bool { return true })
	t.about = s.name
	dir, err := s.begin(c.site)
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	for range 1 + rng.IntN(4) {
		argv := s.command(dir)
		if s.calls != nil && rng.IntN(2) == 0 {
			i := injection{call: pick(rng, slices.DeleteFunc(slices.Sorted(maps.Keys(s.calls)), func(name string) bool { return name == "read" }))}
			i.nth, i.what = 1+rng.IntN(s.calls[i.call]), "signal=KILL"
			r, lines, err := c.site.injected(dir, i, argv)
			t.did("kill at %s", i)
			if err != nil {
				return err
			}
			if len(lines) > 0 {
				t.faults++
			}
			if err := r.clean(); err != nil {
				return err
			}
			continue
		}
		after := time.Duration(rng.Float64() * float64(s.took))
		t.did("kill after %s", after)
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(after, func() { cancel(errKill) })
		r, err := c.site.run(ctx, dir, argv...)
		timer.Stop()
		cancel(nil)
		if err != nil {
			return err
		}
		if r.code < 0 {
			t.faults++
		} else if r.code != 0 {
			return fmt.Errorf("exit %d\n%s", r.code, r.err)
		}
		if err := r.clean(); err != nil {
			return err
		}
	}
	return s.end(c.site, dir)
}
