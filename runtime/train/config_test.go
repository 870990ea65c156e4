package train

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/config"
)

// TestDefaults fills in the defaults of a Config.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		cfg                                      Config
		chunk, chunks, group, rampFrom, problems int
	}{
		{Config{Batch: 9, MicroBatch: 4}, 4, 3, 4, 4, Glance},
		{Config{Batch: 8, MicroBatch: 4}, 4, 2, 4, 4, Glance},
		{Config{Batch: 16, MicroBatch: 2, Chunk: 8, Group: 4, Report: Report{Problems: 5}}, 8, 2, 4, 4, 5},
		{Config{Batch: 17, MicroBatch: 2, Chunk: 8, Group: 4, RampFrom: 1, Report: Report{Problems: 1}}, 8, 3, 4, 1, 1},
	} {
		got := [...]int{c.cfg.chunk(), c.cfg.Chunks(), c.cfg.group(), c.cfg.rampFrom(), c.cfg.Problems()}
		if want := [...]int{c.chunk, c.chunks, c.group, c.rampFrom, c.problems}; got != want {
			t.Errorf("%+v: chunk, chunks, group, first batch and problems are %d, want %d", c.cfg, got, want)
		}
	}
	for want, c := range map[string]Config{
		"the exact match is what the spec asks for":           {},
		"none of the last 3 tests was better than one before": {Plateau: &config.Plateau{Patience: 3}},
	} {
		if got := c.StopReason(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestCheckAtBounds accepts the largest and smallest sensible settings, and rejects the next.
func TestCheckAtBounds(t *testing.T) {
	good := Config{Schedule: "constant", Batch: 4, MicroBatch: 2, Budget: Budget{Steps: 1}}
	for _, c := range []struct {
		name, want string // "": valid
		change     func(*Config)
	}{
		{"one example", "", func(c *Config) { c.Batch, c.MicroBatch = 1, 1 }},
		{"no micro-batch", "both are at least 1", func(c *Config) { c.MicroBatch = 0 }},
		{"a ramp from the batch", "", func(c *Config) { c.RampFrom = 4 }},
		{"a ramp from 1", "", func(c *Config) { c.RampFrom = 1 }},
		{"a ramp from less", "begins with 1 at least", func(c *Config) { c.RampFrom = -1 }},
		{"chunks", "", func(c *Config) { c.Chunk = 4 }},
		{"chunks below none", "chunks of -2", func(c *Config) { c.Chunk = -2 }},
		{"groups", "", func(c *Config) { c.Group = 2 }},
		{"groups below none", "groups of -2", func(c *Config) { c.Group = -2 }},
		{"all runs", "", func(c *Config) { c.Progressive, c.Times, c.Backprop = true, 2, 2 }},
		{"one run", "", func(c *Config) { c.Progressive, c.Times, c.Backprop = true, 1, 1 }},
		{"no run", "gradients through 0 of 0 runs", func(c *Config) { c.Progressive = true }},
		{"no gradient", "gradients through 0 of 2 runs", func(c *Config) { c.Progressive, c.Times = true, 2 }},
		{"no loop", "", func(c *Config) { c.Backprop = 2 }},
		{"reports", "", func(c *Config) { c.Report = Report{Every: 1, Problems: 1} }},
		{"reports backwards", "both are at least 1", func(c *Config) { c.Report.Every = -1 }},
		{"reports of less than nothing", "both are at least 1", func(c *Config) { c.Report.Problems = -1 }},
		{"a sum over rows", "", func(c *Config) { c.SumLoss, c.Rows = true, 1 }},
		{"two budgets", "the budget must be", func(c *Config) { c.Budget.Time = 1 }},
		{"FLOP", "", func(c *Config) { c.Budget, c.RowFLOP = Budget{FLOP: 1}, 1 }},
		{"FLOP that are not known", "does not say how many it takes", func(c *Config) { c.Budget, c.RowFLOP = Budget{FLOP: 1}, 0 }},
		{"an example", "", func(c *Config) { c.Budget = Budget{Examples: 1} }},
		{"a nanosecond", "", func(c *Config) { c.Budget = Budget{Time: 1} }},
		{"one piece", "", func(c *Config) { c.Schedule, c.At, c.Factor = pieces, []float64{0}, []float64{1} }},
		{"no piece", "want as many", func(c *Config) { c.Schedule = pieces }},
		{"pieces that go back", "ascend", func(c *Config) { c.Schedule, c.At, c.Factor = pieces, []float64{0.5, 0.1}, []float64{1, 0} }},
	} {
		cfg := good
		c.change(&cfg)
		if err := cfg.Check(); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
