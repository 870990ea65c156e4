package flat

import (
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/lanes"
)

// inLanes is the pass that makes of a kernel one of n models, which must be possible.
func inLanes(n int) func(k *kernel.Kernel) *kernel.Kernel {
	return func(k *kernel.Kernel) *kernel.Kernel {
		many, err := lanes.Of(k, n)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return many
	}
}
