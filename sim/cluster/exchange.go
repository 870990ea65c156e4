package cluster

import (
	"iter"
	"slices"

	"github.com/arithlang/mlc/runtime/device"
)

// A Sum describes gradients to be added; every rank gets the same sum.
type Sum struct {
	Elements int // float32 numbers in each gradient
	Chunks   int // number of gradients added, at least one a rank
}

// nodes returns how many nodes of the tree cover the chunks of ranks lo … hi-1.
func (s Sum) nodes(lo, hi, ranks int) int {
	first, _ := device.Deal(s.Chunks, lo, ranks)
	_, end := device.Deal(s.Chunks, hi-1, ranks)
	return len(device.Nodes(first, end))
}

// Parts are the parts of an addition of gradients, in seconds.
type Parts struct {
	Exchange float64 // exchange of all ranks' nodes, slice by slice
	Sum      float64 // sum of the exchanged slices
	Gather   float64 // gathering of the summed slices
	Sent     int64   // bytes, for the rank that sends most
}

func (p Parts) seconds() float64 { return p.Exchange + p.Sum + p.Gather }

// A team is ranks first, first+step, …, which add something together, each one slice of it.
type team struct{ first, step, size int }

func (t team) rank(number int) int { return t.first + number*t.step }
func (t team) number(rank int) int { return (rank - t.first) / t.step }

// The teams of a rank: all ranks, the ranks of its machine, and the ranks that own the same slice
// of their machines' nodes.
func (c *Cluster) all(int) team          { return team{0, 1, c.GPUs} }
func (c *Cluster) machine(rank int) team { return team{rank - rank%c.PerMachine, 1, c.PerMachine} }
func (c *Cluster) across(rank int) team {
	return team{rank % c.PerMachine, c.PerMachine, c.GPUs / c.PerMachine}
}

// A round is one exchange within each team.
type round struct {
	team     func(rank int) team
	elements func(rank int) int // that the team adds
	nodes    []int              // number of nodes of each rank
}

// exchange sends each other rank of the team its slice of each node.
func (r round) exchange(ranks int) iter.Seq[Message] {
	return r.messages(ranks, func(from, to int) (times, slice int) { return r.nodes[from], to })
}

// gather sends the summed slice to each other rank of the team.
func (r round) gather(ranks int) iter.Seq[Message] {
	return r.messages(ranks, func(from, to int) (times, slice int) { return 1, r.team(from).number(from) })
}

// messages asks says for the message of each rank to each other number in its team. A rank begins
// with its successor and ends with its predecessor, so that no two send to the same rank at a
// time.
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

// direct returns the round of all ranks.
func (c *Cluster) direct(s Sum) round {
	nodes := make([]int, c.GPUs)
	for rank := range nodes {
		nodes[rank] = s.nodes(rank, rank+1, c.GPUs)
	}
	return round{c.all, func(int) int { return s.Elements }, nodes}
}

// Direct returns the parts of a direct exchange. Each rank sends every other rank that rank's
// slice of each of its nodes. It adds its own slice, and gets the slices that the others have
// added.
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

// rounds returns the rounds within machines and across machines.
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

// Hierarchical returns the parts of an exchange in two levels. The ranks of a machine first add
// their nodes to the machine's nodes, slice by slice. Then each rank exchanges its slice with the
// ranks of the same slice in other machines. It returns false if machines have different numbers
// of GPUs, or if there is only one machine.
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

// Ring returns the seconds of an all-reduce in rings, one through the network port of each GPU of
// a machine. It takes 2(P-1) steps. Two of them leave each machine (P. Patarasuk, X. Yuan,
// "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations", 2009; latencies as NCCL
// adds them in src/graph/tuning.cc). Its order of sums depends on the number of ranks, so this
// project cannot use it.
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
		fewest := c.GPUs - (machines-1)*c.PerMachine // in the last machine
		moved = max(moved, through/float64(fewest)/c.Between.Bandwidth)
	}
	one := func(k Link) float64 { return (k.Latency + k.Overhead).Seconds() }
	return float64(float64(steps-leave)*one(c.Within)) + float64(float64(leave)*one(c.Between)) + moved
}
