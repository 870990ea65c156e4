package flat

import (
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/lanes"
)

// inLanes returns the pass that turns a kernel into one of n models; it must be possible.
func inLanes(n int) func(k *kernel.Kernel) *kernel.Kernel {
	return func(k *kernel.Kernel) *kernel.Kernel {
		many, err := lanes.Of(k, n)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return many
	}
}
