package cluster

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/sim/counted"
)

// A Plan forecasts a step on growing numbers of GPUs.
type Plan struct {
	Name       string  `json:"name"` // of the model
	Card       string  `json:"card"`
	PerMachine int     `json:"gpus_per_machine"`
	Within     float64 `json:"within_bytes_per_second"` // bytes/s within a machine, of each GPU in each direction
	Network    string  `json:"network"`
	Between    float64 `json:"between_bytes_per_second"` // bytes/s between machines, of each GPU in each direction
	Batch      int     `json:"batch"`
	Chunk      int     `json:"chunk"`
	Chunks     int     `json:"chunks"`
	Elements   int     `json:"gradients"` // float32 numbers, with padding for alignment
	Steps      int     `json:"steps"`     // number of steps counted
	Rows       []Row   `json:"rows"`
}

// A Row is a step on so many GPUs. Times are seconds.
type Row struct {
	GPUs   int   `json:"gpus"`
	Chunks int   `json:"chunks"`       // chunks of a rank, at most
	Nodes  int   `json:"nodes"`        // nodes of the tree, in a rank's chunks, at most
	Memory int64 `json:"memory_bytes"` // memory of a GPU, without receive buffers
	counted.Work

	Exchange float64 `json:"exchange_seconds"`
	Sum      float64 `json:"sum_seconds"`
	Gather   float64 `json:"gather_seconds"`
	Sent     int64   `json:"sent_bytes"` // for the rank that sends most

	Step       float64 `json:"step_seconds"`
	Efficiency float64 `json:"efficiency"` // per GPU, relative to the first row

	// The same step under other schemes. 0 means not possible.
	Overlapped   float64 `json:"step_seconds_overlapped"`   // if the whole exchange overlapped the gradients
	Sharded      float64 `json:"step_seconds_sharded"`      // each rank updates its part and gathers the other parts
	Hierarchical float64 `json:"step_seconds_hierarchical"` // machines exchange the sums of their ranks
	Ring         float64 `json:"step_seconds_ring"`         // if the order of sums did not matter
}

// NewPlan returns a plan without rows, for a model with so many float32 gradients (elements). The
// machines are like on's, and their network has the given name. A step is a batch in chunks; the
// last chunk may be smaller.
func NewPlan(name string, on Cluster, network string, batch, chunk, elements int) *Plan {
	return &Plan{Name: name, Card: on.Card.Name, PerMachine: on.PerMachine, Within: on.Within.Bandwidth, Network: network, Between: on.Between.Bandwidth,
		Batch: batch, Chunk: min(chunk, batch), Chunks: (batch + chunk - 1) / chunk, Elements: elements}
}

// MostGPUs is the largest number of GPUs that a plan takes.
const MostGPUs = 1 << 14

// Count adds the row of cluster c. It counts n steps on a machine that replaces machine, whose
// driver is d; on returns the training step for that machine.
func (p *Plan) Count(c Cluster, n int, d *counted.Driver, machine device.Machine, on func(m device.Machine) (step func() error, err error)) error {
	ranks := d.Ranks(machine, c.GPUs)
	step, err := on(ranks)
	if err != nil {
		return err
	}
	w, err := ranks.Work(n, step)
	if err != nil {
		return err
	}
	p.Steps = n
	p.Add(c, w, d.Counts().MostMemory)
	return nil
}

// Add adds the row of a cluster whose ranks do the work w and need so many bytes of memory.
func (p *Plan) Add(c Cluster, w counted.Work, memory int64) {
	s := Sum{Elements: p.Elements, Chunks: p.Chunks}
	r := Row{GPUs: c.GPUs, Work: w, Memory: memory}
	for rank := range c.GPUs {
		lo, hi := device.Deal(p.Chunks, rank, c.GPUs)
		r.Chunks = max(r.Chunks, hi-lo)
		r.Nodes = max(r.Nodes, s.nodes(rank, rank+1, c.GPUs))
	}
	if c.GPUs == 1 {
		r.Nodes = 1 // the sum of all its chunks
	}
	parts := c.Direct(s)
	alone := w.Gradients + w.Norm + w.Update
	r.Exchange, r.Sum, r.Gather, r.Sent = parts.Exchange, parts.Sum, parts.Gather, parts.Sent
	r.Step = alone + parts.seconds()
	r.Overlapped = max(w.Gradients, parts.seconds()) + w.Norm + w.Update
	r.Ring = alone + c.Ring(s)
	r.Sharded = w.Gradients + parts.seconds() + w.Norm + c.share(w.Update) + parts.Gather
	if h, ok := c.Hierarchical(s); ok {
		r.Hierarchical = alone + h.seconds()
	}
	p.Rows = append(p.Rows, r)
	first := p.Rows[0]
	p.Rows[len(p.Rows)-1].Efficiency = first.Step * float64(first.GPUs) / (r.Step * float64(r.GPUs))
}

// String formats the plan as text.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on cards %s, %d a machine: counted, not measured\n", p.Name, p.Card, p.PerMachine)
	fmt.Fprintf(&b, "step     %d examples in %d chunks of %d, so at most %d GPUs; gradients %s\n", p.Batch, p.Chunks, p.Chunk, p.Chunks, cuda.Bytes(wordBytes*int64(p.Elements)))
	fmt.Fprintf(&b, "links    %.4g GB/s within a machine, %.4g GB/s between machines (%s), of each GPU in each direction\n\n", p.Within/1e9, p.Between/1e9, p.Network)
	p.table(&b)
	b.WriteString(planNotes)
	return b.String()
}

const planNotes = `
Times are lower bounds in ms. Gradients is the time of the slowest GPU, mean the average over GPUs; optimizer is the norm of
the gradient plus the update. Each GPU sends the slices of its nodes to the GPUs that add them (exchange, sum) and gets
the sums (gather); sent is of the GPU that sends most. Efficiency is relative to the first row.
Steps under other schemes: overlapped, if the whole exchange overlapped the gradients; sharded, if each GPU updated its
part; levels, if machines exchanged internally first; ring, if an all-reduce whose order of sums depends on the number of GPUs were used.
`

// columns are the columns of the table: a head and the text of a cell.
var columns = []struct {
	head string
	cell func(r *Row) string
}{
	{"GPUs", func(r *Row) string { return fmt.Sprint(r.GPUs) }},
	{"chunks", func(r *Row) string { return fmt.Sprint(r.Chunks) }},
	{"nodes", func(r *Row) string { return fmt.Sprint(r.Nodes) }},
	{"memory", func(r *Row) string { return cuda.Bytes(r.Memory) }},
	{"sent", func(r *Row) string { return cuda.Bytes(r.Sent) }},
	{"gradients", func(r *Row) string { return ms(r.Gradients) }},
	{"mean", func(r *Row) string { return ms(r.Mean) }},
	{"exchange", func(r *Row) string { return ms(r.Exchange) }},
	{"sum", func(r *Row) string { return ms(r.Sum) }},
	{"gather", func(r *Row) string { return ms(r.Gather) }},
	{"optimizer", func(r *Row) string { return ms(r.Norm + r.Update) }},
	{"step", func(r *Row) string { return ms(r.Step) }},
	{"efficiency", func(r *Row) string { return fmt.Sprintf("%.1f %%", 100*r.Efficiency) }},
	{"overlapped", func(r *Row) string { return ms(r.Overlapped) }},
	{"sharded", func(r *Row) string { return ms(r.Sharded) }},
	{"levels", func(r *Row) string { return ms(r.Hierarchical) }},
	{"ring", func(r *Row) string { return ms(r.Ring) }},
}

// table writes a line of heads and a line a row.
func (p *Plan) table(b *strings.Builder) {
	for row := -1; row < len(p.Rows); row++ {
		for i, c := range columns {
			text, width := c.head, max(len(c.head), 10)
			if i < 3 {
				width = len(c.head)
			}
			if row >= 0 {
				text = c.cell(&p.Rows[row])
			}
			if i > 0 {
				b.WriteString("  ")
			}
			fmt.Fprintf(b, "%*s", width, text)
		}
		b.WriteByte('\n')
	}
}

// Markdown returns the columns with these heads as a Markdown table.
func (p *Plan) Markdown(heads ...string) string {
	var b, line strings.Builder
	for _, head := range heads {
		fmt.Fprintf(&b, "| %s ", head)
		line.WriteString("|---:")
	}
	fmt.Fprintf(&b, "|\n%s|\n", line.String())
	for i := range p.Rows {
		for _, head := range heads {
			for _, c := range columns {
				if c.head == head {
					fmt.Fprintf(&b, "| %s ", c.cell(&p.Rows[i]))
				}
			}
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// ms formats seconds as milliseconds with four digits, and 0 as "-".
func ms(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g", 1000*seconds)
}
