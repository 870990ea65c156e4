package processor

import (
	"sync"
	"sync/atomic"

	"github.com/arithlang/mlc/runtime/device"
)

// A pool runs independent pieces of work, one worker a core. The unit is a whole chunk of
// examples: splitting single kernels loses more by waiting than it gains.
type pool struct {
	workers []*worker
	loops   []func() // body of each worker's goroutine, kept so that a run allocates nothing

	n    int
	f    func(w device.Worker, i int)
	next atomic.Int64
	busy sync.WaitGroup
}

func newPool(workers []*worker) *pool {
	p := &pool{workers: workers}
	for _, w := range workers {
		p.loops = append(p.loops, func() {
			defer p.busy.Done()
			p.loop(w)
		})
	}
	return p
}

// run calls f(w, i) once for each i in 0..n-1, each on some worker, and returns when all are
// done.
func (p *pool) run(n int, f func(w device.Worker, i int)) {
	p.n, p.f = n, f
	p.next.Store(0)
	others := p.loops[1:min(len(p.loops), max(n, 1))]
	p.busy.Add(len(others))
	for _, loop := range others {
		go loop()
	}
	p.loop(p.workers[0])
	p.busy.Wait()
	p.f = nil
}

func (p *pool) loop(w *worker) {
	for {
		i := int(p.next.Add(1)) - 1
		if i >= p.n {
			return
		}
		p.f(w, i)
	}
}
