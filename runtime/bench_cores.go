package runtime

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/cores"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/profile"
	"github.com/arithlang/mlc/runtime/train"
)

// coresFlags choose the processors that a step is simulated on.
type coresFlags struct {
	Cores   []int   `help:"Simulate a step on so many cores, from the times of its pieces here: 8,32,128. It says what cores wait for, and which train.chunk has work for them." placeholder:"N,…"`
	Copying float64 `help:"With --cores: GB/s that all cores copy together, read and written. Default: each copies as fast as here." positive:"300" placeholder:"N"`
}

func (f *coresFlags) given() bool { return len(f.Cores) > 0 || f.Copying > 0 }

// check is a mistake in the flags.
func (f *coresFlags) check() error {
	if len(f.Cores) == 0 {
		return usagef("--copying is of the cores that a step is simulated on: say how many, such as --cores 8,32,128")
	}
	for _, n := range f.Cores {
		if n < 1 || n > cores.Most {
			return usagef("--cores %d: want 1 to %d", n, cores.Most)
		}
	}
	return nil
}

// simulate times the pieces of steps, and prints what they come to on other numbers of cores.
func (c *benchCmd) simulate(a app, t *train.Trainer) error {
	m, ok := t.Machine.(*cpuMachine)
	if !ok || m.ranks != nil {
		return usagef("--cores simulates cores of one process: use --device cpu and no ranks")
	}
	p, err := await(a, func() (*cores.Plan, error) { return c.plans(a, t, m) })
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(a, p)
	}
	_, err = fmt.Fprint(a.out, p.String())
	return err
}

// plans simulates the step as it is, and in the chunks that would serve as many cores.
func (c *benchCmd) plans(a app, t *train.Trainer, m *cpuMachine) (*cores.Plan, error) {
	about := m.About()
	p := &cores.Plan{Name: a.model.Name, Device: about.String(), Processor: about.Name, Threads: len(m.own.workers), Batch: t.Config.Batch,
		Gradients: len(m.total.sum), Copying: c.Copying * giga, Cores: c.Cores}
	cuts, err := c.cuts(a, t, m)
	if err != nil {
		return nil, err
	}
	steps, err := c.howMany(t)
	if err != nil {
		return nil, err
	}
	for _, x := range cuts {
		if err := x.begin(m, steps); err != nil {
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
		p.Add(cores.Cut{Chunk: max(x.Config.Chunk, x.Config.MicroBatch), MicroBatch: x.Config.MicroBatch, Chunks: x.Config.Chunks(), Measured: profile.Median(x.took).Seconds()}, x.steps)
	}
	return p, nil
}

// cuts are the training as it is, and in the chunks that would serve as many cores.
func (c *benchCmd) cuts(a app, t *train.Trainer, m *cpuMachine) ([]*cut, error) {
	cuts := []*cut{{Trainer: t}}
	for _, size := range cores.Others(t.Config.Batch, max(t.Config.Chunk, t.Config.MicroBatch), c.Cores) {
		other := a.model
		other.Train.Chunk, other.Train.MicroBatch = size, launchOf(&t.Config, size)
		next, err := c.trainer(&other, m)
		if err == nil {
			_, err = timeSteps(next, warmSteps)
		}
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, &cut{Trainer: next})
	}
	return cuts, nil
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
	common cores.Step // what is timed once
	took   []time.Duration
	steps  []cores.Step
}

// begin times what is not of single steps.
func (x *cut) begin(m *cpuMachine, steps int) error {
	draw, err := drawing(x.Trainer, steps)
	n := len(m.total.sum)
	x.common = cores.Step{Draw: draw, Wake: waking(), Add: cores.Stream{Seconds: adding(n), Bytes: float64(3 * elemBytes * n), Parts: max(1, n/minRange)}}
	x.watch = pieceWatch{cpuMachine: m, trainer: x.Trainer}
	x.Machine = &x.watch
	return err
}

// step times a step.
func (x *cut) step() error {
	x.watch.step = x.common
	took, err := timeSteps(x.Trainer, 1)
	if err != nil {
		return err
	}
	x.watch.step.Rest = max(0, (took[0] - x.watch.known).Seconds())
	x.took, x.steps = append(x.took, took[0]), append(x.steps, x.watch.step)
	return nil
}

// A pieceWatch is a processor that times the pieces of a step.
type pieceWatch struct {
	*cpuMachine
	trainer *train.Trainer
	step    cores.Step
	known   time.Duration // of the step, from Sum to Ranges
	summed  time.Time     // when Sum was through
}

func (w *pieceWatch) Sum(n int, f func(device.Worker, int)) {
	start := time.Now()
	w.cpuMachine.Sum(n, f)
	w.summed = time.Now()
	w.known = w.summed.Sub(start)
	w.step.Chunks = nil
	for _, d := range w.total.took {
		w.step.Chunks = append(w.step.Chunks, d.Seconds())
	}
	if w.total.added > 0 {
		w.step.Add.Seconds = w.total.adding.Seconds() / float64(w.total.added)
	}
}

// Settle comes behind the norm.
func (w *pieceWatch) Settle(e *device.Env, limit float64, after bool) {
	norm := time.Since(w.summed)
	w.step.Norm = norm.Seconds()
	w.known += norm
	w.cpuMachine.Settle(e, limit, after)
}

func (w *pieceWatch) Ranges(n int, f func(w device.Worker, lo, hi int)) {
	var all atomic.Int64
	start := time.Now()
	w.cpuMachine.Ranges(n, func(worker device.Worker, lo, hi int) {
		start := time.Now()
		f(worker, lo, hi)
		all.Add(int64(time.Since(start)))
	})
	w.known += time.Since(start)
	arrays := 3 + 2*len(w.trainer.Plan.States) // parameters and states are read and written, gradients are read
	w.step.Updates = append(w.step.Updates, cores.Stream{Seconds: time.Duration(all.Load()).Seconds(), Bytes: float64(elemBytes * arrays * n), Parts: w.parts(n)})
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
	return max(1, n/minRange)
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
	return profile.Median(took).Seconds(), nil
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
	return profile.Median(took).Seconds()
}

// adding is how long it takes to add so many elements.
func adding(n int) float64 {
	to, from := make([]float32, n), make([]float32, n)
	return median(func() { cpu.AddTo(to, from) })
}

// waking is how long another thread takes to begin.
func waking() float64 {
	p := newPool(make([]*cpuWorker, 2))
	var took []time.Duration
	for range repeats {
		for start := time.Now(); time.Since(start) < 200*time.Microsecond; { // as between two parts of a step
		}
		var here atomic.Int32
		start := time.Now()
		p.run(2, func(device.Worker, int) {
			for here.Add(1); here.Load() < 2; {
				goruntime.Gosched()
			}
		})
		took = append(took, time.Since(start))
	}
	return slices.Min(took).Seconds()
}
