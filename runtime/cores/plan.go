package cores

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/train"
)

// Most is the largest number of cores that is simulated.
const Most = 1 << 12

// A Plan predicts a step on more cores, from steps that were timed piece by piece, in the
// spec's chunks and in others.
type Plan struct {
	Name      string  `json:"name"` // of the model
	Device    string  `json:"device"`
	Processor string  `json:"processor"`
	Threads   int     `json:"threads"` // during timing
	Batch     int     `json:"batch"`
	Gradients int     `json:"gradients"`               // float32 numbers, including padding for alignment
	Copying   float64 `json:"copied_bytes_per_second"` // by all cores; 0: each copies as fast as on the timing machine
	Cores     []int   `json:"cores"`
	Cuts      []Cut   `json:"cuts"` // the first is the spec's
}

// A Cut is a batch in chunks of one size. Times are medians over steps.
type Cut struct {
	Chunk      int      `json:"chunk"`
	MicroBatch int      `json:"micro_batch"`
	Chunks     int      `json:"chunks"`
	Steps      int      `json:"steps"`                  // number of timed steps
	Measured   float64  `json:"measured_step_seconds"`  //
	Draw       float64  `json:"draw_seconds"`           // problems of a step, drawn during the step before
	Here       Result   `json:"simulated_with_threads"` // with as many cores as threads
	Rows       []Result `json:"simulated"`              // on Cores
}

// Others returns smaller chunks than the given one that would keep the cores busy; see
// train.Serving.
func Others(batch, chunk int, cores []int) (all []int) {
	for _, n := range cores {
		size := train.Serving(batch, min(n, batch))
		if size < chunk && !slices.Contains(all, size) {
			all = append(all, size)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// Add adds a cut with its timed steps.
func (p *Plan) Add(c Cut, steps []Step) {
	steady(steps)
	c.Draw = steps[0].Draw
	c.Steps, c.Here = len(steps), Median(steps, p.Threads, p.Copying)
	for _, n := range p.Cores {
		c.Rows = append(c.Rows, Median(steps, n, p.Copying))
	}
	p.Cuts = append(p.Cuts, c)
}

// String is the plan for people.
func (p *Plan) String() string {
	var b strings.Builder
	c := &p.Cuts[0]
	fmt.Fprintf(&b, "%s on more cores: simulated, from steps timed on %s (%s)\n", p.Name, p.Device, p.Processor)
	fmt.Fprintf(&b, "step  %d examples in %d chunks of %d, so work for %d cores at most; micro-batches of %d\n", p.Batch, c.Chunks, c.Chunk, c.Chunks, c.MicroBatch)
	fmt.Fprintf(&b, "here  %s ms measured (median of %d), %s ms simulated with as many cores as threads;\n      problems of the next step are drawn beside it, in %s ms\n\n", ms(c.Measured), c.Steps, ms(c.Here.Seconds), ms(c.Draw))
	rows := [][]string{heads()}
	for i := range c.Rows {
		rows = append(rows, c.Rows[i].cells())
	}
	table(&b, rows, len(columns)-1)
	b.WriteString("\nTimes are ms. Chunks: until the last one is done. Sums: the additions that are left then. Idle is a share of all cores' time.\n" +
		"Left out: caches and memory that cores share")
	if p.Copying > 0 {
		b.WriteString(" while they compute gradients")
	}
	b.WriteString(", distant memory, clocks that fall when all cores work.\nA step takes at least that long.\n")
	p.others(&b)
	for i := range p.Cores {
		b.WriteString(p.advice(i))
	}
	return b.String()
}

// columns are the columns of the table, each with a head.
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

func heads() (all []string) {
	for _, c := range columns {
		all = append(all, c.head)
	}
	return all
}

func (r *Result) cells() (all []string) {
	for _, c := range columns {
		all = append(all, c.cell(r))
	}
	return all
}

// table prints rows, heads first. The first columns, as many as numbers says, are
// right-aligned.
func table(b *strings.Builder, rows [][]string, numbers int) {
	for _, row := range rows {
		for i, text := range row {
			width := 0
			for _, r := range rows {
				if i < numbers {
					width = max(width, len(r[i]))
				}
			}
			if i > 0 {
				b.WriteString("  ")
			}
			fmt.Fprintf(b, "%*s", width, text)
		}
		b.WriteByte('\n')
	}
}

// why names the main reason of idle time.
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

// others shows the steps with other chunks.
func (p *Plan) others(b *strings.Builder) {
	if len(p.Cuts) == 1 {
		return
	}
	b.WriteString("\nSteps in other chunks, ms, timed here and simulated. The chunk size is part of the spec, because it sets the order of sums: results differ in their last bits.\n\n")
	rows := [][]string{{"train.chunk", "chunks", "micro-batch", "measured"}}
	for _, n := range p.Cores {
		rows[0] = append(rows[0], strings.Replace(fmt.Sprintf("on %d cores", n), " 1 cores", " 1 core", 1))
	}
	for _, c := range p.Cuts {
		row := []string{fmt.Sprint(c.Chunk), fmt.Sprint(c.Chunks), fmt.Sprint(c.MicroBatch), ms(c.Measured)}
		for _, r := range c.Rows {
			row = append(row, ms(r.Seconds))
		}
		rows = append(rows, row)
	}
	table(b, rows, len(rows[0]))
	b.WriteByte('\n')
}

// nearly is the speed-up that makes smaller chunks worth it.
const nearly = 1.05

// advice suggests a chunk size for more cores than chunks: the largest one that is nearly the
// fastest.
func (p *Plan) advice(row int) string {
	n, now := p.Cores[row], &p.Cuts[0]
	if n <= now.Chunks {
		return ""
	}
	text := fmt.Sprintf("%d cores: %d chunks are too few", n, now.Chunks)
	best := now
	for i := range p.Cuts {
		if c := &p.Cuts[i]; c.Rows[row].Seconds < best.Rows[row].Seconds/nearly {
			best = c
		}
	}
	if best != now {
		text += fmt.Sprintf("; train.chunk = %d gives %d, and %s ms a step instead of %s", best.Chunk, best.Chunks, ms(best.Rows[row].Seconds), ms(now.Rows[row].Seconds))
	}
	if n > p.Batch {
		text += fmt.Sprintf("; a batch of %d examples has work for %d cores at most, so make train.batch larger", p.Batch, p.Batch)
	}
	return text + ".\n"
}

// ms prints milliseconds to three digits.
func ms(seconds float64) string {
	switch x := 1000 * seconds; {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	default:
		return fmt.Sprintf("%.3g", x)
	}
}
