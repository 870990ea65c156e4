package runtime

import (
	"sync"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// A stopwatch is a Machine that counts and times the launches of another, where they
// are made: with all workers at work and the caches as they are. A GPU does them
// later: of its launches only the number and what they have to do is of use.
type stopwatch struct {
	device.Machine
	kernels []cpu.Kernel

	mu      sync.Mutex
	workers map[device.Worker]*timedWorker
}

func newStopwatch(m device.Machine, kernels []cpu.Kernel) *stopwatch {
	return &stopwatch{Machine: m, kernels: kernels, workers: map[device.Worker]*timedWorker{}}
}

// of is the timed form of a worker.
func (s *stopwatch) of(w device.Worker) *timedWorker {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.workers[w]
	if t == nil {
		t = &timedWorker{Worker: w, kernels: s.kernels, laps: make([]lap, len(s.kernels))}
		t.queue = device.NewQueue(t)
		s.workers[w] = t
	}
	return t
}

func (s *stopwatch) Each(n int, f func(w device.Worker, i int)) {
	s.Machine.Each(n, func(w device.Worker, i int) { f(s.of(w), i) })
}

func (s *stopwatch) Sum(n int, f func(w device.Worker, i int)) {
	s.Machine.Sum(n, func(w device.Worker, i int) { f(s.of(w), i) })
}

func (s *stopwatch) Ranges(n int, f func(w device.Worker, lo, hi int)) {
	s.Machine.Ranges(n, func(w device.Worker, lo, hi int) { f(s.of(w), lo, hi) })
}

func (s *stopwatch) Root() device.Worker { return s.of(s.Machine.Root()) }

// laps are the launches of each kernel on all workers, and the clearing of memory.
func (s *stopwatch) laps() (kernels []lap, clearing lap) {
	kernels = make([]lap, len(s.kernels))
	for _, w := range s.workers {
		for i, l := range w.laps {
			kernels[i].add(l)
		}
		clearing.add(w.clearing)
	}
	return kernels, clearing
}

// A lap is what launches took, and had to do.
type lap struct {
	launches int
	onGPU    int           // of the launches, those that are left on a GPU
	time     time.Duration // of a worker
	cpu.Cost
}

func (l *lap) add(o lap) {
	l.launches += o.launches
	l.time += o.time
	l.Flops += o.Flops
	l.Bytes += o.Bytes
}

type timedWorker struct {
	device.Worker
	queue    device.Queue
	kernels  []cpu.Kernel
	laps     []lap
	clearing lap
}

func (w *timedWorker) Queue() device.Queue { return w.queue }

func (w *timedWorker) Launch(kernel int, e *device.Env, args ...device.Ref) {
	start := time.Now()
	w.Worker.Launch(kernel, e, args...)
	l := lap{launches: 1, time: time.Since(start)}
	if cost := w.kernels[kernel].Cost; cost != nil {
		l.Cost = cost(e)
	}
	w.laps[kernel].add(l)
}

func (w *timedWorker) Zero(r device.Ref, n int) {
	const elemBytes = 4
	start := time.Now()
	w.Worker.Zero(r, n)
	w.clearing.add(lap{launches: 1, time: time.Since(start), Cost: cpu.Cost{Bytes: float64(elemBytes * n)}})
}
