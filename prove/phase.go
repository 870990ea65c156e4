package prove

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/sim/counted"
	"github.com/arithlang/mlc/sim/simulated"
)

// A phase is one row of the table of phases.
type phase struct {
	name string
	doc  string
	// share of the budget, relative to the shares of all remaining phases
	share float64
	// parts names the parts. Each part runs in its own process. If a device has nothing to do, it
	// returns the reason.
	parts func(e *Env) (names []string, why string)
	// computes means that the phase needs a device that computes.
	computes bool
	// run runs the part named p.Name and records its results in p. If the context ends, it may
	// return what it has; if it does not return, the results are lost. Its error is the reason
	// why it could not continue.
	run func(ctx context.Context, e *Env, p *Part) error
	// A phase with beside proves nothing. Unless its first part passes, the others are not run;
	// parts without time are skipped.
	beside bool
	// abreast means that parts may run at the same time, because that does not change what they
	// measure.
	abreast bool
	// needs returns the time that a part needs on a GPU; with less, it is not started.
	needs func(part string) time.Duration
	// env is added to the environment of the process.
	env []string
}

// ranksPhase is a phase whose parts start further parts of it.
const ranksPhase = "ranks"

// todo names the parts for a device. Without parts, it returns the reason.
func (p *phase) todo(device string) (names []string, why string) {
	env := &Env{Device: device}
	if names, why = p.parts(env); why == "" && p.computes && env.counts() {
		return nil, "the device computes nothing, it only counts"
	}
	return names, why
}

// least returns the time that a part needs. On a device that is not a GPU nobody knows how slow
// it is, so parts do what they can.
func (p *phase) least(device, part string) time.Duration {
	if device != "cuda" || p.needs == nil {
		return leastPart
	}
	return p.needs(part)
}

// seconds returns the same need for every part of a phase.
func seconds(n float64) func(string) time.Duration {
	return func(string) time.Duration { return scale(time.Second, n) }
}

// only returns the requested phases of a table, each with its requested parts.
func only(table []phase, device string, asked []string) ([]phase, error) {
	if len(asked) == 0 {
		return table, nil
	}
	var known []string
	for _, p := range table {
		known = append(known, p.name)
	}
	chosen := map[string]func(part string) bool{}
	for _, text := range asked {
		name, pattern, some := strings.Cut(text, ":")
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("no phase %q: phases are %s", name, strings.Join(known, ", "))
		}
		before, matches := chosen[name], regexp.MustCompile("^"+strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")+"$").MatchString
		if !some {
			matches = func(string) bool { return true }
		}
		parts, why := table[i].todo(device)
		if why == "" && !slices.ContainsFunc(parts, matches) {
			return nil, fmt.Errorf("no part %q of the phase %s: parts are %s", pattern, name, strings.Join(parts, ", "))
		}
		chosen[name] = func(part string) bool { return matches(part) || before != nil && before(part) }
	}
	var phases []phase
	for _, p := range table {
		matches, parts := chosen[p.name], p.parts
		if matches == nil {
			continue
		}
		p.parts = func(e *Env) ([]string, string) {
			all, why := parts(e)
			return slices.DeleteFunc(slices.Clone(all), func(part string) bool {
				needed := p.beside && part == all[0] // the other parts need it
				return !needed && !matches(part)
			}), why
		}
		phases = append(phases, p)
	}
	return phases, nil
}

// phases is the table, in the order of running.
func phases() []phase {
	return []phase{
		{name: "machine", doc: "card, driver, and time to load modules", share: 0.12,
			parts: machineParts, run: runMachine, abreast: true, needs: machineNeeds,
			env: []string{"CUDA_CACHE_DISABLE=1"}}, // or only the first load compiles
		{name: "kernels", doc: "every kernel of the specs against the kernel interpreter, bit for bit", share: 0.36,
			parts: kernelParts, computes: true, run: runKernels, abreast: true, needs: seconds(5)},
		{name: "steps", doc: "three training steps of five specs against the processor", share: 0.08,
			parts: stepParts, run: runSteps, abreast: true, needs: seconds(5)},
		{name: "probes", doc: "best performance of the device: arithmetic, tensor cores, copies, latencies", share: 0.04,
			parts: probeParts, computes: true, run: runProbe, needs: seconds(2)},
		{name: "fragments", doc: "single instructions on thousands of inputs: recorded, and compared with the simulator", share: 0.06,
			parts: fragmentParts, computes: true, run: runFragments, abreast: true, needs: seconds(3)},
		{name: "timed", doc: "every kernel of five models at training shapes, timed by the device", share: 0.25,
			parts: timedParts, run: runTimed, needs: seconds(8)},
		{name: ranksPhase, doc: "three training steps by two ranks on one GPU against the processor, if NCCL is installed", share: 0.08,
			parts: rankParts, computes: true, run: runRanks, needs: seconds(8),
			env: []string{"NCCL_MULTI_RANK_GPU_ENABLE=1"}}, // or NCCL refuses
		{name: "peers", doc: "alternating training steps of mlc and PyTorch, if Python with torch is installed", share: 0.45,
			parts: peerParts, computes: true, run: runPeers, beside: true, needs: contestNeeds},
		{name: "tools", doc: "reports of compute-sanitizer, ncu and nsys, if installed", share: 0.12,
			parts: toolParts, run: runTool, needs: toolNeeds},
	}
}

// Phases returns the name and description of each phase, in order.
func Phases(speed bool) (rows [][2]string) {
	for _, p := range (&Options{Speed: speed}).table() {
		rows = append(rows, [2]string{p.name, p.doc})
	}
	return rows
}

// An Env is the environment of a part.
type Env struct {
	Device string // cuda, sim or count
	Seed   uint64 // of random numbers

	reduced bool     // small sizes even on a fast device
	command []string // starts a process that calls Child
	meet    string   // address where rank 0 waits for this process; "" if it is not rank 1

	brief  bool   // as few steps as possible, for a tool that watches
	caches string // archive of PyTorch's compiled code; "" for none

	place  int   // place of the part in its phase
	before []int // places of parts that are running or have passed

	gpus simulated.Library // of simulated devices

	dir    string                      // folder for files that later parts read
	open   func() (cuda.Driver, error) // instead of the device; for tests
	ptx    func(text []byte) []byte    // changes kernels before they are loaded; for tests
	hash   func(want string) string    // changes the processor's hashes; for tests
	models []model                     // instead of the table; for tests

	multiplier func(d cuda.Driver) cuda.Multiplier // instead of NVIDIA's library; for tests
}

// Open opens the device.
func (e *Env) Open() (cuda.Driver, error) {
	switch {
	case e.open != nil:
		return e.open()
	case e.Device == "sim":
		return e.gpus.Open(ptxsim.Options{Workers: runtime.GOMAXPROCS(0), Seed: e.Seed})
	case e.counts():
		c, err := card.Find(countedCard)
		if err != nil {
			return nil, err
		}
		return counted.Open(counted.Options{Card: c})
	}
	return libcuda.Open(libcuda.Options{})
}

// countedCard is the card that the counting device models.
const countedCard = "H200"

// counts reports whether the device only counts.
func (e *Env) counts() bool { return e.Device == "count" }

// Reduced reports whether sizes should be small because the device is slow.
func (e *Env) Reduced() bool { return e.reduced || e.Device != "cuda" }
