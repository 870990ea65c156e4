package cores

import (
	"fmt"
	"slices"
	"strings"
)

// Most are as many cores as are simulated.
const Most = 1 << 12

// A Plan is what a step takes on more and more cores, by steps that were timed piece by
// piece.
type Plan struct {
	Name       string   `json:"name"` // of the model
	Device     string   `json:"device"`
	Processor  string   `json:"processor"`
	Threads    int      `json:"threads"` // while steps were timed
	Batch      int      `json:"batch"`
	Chunk      int      `json:"chunk"`
	MicroBatch int      `json:"micro_batch"`
	Gradients  int      `json:"gradients"`               // float32 numbers, with what aligns them
	Copying    float64  `json:"copied_bytes_per_second"` // by all cores; 0: each copies as fast as where it was timed
	Timed      int      `json:"timed_steps"`             //
	Measured   float64  `json:"measured_step_seconds"`   // the median of those
	Here       Result   `json:"simulated_with_threads"`  // as many cores as there were threads
	Rows       []Result `json:"cores"`                   // medians over the steps
	Other      []Cut    `json:"other_chunks"`            // smaller ones
	Steps      []Step   `json:"-"`
}

// A Cut is the step with smaller chunks.
type Cut struct {
	Chunk int      `json:"chunk"`
	Rows  []Result `json:"cores"`
}

// chunks is how many a step has with chunks of a size.
func (p *Plan) chunks(size int) int { return (p.Batch + size - 1) / size }

// Simulate fills in the rows, and what smaller chunks would change until all cores have one.
func (p *Plan) Simulate(cores []int) {
	p.Timed = len(p.Steps)
	steady(p.Steps)
	p.Here = Median(p.Steps, p.Threads, p.Copying)
	for _, n := range cores {
		p.Rows = append(p.Rows, Median(p.Steps, n, p.Copying))
	}
	for parts := 2; parts <= p.Chunk && p.chunks(p.Chunk/(parts/2)) < slices.Max(cores); parts *= 2 {
		if p.Chunk%parts != 0 {
			return
		}
		cut := make([]Step, len(p.Steps))
		for i := range p.Steps {
			cut[i] = p.Steps[i].Cut(parts)
		}
		other := Cut{Chunk: p.Chunk / parts}
		for _, n := range cores {
			other.Rows = append(other.Rows, Median(cut, n, p.Copying))
		}
		p.Other = append(p.Other, other)
	}
}

// String is the plan for people.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on more cores: simulated, from steps timed on %s (%s)\n", p.Name, p.Device, p.Processor)
	fmt.Fprintf(&b, "step  %d examples in %d chunks of %d, so work for %d cores at most; a micro-batch is %d\n", p.Batch, p.chunks(p.Chunk), p.Chunk, p.chunks(p.Chunk), p.MicroBatch)
	fmt.Fprintf(&b, "here  %s ms measured (median of %d), %s ms simulated with as many cores as threads\n\n", ms(p.Measured), p.Timed, ms(p.Here.Seconds))
	p.table(&b)
	b.WriteString("\nTimes are ms. Chunks: until the last one is through. Sums: what is left to be added then. Idle is a share of all cores' time.\n" +
		"Left out: caches and memory that cores share")
	if p.Copying > 0 {
		b.WriteString(" while they compute gradients")
	}
	b.WriteString(", distant memory, clocks that fall when all cores work. A step takes that long at least.\n")
	for i := range p.Rows {
		b.WriteString(p.advice(i))
	}
	p.others(&b)
	return b.String()
}

// columns of the table: a head and what stands below it.
var columns = []struct {
	head string
	cell func(r *Result) string
}{
	{"cores", func(r *Result) string { return fmt.Sprint(r.Cores) }},
	{"step", func(r *Result) string { return ms(r.Seconds) }},
	{"speed-up", func(r *Result) string { return fmt.Sprintf("%.1f", r.Speedup) }},
	{"chunks", func(r *Result) string { return ms(r.Chunks) }},
	{"sums", func(r *Result) string { return ms(r.Sums) }},
	{"norm", func(r *Result) string { return ms(r.Norm) }},
	{"update", func(r *Result) string { return ms(r.Update) }},
	{"rest", func(r *Result) string { return ms(r.Rest + r.Draw) }},
	{"idle", func(r *Result) string { return fmt.Sprintf("%.0f %%", 100*r.Idle) }},
	{"mostly", func(r *Result) string { return r.why() }},
}

// table has a line a row.
func (p *Plan) table(b *strings.Builder) {
	for row := -1; row < len(p.Rows); row++ {
		for i, c := range columns {
			text, width := c.head, 8
			if row >= 0 {
				text = c.cell(&p.Rows[row])
			}
			switch {
			case i == 0:
				width = len(c.head)
			case i == len(columns)-1:
				width = 0
			}
			if i > 0 {
				b.WriteString("  ")
			}
			fmt.Fprintf(b, "%*s", width, text)
		}
		b.WriteByte('\n')
	}
}

// why says what most of the idle time is for.
func (r *Result) why() string {
	most, why := 0.005, "-"
	for _, c := range []struct {
		share float64
		why   string
	}{
		{r.Few, "chunks are too few"}, {r.Last, "waiting for the last chunk"}, {r.Alone, "what one core does alone"}, {r.Other, "memory, waking cores"},
	} {
		if c.share > most {
			most, why = c.share, c.why
		}
	}
	return why
}

// advice is for more cores than chunks: the largest chunk that is nearly as fast as any.
func (p *Plan) advice(row int) string {
	r, chunks := &p.Rows[row], p.chunks(p.Chunk)
	if r.Cores <= chunks {
		return ""
	}
	text := fmt.Sprintf("%d cores: %d chunks are too few", r.Cores, chunks)
	best, at := r.Seconds, -1
	for i, c := range p.Other {
		if c.Rows[row].Seconds < best/nearly {
			best, at = c.Rows[row].Seconds, i
		}
	}
	if at >= 0 {
		c := &p.Other[at]
		text += fmt.Sprintf("; train.chunk = %d gives %d, and %.1f times the speed of one core in place of %.1f", c.Chunk, p.chunks(c.Chunk), c.Rows[row].Speedup, r.Speedup)
	}
	if r.Cores > p.Batch {
		text += fmt.Sprintf("; a batch of %d examples has work for %d cores at most, so make train.batch larger", p.Batch, p.Batch)
	}
	return text + ".\n"
}

// nearly is how much faster a step has to be for chunks half as large to be worth it.
const nearly = 1.05

// others are the steps with smaller chunks.
func (p *Plan) others(b *strings.Builder) {
	if len(p.Other) == 0 {
		return
	}
	b.WriteString("\nA step with smaller chunks, ms. They are of the spec, as the order of sums is: results differ in their last bits.\n\n")
	fmt.Fprintf(b, "%11s", "train.chunk")
	for _, r := range p.Rows {
		fmt.Fprintf(b, "  %14s", strings.Replace(fmt.Sprintf("on %d cores", r.Cores), " 1 cores", " 1 core", 1))
	}
	b.WriteByte('\n')
	smaller := false
	for _, c := range append([]Cut{{p.Chunk, p.Rows}}, p.Other...) {
		mark := ""
		if c.Chunk < p.MicroBatch {
			mark, smaller = "*", true
		}
		fmt.Fprintf(b, "%11s", fmt.Sprint(mark, c.Chunk))
		for _, r := range c.Rows {
			fmt.Fprintf(b, "  %14s", ms(r.Seconds))
		}
		b.WriteByte('\n')
	}
	if smaller {
		b.WriteString("* launches are smaller than now, which costs more than this says: time it with --chunk.\n")
	}
}

// Serving is the largest chunk that cuts a batch into equal chunks, as many as there are cores
// at least; 0: there are fewer examples.
func Serving(batch, cores int) int {
	for size := batch / cores; size > 0; size-- {
		if batch%size == 0 {
			return size
		}
	}
	return 0
}

// ms prints milliseconds to three digits.
func ms(seconds float64) string { return fmt.Sprintf("%.3g", 1000*seconds) }
