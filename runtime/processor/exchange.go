package processor

import (
	"math"
	"time"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

const elemBytes = 4 // F32

// An exchange sums the chunks of all ranks in the order of treetest.Tree. Each rank receives its
// slice of the nodes of all ranks, adds them, and sends the sum to all.
type exchange struct {
	world  comm.World
	bounds []int // bounds of the slices in elements

	all     []device.Node // nodes of all ranks, in order
	slices  [][]float32   // this rank's slice of each node
	buffer  []float32     // memory for slices from other ranks
	send    []comm.Part
	receive []comm.Part
	bytes   []int // bounds in bytes
	parts   int   // parts of a slice, added in parallel
	part    func(w device.Worker, i int)

	took Times
}

// Times measure sums over ranks since the last reset.
type Times struct {
	Waiting time.Duration // for slower ranks; 0 unless Apart
	Slices  time.Duration // slices of nodes moving to the rank that adds them
	Adding  time.Duration
	Gather  time.Duration // sums moving to all ranks
	Sent    int64         // bytes that this rank sent, slices and sums, to all others
	Apart   bool          // waits for all ranks before each sum, to separate Waiting from Slices
}

// newExchange returns an exchange for sums of n elements.
func newExchange(w comm.World, n int) *exchange {
	e := &exchange{world: w, bounds: make([]int, w.Size()+1), bytes: make([]int, w.Size()+1)}
	for r := range w.Size() {
		e.bounds[r+1] = min(n, device.Aligned(n*(r+1)/w.Size()))
		e.bytes[r+1] = elemBytes * e.bounds[r+1]
	}
	e.bounds[w.Size()], e.bytes[w.Size()] = n, elemBytes*n
	e.part = e.add
	return e
}

// finish adds the chunks of all ranks to t.sum.
func (e *exchange) finish(t *total, p *pool) error {
	if t.n == 0 {
		return nil
	}
	if err := e.wait(); err != nil {
		return err
	}
	own := device.Nodes(t.lo, t.hi)
	defer t.release(own)
	start := time.Now()
	e.layOut(t, own)
	if err := e.world.Exchange(e.send, e.receive); err != nil {
		return err
	}
	e.took.lap(&e.took.Slices, &start)
	me := e.world.Rank()
	n := e.bounds[me+1] - e.bounds[me]
	e.parts = max(1, min(len(p.workers), n/MinRange))
	p.run(e.parts, e.part)
	copy(t.sum[e.bounds[me]:e.bounds[me+1]], e.slices[0])
	e.took.lap(&e.took.Adding, &start)
	err := e.world.Gather(comm.Bytes(t.sum), e.bytes)
	e.took.lap(&e.took.Gather, &start)
	return err
}

func (t *Times) lap(to *time.Duration, start *time.Time) {
	now := time.Now()
	*to += now.Sub(*start)
	*start = now
}

// wait waits for all ranks if Apart is set.
func (e *exchange) wait() error {
	if !e.took.Apart {
		return nil
	}
	start := time.Now()
	err := e.world.Barrier()
	e.took.lap(&e.took.Waiting, &start)
	return err
}

// layOut lists the slices to send, and where slices of other ranks arrive.
func (e *exchange) layOut(t *total, own []device.Node) {
	me, size := e.world.Rank(), e.world.Size()
	e.all, e.slices, e.send, e.receive = e.all[:0], e.slices[:0], e.send[:0], e.receive[:0]
	n := e.bounds[me+1] - e.bounds[me]
	for r := range size {
		e.all = append(e.all, device.Nodes(device.Deal(t.n, r, size))...)
	}
	if need := n * (len(e.all) - len(own)); len(e.buffer) < need {
		e.buffer = make([]float32, need)
	}
	free := e.buffer
	for r := range size {
		for _, node := range device.Nodes(device.Deal(t.n, r, size)) {
			if r == me {
				e.slices = append(e.slices, t.node(node)[e.bounds[me]:e.bounds[me+1]])
				continue
			}
			e.slices, free = append(e.slices, free[:n]), free[n:]
			e.receive = append(e.receive, comm.Part{Rank: r, Data: comm.Bytes(e.slices[len(e.slices)-1])})
		}
	}
	for r := range size {
		for _, node := range own {
			if r == me {
				continue
			}
			data := comm.Bytes(t.node(node)[e.bounds[r]:e.bounds[r+1]])
			e.send = append(e.send, comm.Part{Rank: r, Data: data})
			e.took.Sent += int64(len(data))
		}
	}
	e.took.Sent += int64(size-1) * int64(elemBytes*n)
}

// add adds part i of the slices of all nodes.
func (e *exchange) add(_ device.Worker, i int) {
	n := len(e.slices[0])
	lo, hi := n*i/e.parts, n*(i+1)/e.parts
	for to, from := range device.Merge(e.all) {
		cpu.AddTo(e.slices[to][lo:hi], e.slices[from][lo:hi])
	}
}

// Received returns the most elements that a rank receives at a time from others, for sums of n
// elements over the given number of chunks.
func Received(n float64, chunks, ranks int) float64 {
	if ranks < 2 {
		return 0
	}
	nodes, least := 0, math.MaxInt
	for r := range ranks {
		own := len(device.Nodes(device.Deal(chunks, r, ranks)))
		nodes, least = nodes+own, min(least, own)
	}
	return n / float64(ranks) * float64(nodes-least)
}
