package count

import (
	"cmp"
	"slices"
	"time"

	"github.com/arithlang/mlc/ptxsim/card"
)

// Counts are what a device was asked for.
type Counts struct {
	Kernels []Kernel // what was launched, graphs included, in the order in which entries were asked for

	Direct   int64 // launches of kernels that were no part of a graph
	Replays  int64 // launches of graphs
	Captures int64 // graphs that were recorded and instantiated
	Misses   int64 // stretches between two waits or marks that would be worth a graph and were launched one by one
	Waits    int64 // synchronisations: the device has nothing to do when they end
	Behind   int64 // waits for a mark, behind which the device may have more to do
	Allowed  int64 // calls that let a kernel have more shared memory

	// Copies, those of graphs included. A copy of memory that is not pinned is a wait too.
	ToDevice, ToDevicePageable, ToHost, ToHostPageable, Within, Cleared Traffic

	// What is there at the end, and was at most.
	Graphs, MostGraphs int64
	Memory, MostMemory int64 // bytes of the device
	Pinned, MostPinned int64 // bytes of the host

	work
}

// Traffic is copies of one kind.
type Traffic struct {
	Times int64 `json:"times"`
	Bytes int64 `json:"bytes"`
}

// A Kernel is all launches of one.
type Kernel struct {
	Name      string
	Own       bool // as its Entry says
	Registers int  // of a thread; 0: not known
	Static    int  // bytes of shared memory of a block, always
	Tally
}

// A Tally is launches added up.
type Tally struct {
	Launches    int64
	Replicas    int64 // equal parts that they consist of: grids are y times z of them
	Blocks      int64
	Least, Most int64   // blocks of a launch
	Weighted    float64 // blocks of each launch times its FLOP
	Threads     int     // of a block, at most
	Dynamic     int     // bytes of shared memory of a block, at most
	Flops       float64
	Bytes       float64
	Bound       time.Duration // that they take at least, one after another
}

// Copy is a kind of copy.
type Copy int

// The kinds: between device and host, with pinned memory or other, or on the device.
const (
	ToDevice Copy = iota
	ToDevicePageable
	ToHost
	ToHostPageable
	Within
	Cleared
	numCopies
)

// work is what a graph may hold.
type work struct {
	tallies []Tally // by number of entry
	traffic [numCopies]Traffic
}

func (w *work) move(k Copy, bytes int64) {
	w.traffic[k].Times++
	w.traffic[k].Bytes += bytes
}

// tally is that of an entry.
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

// A Cost is what a launch has to do: FLOP, and bytes of memory to read and write.
type Cost struct {
	Flops, Bytes float64
	Narrow       float64 // of Flops, those of products of 16-bit factors
	Split        float64 // of Flops, those of products on tensor cores in TF32
}

// A launch is what is known of one.
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

// Bound is no more than a launch of so many blocks takes: the overhead, or the FLOP at
// the peak of fp32, or those of products on tensor cores at their peaks, of as many
// multiprocessors as the blocks can fill, or the bytes at the bandwidth of the memory,
// whichever is longest. It knows nothing of latencies, of waits within a block, of memory
// that is read twice, nor of integers and addresses. Where all that a launch reads lies in
// the second level cache it can be faster than memory.
func Bound(c *card.Card, blocks int, cost Cost, overhead time.Duration) time.Duration {
	seconds := cost.Bytes / c.Bandwidth
	if computing := Computing(c, cost); computing > 0 {
		share := min(1, float64(blocks)/float64(c.SMs))
		seconds = max(seconds, computing/share)
	}
	return max(overhead, time.Duration(seconds*float64(time.Second)))
}

// Computing is how many seconds a whole card takes for the FLOP at its peaks: tensor cores
// work beside what computes in fp32.
func Computing(c *card.Card, cost Cost) float64 {
	return max((cost.Flops-cost.Narrow-cost.Split)/c.FP32, cost.Narrow/c.BF16+cost.Split/c.TF32)
}

// Counts returns what was counted since the device was made or Take was called.
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

// Take returns the Counts, and begins new ones.
func (d *Device) Take() Counts {
	c := d.Counts()
	d.counts = Counts{Graphs: c.Graphs, MostGraphs: c.Graphs, Memory: c.Memory, MostMemory: c.Memory, Pinned: c.Pinned, MostPinned: c.Pinned}
	return c
}

// Launched is how many kernels the device ran.
func (c *Counts) Launched() int64 {
	n := int64(0)
	for i := range c.Kernels {
		n += c.Kernels[i].Launches
	}
	return n
}

// Worst returns the kernels, those first that take longest at least.
func (c *Counts) Worst() []Kernel {
	all := slices.Clone(c.Kernels)
	slices.SortStableFunc(all, func(a, b Kernel) int { return cmp.Compare(b.Bound, a.Bound) })
	return all
}
