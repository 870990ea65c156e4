package runtime

import (
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/record"
)

// begunBy reports whether a run has such initial weights; without the flag any will do.
func begunBy(s flags.Seeds, of *record.Record) bool {
	return !s.Set || config.Initial(of.Seed, of.InitSeed) == s.First
}

// checkInitSeed finds what is wrong with --init-seed beside other flags.
func (c *trainCmd) checkInitSeed(a app) error {
	s := c.InitSeed
	switch {
	case s.Set && c.Init != "":
		return usagef("--init-seed %s: the run begins with other weights, those of --init: leave one of the two out", s)
	case s.Several() && a.whole != nil:
		return usagef("--init-seed %s: this spec has stages, whose runs begin one by one: give a single seed", s)
	case s.Several() && a.ranks.several():
		return usagef("--init-seed %s: several ranks train one model: give a single seed, or start one rank, with --ranks none", s)
	}
	return nil
}
