package cuda

import (
	"errors"
	"fmt"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

const (
	wordBytes  = abi.WordBytes
	allocAlign = 256 // bytes, of every replica
)

// A region is device memory; the zero region is empty.
type region struct {
	at    Ptr
	bytes int64
}

// fit makes room for that many bytes. A region that grows loses its contents.
func (r *region) fit(d Driver, bytes int64) (grown bool, err error) {
	if bytes <= r.bytes {
		return false, nil
	}
	if err := d.Free(r.at); err != nil {
		return true, err
	}
	*r = region{}
	at, err := d.Alloc(bytes)
	if err == nil {
		*r = region{at, bytes}
	}
	return true, err
}

// A memory holds the spaces of one or more replicas. Each space has its replicas consecutively.
type memory struct {
	spaces [device.NumSpaces]region
}

// stride returns the bytes from one replica of elems elements to the next.
func stride(elems int) int64 { return roundUp(int64(elems)*wordBytes, allocAlign) }

const quad = 4 // words of a vector

// quads returns the number of quads that hold the words. A place of gradients has room for whole
// quads.
func quads(words int) int { return (words + quad - 1) / quad }

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// fits reports whether a replica has room for work elements of Work and ints of Ints.
func (mem *memory) fits(work, ints int) bool {
	return stride(work) <= mem.spaces[device.Work].bytes && stride(ints) <= mem.spaces[device.Ints].bytes
}

// empty reports whether Work and Ints have no memory yet, so that nothing can use them.
func (mem *memory) empty() bool {
	return mem.spaces[device.Work].bytes == 0 && mem.spaces[device.Ints].bytes == 0
}

// places makes room for the gradients of chunks. Old contents may be lost.
func (m *Machine) places(chunks int) error {
	grown, err := m.sums.spaces[device.Grads].fit(m.dev, int64(chunks)*stride(max(m.params, 1)))
	if grown {
		m.graphs.drop()
	}
	return tooLarge(err, fmt.Sprintf("the gradients of %d parts of a batch", chunks), "make the model or train.batch smaller, train.chunk larger, or end other programs on the GPU")
}

// grow makes room for replicas. Old contents may be lost.
func (m *Machine) grow(mem *memory, replicas, work, ints int) error {
	for _, x := range [...]struct {
		space device.Space
		elems int
	}{{device.Uses, m.uses}, {device.Work, work}, {device.Ints, ints}} {
		grown, err := mem.spaces[x.space].fit(m.dev, int64(replicas)*stride(x.elems))
		if grown {
			m.graphs.drop() // graphs contain addresses
		}
		if err != nil {
			return tooLarge(err, "activations of a launch",
				"make train.microbatch in the spec smaller (or, if it was testing that failed, test shorter --digits), or end other programs on the GPU")
		}
	}
	return nil
}

// Repeats returns true: identical launches of chunks become one, and identical steps replay a
// graph.
func (m *Machine) Repeats() bool { return true }

// Examples returns the largest even part of most that is a multiple of least and fits into the
// free memory twice. Only many examples fill the device, and starting a kernel takes time.
func (m *Machine) Examples(least, most int, bytes func(examples int) float64) int {
	free, _, err := m.dev.MemInfo()
	if err != nil {
		m.fail(err)
		return least
	}
	for _, space := range []device.Space{device.Work, device.Ints} {
		free += m.own.spaces[space].bytes
	}
	for parts := 1; parts <= most/least; parts++ {
		if n := most / parts; most%parts == 0 && n%least == 0 && 2*bytes(n) <= float64(free) {
			return n
		}
	}
	return least
}

// replicas makes room for as many of n replicas as memory allows, at least one, and returns their
// number.
func (m *Machine) replicas(n, work, ints int) (int, error) {
	free, total, err := m.dev.MemInfo()
	if err != nil {
		return 0, err
	}
	have := int64(0)
	for _, r := range m.own.spaces {
		have += r.bytes
	}
	const reserve = 16 // 1/16 of the memory is left to other programs
	each := max(1, stride(m.uses)+stride(work)+stride(ints))
	n = int(max(1, min(int64(n), maxReplicas, (have+free-total/reserve)/each)))
	for {
		err := m.grow(&m.own, n, work, ints)
		if n == 1 || !errors.As(err, new(*MemoryError)) {
			return n, err
		}
		n /= 2 // memory is fragmented, or another program took it
	}
}

// maxReplicas is the largest y of a grid.
const maxReplicas = 1<<16 - 1

// tooLarge adds the memory's purpose and a remedy to an error that reports a lack of memory.
func tooLarge(err error, what, help string) error {
	var memory *MemoryError
	if errors.As(err, &memory) && memory.Total > 0 {
		return fmt.Errorf("%w, for %s: %s", err, what, help)
	}
	return err
}

// A stage is memory on the device, and for each turn pinned host memory. One copy moves a turn's
// data between the two.
type stage struct {
	hosts [maxTurns][]byte
	dev   region
}

// fit makes room for words of a turn that has ended. A stage that grows loses its contents. All
// turns share the device's memory, so it waits for all of them before it replaces this memory.
func (s *stage) fit(m *Machine, turn, words int) error {
	host := &s.hosts[turn]
	if words*wordBytes <= len(*host) {
		return nil
	}
	bytes := 1 << 12
	for bytes < words*wordBytes*5/4 { // batches differ a little in length
		bytes *= 2
	}
	if *host != nil {
		if err := m.dev.FreeHost(*host); err != nil {
			return err
		}
		*host = nil
	}
	if int64(bytes) > s.dev.bytes {
		m.wait()
		m.graphs.drop()
	}
	_, err := s.dev.fit(m.dev, int64(bytes))
	if err == nil {
		*host, err = m.dev.AllocHost(bytes)
	}
	return tooLarge(err, "data on its way", "end other programs on the GPU")
}

// word returns the address of a word on the device.
func (s *stage) word(i int) Ptr { return s.dev.at + Ptr(i*wordBytes) }
