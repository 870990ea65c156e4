package cluster

import (
	"iter"
	"slices"

	"github.com/arithlang/mlc/runtime/device"
)

// A Sum is gradients that are to be added, the same sum on every rank.
type Sum struct {
	Elements int // float32 numbers of each
	Chunks   int // whose gradients are added: at least one a rank
}

// nodes is how many nodes of the tree cover the chunks of ranks lo … hi-1.
func (s Sum) nodes(lo, hi, ranks int) int {
	first, _ := device.Deal(s.Chunks, lo, ranks)
	_, end := device.Deal(s.Chunks, hi-1, ranks)
	return len(device.Nodes(first, end))
}

// Parts are what it takes to add gradients, in seconds.
type Parts struct {
	Exchange float64 // of the nodes of all ranks, slice by slice
	Sum      float64 // of these
	Gather   float64 // of the slices, added up
	Sent     int64   // bytes, by the rank that sends the most
}

func (p Parts) seconds() float64 { return p.Exchange + p.Sum + p.Gather }

// A team is ranks that add something together, each a slice of it: from first on, a step
// apart.
type team struct{ first, step, size int }

func (t team) rank(number int) int { return t.first + number*t.step }
func (t team) number(rank int) int { return (rank - t.first) / t.step }

// The teams of a rank: all ranks; those of its machine; those that have the same slice of
// their machines' nodes.
func (c *Cluster) all(int) team          { return team{0, 1, c.GPUs} }
func (c *Cluster) machine(rank int) team { return team{rank - rank%c.PerMachine, 1, c.PerMachine} }
func (c *Cluster) across(rank int) team {
	return team{rank % c.PerMachine, c.PerMachine, c.GPUs / c.PerMachine}
}

// A round is what each rank says to the others of its team.
type round struct {
	team     func(rank int) team
	elements func(rank int) int // of what the team adds
	nodes    []int              // that each rank has of it
}

// exchange has a message for each node of a rank and each other rank: the slice that this
// one adds.
func (r round) exchange(ranks int) iter.Seq[Message] {
	return r.messages(ranks, func(from, to int) (times, slice int) { return r.nodes[from], to })
}

// gather has a message for each other rank: the slice that was added.
func (r round) gather(ranks int) iter.Seq[Message] {
	return r.messages(ranks, func(from, to int) (times, slice int) { return 1, r.team(from).number(from) })
}

// messages calls says with each rank, and the number of each other one in its team: first
// the next one, last the one before, so that no two send to the same at a time.
func (r round) messages(ranks int, says func(from, to int) (times, slice int)) iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for from := range ranks {
			t := r.team(from)
			for i := 1; i < t.size; i++ {
				to := (t.number(from) + i) % t.size
				times, slice := says(from, to)
				m := Message{from, t.rank(to), wordBytes * int64(part(r.elements(from), slice, t.size))}
				for range times {
					if !yield(m) {
						return
					}
				}
			}
		}
	}
}

// direct is the round of all ranks.
func (c *Cluster) direct(s Sum) round {
	nodes := make([]int, c.GPUs)
	for rank := range nodes {
		nodes[rank] = s.nodes(rank, rank+1, c.GPUs)
	}
	return round{c.all, func(int) int { return s.Elements }, nodes}
}

// Direct is the exchange in which each rank sends to each other the slice that this one
// adds, of each of its nodes, and gets the slices that the others have added.
func (c *Cluster) Direct(s Sum) (p Parts) {
	if c.GPUs == 1 {
		return p
	}
	r, total := c.direct(s), 0
	for _, n := range r.nodes {
		total += n
	}
	p.Sum = c.add(total-1, part(s.Elements, 0, c.GPUs))
	sent := make([]int64, c.GPUs)
	p.Exchange = c.pass(r.exchange(c.GPUs), sent)
	p.Gather = c.pass(r.gather(c.GPUs), sent)
	p.Sent = slices.Max(sent)
	return p
}

// rounds are those within machines, and across them.
func (c *Cluster) rounds(s Sum) (inside, across round) {
	inside = c.direct(s)
	inside.team = c.machine
	nodes := make([]int, c.GPUs)
	for rank := range nodes {
		first := rank - rank%c.PerMachine
		nodes[rank] = s.nodes(first, first+c.PerMachine, c.GPUs)
	}
	return inside, round{c.across, func(rank int) int { return part(s.Elements, rank%c.PerMachine, c.PerMachine) }, nodes}
}

// Hierarchical is the exchange in which the ranks of a machine first add what they have to
// the nodes of the machine, slice by slice; then each exchanges its slice with the ranks of
// that slice in the other machines. It is false where machines have different numbers of
// GPUs, or there is only one.
func (c *Cluster) Hierarchical(s Sum) (p Parts, ok bool) {
	machines := c.Machines()
	if machines == 1 || c.GPUs%c.PerMachine != 0 {
		return p, false
	}
	inside, across := c.rounds(s)
	slice, total := part(s.Elements, 0, c.PerMachine), 0
	for first := 0; first < c.GPUs; first += c.PerMachine {
		places, sums := 0, across.nodes[first]
		for _, n := range inside.nodes[first : first+c.PerMachine] {
			places += n
		}
		p.Sum, total = max(p.Sum, c.add(places-sums, slice)), total+sums
	}
	p.Sum += c.add(total-1, part(slice, 0, machines))
	sent := make([]int64, c.GPUs)
	p.Exchange = c.pass(inside.exchange(c.GPUs), sent) + c.pass(across.exchange(c.GPUs), sent)
	p.Gather = c.pass(across.gather(c.GPUs), sent) + c.pass(inside.gather(c.GPUs), sent)
	p.Sent = slices.Max(sent)
	return p, true
}

// Ring is the seconds of an all-reduce in rings, one through the network of each GPU of a
// machine: 2(P-1) steps, of which two for each machine leave it (P. Patarasuk, X. Yuan,
// "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations", 2009; the
// latencies as NCCL adds them up in src/graph/tuning.cc). It adds in an order that hangs on
// the number of ranks, and so cannot be what this project does.
func (c *Cluster) Ring(s Sum) float64 {
	if c.GPUs == 1 {
		return 0
	}
	steps, leave, moved := 2*(c.GPUs-1), 0, 0.0
	through := 2 * wordBytes * float64(s.Elements) * float64(c.GPUs-1) / float64(c.GPUs)
	if c.PerMachine > 1 {
		moved = through / c.Within.Bandwidth
	}
	if machines := c.Machines(); machines > 1 {
		leave = min(2*machines, steps)
		fewest := c.GPUs - (machines-1)*c.PerMachine // of the last machine
		moved = max(moved, through/float64(fewest)/c.Between.Bandwidth)
	}
	one := func(k Link) float64 { return (k.Latency + k.Overhead).Seconds() }
	return float64(float64(steps-leave)*one(c.Within)) + float64(float64(leave)*one(c.Between)) + moved
}
