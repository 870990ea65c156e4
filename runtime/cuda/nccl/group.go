//go:build !nogpu && linux && (amd64 || arm64)

package nccl

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
)

// A group is the ranks as the library sees them: a cuda.Collective.
type group struct {
	*table
	driver     cuda.Driver
	stream     cuda.Streamer
	rank, size int
	timeout    time.Duration
	comm       handle // 0: not joined yet, or left
	gone       error  // why the group was left
}

var errClosed = errors.New("BUG: ranks are used after they have parted")

func (g *group) Rank() int { return g.rank }
func (g *group) Size() int { return g.size }

// name names the library and the rank.
func (g *group) name() string {
	return fmt.Sprintf("NCCL %s, rank %d of %d", g.version(), g.rank, g.size)
}

// queue calls the library on a thread where the device's context is current, and waits until the
// library has accepted the call.
func (g *group) queue(doing string, call func(stream uintptr) result) error {
	if g.gone != nil {
		return g.gone
	}
	var r result
	err := g.stream.Enqueue("NCCL "+g.version(), func(stream uintptr) error {
		r = call(stream)
		return nil
	})
	if err != nil {
		return g.leave(err)
	}
	return g.await(doing, r)
}

// together makes calls as one group and returns the first result that is neither success nor
// inProgress, or else the group's.
func (g *group) together(calls func(do func(result))) result {
	first := success
	keep := func(r result) {
		if first == success && r != inProgress {
			first = r
		}
	}
	if keep(g.call(groupStart)); first != success {
		return first
	}
	calls(keep)
	if end := g.call(groupEnd); first == success {
		return end
	}
	return first
}

func (g *group) Exchange(send, receive []cuda.DevicePart) error {
	return g.queue("exchange with other ranks", func(stream uintptr) result {
		return g.together(func(do func(result)) {
			for _, p := range send {
				if p.Bytes > 0 {
					do(g.send(g.comm, p, stream))
				}
			}
			for _, p := range receive {
				if p.Bytes > 0 {
					do(g.recv(g.comm, p, stream))
				}
			}
		})
	})
}

// Gather uses the library's if all ranks have the same size. Otherwise each rank sends to all.
func (g *group) Gather(base cuda.Ptr, bounds []int64) error {
	part := func(of, with int) cuda.DevicePart {
		return cuda.DevicePart{Rank: with, At: base + cuda.Ptr(bounds[of]), Bytes: bounds[of+1] - bounds[of]}
	}
	own := part(g.rank, g.rank)
	var send, receive []cuda.DevicePart
	equal := bounds[0] == 0
	for r := range g.size {
		p := part(r, r)
		equal = equal && p.Bytes == own.Bytes
		if r == g.rank {
			continue
		}
		send, receive = append(send, part(g.rank, r)), append(receive, p)
	}
	if !equal || own.Bytes == 0 {
		return g.Exchange(send, receive)
	}
	return g.queue("gather of all ranks", func(stream uintptr) result {
		return g.gather(g.comm, own.At, base, own.Bytes, stream)
	})
}

// Synchronize also watches the other ranks while it waits.
func (g *group) Synchronize() error {
	if g.gone != nil {
		return g.gone
	}
	const doing = "wait for the GPU, which waits for other ranks"
	err := g.until(doing, func() (bool, error) {
		if r := g.state(g.comm); r != success && r != inProgress {
			return false, g.leave(g.failure(doing, r))
		}
		busy, err := g.stream.Busy()
		return !busy, err
	})
	if err != nil {
		return err
	}
	return g.driver.Synchronize() // so that the driver knows that nothing is pending
}

// abortTime is how long the library may take to end hanging calls.
const abortTime = 10 * time.Second

// leave ends the communicator after an error and returns the error. Work on the GPU that waits for
// other ranks ends, and they learn of it.
func (g *group) leave(why error) error {
	if g.gone != nil {
		return g.gone
	}
	g.gone = why
	ended := make(chan struct{})
	go func(h handle) {
		defer close(ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if h != 0 {
			g.call(commAbort, uintptr(h))
		}
	}(g.comm)
	select {
	case <-ended:
	case <-time.After(abortTime): // the process is about to end
	}
	g.comm = 0
	return why
}

// Close leaves the communicator when all ranks do. Closing twice does nothing.
func (g *group) Close() error {
	if g.gone != nil {
		return nil
	}
	err := g.Synchronize()
	if err == nil {
		err = g.queue("part from the other ranks", func(uintptr) result { return g.call(commFinalize, uintptr(g.comm)) })
	}
	if err != nil {
		return err
	}
	h := g.comm
	g.comm, g.gone = 0, errClosed
	var r result
	err = g.stream.Enqueue("NCCL "+g.version(), func(uintptr) error {
		r = g.call(commDestroy, uintptr(h))
		return nil
	})
	if err == nil && r != success {
		err = g.failure("end", r)
	}
	return err
}
