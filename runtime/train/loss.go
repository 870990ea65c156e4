package train

import "github.com/arithlang/mlc/runtime/philox"

// A pass is one way of a group of examples through the model: runs of the
// loop without gradients, then runs with them.
type pass struct{ noGrad, withGrad int }

// maxPasses is how many a group has at most.
const maxPasses = 2

// shares are those of the passes in the loss. A pass with a share of 0 is not made.
func (c *Config) shares() [maxPasses]float64 {
	if !c.Progressive {
		return [maxPasses]float64{1}
	}
	return [maxPasses]float64{1 - c.Alpha, c.Alpha}
}

// passes are those of the group with this example, at a step. For R = Times and K =
// Backprop the first is of full length, with gradients through the last K runs. That
// of a progressive loss is joined by one of n of 0 … R-1 runs without gradient and k
// of 1 … min(R-n, K) with (Bansal et al. 2022, arXiv:2202.05826, section 3.2; the
// ranges are those of the code of arXiv:2405.17399).
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

// weight is the factor of a label's loss in what is minimized, for a batch of so
// many examples and labels. The mean is over the labels of the whole batch, however
// it is cut; the sum is divided by the rows that the batch would have if all
// problems were the longest (arXiv:2405.17399's code, loss reduction "none").
func (c *Config) weight(examples, labels int) float64 {
	n := labels
	if c.SumLoss {
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
