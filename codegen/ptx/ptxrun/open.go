package ptxrun

import (
	"runtime"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// Simulator opens a simulated device that checks everything, on all cores. It is an sm_90,
// whose bits the kernel interpreter knows of every kernel (ptx.Entry.Fours).
func Simulator() (cuda.Driver, error) {
	return simulated.Open(ptxsim.Options{Arch: 90, Workers: runtime.GOMAXPROCS(0)})
}

// GPU opens the GPU of this machine.
func GPU() (cuda.Driver, error) { return libcuda.Open(libcuda.Options{}) }
