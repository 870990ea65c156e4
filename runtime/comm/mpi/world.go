//go:build !nogpu && linux && (amd64 || arm64)

package mpi

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/launch"
)

// Open joins the ranks that a launcher has started. The World must be closed. The error says
// what to do if no library is found, or if it does not belong to the launcher.
func Open(l launch.Launch) (comm.World, error) {
	lib, err := find(l.By, os.Getenv(variable))
	if err != nil {
		return nil, err
	}
	w := &world{library: lib, asked: make(chan func())}
	go w.serve()
	if err := w.do(w.start); err != nil {
		return nil, err
	}
	if w.size != l.Size || w.rank != l.Rank {
		w.do(func() error { return lib.call("MPI_Finalize") })
		return nil, apart(l, w)
	}
	return w, nil
}

// apart returns the error for a launcher whose ranks do not know of each other: each would
// train alone, and all in the same place.
func apart(l launch.Launch, w *world) error {
	return fmt.Errorf("%s has started this process as rank %d of %d, but for %s it is rank %d of %d. The library does not belong to the launcher: "+
		"with srun use --mpi=pmi2 for MPICH and --mpi=pmix for Open MPI (srun --mpi=list shows the choices), with mpirun name its library in %s, "+
		"or let each process train by itself with --ranks none", l.By, l.Rank, l.Size, w.about, w.rank, w.size, variable)
}

type world struct {
	*library
	asked      chan func()
	rank, size int
	about      string
}

// serve runs all calls on one thread.
func (w *world) serve() {
	runtime.LockOSThread()
	for f := range w.asked {
		f()
	}
}

// do runs f on the thread of serve.
func (w *world) do(f func() error) (err error) {
	done := make(chan struct{})
	w.asked <- func() { err = f(); close(done) }
	<-done
	return err
}

func (w *world) start() error {
	var provided, rank, size int32
	for _, err := range []error{
		w.call("MPI_Init_thread", 0, 0, w.abi.funneled, uintptr(unsafe.Pointer(&provided))),
		w.call("MPI_Comm_rank", w.library.world, uintptr(unsafe.Pointer(&rank))),
		w.call("MPI_Comm_size", w.library.world, uintptr(unsafe.Pointer(&size))),
	} {
		if err != nil {
			return err
		}
	}
	w.rank, w.size, w.about = int(rank), int(size), w.version()
	return nil
}

func (w *world) Rank() int     { return w.rank }
func (w *world) Size() int     { return w.size }
func (w *world) About() string { return w.about }

// most is the most bytes of a message: MPI counts in 32 bits.
const most = 1 << 30

// tag is the tag of all messages: messages between two ranks stay in order.
const tag = 1

func (w *world) Exchange(send, receive []comm.Part) error {
	return w.do(func() error {
		n := 0
		for _, parts := range [][]comm.Part{send, receive} {
			for _, p := range parts {
				n += (len(p.Data) + most - 1) / most
			}
		}
		all := w.begin(n)
		err := w.post("MPI_Irecv", receive, all)
		if err == nil {
			err = w.post("MPI_Isend", send, all)
		}
		if err == nil {
			err = all.wait()
		}
		runtime.KeepAlive(send)
		runtime.KeepAlive(receive)
		return err
	})
}

// post begins to send or receive parts.
func (w *world) post(function string, parts []comm.Part, all *requests) error {
	for _, p := range parts {
		for data := p.Data; len(data) > 0; data = data[min(most, len(data)):] {
			n := min(most, len(data))
			if err := w.call(function, address(data), uintptr(n), w.byte, uintptr(p.Rank), tag, w.library.world, all.next()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) Gather(all []byte, bounds []int) error {
	if bounds[w.size] > math.MaxInt32 {
		return comm.GatherByParts(w, all, bounds)
	}
	return w.do(func() error {
		counts, places := make([]int32, w.size), make([]int32, w.size)
		for r := range w.size {
			counts[r], places[r] = int32(bounds[r+1]-bounds[r]), int32(bounds[r])
		}
		begun := w.begin(1)
		err := w.call("MPI_Iallgatherv", w.abi.place, 0, w.byte, address(all), address(counts), address(places), w.byte, w.library.world, begun.next())
		if err == nil {
			err = begun.wait()
		}
		runtime.KeepAlive(counts)
		runtime.KeepAlive(places)
		runtime.KeepAlive(all)
		return err
	})
}

func (w *world) Broadcast(data []byte) error {
	return w.do(func() error {
		for len(data) > 0 {
			n := min(most, len(data))
			begun := w.begin(1)
			err := w.call("MPI_Ibcast", address(data), uintptr(n), w.byte, 0, w.library.world, begun.next())
			if err == nil {
				err = begun.wait()
			}
			runtime.KeepAlive(data)
			if err != nil {
				return err
			}
			data = data[n:]
		}
		return nil
	})
}

func (w *world) Max(x []int64) error {
	return w.do(func() error {
		begun := w.begin(1)
		err := w.call("MPI_Iallreduce", w.abi.place, address(x), uintptr(len(x)), w.long, w.max, w.library.world, begun.next())
		if err == nil {
			err = begun.wait()
		}
		runtime.KeepAlive(x)
		return err
	})
}

func (w *world) Barrier() error {
	return w.do(func() error {
		begun := w.begin(1)
		if err := w.call("MPI_Ibarrier", w.library.world, begun.next()); err != nil {
			return err
		}
		return begun.wait()
	})
}

func (w *world) Abort(code int) {
	w.aborting.Store(true) // whatever the thread waits for
	go w.do(func() error { return w.call("MPI_Abort", w.library.world, uintptr(code)) })
	time.Sleep(grace)
	os.Exit(code)
}

// grace is how long the launcher may take to end this process before it exits.
const grace = 5 * time.Second

// Close ends the process by C's exit: MPICH 5 tells its launcher in an exit handler that this
// rank has not died.
func (w *world) Close(code int) error {
	return w.do(func() error {
		if err := w.call("MPI_Finalize"); err != nil {
			return err
		}
		if exit, err := purego.Dlsym(purego.RTLD_DEFAULT, "exit"); err == nil {
			purego.SyscallN(exit, uintptr(code))
		}
		return nil
	})
}
