package profile

import (
	"sync"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// A Stopwatch is a Machine that counts and times the launches of another Machine. All workers
// are busy, and caches are as in training. A GPU runs launches later, so for a GPU only their
// number and their cost are useful.
type Stopwatch struct {
	device.Machine
	Trace *Trace // records every launch; nil: no trace
	costs []Cost

	mu      sync.Mutex
	workers map[device.Worker]*timedWorker
}

// A Cost returns the work of a kernel's launch; nil if unknown.
type Cost = func(e *device.Env) cpu.Cost

// NewStopwatch wraps m. Costs are the costs of its kernels by number.
func NewStopwatch(m device.Machine, costs []Cost) *Stopwatch {
	return &Stopwatch{Machine: m, costs: costs, workers: map[device.Worker]*timedWorker{}}
}

// of returns the timed form of a worker.
func (s *Stopwatch) of(w device.Worker) *timedWorker {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.workers[w]
	if t == nil {
		t = &timedWorker{Worker: w, costs: s.costs, laps: make([]Lap, len(s.costs)), trace: s.Trace.track("worker", len(s.workers))}
		t.queue = device.NewQueue(t)
		s.workers[w] = t
	}
	return t
}

func (s *Stopwatch) Each(n int, f func(w device.Worker, i int)) {
	s.Machine.Each(n, func(w device.Worker, i int) { f(s.of(w), i) })
}

func (s *Stopwatch) Sum(n int, f func(w device.Worker, i int)) {
	s.Machine.Sum(n, func(w device.Worker, i int) { f(s.of(w), i) })
}

func (s *Stopwatch) Ranges(n int, f func(w device.Worker, lo, hi int)) {
	s.Machine.Ranges(n, func(w device.Worker, lo, hi int) { f(s.of(w), lo, hi) })
}

func (s *Stopwatch) Root() device.Worker { return s.of(s.Machine.Root()) }

// Laps returns the launches of each kernel on all workers, and the clearing and adding of
// memory.
func (s *Stopwatch) Laps() (kernels []Lap, clearing Lap) {
	kernels = make([]Lap, len(s.costs))
	for _, w := range s.workers {
		for i, l := range w.laps {
			kernels[i].add(l)
		}
		clearing.add(w.clearing)
	}
	return kernels, clearing
}

// A Lap sums the time and work of launches.
type Lap struct {
	Launches int           // in the plan
	OnGPU    int           // on the GPU, after combining
	Time     time.Duration // worker time
	Median   time.Duration // of a launch on a GPU
	cpu.Cost
}

func (l *Lap) add(o Lap) {
	l.Launches += o.Launches
	l.Time += o.Time
	l.Cost = l.Cost.Plus(o.Cost)
}

const elemBytes = 4

type timedWorker struct {
	device.Worker
	queue    device.Queue
	costs    []Cost
	laps     []Lap
	clearing Lap
	trace    *track
}

func (w *timedWorker) Queue() device.Queue { return w.queue }

func (w *timedWorker) Launch(kernel int, e *device.Env, args ...device.Ref) {
	w.launch(w.Worker.Launch, kernel, e, args)
}

func (w *timedWorker) Join(kernel int, e *device.Env, args ...device.Ref) {
	w.launch(w.Worker.Join, kernel, e, args)
}

// launch times a launch.
func (w *timedWorker) launch(do func(kernel int, e *device.Env, args ...device.Ref), kernel int, e *device.Env, args []device.Ref) {
	start := time.Now()
	do(kernel, e, args...)
	l := Lap{Launches: 1, Time: time.Since(start)}
	if cost := w.costs[kernel]; cost != nil {
		l.Cost = cost(e)
	}
	w.laps[kernel].add(l)
	w.trace.add(kernel, "", start, l)
}

func (w *timedWorker) Add(to, from device.Ref, n int) {
	start := time.Now()
	w.Worker.Add(to, from, n)
	w.clear("add", start, cpu.Cost{Flops: float64(n), Bytes: float64(3 * elemBytes * n)})
}

func (w *timedWorker) Zero(r device.Ref, n int) {
	start := time.Now()
	w.Worker.Zero(r, n)
	w.clear("clear", start, cpu.Cost{Bytes: float64(elemBytes * n)})
}

// clear records the clearing or adding of memory.
func (w *timedWorker) clear(what string, start time.Time, cost cpu.Cost) {
	l := Lap{Launches: 1, Time: time.Since(start), Cost: cost}
	w.clearing.add(l)
	w.trace.add(-1, what, start, l)
}
