package train

import "github.com/arithlang/mlc/runtime/philox"

// A pass takes a group of examples once through the model: runs of the loop without gradients,
// then runs with gradients.
type pass struct{ noGrad, withGrad int }

// maxPasses is the most passes of a group.
const maxPasses = 2

// shares returns the passes' shares in the loss. A pass with a share of 0 is left out.
func (c *Config) shares() [maxPasses]float64 {
	if !c.Progressive {
		return [maxPasses]float64{1}
	}
	return [maxPasses]float64{1 - c.Alpha, c.Alpha}
}

// passes returns the passes of this example's group at a step. Let R = Times and K = Backprop.
// The first pass has R runs, the last K with gradients. A progressive loss adds a pass of n in
// 0 … R-1 runs without gradients and k in 1 … min(R-n, K) with gradients (Bansal et al. 2022,
// arXiv:2202.05826, section 3.2; ranges as in the code of arXiv:2405.17399).
func (c *Config) passes(step, example int) [maxPasses]pass {
	list := [maxPasses]pass{{c.Times - c.Backprop, c.Backprop}}
	if c.Progressive {
		group := example / c.group()
		src := philox.NewSource(c.Seed, philox.Runs, uint64(step)<<32|uint64(group), 0)
		n := src.Intn(c.Times)
		list[1] = pass{n, 1 + src.Intn(min(c.Times-n, c.Backprop))}
	}
	return list
}

// weight is the factor of a label's loss in the minimized loss, for a batch of so many examples
// and labels. The mean is over the labels of the whole batch. The sum is divided by the rows of
// a batch of longest problems (arXiv:2405.17399's code, loss reduction "none"). In a mean over
// examples, kernels divide by the labels of each example.
func (c *Config) weight(examples, labels int) float64 {
	n := labels
	switch {
	case c.ExampleLoss:
		n = examples
	case c.SumLoss:
		n = examples * c.Rows
	}
	w := 1 / float64(n)
	if c.Throttle {
		w *= c.throttle()
	}
	return w
}

// throttle is (1 + min(R/4, K/2)) / K for R = Times and K = Backprop
// (arXiv:2405.17399's code, training with throttle).
func (c *Config) throttle() float64 {
	r, k := float64(c.Times), float64(c.Backprop)
	return (1 + min(r/4, k/2)) / k
}
