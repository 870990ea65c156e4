package bench

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/profile"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/train"
)

// Result is the result of the verb bench. Times are seconds for one step.
type Result struct {
	Name       string          `json:"name"`
	Device     string          `json:"device"`
	Processor  string          `json:"processor"`
	Threads    int             `json:"threads"`
	Batch      int             `json:"batch"`
	Chunk      int             `json:"chunk"`
	MicroBatch int             `json:"micro_batch"`
	Source     int             `json:"source"`
	Target     int             `json:"target"` // of the longest example
	Rows       float64         `json:"rows"`   // of the mean example, as computed
	Steps      int             `json:"steps"`
	Seconds    float64         `json:"step_seconds"` // 0 if only kernels are timed; the median; on a GPU the mean of steps that are queued ahead, as in training
	Examples   float64         `json:"examples_per_second"`
	Memory     int             `json:"peak_memory_bytes"` // of the process
	Peak       peak            `json:"peak"`
	Levels     []profile.Level `json:"copying,omitempty"`                 // within working sets, on a processor
	Begun      float64         `json:"instructions_per_second,omitempty"` // that a processor's thread can begin
	Timed      float64         `json:"timed_step_seconds"`                // mean of the steps in which kernels were timed; the rows add up to it
	Kernels    []profile.Row   `json:"kernels"`

	GPU   *profile.GPU `json:"gpu,omitempty"`   // nil: not on a GPU
	Ranks *rankTimes   `json:"ranks,omitempty"` // nil: this process is the only one

	trace *profile.Trace // nil: no trace
}

// newBenchResult returns a result with all that is known before timing.
func newBenchResult(m *program.Model, t *train.Trainer, steps int) (*Result, error) {
	about := t.Machine.About()
	shape, err := t.Drawer().Train(0, t.Config.Batch)
	if err != nil {
		return nil, err
	}
	return &Result{Name: m.Name, Device: about.String(), Processor: about.Name, Threads: 1, Steps: steps, Batch: t.Config.Batch,
		Chunk: max(t.Config.Chunk, t.Config.MicroBatch), MicroBatch: t.Config.MicroBatch,
		Source: shape.S, Target: shape.T, Rows: float64(len(shape.Labels)) / float64(shape.B)}, nil
}

// shape describes the size of examples.
func (r *Result) shape() string {
	switch {
	case r.Source > 0:
		return fmt.Sprintf("%d source tokens and %d target rows", r.Source, r.Target)
	case r.Rows == float64(r.Target):
		return fmt.Sprintf("%d rows", r.Target)
	}
	return fmt.Sprintf("%.1f rows, at most %d,", r.Rows, r.Target)
}

const mega, giga, milli = 1 << 20, 1e9, 1e-3

// table is the result for people.
func (r *Result) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s%s (%s)\n", r.Name, r.Ranks.each(), r.Device, r.Processor)
	fmt.Fprintf(&b, "a step of %d examples, %s each, in chunks of %d, micro-batches of %d\n", r.Batch, r.shape(), r.Chunk, r.MicroBatch)
	if r.Seconds > 0 { // or kernels are timed alone
		fmt.Fprintf(&b, "step  %.*f ms (%s of %d), %.0f examples/s, peak memory %d MiB\n", r.decimals()-1, r.Seconds/milli, r.average(), r.Steps, r.Examples, r.Memory/mega)
	}
	if g := r.GPU; g != nil && g.Steps > 0 {
		fmt.Fprintf(&b, "      as in training, where no step waits for the one before; alone %.2f ms by the GPU's clock, %.2f ms by the\n"+
			"      host's, of which the GPU works %.0f %%\n", g.Seconds/milli, g.Host/milli, 100*g.Busy)
		fmt.Fprintf(&b, "      %.0f launches by the plan, %.0f on the GPU, %.0f asked of the driver: a graph is one\n", g.Launches, g.Kernels, g.Driver)
	}
	b.WriteString(r.Ranks.table())
	b.WriteString(r.peak())
	fmt.Fprintf(&b, "rows  of %d %ssteps, %.1f ms each%s\n\n", r.Steps, r.further(), r.Timed/milli, r.marked())
	r.rows(&b)
	if r.GPU != nil && r.GPU.Products != nil {
		b.WriteString("\n" + r.GPU.Products.Table())
	}
	return b.String()
}

// average names the kind of mean for the time of a step.
func (r *Result) average() string {
	if r.GPU != nil {
		return "mean"
	}
	return "median"
}

// further says whether other steps were timed before.
func (r *Result) further() string {
	if r.Seconds > 0 {
		return "further "
	}
	return ""
}

// marked describes how steps differ whose kernels are timed.
func (r *Result) marked() string {
	if r.GPU == nil {
		return ""
	}
	return ": without graphs, each launch timed\n      from the end of what came before to its own"
}

// peak describes the measured peaks.
func (r *Result) peak() string {
	switch p := r.Peak; {
	case p.Bytes == 0:
		return ""
	case r.GPU != nil:
		return fmt.Sprintf("peak  %.1f GFLOP/s, on tensor cores %.1f of bf16 and %.1f of TF32, copying %.1f GB/s, as measured;\n"+
			"      what stays in a cache can be faster than copying\n", p.Flops/giga, p.Narrow/giga, p.TF32/giga, p.Bytes/giga)
	default:
		pairs := ""
		if p.Narrow > 0 {
			pairs = fmt.Sprintf("%.1f of BF16, ", p.Narrow/giga)
		}
		var levels strings.Builder
		for _, l := range r.Levels {
			fmt.Fprintf(&levels, "%.1f within %s, ", l.Bytes/giga, l.Name())
		}
		begun := ""
		if r.Begun > 0 {
			begun = fmt.Sprintf(" in %.1f G instructions/s", r.Begun/giga)
		}
		computing := ""
		if p.Flops > 0 { // plain Go has no measure
			computing = fmt.Sprintf("%.1f GFLOP/s of products, %shalf as many others%s;\n      ", p.Flops/giga, pairs, begun)
		}
		return fmt.Sprintf("peak  %scopying %s%.1f GB/s in memory. All rates are for one thread while all work.\n"+
			"      A kernel is compared with its slowest limit: products, other operations, the front end\n"+
			"      that begins the instructions of these, or copying the bytes that a launch touches\n",
			computing, &levels, p.Bytes/giga)
	}
}

// rows prints the kernels.
func (r *Result) rows(b *strings.Builder) {
	width := 0
	for _, k := range r.Kernels {
		width = max(width, len(k.Name))
	}
	gpu := func(format string, x any) {
		if r.GPU != nil {
			fmt.Fprintf(b, format, x)
		}
	}
	fmt.Fprintf(b, "%-*s %8s", width, "kernel", "launches")
	gpu(" %8s", "on GPU")
	gpu(" %9s", "µs each")
	fmt.Fprintf(b, " %9s %7s %9s %8s %8s\n", "ms a step", "share", "GFLOP/s", "GB/s", "of peak")
	for _, k := range r.Kernels {
		fmt.Fprintf(b, "%-*s %8s", width, k.Name, some(k.Launches))
		gpu(" %8s", some(k.OnGPU))
		gpu(" %9s", microseconds(k.Median))
		fmt.Fprintf(b, " %9.*f %5.1f %%", r.decimals(), k.Seconds/milli, 100*k.Share)
		switch {
		case k.Bound != "":
			fmt.Fprintf(b, " %9.1f %8.1f %6.0f %% %s", k.Flops/giga, k.Bytes/giga, 100*k.OfPeak, k.Bound)
		case k.Bytes > 0:
			fmt.Fprintf(b, " %9.1f %8.1f", k.Flops/giga, k.Bytes/giga)
		}
		b.WriteByte('\n')
	}
}

// decimals is the number of decimals of milliseconds: kernels of a GPU take few microseconds.
func (r *Result) decimals() int {
	if r.GPU != nil {
		return 3
	}
	return 2
}

// microseconds prints a median, or nothing for 0.
func microseconds(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", n)
}

// some prints a number of launches, or nothing for 0.
func some(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", n)
}
