package counted

import (
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// Ranks is a machine in place of another, for steps that several ranks share: each adds the
// gradients of its chunks, one rank after the other, and the update is made once. So it is
// known what each has to do.
type Ranks struct {
	device.Machine
	driver *Driver
	size   int
	steps  int
	sum    Work // of all steps
}

// Work is what a rank does of a step besides talking to others, in seconds that it takes at
// least.
type Work struct {
	Gradients float64 `json:"gradients_seconds"`      // of its chunks, added up: of the rank that takes longest
	Mean      float64 `json:"gradients_mean_seconds"` // of all ranks
	Norm      float64 `json:"norm_seconds"`           // of the gradient
	Update    float64 `json:"update_seconds"`         // of all parameters
}

// Ranks returns the machine in place of m, a cuda.Machine whose driver d is.
func (d *Driver) Ranks(m device.Machine, size int) *Ranks {
	if all, ok := m.(*cuda.Machine); ok {
		all.KeepGraphs(size * cuda.MaxGraphs)
	}
	return &Ranks{Machine: m, driver: d, size: size}
}

// Work counts n steps, after some that are not counted: a graph is recorded when work comes
// again. Each of the steps has its own slowest rank.
func (r *Ranks) Work(n int, step func() error) (Work, error) {
	for i := range warmSteps + n {
		if i == warmSteps {
			r.steps, r.sum = 0, Work{}
		}
		if err := step(); err != nil {
			return Work{}, err
		}
	}
	return r.sum.over(r.steps), r.Machine.Err()
}

const warmSteps = 2

func (w Work) over(n int) Work {
	x := float64(n)
	return Work{w.Gradients / x, w.Mean / x, w.Norm / x, w.Update / x}
}

// Sum is a Sum of each rank.
func (r *Ranks) Sum(n int, f func(w device.Worker, i int)) {
	r.took()
	longest := 0.0
	for rank := range r.size {
		lo, hi := device.Deal(n, rank, r.size)
		r.Machine.Sum(hi-lo, func(w device.Worker, i int) { f(w, lo+i) })
		seconds := r.took()
		longest = max(longest, seconds)
		r.sum.Mean += seconds / float64(r.size)
	}
	r.sum.Gradients += longest
}

// Settle ends the norm.
func (r *Ranks) Settle(e *device.Env, limit float64, after bool) {
	r.Machine.Settle(e, limit, after)
	r.sum.Norm += r.took()
}

// Later ends the update, and does nothing later.
func (r *Ranks) Later(work, done func()) error {
	work()
	r.sum.Update += r.took()
	r.steps++
	if err := r.Machine.Err(); err != nil {
		return err
	}
	done()
	return nil
}

// took is how long everything takes at least that was asked for since it was called last.
func (r *Ranks) took() (seconds float64) {
	if r.Machine.Err() != nil {
		return 0
	}
	c := r.driver.Take()
	for i := range c.Kernels {
		seconds += c.Kernels[i].Bound.Seconds()
	}
	return seconds
}
