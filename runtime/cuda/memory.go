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

// A region is device memory; the zero region is none.
type region struct {
	at    Ptr
	bytes int64
}

// fit makes room for so many bytes; the contents are lost if the region has to grow.
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

// A memory holds the spaces of one or more replicas, each space one replica after
// the other.
type memory struct {
	spaces [device.NumSpaces]region
}

// stride is the bytes from one replica of so many elements to the next.
func stride(elems int) int64 { return roundUp(int64(elems)*wordBytes, allocAlign) }

const quad = 4 // words that are summed side by side

// quads is how many quads so many words begin; a place of gradients has room for all.
func quads(words int) int { return (words + quad - 1) / quad }

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// fits says whether one replica has so many elements of Work and Ints.
func (mem *memory) fits(work, ints int) bool {
	return stride(work) <= mem.spaces[device.Work].bytes && stride(ints) <= mem.spaces[device.Ints].bytes
}

// empty says whether there is no Work and no Ints yet, so that nothing can use them.
func (mem *memory) empty() bool {
	return mem.spaces[device.Work].bytes == 0 && mem.spaces[device.Ints].bytes == 0
}

// places makes room for the gradients of so many chunks, and loses what was there.
func (m *Machine) places(chunks int) error {
	grown, err := m.sums.spaces[device.Grads].fit(m.dev, int64(chunks)*stride(max(m.params, 1)))
	if grown {
		m.graphs.drop()
	}
	return tooLarge(err, fmt.Sprintf("the gradients of %d parts of a batch", chunks), "make the model or train.batch smaller, train.chunk larger, or end other programs on the GPU")
}

// grow makes room for so many replicas and loses what was there.
func (m *Machine) grow(mem *memory, replicas, work, ints int) error {
	for _, x := range [...]struct {
		space device.Space
		elems int
	}{{device.Uses, m.uses}, {device.Work, work}, {device.Ints, ints}} {
		grown, err := mem.spaces[x.space].fit(m.dev, int64(replicas)*stride(x.elems))
		if grown {
			m.graphs.drop() // they have addresses in them
		}
		if err != nil {
			return tooLarge(err, "activations of a launch",
				"make train.microbatch in the spec smaller (or, if it was testing that failed, test shorter --digits), or end other programs on the GPU")
		}
	}
	return nil
}

// Repeats is true: equal launches of chunks become one, and equal steps replay a graph.
func (m *Machine) Repeats() bool { return true }

// Examples is the most of which two launches fit into the memory that is free: a kernel
// takes its time to start, and fills the device only with many examples.
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

// replicas makes room for up to n replicas and says for how many: as many as there
// is memory for, but one at least.
func (m *Machine) replicas(n, work, ints int) (int, error) {
	free, total, err := m.dev.MemInfo()
	if err != nil {
		return 0, err
	}
	have := int64(0)
	for _, r := range m.own.spaces {
		have += r.bytes
	}
	const reserve = 16 // a part of the memory that is left to others
	each := max(1, stride(m.uses)+stride(work)+stride(ints))
	n = int(max(1, min(int64(n), maxReplicas, (have+free-total/reserve)/each)))
	for {
		err := m.grow(&m.own, n, work, ints)
		if n == 1 || !errors.As(err, new(*MemoryError)) {
			return n, err
		}
		n /= 2 // memory is in pieces, or somebody else took it
	}
}

// maxReplicas is what the y direction of a grid can have.
const maxReplicas = 1<<16 - 1

// tooLarge says what memory was for, and what to do when there is too little.
func tooLarge(err error, what, help string) error {
	var memory *MemoryError
	if errors.As(err, &memory) && memory.Total > 0 {
		return fmt.Errorf("%w, for %s: %s", err, what, help)
	}
	return err
}

// A stage is memory on the device, and as much pinned memory of the host for each turn
// that needs it: what goes from one to the other in one copy.
type stage struct {
	hosts [maxTurns][]byte
	dev   region
}

// fit makes room for so many words of a turn, which is through; the contents are lost if
// it has to grow. The device's memory is every turn's: before that goes, all must be through.
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

// word is the address of a word on the device.
func (s *stage) word(i int) Ptr { return s.dev.at + Ptr(i*wordBytes) }
