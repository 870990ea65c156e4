package config

import (
	"fmt"
	"time"
)

// A Train says how a model is trained.
type Train struct {
	Times       int     // runs of the model's loop, 1 without a loop; the most if the length of a problem determines them
	Backprop    int     // most runs that gradients pass through; Times unless Progressive
	Progressive bool    // the loss is over a random number of runs
	Alpha       float64 // progressive: weight of that loss; a pass of full length has 1-Alpha
	ExampleLoss bool    // the loss is a mean over examples of the mean over their labels, instead of a mean over labels
	SumLoss     bool    // the summed loss is divided by the rows of a batch of the longest problems, instead of the labels
	Throttle    bool    // the loss has a factor that falls with Times
	LR          float64 // the schedule's highest learning rate
	Beta1       float64 // Beta1, Beta2 and Eps are constants of the update kernel
	Beta2       float64
	Eps         float64
	Decay       float64   // weight decay of the parameters with Decay
	Schedule    string    // constant, trapezoid, cosine, pieces
	At          []float64 // pieces: shares of the budget, ascending
	Factor      []float64 // pieces: factors of LR, one for each share of At
	Warmup      float64   // fraction of the budget
	Cooldown    float64   // fraction of the budget
	Least       float64   // fraction of LR at the end of a cool-down
	Clip        float64   // largest gradient norm; 0: unlimited
	Batch       int       // examples a step
	Ramp        float64   // fraction of the budget during which the batch grows to Batch
	RampFrom    int       // examples that the batch begins with and grows by; 0: Group
	Chunk       int       // examples whose gradients one worker sums: a multiple of MicroBatch; 0: MicroBatch
	MicroBatch  int       // examples a launch of a processor, at most Batch
	Group       int       // examples that share random draws: a multiple of MicroBatch; 0: no sharing
	Rows        int       // target rows of the longest problem
	RowFLOP     float64   // floating-point operations of one target row
	Budget      Budget
	Stop        *Stop // nil: training ends with the budget
	Plateau     *Plateau
	Best        *Criterion // selects the best checkpoint, kept in addition to the last; nil: only the last is kept
	Report      Report
	Precision   string // f32, or bf16: rounding of the factors of matrix products
	Seed        uint64
	InitSeed    *uint64 // of the initial weights; nil: Seed
}

// Initial returns the seed of the initial weights: their own seed, or else the seed of the run.
func Initial(seed uint64, own *uint64) uint64 {
	if own != nil {
		return *own
	}
	return seed
}

// MostLaunch returns the most examples of a launch such that chunks and groups end where
// launches end: the greatest common divisor of both sizes. A size of 0 does not count.
func MostLaunch(chunk, group int) int {
	for group != 0 {
		chunk, group = group, chunk%group
	}
	return chunk
}

// A Budget limits training. At most one field is not 0.
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

// A Stop ends training at a report when exact match reaches AtLeast, first on a few problems,
// then on enough to prove it.
type Stop struct {
	AtLeast float64
	HeldOut bool // on held-out problems instead of training problems
}

// A Plateau ends training after Patience consecutive tests without a better one.
type Plateau struct {
	Patience int
	By       Criterion
}

// A Report describes the measurements during training.
type Report struct {
	Every    int  // steps between two reports; 0: a hundredth of the budget
	Problems int  // problems for each measurement, or all if there are fewer; 0: train.Glance
	Full     bool // exact match and loss on held-out and on training problems, instead of exact match on held-out ones
}
