package config

import (
	"fmt"
	"time"
)

// A Train says how a model is trained.
type Train struct {
	Times       int     // runs of the model's loop, 1 without a loop; the most where the length of a problem says how often
	Backprop    int     // most runs that gradients go through; Times unless Progressive
	Progressive bool    // the loss is over a random number of runs
	Alpha       float64 // progressive: its share, beside a pass of full length
	SumLoss     bool    // the sum over labels is divided by the rows of a batch of the longest problems, not by the labels
	Throttle    bool    // the loss has a factor that falls with Times
	LR          float64 // the schedule's highest learning rate
	Beta1       float64 // with Beta2 and Eps a constant of the update kernel
	Beta2       float64
	Eps         float64
	Decay       float64   // weight decay of the parameters that are marked for it
	Schedule    string    // constant, trapezoid, cosine, pieces
	At          []float64 // pieces: shares of the budget, ascending
	Factor      []float64 // pieces: of LR at each of them
	Warmup      float64   // fraction of the budget
	Cooldown    float64   // fraction of the budget
	Clip        float64   // largest gradient norm, 0: none
	Batch       int       // examples a step
	Ramp        float64   // fraction of the budget in which the batch grows to that
	RampFrom    int       // examples that it begins with and grows by; 0: a group
	Chunk       int       // examples whose gradients one worker adds up: a multiple of MicroBatch, which 0 stands for
	MicroBatch  int       // examples a launch of a processor, at most Batch
	Group       int       // examples that share random draws: a multiple of MicroBatch; 0: none do
	Rows        int       // target rows of the longest problem
	RowFLOP     float64   // floating-point operations that a target row takes
	Budget      Budget
	Stop        *Stop // nil: not before the budget is spent
	Plateau     *Plateau
	Best        *Criterion // of the checkpoint that is kept besides the last; nil: there is none
	Report      Report
	Precision   string // f32, or bf16: what factors of matrix products are rounded to
	Seed        uint64
	InitSeed    *uint64 // of the initial weights; nil: Seed
}

// Initial is the seed of initial weights: their own, or that of all else.
func Initial(seed uint64, own *uint64) uint64 {
	if own != nil {
		return *own
	}
	return seed
}

// MostLaunch is the most examples of a launch such that launches end wherever chunks and
// groups do: the greatest common divisor of both sizes, of which 0 is none.
func MostLaunch(chunk, group int) int {
	for group != 0 {
		chunk, group = group, chunk%group
	}
	return chunk
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

// A Plateau ends training after so many tests during training without a better one.
type Plateau struct {
	Patience int
	By       Criterion
}

// A Report says what is measured while training.
type Report struct {
	Every    int  // steps between two; 0: a hundredth of the budget
	Problems int  // of each measurement, or as many as there are; 0: train.Glance
	Full     bool // exact match and loss, of held-out problems and of those of training; else exact match of held-out ones
}
