package runtime

import (
	"sync"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// A total adds the gradients of pieces of work in ascending order, so that their
// sum does not depend on the number of workers. A worker that is ahead of its turn
// leaves its gradients behind and goes on with spare ones: it waits only when
// there are none.
type total struct {
	sum []float32
	f   func(w device.Worker, i int)

	mu    sync.Mutex
	freed sync.Cond   // of turn and spare
	turn  int         // the piece that is added now or next
	early [][]float32 // gradients of the pieces that are done before their turn
	spare [][]float32
}

func newTotal(sum []float32, spares int) *total {
	t := &total{sum: sum}
	t.freed.L = &t.mu
	for range spares {
		t.spare = append(t.spare, make([]float32, len(sum)))
	}
	return t
}

// start prepares for n pieces of work, each of which f does.
func (t *total) start(n int, f func(w device.Worker, i int)) {
	clear(t.sum)
	t.f, t.turn = f, 0
	if cap(t.early) < n {
		t.early = make([][]float32, n)
	}
	t.early = t.early[:n]
}

// piece does a piece of work and adds its gradients, or leaves them to the one
// whose turn it is.
func (t *total) piece(w device.Worker, i int) {
	own := &w.(*cpuWorker).Mem.F32[device.Grads]
	clear(*own)
	t.f(w, i)
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.turn != i && len(t.spare) == 0 {
		t.freed.Wait()
	}
	if t.turn != i {
		last := len(t.spare) - 1
		t.early[i], *own, t.spare = *own, t.spare[last], t.spare[:last]
		return
	}
	t.add(*own)
	for t.turn < len(t.early) && t.early[t.turn] != nil {
		grads := t.early[t.turn]
		t.early[t.turn] = nil
		t.add(grads)
		t.spare = append(t.spare, grads)
	}
}

// add adds the gradients whose turn it is. The lock, which the caller holds, is
// free meanwhile: nobody else can be at turn.
func (t *total) add(grads []float32) {
	t.mu.Unlock()
	cpu.AddTo(t.sum, grads)
	t.mu.Lock()
	t.turn++
	t.freed.Broadcast()
}
