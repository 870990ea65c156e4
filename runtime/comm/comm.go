// Package comm is what the processes of one training say to each other. Package runtime
// deals work to them, and adds up their gradients; packages comm/mpi and cuda/nccl carry
// bytes, by libraries that clusters have. mlc has no transport of its own.
//
// The processes are numbered: ranks 0 … size-1. All call the same methods of their World in
// the same order, as in MPI.
package comm

import "unsafe"

// A World is the processes that train one model, as one of them sees it. Its methods are
// called by one goroutine at a time. After an error no other method but Abort is of use.
type World interface {
	Rank() int
	Size() int
	// About names what carries the bytes: "Open MPI 4.1.4".
	About() string

	// Exchange sends and receives all parts at once. The n-th part that rank a sends to rank
	// b is the n-th that b receives of a, and as long. No rank sends to itself. It returns
	// when what was sent may be changed and what was to be received is there.
	Exchange(send, receive []Part) error
	// Gather fills in what the other ranks have: all has bounds[r] … bounds[r+1]-1 of rank r.
	Gather(all []byte, bounds []int) error
	// Broadcast gives rank 0's data to all, of whom each wants as many bytes.
	Broadcast(data []byte) error
	// Max replaces each number by the largest that a rank has in its place.
	Max(x []int64) error
	// Barrier returns when all ranks have called it.
	Barrier() error
	// Abort ends the processes of all ranks with an exit code, this one among them.
	Abort(code int)
	// Close leaves, when all ranks do. It may end the process, with an exit code: some libraries
	// tell their launcher at the very end that all is well.
	Close(code int) error
}

// A Part is bytes that go to, or come from, a rank.
type Part struct {
	Rank int
	Data []byte
}

// Bytes are the memory of numbers.
func Bytes[T float32 | int32 | int64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// GatherByParts is World.Gather by an Exchange.
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
