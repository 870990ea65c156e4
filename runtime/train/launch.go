package train

import (
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
)

// launchExamples is how many examples a launch has on this machine. A micro-batch suits a
// processor's caches. If the plan allows AnyLaunch, the machine may choose up to a whole chunk,
// or the part of it that shares draws. Unpacked problems of several lengths take two launches,
// long ones and short ones: each problem computes as many rows as the longest of its launch.
func (t *Trainer) launchExamples() int {
	c := &t.Config
	if !t.Plan.AnyLaunch {
		return c.MicroBatch
	}
	most := config.MostLaunch(c.chunk(), c.Group)
	if half := most / 2; t.Task.Varies() && !t.Plan.Packed && most%2 == 0 && half%c.MicroBatch == 0 {
		most = half
	}
	source, target := t.Task.Longest()
	e := device.Env{T: target, S: source, C: target, NoGrad: c.Times - c.Backprop, WithGrad: max(c.Backprop, 1), Times: max(c.Times, 1)}
	return t.Machine.Examples(c.MicroBatch, most, func(examples int) float64 { return t.Plan.Gradients.Bytes(examples, e) })
}

// Serving is the largest size of equal chunks that gives each core a chunk; 0: too few
// examples.
func Serving(batch, cores int) int {
	for size := batch / cores; size > 0; size-- {
		if batch%size == 0 {
			return size
		}
	}
	return 0
}
