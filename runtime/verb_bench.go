package runtime

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/train"
)

// benchCmd is the verb bench.
type benchCmd struct {
	deviceFlags
	countFlags
	Steps  int  `help:"Steps to time or to count, 0 for as many as take some seconds." default:"0" placeholder:"N"`
	Batch  int  `help:"Examples a step, instead of the spec's." positive:"64" placeholder:"N"`
	Padded bool `help:"Pad all sequences to the longest, as train.lengths = padded does."`
	Serve  bool `help:"For each line of standard input, a number, run so many steps and print the seconds that they took."`
	JSON   bool `help:"Print the result as JSON." name:"json"`
}

// benchResult is what the verb bench says. Times are seconds, for one step.
type benchResult struct {
	Name       string        `json:"name"`
	Device     string        `json:"device"`
	Processor  string        `json:"processor"`
	Threads    int           `json:"threads"`
	Batch      int           `json:"batch"`
	Chunk      int           `json:"chunk"`
	MicroBatch int           `json:"micro_batch"`
	Source     int           `json:"source"`
	Target     int           `json:"target"` // of the longest
	Rows       float64       `json:"rows"`   // of the mean example, as it is computed
	Steps      int           `json:"steps"`
	Seconds    float64       `json:"step_seconds"` // the median
	Examples   float64       `json:"examples_per_second"`
	Memory     int           `json:"peak_memory_bytes"`
	Peak       peak          `json:"peak_of_a_thread"`
	Kernels    []kernelBench `json:"kernels"`
}

// kernelBench is the launches of one kernel in a step.
type kernelBench struct {
	Name     string  `json:"name"`
	Launches float64 `json:"launches"`
	Seconds  float64 `json:"seconds"` // of all threads together, divided by their number
	Share    float64 `json:"share"`   // of the step
	Flops    float64 `json:"flops_per_second,omitempty"`
	Bytes    float64 `json:"bytes_per_second,omitempty"`
	OfPeak   float64 `json:"of_peak,omitempty"` // of what bounds it; above 1 where memory is the cache
	Bound    string  `json:"bound,omitempty"`   // compute, memory
}

// warmSteps are enough for every worker to have all the memory that it needs.
const warmSteps = 2

// maxBatch is the most examples of a step, as in the language: train.batch.
const maxBatch = 1 << 20

// Run times training steps on the spec's own shapes.
func (c *benchCmd) Run(a app) error {
	if c.Steps < 0 {
		return usagef("--steps %d must not be negative", c.Steps)
	}
	if c.Batch > maxBatch {
		return usagef("--batch %d: want at most %d examples", c.Batch, maxBatch)
	}
	c.trains = true
	if c.Batch > 0 {
		a.model.Train.Batch = c.Batch
	}
	a.model.Task.Padded = a.model.Task.Padded || c.Padded
	switch {
	case c.Device == countDevice:
		return c.count(a)
	case c.given():
		return usagef("--card and --sms choose what --device count counts for, and the device is %s", c.Device)
	}
	machine, err := c.open(a)
	if err != nil {
		return err
	}
	t, err := await(a, func() (*train.Trainer, error) {
		t, err := c.trainer(&a.model, machine)
		if err == nil {
			_, err = timeSteps(t, warmSteps)
		}
		return t, err
	})
	if err != nil {
		return err
	}
	if c.Serve {
		return serve(a, t)
	}
	r, err := await(a, func() (*benchResult, error) { return c.measure(&a.model, t) })
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(a, r)
	}
	_, err = fmt.Fprint(a.out, r.table())
	return err
}

// trainer is ready for the first step of a run that is not kept.
func (c *benchCmd) trainer(m *Model, machine device.Machine) (*train.Trainer, error) {
	t := c.newTrainer(m, machine)
	return t, t.Prepare(m.Task)
}

// newTrainer has neither a task nor parameters yet.
func (c *benchCmd) newTrainer(m *Model, machine device.Machine) *train.Trainer {
	return &train.Trainer{Machine: machine, Plan: &m.Plan, Params: m.Params, Config: m.Train, Given: m.tables()}
}

// timeSteps runs steps and returns how long each took. They learn slowly: there is
// no warm-up.
func timeSteps(t *train.Trainer, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		if _, err := t.Step(t.Config.LR / 100); err != nil {
			return nil, err
		}
		took[i] = time.Since(start)
	}
	return took, nil
}

// serve answers numbers of steps with seconds until its input ends.
func serve(a app, t *train.Trainer) error {
	lines := bufio.NewScanner(a.in)
	lines.Buffer(nil, longestLine)
	for {
		if more, err := nextLine(a, lines); err != nil || !more {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil || n < 1 {
			return usagef("%.60q is no number of steps", lines.Text())
		}
		start := time.Now()
		if _, err := await(a, func() ([]time.Duration, error) { return timeSteps(t, n) }); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.out, "%.6f\n", time.Since(start).Seconds()); err != nil {
			return err
		}
	}
}

// measure times whole steps, and then the launches of as many.
func (c *benchCmd) measure(m *Model, t *train.Trainer) (*benchResult, error) {
	about := t.Machine.About()
	steps := c.Steps
	if steps == 0 {
		took, err := timeSteps(t, 1)
		if err != nil {
			return nil, err
		}
		steps = int(min(max(3*time.Second/took[0], 3), 100))
	}
	took, err := timeSteps(t, steps)
	if err != nil {
		return nil, err
	}
	watch := newStopwatch(t.Machine, m.CPU)
	t.Machine = watch
	if _, err := timeSteps(t, steps); err != nil {
		return nil, err
	}
	shape, err := t.Task.NewDrawer(t.Config.Group, t.Config.MicroBatch).Train(0, t.Config.Batch)
	if err != nil {
		return nil, err
	}
	slices.Sort(took)
	r := &benchResult{Name: m.Name, Device: about.String(), Processor: about.Name, Threads: 1, Batch: t.Config.Batch,
		Chunk: max(t.Config.Chunk, t.Config.MicroBatch), MicroBatch: t.Config.MicroBatch, Source: shape.S, Target: shape.T, Rows: float64(len(shape.Labels)) / float64(shape.B),
		Steps: steps, Seconds: took[steps/2].Seconds(), Memory: peakMemory()}
	if about.Device == "cpu" {
		isa, threads, err := c.cpu()
		if err != nil {
			return nil, err
		}
		r.Threads, r.Peak = threads, measurePeak(isa, threads)
	}
	r.Examples = float64(r.Batch) / r.Seconds
	r.kernels(m, watch)
	return r, nil
}

// kernels makes the table of kernels, the longest first.
func (r *benchResult) kernels(m *Model, watch *stopwatch) {
	laps, clearing := watch.laps()
	for i, l := range laps {
		if l.launches > 0 {
			r.Kernels = append(r.Kernels, r.kernel(m.CPU[i].Name, l))
		}
	}
	if clearing.launches > 0 {
		r.Kernels = append(r.Kernels, r.kernel(clearingName, clearing))
	}
	slices.SortStableFunc(r.Kernels, func(a, b kernelBench) int { return cmp.Compare(b.Seconds, a.Seconds) })
	rest := kernelBench{Name: "(rest: sums of gradients, problems, waiting)", Seconds: r.Seconds, Share: 1}
	for _, k := range r.Kernels {
		rest.Seconds -= k.Seconds
		rest.Share -= k.Share
	}
	r.Kernels = append(r.Kernels, rest)
}

// clearingName stands for the clearing of memory; of a GPU, also for copies and sums
// of gradients.
const clearingName = "(clearing)"

// kernel is the row of a kernel. What bounds it is what would take longer at the
// peak.
func (r *benchResult) kernel(name string, l lap) kernelBench {
	worker := l.time.Seconds()
	k := kernelBench{Name: name, Launches: float64(l.launches) / float64(r.Steps), Seconds: worker / float64(r.Steps*r.Threads)}
	k.Share = k.Seconds / r.Seconds
	k.Flops, k.Bytes = l.Flops/worker, l.Bytes/worker
	if l.Bytes > 0 && r.Peak.Bytes > 0 {
		k.Bound, k.OfPeak = "memory", k.Bytes/r.Peak.Bytes
	}
	if of := k.Flops / r.Peak.Flops; r.Peak.Flops > 0 && of > k.OfPeak {
		k.Bound, k.OfPeak = "compute", of
	}
	return k
}

// shape says how large the examples are.
func (r *benchResult) shape() string {
	switch {
	case r.Source > 0:
		return fmt.Sprintf("%d source tokens and %d target rows", r.Source, r.Target)
	case r.Rows == float64(r.Target):
		return fmt.Sprintf("%d rows", r.Target)
	}
	return fmt.Sprintf("%.1f rows, at most %d,", r.Rows, r.Target)
}

// table is the result for people.
func (r *benchResult) table() string {
	const mega, giga = 1 << 20, 1e9
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s (%s)\n", r.Name, r.Device, r.Processor)
	fmt.Fprintf(&b, "a step of %d examples, %s each, in chunks of %d, micro-batches of %d\n", r.Batch, r.shape(), r.Chunk, r.MicroBatch)
	fmt.Fprintf(&b, "step  %.1f ms (median of %d), %.0f examples/s, peak memory %d MiB\n", 1000*r.Seconds, r.Steps, r.Examples, r.Memory/mega)
	if r.Peak.Bytes > 0 {
		fmt.Fprintf(&b, "peak  %.1f GFLOP/s, copying %.1f GB/s: of each thread while all work, as are the rates below;\n"+
			"      what stays in a cache can be faster than copying\n", r.Peak.Flops/giga, r.Peak.Bytes/giga)
	} else {
		fmt.Fprintf(&b, "      times of kernels are of each launch alone, with the way to the GPU and back\n")
	}
	b.WriteByte('\n')
	width := 0
	for _, k := range r.Kernels {
		width = max(width, len(k.Name))
	}
	fmt.Fprintf(&b, "%-*s %8s %9s %7s %9s %8s %8s\n", width, "kernel", "launches", "ms a step", "share", "GFLOP/s", "GB/s", "of peak")
	for _, k := range r.Kernels {
		fmt.Fprintf(&b, "%-*s", width, k.Name)
		if k.Launches == 0 {
			fmt.Fprintf(&b, " %8s %9.2f %5.1f %%\n", "", 1000*k.Seconds, 100*k.Share)
			continue
		}
		fmt.Fprintf(&b, " %8.0f %9.2f %5.1f %%", k.Launches, 1000*k.Seconds, 100*k.Share)
		switch {
		case k.Bound != "":
			fmt.Fprintf(&b, " %9.1f %8.1f %6.0f %% %s", k.Flops/giga, k.Bytes/giga, 100*k.OfPeak, k.Bound)
		case k.Bytes > 0:
			fmt.Fprintf(&b, " %9.1f %8.1f", k.Flops/giga, k.Bytes/giga)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
