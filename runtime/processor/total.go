package processor

import (
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/pages"
)

// A total sums the gradients of chunks in the order of treetest.Tree. So the sum does not depend
// on the number of workers or ranks. A worker adds its node to the sibling if that is there.
// Otherwise it leaves the node behind and continues with spare memory; it waits only if no
// memory is spare. After all chunks are taken, the remaining additions wait for all workers,
// which add a range of the elements each. Otherwise the last worker would add alone.
type total struct {
	sum     []float32 // of all chunks, in the end
	uses    int       // elements of a worker's further uses of parameters
	lo, hi  int       // the chunks of this process
	n       int       // all chunks
	threads int
	f       func(w device.Worker, i int)
	rest    rest

	mu    sync.Mutex
	freed sync.Cond     // signals new spare
	next  int           // the next chunk to take
	nodes [][][]float32 // by level and number: sums without their sibling
	spare [][]float32
	made  int // arrays allocated, including sum

	took   []time.Duration // by chunk of this process, in the last sum
	added  int             // arrays added before all chunks were taken
	adding time.Duration   // time of these additions, on all workers
}

func newTotal(sum []float32, uses, threads int) *total {
	t := &total{sum: sum, uses: uses, threads: threads, made: 1}
	t.freed.L = &t.mu
	return t
}

// Arrays returns how many arrays of gradients the workers share for n chunks from the given
// first one. If all workers waited, at most two nodes of each size would be waiting, one left
// and one right in the tree. One array more lets a worker continue. A chunk needs at most one
// array.
func Arrays(n, first, threads int) int {
	if n == 0 {
		return 1
	}
	nodes := bits.Len(uint(n - 1))
	if first > 0 {
		nodes *= 2
	}
	return min(n, max(2*threads, nodes+1))
}

// start prepares for chunks lo … hi-1 of n, whose gradients f computes.
func (t *total) start(lo, hi, n int, f func(w device.Worker, i int)) {
	t.f, t.lo, t.hi, t.n, t.next = f, lo, hi, n, lo
	t.took, t.added, t.adding = grown(t.took, hi-lo), 0, 0
	if n == 0 {
		clear(t.sum)
	}
	for ; t.made < Arrays(hi-lo, lo, t.threads); t.made++ {
		t.spare = append(t.spare, pages.Floats(len(t.sum)))
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

// piece computes the gradients of the next chunk and adds them to the sibling's, if that is
// there.
func (t *total) piece(w device.Worker, _ int) {
	mem := &w.(*worker).Mem
	i, grads := t.take()
	start := time.Now()
	mem.F32[device.Grads], mem.F32[device.Uses] = grads, grown(mem.F32[device.Uses], t.uses) // a worker without a chunk needs none
	clear(grads)
	clear(mem.F32[device.Uses])
	t.f(w, i)
	mem.F32[device.Grads] = nil
	t.took[i-t.lo] = time.Since(start)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(grads, i)
}

// take returns the next chunk and memory for its gradients; the first chunk uses the memory of
// the sum. Chunks are taken in ascending order. So if chunk i waits and no worker is busy,
// chunks lo … i-1 are done.
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

// leave adds node i of the lowest level to its sibling, their sum to its sibling, and so on. It
// stops at a missing sibling, or when no chunk is left to take. The caller holds the lock.
func (t *total) leave(grads []float32, i int) {
	for level := 0; ; level++ {
		nodes := t.nodes[level]
		brother := i ^ 1
		if t.next == t.hi || brother >= t.n>>level || nodes[brother] == nil {
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

// add releases the caller's lock while it adds: no other worker knows these nodes.
func (t *total) add(to, from []float32) {
	t.mu.Unlock()
	start := time.Now()
	cpu.AddTo(to, from)
	took := time.Since(start)
	t.mu.Lock()
	t.added++
	t.adding += took
	t.spare = append(t.spare, from)
	t.freed.Signal()
}

// A rest holds the additions that remain when all chunks are done.
type rest struct {
	adds  []addition // ordered so that each sum is complete before it is added
	parts int        // parts into which the elements are cut
	stack []device.Node
}

// An addition adds the array from to the array to.
type addition struct{ to, from []float32 }

// finish lists the remaining additions for part: nodes to their siblings. If this process has
// all chunks, nodes without a sibling follow, from the right.
func (t *total) finish(all bool) {
	r := &t.rest
	r.adds, r.stack = r.adds[:0], r.stack[:0]
	for at := t.lo; at < t.hi; {
		n := t.largest(at)
		at += n.Size
		for len(r.stack) > 0 {
			left := r.stack[len(r.stack)-1]
			if left.Size != n.Size || left.First%(2*n.Size) != 0 {
				break
			}
			n = t.join(left, n, 2*n.Size)
			r.stack = r.stack[:len(r.stack)-1]
		}
		r.stack = append(r.stack, n)
	}
	if all {
		for last := len(r.stack) - 1; last > 0; last-- {
			t.join(r.stack[last-1], r.stack[last], r.stack[last-1].Size)
		}
		t.forget(r.stack[:min(1, len(r.stack))])
	}
	r.parts = 0
	if len(r.adds) > 0 {
		r.parts = max(1, len(t.sum)/MinRange)
	}
}

// join lists the addition of a node to its left neighbour, which becomes a node of the given
// size.
func (t *total) join(left, right device.Node, size int) device.Node {
	to, from := t.node(left), t.node(right)
	t.rest.adds = append(t.rest.adds, addition{to, from})
	t.spare = append(t.spare, from)
	t.forget([]device.Node{left, right})
	sum := device.Node{First: left.First, Size: size}
	t.nodes[bits.TrailingZeros(uint(size))][left.First/size] = to
	return sum
}

// largest returns the largest complete node whose first chunk is first.
func (t *total) largest(first int) device.Node {
	for level := len(t.nodes) - 1; level >= 0; level-- {
		n := device.Node{First: first, Size: 1 << level}
		if first%n.Size == 0 && first+n.Size <= t.hi && t.node(n) != nil {
			return n
		}
	}
	panic("BUG: a chunk is through and its gradients are not there")
}

// part adds range i of the elements in all remaining additions.
func (t *total) part(_ device.Worker, i int) {
	n := len(t.sum)
	lo, hi := n*i/t.rest.parts, n*(i+1)/t.rest.parts
	for _, a := range t.rest.adds {
		cpu.AddTo(a.to[lo:hi], a.from[lo:hi])
	}
}

// node returns the sum of a node of this process that waits for its sibling.
func (t *total) node(n device.Node) []float32 {
	return t.nodes[bits.TrailingZeros(uint(n.Size))][n.First/n.Size]
}

// release forgets nodes that were added elsewhere and makes their memory spare, except the
// first one's: it is the sum's.
func (t *total) release(nodes []device.Node) {
	for i, n := range nodes {
		if i > 0 {
			t.spare = append(t.spare, t.node(n))
		}
	}
	t.forget(nodes)
}

// forget removes nodes that were added.
func (t *total) forget(nodes []device.Node) {
	for _, n := range nodes {
		t.nodes[bits.TrailingZeros(uint(n.Size))][n.First/n.Size] = nil
	}
}

// grown returns x extended to length n.
func grown[T any](x []T, n int) []T { return slices.Grow(x, max(0, n-len(x)))[:n] }
