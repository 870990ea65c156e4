// Package commtest runs worlds of ranks as goroutines of one process, for tests. Messages may
// be late, arrive in another order than messages to other ranks, or not arrive at all.
package commtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/arithlang/mlc/runtime/comm"
)

// Faults are the faults to inject.
type Faults struct {
	Seed  uint64
	Delay time.Duration // each message is late by up to so much
	Fail  int           // number of the method call of rank 1 that fails, from 1; 0: no failure
}

// ErrFailed is the error of all ranks after the injected failure.
var ErrFailed = errors.New("rank 1 has failed")

// Run calls f once a rank, in goroutines, and returns their errors.
func Run(size int, faults Faults, f func(w comm.World) error) []error {
	h := &hub{size: size, faults: faults, dead: make(chan struct{}), mail: map[address]chan []byte{}}
	errs := make([]error, size)
	var all sync.WaitGroup
	for rank := range size {
		all.Add(1)
		go func() {
			defer all.Done()
			errs[rank] = f(&world{hub: h, rank: rank, random: rand.New(rand.NewPCG(faults.Seed, uint64(rank)))})
		}()
	}
	all.Wait()
	return errs
}

// An address identifies one of the messages from a rank to another.
type address struct{ from, to, number int }

type hub struct {
	size   int
	faults Faults
	dead   chan struct{} // closed when a rank has failed
	once   sync.Once

	mu   sync.Mutex
	mail map[address]chan []byte
}

// box is the mailbox of a message.
func (h *hub) box(a address) chan []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.mail[a]
	if c == nil {
		c = make(chan []byte, 1)
		h.mail[a] = c
	}
	return c
}

type world struct {
	*hub
	rank           int
	random         *rand.Rand
	calls          int
	sent, received map[int]int
}

func (w *world) Rank() int     { return w.rank }
func (w *world) Size() int     { return w.size }
func (w *world) About() string { return fmt.Sprintf("a test's %d ranks", w.size) }

// call counts a call, which may be the one that fails.
func (w *world) call() error {
	if w.sent == nil {
		w.sent, w.received = map[int]int{}, map[int]int{}
	}
	w.calls++
	if w.rank == 1 && w.calls == w.faults.Fail {
		w.once.Do(func() { close(w.dead) })
	}
	select {
	case <-w.dead:
		return ErrFailed
	default:
		return nil
	}
}

func (w *world) send(to int, data []byte) {
	a := address{w.rank, to, w.sent[to]}
	w.sent[to]++
	box, data := w.box(a), append([]byte(nil), data...)
	if w.faults.Delay == 0 {
		box <- data
		return
	}
	late := time.Duration(w.random.Int64N(int64(w.faults.Delay)))
	time.AfterFunc(late, func() { box <- data })
}

func (w *world) receive(from int, data []byte) error {
	a := address{from, w.rank, w.received[from]}
	w.received[from]++
	select {
	case got := <-w.box(a):
		if len(got) != len(data) {
			panic(fmt.Sprintf("rank %d wants %d bytes of rank %d, which has sent %d", w.rank, len(data), from, len(got)))
		}
		copy(data, got)
		return nil
	case <-w.dead:
		return ErrFailed
	}
}

func (w *world) Exchange(send, receive []comm.Part) error {
	if err := w.call(); err != nil {
		return err
	}
	for _, p := range send {
		w.send(p.Rank, p.Data)
	}
	for _, p := range receive {
		if err := w.receive(p.Rank, p.Data); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) Gather(all []byte, bounds []int) error { return comm.GatherByParts(w, all, bounds) }

func (w *world) Broadcast(data []byte) error {
	if w.rank > 0 {
		return w.Exchange(nil, []comm.Part{{Rank: 0, Data: data}})
	}
	var send []comm.Part
	for rank := 1; rank < w.size; rank++ {
		send = append(send, comm.Part{Rank: rank, Data: data})
	}
	return w.Exchange(send, nil)
}

func (w *world) Max(x []int64) error {
	n := len(x)
	all, bounds := make([]int64, n*w.size), make([]int, w.size+1)
	for rank := range w.size {
		bounds[rank+1] = (rank + 1) * n * 8
	}
	copy(all[n*w.rank:], x)
	if err := w.Gather(comm.Bytes(all), bounds); err != nil {
		return err
	}
	for i, v := range all {
		x[i%n] = max(x[i%n], v)
	}
	return nil
}

func (w *world) Barrier() error { return w.Max([]int64{0}) }

// Abort fails all calls of all ranks, and ends the goroutine.
func (w *world) Abort(int) {
	w.once.Do(func() { close(w.dead) })
	runtime.Goexit()
}

func (w *world) Close(int) error { return w.Barrier() }
