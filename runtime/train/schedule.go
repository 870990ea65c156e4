package train

import (
	"math"
	"slices"
	"time"

	"github.com/arithlang/mlc/runtime/elementary"
)

// A shape is the factor of a cool-down, over x from 1 (its start) to 0 (its end).
type shape func(x float64) float64

// schedules is the table of learning rate schedules. All rise linearly over the warm-up.
var schedules = map[string]shape{
	"constant":  func(float64) float64 { return 1 },
	"trapezoid": func(x float64) float64 { return x },
	"cosine":    func(x float64) float64 { return 0.5 - float64(0.5*elementary.Cos(math.Pi*x)) },
}

// pieces is the schedule that is linear between points.
const pieces = "pieces"

// between is the factor of pieces at a point of the budget.
func (c *Config) between(at float64) float64 {
	n, _ := slices.BinarySearch(c.At, at)
	switch {
	case n == 0:
		return c.Factor[0]
	case n == len(c.At):
		return c.Factor[n-1]
	}
	share := (at - c.At[n-1]) / (c.At[n] - c.At[n-1])
	return float64((1-share)*c.Factor[n-1]) + float64(share*c.Factor[n])
}

// rate is the learning rate at a point of the budget, 0 to 1. A cosine without a cool-down
// falls from the end of the warm-up.
func (c *Config) rate(at float64) float64 {
	cooldown := c.Cooldown
	if c.Schedule == "cosine" && cooldown == 0 {
		cooldown = 1 - c.Warmup
	}
	if c.Schedule == pieces {
		return c.LR * c.between(at)
	}
	factor := 1.0
	if at < c.Warmup {
		factor = at / c.Warmup
	}
	if left := max(1-at, 0); left < cooldown {
		factor = min(factor, c.Least+float64((1-c.Least)*schedules[c.Schedule](left/cooldown)))
	}
	return c.LR * factor
}

// used is the used part of the budget.
func (c *Config) used(s State, elapsed time.Duration) float64 {
	switch b := c.Budget; {
	case b.Steps > 0:
		return float64(s.Step) / float64(b.Steps)
	case b.Examples > 0:
		return float64(s.Examples) / float64(b.Examples)
	case b.FLOP > 0:
		return float64(s.Rows) * c.RowFLOP / b.FLOP
	default:
		return float64(elapsed) / float64(b.Time)
	}
}

// Spent reports whether training is over after a State. It knows the time only if the budget of
// the State's run was a time.
func (c *Config) Spent(s State) bool { return s.Stopped || c.used(s, s.Elapsed) >= 1 }

// middle is the point of the budget in the middle of the next step, of so many examples. The
// step's learning rate is taken there, so that neither the first nor the last rate is 0.
func (c *Config) middle(s State, examples int, elapsed time.Duration) float64 {
	switch b := c.Budget; {
	case b.Steps > 0:
		return (float64(s.Step) + 0.5) / float64(b.Steps)
	case b.Examples > 0:
		return (float64(s.Examples) + float64(0.5*float64(examples))) / float64(b.Examples)
	case b.FLOP > 0:
		rows := float64(c.Rows) // of an example; after the first step the mean so far
		if s.Examples > 0 {
			rows = float64(s.Rows) / float64(s.Examples)
		}
		return c.used(s, elapsed) + 0.5*float64(examples)*rows*c.RowFLOP/b.FLOP
	}
	return c.used(s, elapsed)
}

// batch is the number of examples of a step at a point of the budget. While it grows it is a
// multiple of its first size (arXiv:2405.17399's code begins with a micro-batch on each GPU,
// and ramps over time).
func (c *Config) batch(at float64) int {
	if at >= c.Ramp {
		return c.Batch
	}
	unit := c.rampFrom()
	n := int(at/c.Ramp*float64(c.Batch)/float64(unit)) + 1
	return min(n*unit, c.Batch)
}

// Steps is the number of steps of training; 0: unknown beforehand.
func (c *Config) Steps() int {
	switch b := c.Budget; {
	case b.Examples > 0 && c.Ramp > 0:
		n := 0
		for s := (State{}); c.used(s, 0) < 1; n++ {
			s.Examples += int64(c.batch(c.used(s, 0)))
		}
		return n
	case b.Examples > 0:
		return int((b.Examples + int64(c.Batch) - 1) / int64(c.Batch))
	default:
		return b.Steps
	}
}

// Length is the number of examples of the whole training; 0: the budget is a time or FLOP. The
// last batch may exceed it.
func (c *Config) Length() int64 {
	switch b := c.Budget; {
	case b.Steps > 0 && c.Ramp > 0:
		s := State{}
		for ; c.used(s, 0) < c.Ramp; s.Step++ {
			s.Examples += int64(c.batch(c.used(s, 0)))
		}
		return s.Examples + int64(b.Steps-s.Step)*int64(c.Batch)
	case b.Steps > 0:
		return int64(b.Steps) * int64(c.Batch)
	default:
		return b.Examples
	}
}

// reportEvery is the number of steps between two reports. It depends only on the Config, so
// that a resumed run reports at the same steps.
func (c *Config) reportEvery() int {
	if c.Report.Every > 0 {
		return c.Report.Every
	}
	if n := c.Steps(); n > 0 {
		return max(1, n/100)
	}
	return 20
}
