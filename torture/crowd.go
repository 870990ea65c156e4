package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
)

// crowd lets two to six processes do the same work at once. Each must succeed, and together they
// leave what one of them leaves.
func (c *campaign) crowd(rng *rand.Rand, t *trial) error {
	s := c.subject(rng, func(s *subject) bool { return s.shared })
	t.about = s.name
	dir, err := s.begin(c.site)
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	argv, n := s.command(dir), 2+rng.IntN(5)
	t.did("%d times at once: %s", n, strings.Join(argv, " "))
	t.faults++
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			r, err := c.site.run(context.Background(), dir, argv...)
			switch {
			case err != nil:
			case r.clean() != nil:
				err = r.clean()
			case r.code != 0:
				err = fmt.Errorf("exit %d\n%s", r.code, r.err)
			}
			errs[i] = err
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.end(c.site, dir)
}
