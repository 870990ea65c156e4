package cores

import "container/heap"

// A queue simulates a step until all chunks are done. A free core takes the next chunk. Then it
// adds the gradients of the sibling, if they are there and chunks are left to take, like total
// in package processor.
type queue struct {
	*Step
	cores busy
	nodes []map[int]bool // by level: sums without their sibling
	next  int            // the chunk that is taken next

	added   int     // arrays added
	through float64 // when the last chunk is done
	drawn   float64 // when the next problems are drawn
}

// A core is the state of one core at its next event.
type core struct {
	at          float64
	level, node int // the node whose sum it holds; level -1: no sum
	draws       bool
}

// busy is the heap of cores that still work, by the time of their next event.
type busy []core

func (b busy) Len() int           { return len(b) }
func (b busy) Less(i, j int) bool { return b[i].at < b[j].at }
func (b busy) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *busy) Push(x any)        { *b = append(*b, x.(core)) }
func (b *busy) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}

func newQueue(s *Step, n int) *queue {
	q := &queue{Step: s}
	for i := range min(n, len(s.Chunks)+1) {
		q.cores = append(q.cores, core{at: float64(i) * s.Wake, level: -1})
	}
	for size := 1; size <= len(s.Chunks); size *= 2 {
		q.nodes = append(q.nodes, map[int]bool{})
	}
	if s.Draw > 0 && len(q.cores) > 0 { // drawing is queued before the chunks
		q.cores[0].draws, q.cores[0].at = true, s.Draw
	}
	heap.Init(&q.cores)
	return q
}

func (q *queue) run() {
	for len(q.cores) > 0 {
		if q.step(&q.cores[0]) {
			heap.Fix(&q.cores, 0)
		} else {
			heap.Pop(&q.cores)
		}
	}
}

// step lets a core begin its next work. It reports whether there was any.
func (q *queue) step(c *core) bool {
	if c.draws {
		c.draws, q.drawn = false, c.at
	}
	taken := q.next == len(q.Chunks)
	if c.level >= 0 {
		nodes, brother := q.nodes[c.level], c.node^1
		if !taken && nodes[brother] {
			delete(nodes, brother)
			c.at, c.level, c.node = c.at+q.Add.Seconds, c.level+1, c.node/2
			q.added++
			return true
		}
		nodes[c.node] = true
		q.through = max(q.through, c.at)
		c.level = -1
	}
	if taken {
		return false
	}
	c.at, c.level, c.node = c.at+q.Chunks[q.next], 0, q.next
	q.next++
	return true
}
