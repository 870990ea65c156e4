package train

import (
	"fmt"
	"time"
)

// A Config says how a model is trained. Generated code holds one.
type Config struct {
	Times       int     // runs of the model's loop, 1 without a loop
	Backprop    int     // most runs that gradients go through; Times unless Progressive
	Progressive bool    // the loss is over a random number of runs
	Alpha       float64 // progressive: its share, beside a pass of full length
	SumLoss     bool    // the sum over labels is divided by the rows of a batch of the longest problems, not by the labels
	Throttle    bool    // the loss has a factor that falls with Times
	Optimizer   string  // adam, adamw
	LR          float64 // the schedule's highest learning rate
	Beta1       float64
	Beta2       float64
	Eps         float64 // with Beta1 and Beta2 a constant of the update kernel
	Decay       float64 // adamw: weight decay of the parameters that are marked for it
	Schedule    string  // constant, trapezoid, cosine
	Warmup      float64 // fraction of the budget
	Cooldown    float64 // fraction of the budget
	Clip        float64 // largest gradient norm, 0: none
	Batch       int     // examples a step
	Ramp        float64 // fraction of the budget in which the batch grows to that
	RampFrom    int     // examples that it begins with and grows by; 0: a group
	Chunk       int     // examples whose gradients one worker adds up: a multiple of MicroBatch, which 0 stands for
	MicroBatch  int     // examples a launch, at most Batch
	Group       int     // examples that share random draws: a multiple of MicroBatch; 0: none do
	Rows        int     // target rows of the longest problem
	RowFLOP     float64 // floating-point operations that a target row takes
	Budget      Budget
	Stop        *Stop // nil: not before the budget is spent
	Report      Report
	Seed        uint64
}

// chunk is the number of examples of a chunk.
func (c *Config) chunk() int {
	if c.Chunk == 0 {
		return c.MicroBatch
	}
	return c.Chunk
}

// group is the number of examples that share draws.
func (c *Config) group() int {
	if c.Group == 0 {
		return c.MicroBatch
	}
	return c.Group
}

// rampFrom is the number of examples that a growing batch begins with.
func (c *Config) rampFrom() int {
	if c.RampFrom == 0 {
		return c.group()
	}
	return c.RampFrom
}

// A Budget is how long training goes on: the one field that is not 0.
type Budget struct {
	Steps    int           `json:"steps,omitempty"`
	Examples int64         `json:"examples,omitempty"`
	FLOP     float64       `json:"flop,omitempty"`
	Time     time.Duration `json:"time,omitempty"` // nanoseconds
}

func (b Budget) String() string {
	switch {
	case b.Steps > 0:
		return fmt.Sprintf("%d steps", b.Steps)
	case b.Examples > 0:
		return fmt.Sprintf("%d examples", b.Examples)
	case b.FLOP > 0:
		return fmt.Sprintf("%.4g FLOP", b.FLOP)
	}
	return b.Time.String()
}

// A Stop ends training, at a report, at an exact match of AtLeast: of a glance, and of
// what proves it.
type Stop struct {
	AtLeast float64
	HeldOut bool // on problems kept from training, else on those of training
}

// A Report says what is measured while training.
type Report struct {
	Every    int  // steps between two; 0: a hundredth of the budget
	Problems int  // of each measurement, or as many as there are; 0: Glance
	Full     bool // exact match and loss, of held-out problems and of those of training; else exact match of held-out ones
}

// problems is how many are asked for.
func (r Report) problems() int {
	if r.Problems == 0 {
		return Glance
	}
	return r.Problems
}

// Check returns what is wrong with a Config, in the words of a spec.
func (c *Config) Check() error {
	fields := 0
	for _, set := range []bool{c.Budget.Steps > 0, c.Budget.Examples > 0, c.Budget.FLOP > 0, c.Budget.Time > 0} {
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
