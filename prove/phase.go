package prove

import (
	"context"
	"runtime"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/card"
	"github.com/arithlang/mlc/runtime/cuda/count"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/sim"
	"github.com/arithlang/mlc/runtime/cuda/simulated"
)

// A phase is one row of the table of what is proved.
type phase struct {
	name string
	doc  string
	// share of the budget, in units of all shares that are left.
	share float64
	// parts names what is done, each in a process of its own; or says why there is
	// nothing to do on a device.
	parts func(e *Env) (names []string, why string)
	// computes says that the phase is of use only on a device that computes.
	computes bool
	// run does a part, whose name it finds there, and notes what it finds. Where the
	// context ends it may return with what it has; otherwise it is left, and that is
	// lost. Its error is what kept it from going on.
	run func(ctx context.Context, e *Env, p *Part) error
	// beside says that nothing is proven by the phase: where its first part is skipped
	// there is nothing to do, and what there is no time for is left out.
	beside bool
	// env is added to the environment of the process.
	env []string
}

// ranksPhase has parts that start others of their own phase.
const ranksPhase = "ranks"

// phases is the table, in the order of running.
func phases() []phase {
	return []phase{
		{"machine", "card, driver, and time to load modules", 0.10,
			machineParts, false, runMachine, false, []string{"CUDA_CACHE_DISABLE=1"}}, // or only the first loading compiles
		{"kernels", "every kernel of the specs against the kernel interpreter, bit for bit", 0.45,
			kernelParts, true, runKernels, false, nil},
		{"steps", "three training steps of five specs against the processor", 0.15,
			stepParts, false, runSteps, false, nil},
		{"probes", "best performance of the device: arithmetic, tensor cores, copies, latencies", 0.05,
			probeParts, true, runProbe, false, nil},
		{"fragments", "single instructions on thousands of inputs: recorded, and compared with the simulator", 0.10,
			fragmentParts, true, runFragments, false, nil},
		{"timed", "every kernel of five models at training shapes, timed by the device", 0.12,
			timedParts, false, runTimed, false, nil},
		{ranksPhase, "three training steps by two ranks on one GPU against the processor, if NCCL is installed", 0.10,
			rankParts, true, runRanks, false, []string{"NCCL_MULTI_RANK_GPU_ENABLE=1"}}, // or NCCL refuses
		{"peers", "training steps of mlc and PyTorch in turn, if Python with torch is installed", 0.20,
			peerParts, true, runPeers, true, nil},
		{"tools", "reports of compute-sanitizer, ncu and nsys, if installed", 0.10,
			toolParts, false, runTool, false, nil},
	}
}

// Phases gives name and one sentence of each phase, in their order.
func Phases() (rows [][2]string) {
	for _, p := range phases() {
		rows = append(rows, [2]string{p.name, p.doc})
	}
	return rows
}

// An Env is what a part has to work with.
type Env struct {
	Device string // cuda, sim or count
	Seed   uint64 // of what is drawn

	reduced bool     // small sizes on a fast device, too
	command []string // starts a process that calls Child
	meet    string   // where rank 0 waits for this process; "": it is no rank 1

	dir    string                      // where a part leaves what later ones read
	open   func() (cuda.Driver, error) // instead of the device; for tests
	ptx    func(text []byte) []byte    // what becomes of kernels before they are loaded; for tests
	hash   func(want string) string    // what becomes of the processor's hashes; for tests
	models []model                     // instead of the table; for tests

	multiplier func(d cuda.Driver) cuda.Multiplier // instead of NVIDIA's library; for tests
}

// Open opens the device.
func (e *Env) Open() (cuda.Driver, error) {
	switch {
	case e.open != nil:
		return e.open()
	case e.Device == "sim":
		return simulated.Open(sim.Options{Workers: runtime.GOMAXPROCS(0), Seed: e.Seed})
	case e.counts():
		c, err := card.Find(counted)
		if err != nil {
			return nil, err
		}
		return count.Open(count.Options{Card: c})
	}
	return libcuda.Open(libcuda.Options{})
}

// counted is the card that the device plays which only counts.
const counted = "H200"

// counts says that the device computes nothing.
func (e *Env) counts() bool { return e.Device == "count" }

// Reduced says that the device is slow, and sizes are to be small.
func (e *Env) Reduced() bool { return e.reduced || e.Device != "cuda" }
