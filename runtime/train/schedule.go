package train

import (
	"fmt"
	"math"
	"time"
)

// A shape is how a schedule falls, over x from 1 (start of the cool-down) to 0.
type shape func(x float64) float64

// schedules is the table of learning rate schedules. All of them rise linearly
// over the warm-up.
var schedules = map[string]shape{
	"constant":  func(float64) float64 { return 1 },
	"trapezoid": func(x float64) float64 { return x },
	"cosine":    func(x float64) float64 { return 0.5 - 0.5*math.Cos(math.Pi*x) },
}

// rate is the learning rate at a point of the budget, 0 to 1. A cosine without a
// cool-down falls over all that the warm-up leaves.
func (c *Config) rate(at float64) float64 {
	cooldown := c.Cooldown
	if c.Schedule == "cosine" && cooldown == 0 {
		cooldown = 1 - c.Warmup
	}
	factor := 1.0
	if at < c.Warmup {
		factor = at / c.Warmup
	}
	if left := max(1-at, 0); left < cooldown {
		factor = min(factor, schedules[c.Schedule](left/cooldown))
	}
	return c.LR * factor
}

// used is the part of the budget that is used up.
func (b Budget) used(s State, elapsed time.Duration) float64 {
	switch {
	case b.Steps > 0:
		return float64(s.Step) / float64(b.Steps)
	case b.Examples > 0:
		return float64(s.Examples) / float64(b.Examples)
	}
	return float64(elapsed) / float64(b.Time)
}

// middle is the point of the budget in the middle of the next step, which is what
// its learning rate is for: neither the first nor the last step stands still.
func (b Budget) middle(s State, batch int, elapsed time.Duration) float64 {
	switch {
	case b.Steps > 0:
		return (float64(s.Step) + 0.5) / float64(b.Steps)
	case b.Examples > 0:
		return (float64(s.Examples) + 0.5*float64(batch)) / float64(b.Examples)
	}
	return b.used(s, elapsed)
}

// steps is the length of training, 0 if only time will tell.
func (b Budget) steps(batch int) int {
	if b.Examples > 0 {
		return int((b.Examples + int64(batch) - 1) / int64(batch))
	}
	return b.Steps
}

// reportEvery is the number of steps between two reports: it depends on the
// budget alone, so that a resumed run reports at the same steps.
func (b Budget) reportEvery(batch int) int {
	if n := b.steps(batch); n > 0 {
		return max(1, n/100)
	}
	return 20
}

func (b Budget) String() string {
	switch {
	case b.Steps > 0:
		return fmt.Sprintf("%d steps", b.Steps)
	case b.Examples > 0:
		return fmt.Sprintf("%d examples", b.Examples)
	}
	return b.Time.String()
}

// Check returns what is wrong with a Config, in the words of a spec.
func (c *Config) Check() error {
	fields := 0
	for _, set := range []bool{c.Budget.Steps > 0, c.Budget.Examples > 0, c.Budget.Time > 0} {
		if set {
			fields++
		}
	}
	switch {
	case schedules[c.Schedule] == nil:
		return fmt.Errorf("schedule %q: there are constant, cosine and trapezoid", c.Schedule)
	case c.Optimizer != "adam" && c.Optimizer != "adamw":
		return fmt.Errorf("optimizer %q: there are adam and adamw", c.Optimizer)
	case fields != 1:
		return fmt.Errorf("the budget must be a number of steps, of examples or a time, and more than 0")
	case c.Batch < 1 || c.MicroBatch < 1:
		return fmt.Errorf("a batch of %d in micro-batches of %d: both are at least 1", c.Batch, c.MicroBatch)
	case c.Chunk < 0 || c.Chunk%c.MicroBatch != 0:
		return fmt.Errorf("chunks of %d examples in micro-batches of %d: a chunk is a number of whole micro-batches", c.Chunk, c.MicroBatch)
	}
	return nil
}
