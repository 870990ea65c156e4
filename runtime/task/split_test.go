package task_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/arithlang/mlc/runtime/task"
)

// TestSplit checks that tasks of two seeds and one split hold out the same problems and train on
// none of these. Without a split the seed decides.
func TestSplit(t *testing.T) {
	sequences := func(change func(*Config)) Config {
		return with(adding, func(c *Config) { c.DigitsHi, c.Holdout = 2, 0.25; change(c) })
	}
	for name, cfg := range map[string]Config{
		"numbers below":   with(successors, func(c *Config) { c.Below = 500 }),
		"released":        with(additions, func(c *Config) { c.Below, c.Released, c.Holdout = Listed, true, 0.125 }),
		"two below":       with(additions, func(c *Config) { c.Below, c.Holdout = 500, 0.125 }),
		"digits":          with(ranged, func(c *Config) { c.Holdout = 0.25 }),
		"a grid":          sequences(func(*Config) {}),
		"hints":           sequences(func(c *Config) { c.Hints = "cyclic" }),
		"a set":           sequences(func(c *Config) { c.Examples = 400 }),
		"below, in words": sequences(func(c *Config) { c.Below = 500 }),
		"or":              with(oring, func(c *Config) { c.Holdout = 0.25 }),
		"a set of or":     with(oring, func(c *Config) { c.Examples, c.Holdout = 400, 0.25 }),
		"mixed":           sequences(func(c *Config) { c.Kind, c.Of = "mixed", []string{"addition", "subtraction"} }),
		"parity":          sequences(func(c *Config) { c.Kind, c.Base, c.Scratchpad, c.DigitsHi = "parity", 2, true, 10 }),
		"nx1":             sequences(func(c *Config) { c.Kind, c.DigitsHi = "nx1", 3 }),
		"sort":            sequences(func(c *Config) { c.Kind, c.LengthLo, c.LengthHi = "sort", 2, 3 }),
		"file":            reading(squares(), 0.25),
	} {
		split := func(n uint64) Config { return with(cfg, func(c *Config) { c.Split = &n }) }
		one, two, own, other := must(t, split(7), 1), must(t, split(7), 2), must(t, cfg, 1), must(t, cfg, 2)
		same := must(t, split(1), 1)
		held, differs := map[string]bool{}, false
		for k := range int64(200) {
			p := one.HeldOut(k)
			if diff := cmp.Diff(p, two.HeldOut(k)); diff != "" {
				t.Fatalf("%s: held-out problem %d of two seeds: %s", name, k, diff)
			}
			if diff := cmp.Diff([]Problem{own.HeldOut(k), own.Train(k)}, []Problem{same.HeldOut(k), same.Train(k)}); diff != "" {
				t.Fatalf("%s: problem %d of the seed as a split: %s", name, k, diff)
			}
			differs = differs || !cmp.Equal(own.HeldOut(k), other.HeldOut(k))
			held[one.Written(p)] = true
		}
		if !differs {
			t.Errorf("%s: two seeds hold out the same problems without a split", name)
		}
		if name == "released" || cfg.Below > 0 && one.Arity() == 2 || cfg.Examples > 0 {
			continue // the second operand may be a held-out one, and lists and sets may repeat problems
		}
		for k := range int64(1000) {
			for _, task := range []*Task{one, two} {
				if p := task.Train(k); cfg.Kind != "or" && held[task.Written(p)] {
					t.Fatalf("%s: %s is held out and example %d", name, task.Written(p), k)
				}
			}
		}
	}
}
