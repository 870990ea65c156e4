// Package comm defines how the processes of one training communicate. Packages world and
// processor deal work to them and add their gradients. Packages comm/mpi and cuda/nccl carry
// bytes, by libraries that clusters have; mlc has no transport.
// Processes are numbered: ranks 0 … size-1. All call the same methods of their World in the
// same order, as in MPI.
package comm

import "unsafe"

// A World is the set of processes that train one model, as one of them sees it. Only one
// goroutine at a time may call its methods. After an error only Abort may be called.
type World interface {
	Rank() int
	Size() int
	// About names the transport: "Open MPI 4.1.4".
	About() string

	// Exchange sends and receives all parts at once. The n-th part that rank a sends to rank b
	// is the n-th part that b receives from a, and has the same length. No rank sends to
	// itself. When Exchange returns, sent memory may be changed and received memory is filled.
	Exchange(send, receive []Part) error
	// Gather fills in the data of the other ranks: rank r provides all[bounds[r]:bounds[r+1]].
	Gather(all []byte, bounds []int) error
	// Broadcast copies rank 0's data to all ranks. All pass the same length.
	Broadcast(data []byte) error
	// Max replaces each number by its largest value over all ranks.
	Max(x []int64) error
	// Barrier returns when all ranks have called it.
	Barrier() error
	// Abort ends the processes of all ranks, including this one, with an exit code.
	Abort(code int)
	// Close leaves the world; all ranks must call it. It may end the process with an exit code:
	// some libraries report success to their launcher only at exit.
	Close(code int) error
}

// A Part is data that goes to, or comes from, a rank.
type Part struct {
	Rank int
	Data []byte
}

// Bytes returns the memory of numbers.
func Bytes[T float32 | int32 | int64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// GatherByParts implements World.Gather by an Exchange.
func GatherByParts(w World, all []byte, bounds []int) error {
	of := func(rank int) []byte { return all[bounds[rank]:bounds[rank+1]] }
	var send, receive []Part
	for rank := range w.Size() {
		if rank != w.Rank() {
			send, receive = append(send, Part{rank, of(w.Rank())}), append(receive, Part{rank, of(rank)})
		}
	}
	return w.Exchange(send, receive)
}
