package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/device/treetest"
	"github.com/arithlang/mlc/sim/cluster"
)

// A recording holds the messages of each exchange.
type recording struct {
	sync.Mutex
	rounds [][]cluster.Message
}

// A rank adds gradients with others and records what it sends.
type rank struct {
	comm.World
	*recording
	c     cluster.Cluster
	s     cluster.Sum
	calls int
}

func (r *rank) exchange(send, receive []comm.Part) error {
	r.Lock()
	for len(r.rounds) <= r.calls {
		r.rounds = append(r.rounds, nil)
	}
	for _, p := range send {
		r.rounds[r.calls] = append(r.rounds[r.calls], cluster.Message{From: r.Rank(), To: p.Rank, Bytes: int64(len(p.Data))})
	}
	r.Unlock()
	r.calls++
	return r.Exchange(send, receive)
}

// A sum is the gradients of a node of the tree, added up.
type sum struct {
	device.Node
	data []float32
}

func add(to, from []float32) {
	for i := range to {
		to[i] += from[i]
	}
}

// gradient returns the gradient of a chunk.
func gradient(chunk, elements int) []float32 {
	random := rand.New(rand.NewPCG(1, uint64(chunk)))
	data := make([]float32, elements)
	for i := range data {
		data[i] = random.Float32() - 0.5
	}
	return data
}

// tree adds chunks lo … hi-1 in the tree's order.
func tree(lo, hi, elements int) []float32 {
	all := make([][]float32, hi-lo)
	for i := range all {
		all[i] = gradient(lo+i, elements)
	}
	for to, from := range treetest.Tree(len(all)) {
		add(all[to], all[from])
	}
	return all[0]
}

// nodes returns the nodes of ranks lo … hi-1.
func (r *rank) nodes(lo, hi int) []device.Node {
	first, _ := device.Deal(r.s.Chunks, lo, r.Size())
	_, end := device.Deal(r.s.Chunks, hi-1, r.Size())
	return device.Nodes(first, end)
}

// slice returns one slice of several. Slices begin where tensors may begin.
func slice(data []float32, number, of int) []float32 {
	bound := func(number int) int {
		if at := device.Aligned(len(data) * number / of); number < of && at < len(data) {
			return at
		}
		return len(data)
	}
	return data[bound(number):bound(number+1)]
}

// scatter gives each rank of a team its slice of all nodes: its own nodes and the nodes that the
// others send.
func (r *rank) scatter(team []int, mine []sum, has func(rank int) []device.Node) ([]sum, error) {
	self := slices.Index(team, r.Rank())
	var all []sum
	var send, receive []comm.Part
	for number, peer := range team {
		if peer == r.Rank() {
			for _, m := range mine {
				all = append(all, sum{m.Node, slices.Clone(slice(m.data, self, len(team)))})
			}
			continue
		}
		for _, m := range mine {
			send = append(send, comm.Part{Rank: peer, Data: comm.Bytes(slice(m.data, number, len(team)))})
		}
		for _, n := range has(peer) {
			one := sum{n, make([]float32, len(slice(mine[0].data, self, len(team))))}
			all, receive = append(all, one), append(receive, comm.Part{Rank: peer, Data: comm.Bytes(one.data)})
		}
	}
	return all, r.exchange(send, receive)
}

// gather joins the slices of a team.
func (r *rank) gather(team []int, mine []float32, elements int) ([]float32, error) {
	whole := make([]float32, elements)
	var send, receive []comm.Part
	for number, peer := range team {
		if peer == r.Rank() {
			copy(slice(whole, number, len(team)), mine)
			continue
		}
		send = append(send, comm.Part{Rank: peer, Data: comm.Bytes(mine)})
		receive = append(receive, comm.Part{Rank: peer, Data: comm.Bytes(slice(whole, number, len(team)))})
	}
	return whole, r.exchange(send, receive)
}

// merged adds all nodes.
func merged(all []sum) []float32 {
	nodes := make([]device.Node, len(all))
	for i := range all {
		nodes[i] = all[i].Node
	}
	for to, from := range device.Merge(nodes) {
		add(all[to].data, all[from].data)
	}
	return all[0].data
}

// brothers adds nodes while two are halves of another.
func brothers(all []sum) (out []sum) {
	for _, n := range all {
		out = append(out, n)
		for len(out) > 1 {
			l, r := out[len(out)-2], out[len(out)-1]
			if l.Size != r.Size || l.First%(2*l.Size) != 0 || l.First+l.Size != r.First {
				break
			}
			add(l.data, r.data)
			out = append(out[:len(out)-2], sum{device.Node{First: l.First, Size: 2 * l.Size}, l.data})
		}
	}
	return out
}

// team returns ranks lo, lo+step … below hi.
func team(lo, hi, step int) (all []int) {
	for rank := lo; rank < hi; rank += step {
		all = append(all, rank)
	}
	return all
}

// sums returns the nodes that the rank adds by itself.
func (r *rank) sums() (mine []sum) {
	for _, n := range r.nodes(r.Rank(), r.Rank()+1) {
		mine = append(mine, sum{n, tree(n.First, n.First+n.Size, r.s.Elements)})
	}
	return mine
}

func (r *rank) direct() ([]float32, error) {
	all := team(0, r.Size(), 1)
	nodes, err := r.scatter(all, r.sums(), func(peer int) []device.Node { return r.nodes(peer, peer+1) })
	if err != nil {
		return nil, err
	}
	return r.gather(all, merged(nodes), r.s.Elements)
}

func (r *rank) levels() ([]float32, error) {
	first := r.Rank() - r.Rank()%r.c.PerMachine
	machine := team(first, first+r.c.PerMachine, 1)
	across := team(r.Rank()-first, r.Size(), r.c.PerMachine)
	of := func(peer int) []device.Node {
		first := peer - peer%r.c.PerMachine
		return r.nodes(first, first+r.c.PerMachine)
	}
	inside, err := r.scatter(machine, r.sums(), func(peer int) []device.Node { return r.nodes(peer, peer+1) })
	if err != nil {
		return nil, err
	}
	ours := brothers(inside)
	for i, n := range of(r.Rank()) {
		if len(ours) != len(of(r.Rank())) || ours[i].Node != n {
			return nil, fmt.Errorf("machine of rank %d has %v, want %v", r.Rank(), ours, of(r.Rank()))
		}
	}
	width := len(ours[0].data)
	nodes, err := r.scatter(across, ours, of)
	if err != nil {
		return nil, err
	}
	part, err := r.gather(across, merged(nodes), width)
	if err != nil {
		return nil, err
	}
	return r.gather(machine, part, r.s.Elements)
}

// play adds gradients by a protocol, checks the sums and returns the messages.
func play(t *testing.T, c cluster.Cluster, s cluster.Sum, protocol func(r *rank) ([]float32, error)) [][]cluster.Message {
	t.Helper()
	want, record := tree(0, s.Chunks, s.Elements), &recording{}
	for i, err := range commtest.Run(c.GPUs, commtest.Faults{}, func(w comm.World) error {
		got, err := protocol(&rank{World: w, recording: record, c: c, s: s})
		if err == nil && !slices.Equal(got, want) {
			return fmt.Errorf("another sum than the tree's")
		}
		return err
	}) {
		if err != nil {
			t.Fatalf("%d GPUs, %d a machine, %d chunks, rank %d: %v", c.GPUs, c.PerMachine, s.Chunks, i, err)
		}
	}
	return record.rounds
}
