//go:build !nogpu && linux && (amd64 || arm64)

package nccl

import (
	"os"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cuda"
)

// A world is a comm.World. Messages of the host go through the device, since the library sends
// only device memory.
type world struct {
	*group
	host []byte // pinned
	dev  cuda.Ptr
}

const (
	align     = 16      // of a message
	leastRoom = 1 << 20 // bytes
	mostPiece = 1 << 24 // bytes of a broadcast
)

func (w *world) About() string { return "NCCL " + w.version() }

// Exchange places sent parts first in the memory and received parts after them.
func (w *world) Exchange(send, receive []comm.Part) error {
	middle := room(send)
	end := middle + room(receive)
	if err := w.fit(end); err != nil {
		return err
	}
	out, in := w.place(send, 0), w.place(receive, middle)
	for i, p := range send {
		copy(w.at(out[i]), p.Data)
	}
	if err := w.driver.ToDevice(w.dev, w.host[:middle]); err != nil {
		return err
	}
	if err := w.group.Exchange(out, in); err != nil {
		return err
	}
	if err := w.back(middle, end); err != nil {
		return err
	}
	for i, p := range receive {
		copy(p.Data, w.at(in[i]))
	}
	return nil
}

func (w *world) Gather(all []byte, bounds []int) error {
	if err := w.fit(len(all)); err != nil {
		return err
	}
	lo, hi := bounds[w.rank], bounds[w.rank+1]
	copy(w.host[lo:hi], all[lo:hi])
	if err := w.driver.ToDevice(w.dev+cuda.Ptr(lo), w.host[lo:hi]); err != nil {
		return err
	}
	wide := make([]int64, len(bounds))
	for i, b := range bounds {
		wide[i] = int64(b)
	}
	if err := w.group.Gather(w.dev, wide); err != nil {
		return err
	}
	if err := w.back(bounds[0], bounds[w.size]); err != nil {
		return err
	}
	copy(all[bounds[0]:bounds[w.size]], w.host[bounds[0]:])
	return nil
}

func (w *world) Broadcast(data []byte) error {
	for len(data) > 0 {
		n := min(len(data), mostPiece)
		if err := w.broadcastPiece(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (w *world) broadcastPiece(data []byte) error {
	if err := w.fit(len(data)); err != nil {
		return err
	}
	if w.rank == 0 {
		copy(w.host, data)
		if err := w.driver.ToDevice(w.dev, w.host[:len(data)]); err != nil {
			return err
		}
	}
	err := w.queue("hear from rank 0", func(stream uintptr) result { return w.group.broadcast(w.comm, w.dev, len(data), stream) })
	if err != nil {
		return err
	}
	if err := w.back(0, len(data)); err != nil {
		return err
	}
	copy(data, w.host)
	return nil
}

// Max gathers the numbers of all ranks and takes the largest in each place.
func (w *world) Max(x []int64) error {
	n := len(x)
	all, bounds := make([]int64, n*w.size), make([]int, w.size+1)
	for r := range bounds {
		bounds[r] = len(comm.Bytes(all)) / w.size * r
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

// Abort ends this process. The others learn of it from the library, and the launcher.
func (w *world) Abort(code int) {
	_ = w.leave(errClosed)
	os.Exit(code)
}

// room returns the bytes that parts take.
func room(parts []comm.Part) (bytes int) {
	for _, p := range parts {
		bytes += (len(p.Data) + align - 1) / align * align
	}
	return bytes
}

// place places parts in the memory from an offset on.
func (w *world) place(parts []comm.Part, offset int) (all []cuda.DevicePart) {
	for i := range parts {
		p := &parts[i]
		all = append(all, cuda.DevicePart{Rank: p.Rank, At: w.dev + cuda.Ptr(offset), Bytes: int64(len(p.Data))})
		offset += room(parts[i : i+1])
	}
	return all
}

// at returns a part's host memory.
func (w *world) at(p cuda.DevicePart) []byte { return w.host[p.At-w.dev:][:p.Bytes] }

// fit makes room for that many bytes on the host and on the device.
func (w *world) fit(bytes int) (err error) {
	if w.gone != nil {
		return w.gone
	}
	if bytes <= len(w.host) {
		return nil
	}
	if err := w.free(); err != nil {
		return err
	}
	if w.dev, err = w.driver.Alloc(int64(max(bytes, leastRoom))); err != nil {
		return err
	}
	w.host, err = w.driver.AllocHost(max(bytes, leastRoom))
	return err
}

// back waits for the device and copies its bytes lo … hi-1 to the host.
func (w *world) back(lo, hi int) error {
	if err := w.Synchronize(); err != nil || lo == hi {
		return err
	}
	if err := w.driver.ToHost(w.host[lo:hi], w.dev+cuda.Ptr(lo)); err != nil {
		return err
	}
	return w.Synchronize()
}

func (w *world) free() error {
	if w.host == nil {
		return nil
	}
	if err := w.Synchronize(); err != nil {
		return err
	}
	err := w.driver.FreeHost(w.host)
	if freed := w.driver.Free(w.dev); err == nil {
		err = freed
	}
	w.host, w.dev = nil, 0
	return err
}

// Close frees the memory and leaves.
func (w *world) Close(int) error {
	if w.gone != nil {
		return nil
	}
	if err := w.free(); err != nil {
		return err
	}
	return w.group.Close()
}
