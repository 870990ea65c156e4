package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/task"
)

// An order is a command from rank 0 to the other ranks. They know nothing else: only rank 0
// reads and writes files, looks at the clock and handles signals.
type order int64

const (
	orderOpen   order = iota // open the device in the payload, for the model of stage [0]; -1: no stages
	orderTrain               // prepare for the steps of the training in the payload
	orderPut                 // write the payload to space [0] from element [1]
	orderZero                // clear [2] elements of space [0] from element [1]
	orderStep                // do the next step, of [0] examples, with the learning rate whose bits are [1]
	orderGather              // send rank 0 the shards of space [0]
	orderAsk                 // answer this rank's part of the question in the payload
	orderTime                // if [0] is 1, wait for all ranks before each sum, to time it
	orderEnd                 // end with exit code [0]
)

// words is the length of an order's header: the order, the bytes of its payload, and its
// arguments.
const words = 6

// Ranks are the processes that execute a verb together, as one of them sees them.
type Ranks struct {
	comm.World
	Local   int         // number of ranks on this machine
	number  int         // number of this rank among them, from 0
	Sharded bool        // each rank updates a part of the parameters
	signal  func() int  // number of the signal received by this process; 0: no signal
	told    func(n int) // on rank 0: called when another rank received a signal

	met     *met           // transport of ranks without MPI; nil: they have MPI
	machine device.Machine // machine of this rank
	bounds  []int          // of the shards of trained parameters
	values  []float32      // buffer for transfers

	apart bool // the ranks do not match: nobody waits for orders
	mu    sync.Mutex
	ended bool         // on rank 0: no further orders
	busy  atomic.Int32 // on rank 0: goroutines whose work an interrupt abandons
}

// errEnded is the error of an order after the end.
var errEnded = errors.New("the ranks have been told to end")

// tell sends an order from rank 0.
func (r *Ranks) tell(o order, payload []byte, args ...int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return errEnded
	}
	if r.ended = o == orderEnd; r.ended && r.busy.Load() > 0 {
		return errEnded // others may be waiting for a message that never comes
	}
	var head [words]int64
	head[0], head[1] = int64(o), int64(len(payload))
	copy(head[2:], args)
	if err := r.Broadcast(comm.Bytes(head[:])); err != nil || len(payload) == 0 {
		return err
	}
	return r.Broadcast(payload)
}

// hear waits for an order.
func (r *Ranks) hear() (o order, payload []byte, args []int64, err error) {
	head := make([]int64, words)
	if err := r.Broadcast(comm.Bytes(head)); err != nil {
		return 0, nil, nil, err
	}
	if n := head[1]; n > 0 {
		payload = make([]byte, n)
		err = r.Broadcast(payload)
	}
	return order(head[0]), payload, head[2:], err
}

// each returns what every rank passes; all pass the same number of bytes.
func (r *Ranks) each(own []byte) (all [][]byte, err error) {
	n := len(own)
	data, bounds := make([]byte, n*r.Size()), make([]int, r.Size()+1)
	for i := range r.Size() {
		bounds[i+1] = n * (i + 1)
		all = append(all, data[bounds[i]:bounds[i+1]])
	}
	copy(all[r.Rank()], own)
	return all, r.Gather(data, bounds)
}

// End orders the other ranks to end with an exit code, and leaves the world. It aborts them if
// they may be waiting for something else.
func (r *Ranks) End(code int) {
	if r.Rank() == 0 && !r.apart && (r.broken(code) || r.tell(orderEnd, nil, int64(code)) != nil) {
		r.Abort(code)
	}
	_ = r.Close(code) // nobody is left to report to
}

// broken reports whether a step may have ended only on rank 0.
func (r *Ranks) broken(code int) bool {
	return code != ExitOK && r.machine != nil && r.machine.Err() != nil
}

// Step implements train.Ranks.
func (r *Ranks) Step(examples int, rate float64) error {
	return r.tell(orderStep, nil, int64(examples), int64(math.Float64bits(rate)))
}

// Shards implements train.Ranks.
func (r *Ranks) Shards() bool { return r.Sharded }

// Collect implements train.Ranks. It also tells rank 0 about signals.
func (r *Ranks) Collect(arrays [][]float32, bounds []int) error {
	var send, receive []comm.Part
	signals := make([]int32, r.Size())
	if r.Rank() > 0 {
		signals[r.Rank()] = int32(r.signal())
		for _, x := range arrays {
			send = append(send, comm.Part{Rank: 0, Data: comm.Bytes(x[bounds[r.Rank()]:bounds[r.Rank()+1]])})
		}
		send = append(send, comm.Part{Rank: 0, Data: comm.Bytes(signals[r.Rank():][:1])})
		return r.Exchange(send, nil)
	}
	for from := 1; from < r.Size(); from++ {
		for _, x := range arrays {
			receive = append(receive, comm.Part{Rank: from, Data: comm.Bytes(x[bounds[from]:bounds[from+1]])})
		}
		receive = append(receive, comm.Part{Rank: from, Data: comm.Bytes(signals[from:][:1])})
	}
	err := r.Exchange(nil, receive)
	for _, n := range signals {
		if n != 0 {
			r.told(int(n))
		}
	}
	return err
}

// Share implements train.Ranks, through the host's memory.
func (r *Ranks) Share(s device.Space, bounds []int) error {
	if all := bounds[len(bounds)-1]; len(r.values) != all {
		r.values = make([]float32, all)
	}
	values := r.values
	lo, hi := bounds[r.Rank()], bounds[r.Rank()+1]
	root := r.machine.Root()
	root.GetFloats(values[lo:hi], device.Ref{Space: s, Off: lo})
	if err := r.machine.Err(); err != nil {
		return err
	}
	if err := r.Gather(comm.Bytes(values), inWords(bounds)); err != nil {
		return err
	}
	root.PutFloats(device.Ref{Space: s}, values[:lo])
	root.PutFloats(device.Ref{Space: s, Off: hi}, values[hi:])
	return r.machine.Err()
}

// inWords converts bounds from elements to bytes.
func inWords(bounds []int) []int {
	out := make([]int, len(bounds))
	for i, n := range bounds {
		out[i] = ElemBytes * n
	}
	return out
}

// answerWords is the length of an encoded eval.Answer.
const answerWords = 4

// Ask implements eval.Ranks. Problems are dealt round-robin, so that each rank gets long ones.
func (r *Ranks) Ask(q *eval.Question, own func(problems []task.Problem) ([]eval.Answer, error)) ([]eval.Answer, error) {
	if r.Rank() == 0 {
		payload, err := json.Marshal(q)
		if err != nil {
			return nil, fmt.Errorf("BUG: %w", err)
		}
		if err := r.tell(orderAsk, payload); err != nil {
			return nil, err
		}
	}
	size, n := r.Size(), len(q.Problems)
	bounds := make([]int, size+1)
	var mine []task.Problem
	for rank := range size {
		bounds[rank+1] = bounds[rank] + 1 // the signal
		for i := rank; i < n; i += size {
			bounds[rank+1] += answerWords
			if rank == r.Rank() {
				mine = append(mine, q.Problems[i])
			}
		}
	}
	answers, failed := own(mine)
	said := make([]int64, bounds[size])
	at := bounds[r.Rank()]
	said[at] = int64(r.signal())
	for i, a := range answers {
		right := int64(0)
		if a.Right {
			right = 1
		}
		copy(said[at+1+answerWords*i:], []int64{right, int64(a.Runs), int64(math.Float64bits(a.Loss)), int64(a.Labels)})
	}
	for i := range bounds {
		bounds[i] *= 8
	}
	if err := errors.Join(r.Gather(comm.Bytes(said), bounds), failed); err != nil || r.Rank() > 0 {
		return nil, err
	}
	all := make([]eval.Answer, n)
	for rank := range size {
		words := said[bounds[rank]/8 : bounds[rank+1]/8]
		if words[0] != 0 && rank > 0 {
			r.told(int(words[0]))
		}
		for i, x := rank, words[1:]; i < n; i, x = i+size, x[answerWords:] {
			all[i] = eval.Answer{Right: x[0] != 0, Runs: int(x[1]), Loss: math.Float64frombits(uint64(x[2])), Labels: int(x[3])}
		}
	}
	return all, nil
}

// A mirrored machine is rank 0's. Writes to its parameters and states go to all ranks.
type mirrored struct {
	device.Machine
	root *mirroredRoot
}

// mirror wraps the machine of rank 0.
func (r *Ranks) mirror(m device.Machine) device.Machine {
	return &mirrored{m, &mirroredRoot{m.Root(), r}}
}

func (m *mirrored) Root() device.Worker { return m.root }

// Close releases the machine's resources.
func (m *mirrored) Close() error { return CloseMachine(m.Machine) }

// Local returns this rank's machine without the mirror.
func Local(m device.Machine) device.Machine {
	if all, ok := m.(*mirrored); ok {
		return all.Machine
	}
	return m
}

type mirroredRoot struct {
	device.Worker
	ranks *Ranks
}

func (w *mirroredRoot) PutFloats(r device.Ref, src []float32) {
	w.Worker.PutFloats(r, src)
	if r.Space.Shared() && len(src) > 0 {
		w.ranks.fail(w.ranks.tell(orderPut, comm.Bytes(src), int64(r.Space), int64(r.Off)))
	}
}

func (w *mirroredRoot) Zero(r device.Ref, n int) {
	w.Worker.Zero(r, n)
	if r.Space.Shared() {
		w.ranks.fail(w.ranks.tell(orderZero, nil, int64(r.Space), int64(r.Off), int64(n)))
	}
}

// GetFloats first collects the shards of all ranks.
func (w *mirroredRoot) GetFloats(dst []float32, r device.Ref) {
	if x := w.ranks; x.Sharded && x.bounds != nil && r.Space >= device.State {
		x.fail(x.tell(orderGather, nil, int64(r.Space)))
		x.fail(x.Share(r.Space, x.bounds))
	}
	w.Worker.GetFloats(dst, r)
}

// fail aborts all ranks if an order cannot be sent: the others would wait for it.
func (r *Ranks) fail(err error) {
	if err != nil && !errors.Is(err, errEnded) {
		r.Abort(ExitFailed)
	}
}

// heed ends a context also when another rank receives a signal.
func (r *Ranks) heed(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	r.told = func(n int) { cancel(interrupt.Error{Signal: syscall.Signal(n)}) }
	return ctx
}

// Time makes the ranks wait for all before each sum, or stops that.
func (r *Ranks) Time(on bool) error {
	if on {
		return r.tell(orderTime, nil, 1)
	}
	return r.tell(orderTime, nil, 0)
}
