package train

import "time"

// A Config says how a model is trained. Generated code holds one.
type Config struct {
	Optimizer  string  // adam, adamw
	LR         float64 // the schedule's highest learning rate
	Beta1      float64
	Beta2      float64
	Eps        float64 // with Beta1 and Beta2 a constant of the update kernel
	Decay      float64 // adamw: weight decay of the parameters that are marked for it
	Schedule   string  // constant, trapezoid, cosine
	Warmup     float64 // fraction of the budget
	Cooldown   float64 // fraction of the budget
	Clip       float64 // largest gradient norm, 0: none
	Batch      int     // examples a step
	Chunk      int     // examples whose gradients one worker adds up: a multiple of MicroBatch, which 0 stands for
	MicroBatch int     // examples a launch, at most Batch
	Budget     Budget
	Seed       uint64
}

// chunk is the number of examples of a chunk.
func (c *Config) chunk() int {
	if c.Chunk == 0 {
		return c.MicroBatch
	}
	return c.Chunk
}

// A Budget is how long training goes on: the one field that is not 0.
type Budget struct {
	Steps    int           `json:"steps,omitempty"`
	Examples int64         `json:"examples,omitempty"`
	Time     time.Duration `json:"time,omitempty"` // nanoseconds
}
