package cluster

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/sim/counted"
)

// A Plan is what a step takes on more and more GPUs.
type Plan struct {
	Name       string  `json:"name"` // of the model
	Card       string  `json:"card"`
	PerMachine int     `json:"gpus_per_machine"`
	Within     float64 `json:"within_bytes_per_second"` // a machine, of a GPU in each direction
	Network    string  `json:"network"`
	Between    float64 `json:"between_bytes_per_second"` // machines, of a GPU in each direction
	Batch      int     `json:"batch"`
	Chunk      int     `json:"chunk"`
	Chunks     int     `json:"chunks"`
	Elements   int     `json:"gradients"` // float32 numbers, with what aligns them
	Steps      int     `json:"steps"`     // that were counted
	Rows       []Row   `json:"rows"`
}

// A Row is a step on so many GPUs. Times are seconds.
type Row struct {
	GPUs   int   `json:"gpus"`
	Chunks int   `json:"chunks"`       // of a rank, at most
	Nodes  int   `json:"nodes"`        // of the tree that these are, at most
	Memory int64 `json:"memory_bytes"` // of a GPU, without what others send
	counted.Work

	Exchange float64 `json:"exchange_seconds"`
	Sum      float64 `json:"sum_seconds"`
	Gather   float64 `json:"gather_seconds"`
	Sent     int64   `json:"sent_bytes"` // by the rank that sends the most

	Step       float64 `json:"step_seconds"`
	Efficiency float64 `json:"efficiency"` // against the first row, by GPU

	// The same step otherwise. 0: that is not possible.
	Overlapped   float64 `json:"step_seconds_overlapped"`   // were the whole exchange beside the gradients
	Sharded      float64 `json:"step_seconds_sharded"`      // each rank updates its part, and gathers that of the others
	Hierarchical float64 `json:"step_seconds_hierarchical"` // machines exchange what their ranks have added
	Ring         float64 `json:"step_seconds_ring"`         // if the order of sums were of no account
}

// NewPlan has no rows yet: of a model with so many gradients, on machines like those of a
// cluster, whose network has a name. A step is a batch in chunks, the last of which may be
// smaller.
func NewPlan(name string, on Cluster, network string, batch, chunk, elements int) *Plan {
	return &Plan{Name: name, Card: on.Card.Name, PerMachine: on.PerMachine, Within: on.Within.Bandwidth, Network: network, Between: on.Between.Bandwidth,
		Batch: batch, Chunk: min(chunk, batch), Chunks: (batch + chunk - 1) / chunk, Elements: elements}
}

// MostGPUs are as many as are planned for.
const MostGPUs = 1 << 14

// Count adds the row of a cluster: n steps of a machine that takes the place of machine,
// whose driver d is. The step is one of whoever trains on it.
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

// Add adds the row of a cluster whose ranks have so much to do.
func (p *Plan) Add(c Cluster, w counted.Work, memory int64) {
	s := Sum{Elements: p.Elements, Chunks: p.Chunks}
	r := Row{GPUs: c.GPUs, Work: w, Memory: memory}
	for rank := range c.GPUs {
		lo, hi := device.Deal(p.Chunks, rank, c.GPUs)
		r.Chunks = max(r.Chunks, hi-lo)
		r.Nodes = max(r.Nodes, s.nodes(rank, rank+1, c.GPUs))
	}
	if c.GPUs == 1 {
		r.Nodes = 1 // its own sum
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

// String is the plan for people.
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
Times are ms that it takes at least. Gradients are those of the slowest GPU, and of the mean one; optimizer is the norm of
the gradient and the update. Each GPU sends the slices of its nodes to the GPUs that add them (exchange, sum), and gets
the sums (gather); sent is by the GPU that sends the most. Efficiency is against the first row.
Whole steps otherwise: overlapped, if all of the exchange hid behind the gradients; sharded, with each GPU updating its
part; levels, exchanging within machines first; ring, with an all-reduce that adds in another order on any other number of GPUs.
`

// columns of the table: a head and what stands below it.
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

// table has a line a row.
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

// Markdown is columns of the table for a page, by their heads.
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

// ms prints milliseconds to four digits, nothing for none.
func ms(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g", 1000*seconds)
}
