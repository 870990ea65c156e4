package train

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/runtime/config"
)

// A Config configures training. Generated code holds one.
type Config config.Train

// chunk is the number of examples of a chunk.
func (c *Config) chunk() int { return cmp.Or(c.Chunk, c.MicroBatch) }

// Chunks is the number of chunks of a whole batch.
func (c *Config) Chunks() int { return (c.Batch + c.chunk() - 1) / c.chunk() }

// group is the number of examples that share draws.
func (c *Config) group() int { return cmp.Or(c.Group, c.MicroBatch) }

// rampFrom is the number of examples that a growing batch begins with.
func (c *Config) rampFrom() int { return cmp.Or(c.RampFrom, c.group()) }

type (
	Budget = config.Budget
	Stop   = config.Stop
	Report = config.Report
)

// StopReason says why training stops before its budget is used up.
func (c *Config) StopReason() string {
	if p := c.Plateau; p != nil {
		return fmt.Sprintf("none of the last %d tests was better than one before", p.Patience)
	}
	return "the exact match is what the spec asks for"
}

// problems is the number of problems that a Report measures.
func problems(r Report) int { return cmp.Or(r.Problems, Glance) }

// Problems is the most problems that a report measures.
func (c *Config) Problems() int { return problems(c.Report) }

// Check returns what is wrong with a Config, in the words of a spec.
func (c *Config) Check() error {
	fields := 0
	for _, set := range []bool{c.Budget.Steps > 0, c.Budget.Examples > 0, c.Budget.FLOP > 0, c.Budget.Time > 0} {
		if set {
			fields++
		}
	}
	switch {
	case schedules[c.Schedule] == nil && c.Schedule != pieces:
		return fmt.Errorf("schedule %q: there are constant, cosine, pieces and trapezoid", c.Schedule)
	case c.Schedule == pieces && (len(c.At) == 0 || len(c.At) != len(c.Factor) || !slices.IsSorted(c.At)):
		return fmt.Errorf("a schedule of pieces with factors %v at %v: want as many, at shares that ascend", c.Factor, c.At)
	case fields != 1:
		return fmt.Errorf("the budget must be a number of steps, of examples, of FLOP or a time, and more than 0")
	case c.Budget.FLOP > 0 && c.RowFLOP <= 0:
		return fmt.Errorf("a budget in FLOP for a model that does not say how many it takes: use steps, examples or a time")
	case c.Batch < 1 || c.MicroBatch < 1:
		return fmt.Errorf("a batch of %d in micro-batches of %d: both are at least 1", c.Batch, c.MicroBatch)
	case c.RampFrom < 0 || c.RampFrom > c.Batch:
		return fmt.Errorf("a batch that grows from %d examples to %d: it begins with 1 at least", c.RampFrom, c.Batch)
	case c.Chunk < 0 || c.Chunk%c.MicroBatch != 0:
		return fmt.Errorf("chunks of %d examples in micro-batches of %d: a chunk is a number of whole micro-batches", c.Chunk, c.MicroBatch)
	case c.Group < 0 || c.Group%c.MicroBatch != 0:
		return fmt.Errorf("groups of %d examples in micro-batches of %d: a group is a number of whole micro-batches", c.Group, c.MicroBatch)
	case c.Progressive && (c.Times < 1 || c.Backprop < 1 || c.Backprop > c.Times):
		return fmt.Errorf("gradients through %d of %d runs: it is one at least, and all of them at most", c.Backprop, c.Times)
	case c.Report.Every < 0 || c.Report.Problems < 0:
		return fmt.Errorf("a report of %d problems every %d steps: both are at least 1", c.Report.Problems, c.Report.Every)
	case c.SumLoss && c.Rows < 1:
		return fmt.Errorf("a sum over the batch for a model that does not say how long its problems are: use reduce = mean")
	}
	return nil
}
