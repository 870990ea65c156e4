package cuda

import (
	"github.com/arithlang/mlc/runtime/comm"
)

// Staged returns a Collective on any World. The host carries the devices' data through pinned
// memory. Each call waits for the device.
func Staged(d Driver, w comm.World) Collective { return &staged{driver: d, world: w} }

type staged struct {
	driver     Driver
	world      comm.World
	send, recv []byte // pinned
}

func (s *staged) Rank() int          { return s.world.Rank() }
func (s *staged) Size() int          { return s.world.Size() }
func (s *staged) Synchronize() error { return s.driver.Synchronize() }

func (s *staged) Exchange(send, receive []DevicePart) error {
	if err := s.fit(&s.send, send); err != nil {
		return err
	}
	if err := s.fit(&s.recv, receive); err != nil {
		return err
	}
	out, in := parts(s.send, send), parts(s.recv, receive)
	for i, p := range send {
		if err := s.driver.ToHost(out[i].Data, p.At); err != nil {
			return err
		}
	}
	if err := s.driver.Synchronize(); err != nil { // earlier received parts are on the device then, too
		return err
	}
	if err := s.world.Exchange(out, in); err != nil {
		return err
	}
	for i, p := range receive {
		if err := s.driver.ToDevice(p.At, in[i].Data); err != nil {
			return err
		}
	}
	return nil
}

// Gather puts all slices into the receive buffer.
func (s *staged) Gather(base Ptr, bounds []int64) error {
	size, rank := s.Size(), s.Rank()
	if err := s.fit(&s.recv, []DevicePart{{Bytes: bounds[size]}}); err != nil {
		return err
	}
	ends := make([]int, size+1)
	for i, b := range bounds {
		ends[i] = int(b)
	}
	of := func(lo, hi int) ([]byte, Ptr) { return s.recv[ends[lo]:ends[hi]], base + Ptr(bounds[lo]) }
	own, at := of(rank, rank+1)
	if err := s.driver.ToHost(own, at); err != nil {
		return err
	}
	if err := s.driver.Synchronize(); err != nil {
		return err
	}
	if err := s.world.Gather(s.recv[:ends[size]], ends); err != nil {
		return err
	}
	for _, x := range [][2]int{{0, rank}, {rank + 1, size}} {
		data, at := of(x[0], x[1])
		if err := s.driver.ToDevice(at, data); err != nil {
			return err
		}
	}
	return nil
}

// fit makes room for parts in pinned memory. Memory that grows loses its contents.
func (s *staged) fit(mem *[]byte, all []DevicePart) (err error) {
	bytes := 0
	for _, p := range all {
		bytes += int(p.Bytes)
	}
	if bytes <= len(*mem) {
		return nil
	}
	if err := s.free(mem); err != nil {
		return err
	}
	*mem, err = s.driver.AllocHost(bytes)
	return err
}

// free frees pinned memory when no copy uses it any more.
func (s *staged) free(mem *[]byte) error {
	was := *mem
	if *mem = nil; was == nil {
		return nil
	}
	if err := s.driver.Synchronize(); err != nil {
		return err
	}
	return s.driver.FreeHost(was)
}

// parts returns host memory for a device's parts, consecutive in mem.
func parts(mem []byte, all []DevicePart) []comm.Part {
	host := make([]comm.Part, len(all))
	for i, p := range all {
		host[i] = comm.Part{Rank: p.Rank, Data: mem[:p.Bytes]}
		mem = mem[p.Bytes:]
	}
	return host
}

// Close frees the memory. The World stays open.
func (s *staged) Close() error {
	if err := s.free(&s.send); err != nil {
		return err
	}
	return s.free(&s.recv)
}
