package count

import (
	"cmp"
	"slices"
	"time"

	"github.com/arithlang/mlc/ptxsim/card"
)

// Counts are the requests that a device received.
type Counts struct {
	Kernels []Kernel // all kernels launched, also by graphs, in the order in which the program asked for the entries

	Direct   int64 // launches of kernels outside graphs
	Replays  int64 // launches of graphs
	Captures int64 // graphs recorded and instantiated
	Misses   int64 // runs of single launches, between two waits or marks, that are long enough for a graph
	Waits    int64 // synchronisations; the device is idle when they end
	Behind   int64 // waits for a mark; the device may still have work queued after it
	Allowed  int64 // calls that raise a kernel's limit of shared memory

	// Copies, including those in graphs. A copy to or from pageable memory is also a wait.
	ToDevice, ToDevicePageable, ToHost, ToHostPageable, Within, Cleared Traffic

	// The amounts at the end, and the largest so far.
	Graphs, MostGraphs int64
	Memory, MostMemory int64 // bytes of the device
	Pinned, MostPinned int64 // bytes of the host

	work
}

// Traffic counts copies of one kind.
type Traffic struct {
	Times int64 `json:"times"`
	Bytes int64 `json:"bytes"`
}

// A Kernel counts all launches of one kernel.
type Kernel struct {
	Name      string
	Own       bool // as its Entry says
	Registers int  // per thread; 0: unknown
	Static    int  // bytes of static shared memory per block
	Tally
}

// A Tally adds up launches.
type Tally struct {
	Launches    int64
	Replicas    int64 // equal parts of the launches: for each grid, its y times its z dimension
	Blocks      int64
	Least, Most int64   // blocks of a launch
	Weighted    float64 // blocks of each launch times its FLOP
	Threads     int     // per block, at most
	Dynamic     int     // bytes of dynamic shared memory per block, at most
	Flops       float64
	Bytes       float64
	Bound       time.Duration // a lower bound on their time, run consecutively
}

// Copy is a kind of copy.
type Copy int

// The kinds of copies: between device and host, with or without pinned memory, or within the
// device.
const (
	ToDevice Copy = iota
	ToDevicePageable
	ToHost
	ToHostPageable
	Within
	Cleared
	numCopies
)

// work is the content of a graph, or all that a device was asked for.
type work struct {
	tallies []Tally // by number of entry
	traffic [numCopies]Traffic
}

func (w *work) move(k Copy, bytes int64) {
	w.traffic[k].Times++
	w.traffic[k].Bytes += bytes
}

// tally returns the tally of an entry.
func (w *work) tally(number int) *Tally {
	for len(w.tallies) <= number {
		w.tallies = append(w.tallies, Tally{})
	}
	return &w.tallies[number]
}

func (w *work) add(o *work) {
	for i := range o.tallies {
		w.tally(i).add(&o.tallies[i])
	}
	for i, t := range o.traffic {
		w.traffic[i].Times += t.Times
		w.traffic[i].Bytes += t.Bytes
	}
}

func (t *Tally) add(o *Tally) {
	if o.Launches == 0 {
		return
	}
	if t.Launches == 0 || o.Least < t.Least {
		t.Least = o.Least
	}
	t.Most, t.Threads, t.Dynamic = max(t.Most, o.Most), max(t.Threads, o.Threads), max(t.Dynamic, o.Dynamic)
	t.Launches += o.Launches
	t.Replicas += o.Replicas
	t.Blocks += o.Blocks
	t.Weighted += o.Weighted
	t.Flops += o.Flops
	t.Bytes += o.Bytes
	t.Bound += o.Bound
}

// A Cost is the work of a launch: FLOP, and bytes of memory read and written.
type Cost struct {
	Flops, Bytes float64
	Narrow       float64 // the part of Flops in products of 16-bit factors
	Split        float64 // the part of Flops in TF32 products on tensor cores
}

// A launch describes one launch.
type launch struct {
	number                            int // of the entry
	blocks, replicas, threads, shared int
	Cost
	overhead time.Duration
}

func (w *work) launch(c *card.Card, l launch) {
	one := Tally{Launches: 1, Replicas: int64(l.replicas), Blocks: int64(l.blocks), Least: int64(l.blocks), Most: int64(l.blocks),
		Weighted: float64(l.blocks) * l.Flops, Threads: l.threads, Dynamic: l.shared, Flops: l.Flops, Bytes: l.Bytes,
		Bound: Bound(c, l.blocks, l.Cost, l.overhead)}
	w.tally(l.number).add(&one)
}

// Bound returns a lower bound on the time of a launch of so many blocks. It is the longest of
// these: the overhead; the FLOP in fp32 and on tensor cores, at the peaks of the multiprocessors
// that the blocks can fill; and the bytes at the memory's bandwidth. It ignores latencies, waits
// within a block, repeated reads, integers and addresses. A launch that reads only from the L2
// cache can be faster than the memory's bandwidth.
func Bound(c *card.Card, blocks int, cost Cost, overhead time.Duration) time.Duration {
	seconds := cost.Bytes / c.Bandwidth
	if computing := Computing(c, cost); computing > 0 {
		share := min(1, float64(blocks)/float64(c.SMs))
		seconds = max(seconds, computing/share)
	}
	return max(overhead, time.Duration(seconds*float64(time.Second)))
}

// Computing returns the seconds that a whole card takes for the FLOP at its peaks. Tensor cores
// and fp32 units work at the same time.
func Computing(c *card.Card, cost Cost) float64 {
	return max((cost.Flops-cost.Narrow-cost.Split)/c.FP32, cost.Narrow/c.BF16+cost.Split/c.TF32)
}

// Counts returns the counts since the device was made, or since the last call of Take.
func (d *Device) Counts() Counts {
	c := d.counts
	for _, e := range d.entries {
		if t := *c.tally(e.number); t.Launches > 0 {
			c.Kernels = append(c.Kernels, Kernel{Name: e.Name(), Own: e.Own, Registers: e.Registers, Static: e.Static(), Tally: t})
		}
	}
	for i, to := range []*Traffic{&c.ToDevice, &c.ToDevicePageable, &c.ToHost, &c.ToHostPageable, &c.Within, &c.Cleared} {
		*to = c.traffic[i]
	}
	c.work = work{}
	return c
}

// Take returns the Counts and resets them.
func (d *Device) Take() Counts {
	c := d.Counts()
	d.counts = Counts{Graphs: c.Graphs, MostGraphs: c.Graphs, Memory: c.Memory, MostMemory: c.Memory, Pinned: c.Pinned, MostPinned: c.Pinned}
	return c
}

// Launched returns how many kernels the device was asked to run.
func (c *Counts) Launched() int64 {
	n := int64(0)
	for i := range c.Kernels {
		n += c.Kernels[i].Launches
	}
	return n
}

// Worst returns the kernels, the longest lower bound first.
func (c *Counts) Worst() []Kernel {
	all := slices.Clone(c.Kernels)
	slices.SortStableFunc(all, func(a, b Kernel) int { return cmp.Compare(b.Bound, a.Bound) })
	return all
}
