package ptxrun

import (
	"runtime"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/sim"
	"github.com/arithlang/mlc/runtime/cuda/simulated"
)

// Simulator opens a simulated device that checks everything, on all cores.
func Simulator() (cuda.Driver, error) {
	return simulated.Open(sim.Options{Workers: runtime.GOMAXPROCS(0)})
}

// GPU opens the GPU of this machine.
func GPU() (cuda.Driver, error) { return libcuda.Open(libcuda.Options{}) }
