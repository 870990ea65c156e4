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

// plans simulates the step with the spec's chunks and with chunks for more cores.
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
	for range steps { // interleaved, so that other work on the machine slows all cuts alike
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

// cuts returns the training with the spec's chunks and with chunks for more cores.
func (f *Flags) cuts(m *program.Model, on *processor.Machine) ([]*cut, error) {
	c := m.Train
	sizes := append([]int{0}, Others(c.Batch, max(c.Chunk, c.MicroBatch), f.Cores)...) // 0: the spec's
	var cuts []*cut
	for _, size := range sizes {
		t := &train.Trainer{Machine: on, Plan: &m.Plan, Params: m.Params, Config: c, Given: m.Tables()}
		if size > 0 {
			t.Config.Chunk, t.Config.MicroBatch = size, launchOf(&c, size)
		}
		err := t.Prepare(m.Task, m.Kit)
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

// warmSteps give every worker all its memory.
const warmSteps = 2

// timeStep measures a step at a low learning rate, since no warm-up precedes it.
func timeStep(t *train.Trainer) (time.Duration, error) {
	start := time.Now()
	_, err := t.Step(t.Config.LR / 100)
	return time.Since(start), err
}

// howMany returns the number of timed steps: the flag's, or a few seconds' worth.
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

// launchOf returns the micro-batch for chunks of a size: at most the spec's, which suits the
// caches.
func launchOf(c *train.Config, chunk int) int {
	whole, n := config.MostLaunch(chunk, c.Group), min(c.MicroBatch, chunk)
	for whole%n != 0 {
		n--
	}
	return n
}

// A cut is a training in chunks of one size, with its times.
type cut struct {
	*train.Trainer
	watch  pieceWatch
	common Step // pieces that are timed once
	took   []time.Duration
	steps  []Step
}

// begin times the pieces that do not vary by step.
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
	known   time.Duration // time of the step from Sum to Ranges
	summed  time.Time     // when Sum returned
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

// Settle follows the computation of the norm.
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
	arrays := 3 + 2*len(w.trainer.Plan.States) // reads and writes parameters and states, reads gradients
	w.step.Updates = append(w.step.Updates, Stream{Seconds: time.Duration(all.Load()).Seconds(), Bytes: float64(bytes * arrays * n), Parts: w.parts(n)})
}

// parts returns how many parts an update of n elements has. Matrices come last, with an update
// of all their elements; one worker updates a whole matrix.
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

// drawing returns the seconds that drawing a step's problems takes.
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

// middle returns the median of times.
func middle(all []time.Duration) time.Duration {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}

// repeats is how often short work is timed.
const repeats = 9

// median returns the median seconds of do.
func median(do func()) float64 {
	var took []time.Duration
	for range repeats {
		start := time.Now()
		do()
		took = append(took, time.Since(start))
	}
	return middle(took).Seconds()
}

// adding returns the seconds of adding n elements.
func adding(n int) float64 {
	to, from := make([]float32, n), make([]float32, n)
	return median(func() { cpu.AddTo(to, from) })
}

// waking returns the seconds until another thread begins.
func waking() float64 {
	m := processor.New(nil, cpu.Go, 2, &device.Plan{})
	var took []time.Duration
	for range repeats {
		for start := time.Now(); time.Since(start) < 200*time.Microsecond; { // a pause as between two parts of a step
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
