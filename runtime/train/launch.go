package train

import (
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
)

// launchExamples is how many examples a launch has on this machine: a micro-batch, which
// suits a processor's caches, or up to a whole chunk, or all of it that share draws, where
// the plan allows it. Problems of several lengths that are not packed are in two launches, the
// long ones and the short ones, since each computes as many rows as its longest has.
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

// Serving is the largest of equal chunks of which each core has one; 0: there are too few examples.
func Serving(batch, cores int) int {
	for size := batch / cores; size > 0; size-- {
		if batch%size == 0 {
			return size
		}
	}
	return 0
}
