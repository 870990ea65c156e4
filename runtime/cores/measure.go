package cores

import (
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/train"
)

// plans simulates the step as it is, and in the chunks that would serve as many cores.
func (f *Flags) plans(m *program.Model, on *processor.Machine) (*Plan, error) {
	about := on.About()
	p := &Plan{Name: m.Name, Device: about.String(), Processor: about.Name, Threads: on.Threads(), Batch: m.Train.Batch,
		Gradients: on.Sums().Elements, Copying: f.Copying * 1e9, Cores: f.Cores}
	cuts, err := f.cuts(m, on)
	if err != nil {
		return nil, err
	}
	steps, err := f.howMany(cuts[0].Trainer)
	if err != nil {
		return nil, err
	}
	for _, x := range cuts {
		if err := x.begin(on, steps); err != nil {
			return nil, err
		}
	}
	for range steps { // in turns: what else the machine does is in all of them
		for _, x := range cuts {
			if err := x.step(); err != nil {
				return nil, err
			}
		}
	}
	for _, x := range cuts {
		p.Add(Cut{Chunk: max(x.Config.Chunk, x.Config.MicroBatch), MicroBatch: x.Config.MicroBatch, Chunks: x.Config.Chunks(), Measured: middle(x.took).Seconds()}, x.steps)
	}
	return p, nil
}

// cuts are the training as it is, and in the chunks that would serve as many cores.
func (f *Flags) cuts(m *program.Model, on *processor.Machine) ([]*cut, error) {
	c := m.Train
	sizes := append([]int{0}, Others(c.Batch, max(c.Chunk, c.MicroBatch), f.Cores)...) // 0: its own
	var cuts []*cut
	for _, size := range sizes {
		t := &train.Trainer{Machine: on, Plan: &m.Plan, Params: m.Params, Config: c, Given: m.Tables()}
		if size > 0 {
			t.Config.Chunk, t.Config.MicroBatch = size, launchOf(&c, size)
		}
		err := t.Prepare(m.Task)
		for range warmSteps {
			if err == nil {
				_, err = timeStep(t)
			}
		}
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, &cut{Trainer: t})
	}
	return cuts, nil
}

// warmSteps are enough for every worker to have all the memory that it needs.
const warmSteps = 2

// timeStep is how long a step takes, at a low rate: there is no warm-up of it.
func timeStep(t *train.Trainer) (time.Duration, error) {
	start := time.Now()
	_, err := t.Step(t.Config.LR / 100)
	return time.Since(start), err
}

// howMany is how many steps are timed: some seconds' worth, unless that is said.
func (f *Flags) howMany(t *train.Trainer) (int, error) {
	if f.Steps > 0 {
		return f.Steps, nil
	}
	took, err := timeStep(t)
	if err != nil {
		return 0, err
	}
	return int(min(max(3*time.Second/took, 3), 100)), nil
}

// launchOf is the micro-batch for chunks of a size: no larger than that of the spec, which is
// what suits the caches.
func launchOf(c *train.Config, chunk int) int {
	whole, n := config.MostLaunch(chunk, c.Group), min(c.MicroBatch, chunk)
	for whole%n != 0 {
		n--
	}
	return n
}

// A cut is a training in chunks of some size, and what was timed of it.
type cut struct {
	*train.Trainer
	watch  pieceWatch
	common Step // what is timed once
	took   []time.Duration
	steps  []Step
}

// begin times what is not of single steps.
func (x *cut) begin(m *processor.Machine, steps int) error {
	draw, err := drawing(x.Trainer, steps)
	n := m.Sums().Elements
	x.common = Step{Draw: draw, Wake: waking(), Add: Stream{Seconds: adding(n), Bytes: float64(3 * bytes * n), Parts: max(1, n/processor.MinRange)}}
	x.watch = pieceWatch{Machine: m, trainer: x.Trainer}
	x.Machine = &x.watch
	return err
}

// step times a step.
func (x *cut) step() error {
	x.watch.step = x.common
	took, err := timeStep(x.Trainer)
	if err != nil {
		return err
	}
	x.watch.step.Rest = max(0, (took - x.watch.known).Seconds())
	x.took, x.steps = append(x.took, took), append(x.steps, x.watch.step)
	return nil
}

// A pieceWatch is a processor that times the pieces of a step.
type pieceWatch struct {
	*processor.Machine
	trainer *train.Trainer
	step    Step
	known   time.Duration // of the step, from Sum to Ranges
	summed  time.Time     // when Sum was through
}

func (w *pieceWatch) Sum(n int, f func(device.Worker, int)) {
	start := time.Now()
	w.Machine.Sum(n, f)
	w.summed = time.Now()
	w.known = w.summed.Sub(start)
	w.step.Chunks = nil
	sums := w.Machine.Sums()
	for _, d := range sums.Took {
		w.step.Chunks = append(w.step.Chunks, d.Seconds())
	}
	if sums.Added > 0 {
		w.step.Add.Seconds = sums.Adding.Seconds() / float64(sums.Added)
	}
}

// Settle comes behind the norm.
func (w *pieceWatch) Settle(e *device.Env, limit float64, after bool) {
	norm := time.Since(w.summed)
	w.step.Norm = norm.Seconds()
	w.known += norm
	w.Machine.Settle(e, limit, after)
}

func (w *pieceWatch) Ranges(n int, f func(w device.Worker, lo, hi int)) {
	var all atomic.Int64
	start := time.Now()
	w.Machine.Ranges(n, func(worker device.Worker, lo, hi int) {
		start := time.Now()
		f(worker, lo, hi)
		all.Add(int64(time.Since(start)))
	})
	w.known += time.Since(start)
	arrays := 3 + 2*len(w.trainer.Plan.States) // parameters and states are read and written, gradients are read
	w.step.Updates = append(w.step.Updates, Stream{Seconds: time.Duration(all.Load()).Seconds(), Bytes: float64(bytes * arrays * n), Parts: w.parts(n)})
}

// parts is how many an update of so many elements has. Matrices are updated whole, one by
// a worker, and come last: their elements are as many as these.
func (w *pieceWatch) parts(n int) int {
	matrices, largest := 0, 0
	for _, p := range w.trainer.Params {
		if p.Matrix {
			matrices, largest = matrices+p.Elems(), max(largest, p.Elems())
		}
	}
	if n == matrices {
		return n / largest
	}
	return max(1, n/processor.MinRange)
}

// drawing is how long the problems of a step take to be drawn.
func drawing(t *train.Trainer, steps int) (float64, error) {
	d := t.Drawer()
	var took []time.Duration
	for i := range max(steps, 3) {
		start := time.Now()
		if _, err := d.Train(int64(i*t.Config.Batch), t.Config.Batch); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	return middle(took).Seconds(), nil
}

// bytes is the size of an element.
const bytes = 4

// middle is the median of times.
func middle(all []time.Duration) time.Duration {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}

// repeats are how often what takes little time is timed.
const repeats = 9

// median is the median time of doing something.
func median(do func()) float64 {
	var took []time.Duration
	for range repeats {
		start := time.Now()
		do()
		took = append(took, time.Since(start))
	}
	return middle(took).Seconds()
}

// adding is how long it takes to add so many elements.
func adding(n int) float64 {
	to, from := make([]float32, n), make([]float32, n)
	return median(func() { cpu.AddTo(to, from) })
}

// waking is how long another thread takes to begin.
func waking() float64 {
	m := processor.New(nil, cpu.Go, 2, &device.Plan{})
	var took []time.Duration
	for range repeats {
		for start := time.Now(); time.Since(start) < 200*time.Microsecond; { // as between two parts of a step
		}
		var here atomic.Int32
		start := time.Now()
		m.Each(2, func(device.Worker, int) {
			for here.Add(1); here.Load() < 2; {
				goruntime.Gosched()
			}
		})
		took = append(took, time.Since(start))
	}
	return slices.Min(took).Seconds()
}
