// Package processor implements device.Machine on the processor. Workers take chunks of
// examples, and their gradients are summed in a fixed order, also over ranks. Other machines
// train several models in lanes. It uses the workers of package runtime/cpu and the interfaces
// of runtime/device; package world opens it.
package processor

import (
	"bufio"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/pages"
)

// Machine is the processor as a device.Machine, with one worker a thread.
type Machine struct {
	isa     cpu.ISA
	own     *pool        // workers with private gradients
	shared  *pool        // workers whose gradients are the sum
	weights *cpu.Weights // weights of own's workers, packed
	total   *total
	ranges  ranges
	ranks   *exchange // sums over other processes; nil: a single process
	err     error     // first error of other processes

	piece, rest, part func(w device.Worker, i int) // methods of total and ranges, kept as functions so that a step allocates nothing
}

// New returns a machine for a model's kernels, with the arenas of its plan.
func New(kernels []cpu.Kernel, isa cpu.ISA, threads int, plan *device.Plan) *Machine {
	return NewLanes(kernels, 0, isa, threads, plan)
}

// NewLanes returns a machine for kernels of several models in lanes, or of one model if lanes
// is 0.
func NewLanes(kernels []cpu.Kernel, lanes int, isa cpu.ISA, threads int, plan *device.Plan) *Machine {
	var common cpu.Memory
	models := max(lanes, 1)
	common.F32[device.Each] = make([]float32, lanes)
	arena := func() []float32 { return pages.Floats(plan.NumParams * models) }
	common.F32[device.Params], common.F32[device.Grads] = arena(), arena()
	for i := range plan.States {
		common.F32[device.State:][i] = arena()
	}
	if plan.Rounds {
		common.Rounded = make([]uint16, plan.NumParams)
	}
	own := make([]*worker, threads)
	shared := make([]*worker, threads)
	weights := &cpu.Weights{}
	for i := range own {
		shared[i] = newWorker(kernels, lanes, isa, common)
		mem := common
		mem.F32[device.Grads] = nil // total assigns gradients
		own[i] = newWorker(kernels, lanes, isa, mem)
		own[i].Weights = weights
	}
	m := &Machine{isa: isa, own: newPool(own), shared: newPool(shared), weights: weights, total: newTotal(common.F32[device.Grads], plan.NumUses*models, threads)}
	m.piece, m.rest, m.part = m.total.piece, m.total.part, m.ranges.part
	return m
}

func (m *Machine) About() device.About {
	how := fmt.Sprintf("%s, %d threads", m.isa, len(m.own.workers))
	return device.About{Device: "cpu", Name: Name(), How: strings.Replace(how, " 1 threads", " 1 thread", 1), Schedules: m.isa.String()}
}

// Threads is the number of workers.
func (m *Machine) Threads() int { return len(m.own.workers) }

// Sums are the pieces of the last sum over chunks.
type Sums struct {
	Elements int             // in one array of gradients
	Took     []time.Duration // by chunk of this process
	Added    int             // arrays added before all chunks were taken
	Adding   time.Duration   // time of these additions, on all workers
}

// Sums returns the pieces of the last sum.
func (m *Machine) Sums() Sums {
	t := m.total
	return Sums{len(t.sum), t.took, t.added, t.adding}
}

// Ranks reports whether other processes take part.
func (m *Machine) Ranks() bool { return m.ranks != nil }

// Time resets Times. Apart is Times.Apart.
func (m *Machine) Time(apart bool) { m.ranks.took = Times{Apart: apart} }

// Times returns the times of sums over ranks since Time.
func (m *Machine) Times() Times { return m.ranks.took }

func (m *Machine) Each(n int, f func(w device.Worker, i int)) {
	m.weights.Renew()
	m.own.run(n, f)
}

// Repeats returns false: launching a kernel costs nothing.
func (m *Machine) Repeats() bool { return false }

// Examples returns the least: small launches leave their results in the cache for the next
// kernel.
func (m *Machine) Examples(least, _ int, _ func(int) float64) int { return least }

func (m *Machine) Sum(n int, f func(w device.Worker, i int)) {
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

// Join makes Sum cover the chunks of all ranks of a world.
func (m *Machine) Join(w comm.World) { m.ranks = newExchange(w, len(m.total.sum)) }

func (m *Machine) Ranges(n int, f func(w device.Worker, lo, hi int)) {
	m.ranges = ranges{n: n, parts: max(1, min(len(m.shared.workers), n/MinRange)), f: f}
	m.shared.run(m.ranges.parts, m.part)
}

// MinRange is the fewest elements that are worth waking another thread.
const MinRange = 1 << 14

// ranges cuts 0 … n-1 into parts.
type ranges struct {
	n, parts int
	f        func(w device.Worker, lo, hi int)
}

func (r *ranges) part(w device.Worker, i int) { r.f(w, r.n*i/r.parts, r.n*(i+1)/r.parts) }

func (m *Machine) Root() device.Worker { return m.shared.workers[0] }

// Settle sets e.Clip, and the clip of each of several models, at once: the processor knows the
// outcome of every step.
func (m *Machine) Settle(e *device.Env, limit float64, _ bool) {
	mem := &m.shared.workers[0].Mem
	e.Clip = device.Clip(limit, mem.F32[device.Work][0])
	for lane := range mem.F32[device.Each] {
		mem.F32[device.Each][lane] = device.Clip(limit, mem.F32[device.Work][lane])
	}
}

// Later runs work and done at once.
func (m *Machine) Later(work, done func()) error {
	work()
	done()
	return nil
}

// Err returns the first error of other processes: nothing can fail on the processor itself.
func (m *Machine) Err() error { return m.err }

// A worker is a cpu.Worker as a device.Worker. Its memory is the host's.
type worker struct {
	*cpu.Worker
	queue device.Queue
	env   device.Env
}

func newWorker(kernels []cpu.Kernel, lanes int, isa cpu.ISA, mem cpu.Memory) *worker {
	w := cpu.NewWorker(kernels, isa, mem)
	w.Lanes = lanes
	return &worker{Worker: w, queue: device.NewQueue(w)}
}

func (w *worker) Queue() device.Queue { return w.queue }
func (w *worker) Env() *device.Env    { return &w.env }

func (w *worker) Fit(work, ints int) {
	work *= max(w.Lanes, 1)
	if len(w.Mem.F32[device.Work]) < work {
		w.Mem.F32[device.Work] = pages.Floats(work)
	}
	if len(w.Mem.Ints) < ints {
		w.Mem.Ints = make([]int32, ints)
	}
}

func (w *worker) PutInts(r device.Ref, src []int32)     { copy(w.I32(r), src) }
func (w *worker) GetInts(dst []int32, r device.Ref)     { copy(dst, w.I32(r)) }
func (w *worker) GetFloats(dst []float32, r device.Ref) { copy(dst, w.F32(r)) }

func (w *worker) PutFloats(r device.Ref, src []float32) { w.Round(r, copy(w.F32(r), src)) }

// Name returns the processor's name, or its architecture if the name is unknown.
func Name() string {
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
