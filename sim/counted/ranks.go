package counted

import (
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// Ranks wraps a machine to count steps that several ranks share. It runs the ranks' chunks rank
// after rank and the update once, so the work of each rank is known.
type Ranks struct {
	device.Machine
	driver *Driver
	size   int
	steps  int
	sum    Work // over all steps
}

// Work is a rank's share of a step without communication. Times are lower bounds in seconds.
type Work struct {
	Gradients float64 `json:"gradients_seconds"`      // adding up its chunks, on the slowest rank
	Mean      float64 `json:"gradients_mean_seconds"` // mean over ranks
	Norm      float64 `json:"norm_seconds"`           // of the gradient
	Update    float64 `json:"update_seconds"`         // of all parameters
}

// Ranks wraps m, a cuda.Machine whose driver is d, for so many ranks.
func (d *Driver) Ranks(m device.Machine, size int) *Ranks {
	if all, ok := m.(*cuda.Machine); ok {
		all.KeepGraphs(size * cuda.MaxGraphs)
	}
	return &Ranks{Machine: m, driver: d, size: size}
}

// Work counts n steps and returns their mean. It first runs warm-up steps that do not count: a
// graph is recorded when work repeats. Each step has its own slowest rank.
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

// Sum runs the Sum of each rank and books its time.
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

// Settle ends the norm and books its time.
func (r *Ranks) Settle(e *device.Env, limit float64, after bool) {
	r.Machine.Settle(e, limit, after)
	r.sum.Norm += r.took()
}

// Later ends the update and books its time. It runs work and done at once.
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

// took returns a lower bound on the time of all work requested since its last call.
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
