package runtime

import (
	"bufio"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/pages"
)

// cpuMachine is the processor as a device.Machine: a worker a thread.
type cpuMachine struct {
	isa     cpu.ISA
	own     *pool        // workers with gradients of their own
	shared  *pool        // workers whose gradients are the sum
	weights *cpu.Weights // of own workers
	total   *total
	ranges  ranges
	ranks   *exchange // with other processes; nil: there are none
	err     error     // the first that went wrong with them

	piece, rest, part func(w device.Worker, i int) // methods of total and ranges, kept as functions: a step allocates nothing
}

// NewCPU returns the processor as a machine for a model's kernels, with the arenas of
// its plan. Main does this by itself; it is for programs that run a
// model from their own code.
func NewCPU(kernels []cpu.Kernel, isa cpu.ISA, threads int, plan *device.Plan) device.Machine {
	return newCPU(kernels, isa, threads, plan)
}

func newCPU(kernels []cpu.Kernel, isa cpu.ISA, threads int, plan *device.Plan) *cpuMachine {
	return newLanes(kernels, 0, isa, threads, plan)
}

// newLanes is the machine of kernels of several models, or of one if lanes is 0.
func newLanes(kernels []cpu.Kernel, lanes int, isa cpu.ISA, threads int, plan *device.Plan) *cpuMachine {
	var common cpu.Memory
	models := max(lanes, 1)
	common.F32[device.Each] = make([]float32, lanes)
	arena := func() []float32 { return pages.Floats(plan.NumParams * models) }
	common.F32[device.Params], common.F32[device.Grads] = arena(), arena()
	for i := range plan.States {
		common.F32[device.State:][i] = arena()
	}
	own := make([]*cpuWorker, threads)
	shared := make([]*cpuWorker, threads)
	weights := &cpu.Weights{}
	for i := range own {
		shared[i] = newCPUWorker(kernels, lanes, isa, common)
		mem := common
		mem.F32[device.Grads] = nil // total gives gradients
		own[i] = newCPUWorker(kernels, lanes, isa, mem)
		own[i].Weights = weights
	}
	m := &cpuMachine{isa: isa, own: newPool(own), shared: newPool(shared), weights: weights, total: newTotal(common.F32[device.Grads], plan.NumUses*models, threads)}
	m.piece, m.rest, m.part = m.total.piece, m.total.part, m.ranges.part
	return m
}

func (m *cpuMachine) About() device.About {
	how := fmt.Sprintf("%s, %d threads", m.isa, len(m.own.workers))
	return device.About{Device: "cpu", Name: processor(), How: strings.Replace(how, " 1 threads", " 1 thread", 1), Schedules: m.isa.String()}
}

func (m *cpuMachine) Each(n int, f func(w device.Worker, i int)) {
	m.weights.Renew()
	m.own.run(n, f)
}

// Repeats is false: a processor starts a kernel in no time.
func (m *cpuMachine) Repeats() bool { return false }

// Examples is the least: what a kernel leaves is in the cache for the next.
func (m *cpuMachine) Examples(least, _ int, _ func(int) float64) int { return least }

func (m *cpuMachine) Sum(n int, f func(w device.Worker, i int)) {
	lo, hi := 0, n
	if m.ranks != nil {
		lo, hi = device.Deal(n, m.ranks.world.Rank(), m.ranks.world.Size())
	}
	m.total.start(lo, hi, n, f)
	m.weights.Renew()
	m.own.run(hi-lo, m.piece)
	m.total.finish(m.ranks == nil)
	m.shared.run(m.total.rest.parts, m.rest)
	if m.ranks != nil && m.err == nil {
		m.err = m.ranks.finish(m.total, m.shared)
	}
}

// join makes Sum that of the chunks of all ranks of a world.
func (m *cpuMachine) join(w comm.World) { m.ranks = newExchange(w, len(m.total.sum)) }

func (m *cpuMachine) Ranges(n int, f func(w device.Worker, lo, hi int)) {
	m.ranges = ranges{n: n, parts: max(1, min(len(m.shared.workers), n/minRange)), f: f}
	m.shared.run(m.ranges.parts, m.part)
}

// minRange is the least work that is worth waking another thread for.
const minRange = 1 << 14

// ranges cuts 0 … n-1 into parts.
type ranges struct {
	n, parts int
	f        func(w device.Worker, lo, hi int)
}

func (r *ranges) part(w device.Worker, i int) { r.f(w, r.n*i/r.parts, r.n*(i+1)/r.parts) }

func (m *cpuMachine) Root() device.Worker { return m.shared.workers[0] }

// Settle knows the outcome of every step, for each of several models.
func (m *cpuMachine) Settle(e *device.Env, limit float64, _ bool) {
	mem := &m.shared.workers[0].Mem
	e.Clip = device.Clip(limit, mem.F32[device.Work][0])
	for lane := range mem.F32[device.Each] {
		mem.F32[device.Each][lane] = device.Clip(limit, mem.F32[device.Work][lane])
	}
}

// Later is at once.
func (m *cpuMachine) Later(work, done func()) error {
	work()
	done()
	return nil
}

// Err is of other processes: nothing can go wrong on the processor.
func (m *cpuMachine) Err() error { return m.err }

// cpuWorker is a cpu.Worker as a device.Worker: its memory is the host's.
type cpuWorker struct {
	*cpu.Worker
	queue device.Queue
	env   device.Env
}

func newCPUWorker(kernels []cpu.Kernel, lanes int, isa cpu.ISA, mem cpu.Memory) *cpuWorker {
	w := cpu.NewWorker(kernels, isa, mem)
	w.Lanes = lanes
	return &cpuWorker{Worker: w, queue: device.NewQueue(w)}
}

func (w *cpuWorker) Queue() device.Queue { return w.queue }
func (w *cpuWorker) Env() *device.Env    { return &w.env }

func (w *cpuWorker) Fit(work, ints int) {
	work *= max(w.Lanes, 1)
	if len(w.Mem.F32[device.Work]) < work {
		w.Mem.F32[device.Work] = pages.Floats(work)
	}
	if len(w.Mem.Ints) < ints {
		w.Mem.Ints = make([]int32, ints)
	}
}

func (w *cpuWorker) PutInts(r device.Ref, src []int32)     { copy(w.I32(r), src) }
func (w *cpuWorker) GetInts(dst []int32, r device.Ref)     { copy(dst, w.I32(r)) }
func (w *cpuWorker) PutFloats(r device.Ref, src []float32) { copy(w.F32(r), src) }
func (w *cpuWorker) GetFloats(dst []float32, r device.Ref) { copy(dst, w.F32(r)) }

// processor is the processor's name, or its architecture where that is not told.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return goruntime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "model name"); ok {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return goruntime.GOARCH
}
