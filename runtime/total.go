package runtime

import (
	"math/bits"
	"sync"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// A total sums the gradients of chunks as device.Tree says, so that their sum does not
// depend on the number of workers, nor of ranks. A worker adds what it has when the brother
// is there, and else leaves it behind and goes on with spare memory: it waits only when
// there is none.
type total struct {
	sum     []float32 // of all chunks, in the end
	lo, hi  int       // the chunks of this process
	n       int       // all chunks
	threads int
	f       func(w device.Worker, i int)

	mu    sync.Mutex
	freed sync.Cond     // of spare
	next  int           // the chunk that is taken next
	nodes [][][]float32 // by level and number: sums whose brother is not there yet
	spare [][]float32
	made  int // arrays, sum among them
}

func newTotal(sum []float32, threads int) *total {
	t := &total{sum: sum, threads: threads, made: 1}
	t.freed.L = &t.mu
	return t
}

// arrays is how many arrays of gradients the workers have among them for n chunks. When
// all wait, chunks are added up to at most two nodes of each size, of the tree's left side and
// of its right: with one more somebody goes on.
func arrays(n, first, threads int) int {
	if n == 0 {
		return 1
	}
	nodes := bits.Len(uint(n - 1))
	if first > 0 {
		nodes *= 2
	}
	return max(2*threads, nodes+1)
}

// start prepares for chunks lo … hi-1 of n, of which f leaves the gradients.
func (t *total) start(lo, hi, n int, f func(w device.Worker, i int)) {
	t.f, t.lo, t.hi, t.n, t.next = f, lo, hi, n, lo
	if n == 0 {
		clear(t.sum)
	}
	for ; t.made < arrays(hi-lo, lo, t.threads); t.made++ {
		t.spare = append(t.spare, make([]float32, len(t.sum)))
	}
	for size := 1; size <= n; size *= 2 {
		level := bits.Len(uint(size)) - 1
		if level == len(t.nodes) {
			t.nodes = append(t.nodes, nil)
		}
		if len(t.nodes[level]) < n/size {
			t.nodes[level] = make([][]float32, n/size)
		}
	}
}

// piece leaves the gradients of the next chunk and adds them to their brother's, if that
// is there.
func (t *total) piece(w device.Worker, _ int) {
	worker := w.(*cpuWorker)
	i, grads := t.take()
	worker.Mem.F32[device.Grads] = grads
	clear(grads)
	clear(worker.Mem.F32[device.Uses])
	t.f(w, i)
	worker.Mem.F32[device.Grads] = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(grads, i)
}

// take finds memory for the gradients of the next chunk; those of the first are where the
// sum will be. Chunks are taken in ascending order, so that 0 … i-1 are through when
// chunk i waits and no worker is busy.
func (t *total) take() (i int, grads []float32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next > t.lo && len(t.spare) == 0 {
		t.freed.Wait()
	}
	i = t.next
	t.next++
	if i == t.lo {
		return i, t.sum
	}
	last := len(t.spare) - 1
	grads = t.spare[last]
	t.spare = t.spare[:last]
	return i, grads
}

// leave adds node i of the lowest level to its brother, their sum to its brother, and so
// on, as long as there is one. The caller holds the lock.
func (t *total) leave(grads []float32, i int) {
	for level := 0; ; level++ {
		nodes := t.nodes[level]
		brother := i ^ 1
		if brother >= t.n>>level || nodes[brother] == nil {
			nodes[i] = grads
			return
		}
		left, right := nodes[brother], grads
		if i < brother {
			left, right = right, left
		}
		nodes[brother] = nil
		t.add(left, right)
		grads, i = left, i/2
	}
}

// add adds without the lock, which the caller holds: nobody else knows these nodes.
func (t *total) add(to, from []float32) {
	t.mu.Unlock()
	cpu.AddTo(to, from)
	t.mu.Lock()
	t.spare = append(t.spare, from)
	t.freed.Signal()
}

// finish adds the nodes without a brother, from the right, when all chunks are through.
func (t *total) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	var right []float32
	for level, nodes := range t.nodes {
		last := t.n>>level - 1
		if last < 0 || nodes[last] == nil {
			continue
		}
		if right != nil {
			t.add(nodes[last], right)
		}
		right, nodes[last] = nodes[last], nil
	}
}

// node is the sum of a node of this process that has no brother here.
func (t *total) node(n device.Node) []float32 {
	return t.nodes[bits.TrailingZeros(uint(n.Size))][n.First/n.Size]
}

// release takes nodes for added elsewhere, whose memory is that of the sum, or spare again.
func (t *total) release(nodes []device.Node) {
	for i, n := range nodes {
		if i > 0 {
			t.spare = append(t.spare, t.node(n))
		}
	}
	t.forget(nodes)
}

// forget takes nodes for added.
func (t *total) forget(nodes []device.Node) {
	for _, n := range nodes {
		t.nodes[bits.TrailingZeros(uint(n.Size))][n.First/n.Size] = nil
	}
}
