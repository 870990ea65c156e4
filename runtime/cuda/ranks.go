package cuda

import (
	"github.com/arithlang/mlc/runtime/device"
)

// A Collective moves memory between the devices of the processes of one training. Each process has
// a Machine. Exchange and Gather run after all earlier work of the Driver and before all later
// work, as a launch would. All ranks call the same methods in the same order. After an error only
// Close may be called.
type Collective interface {
	Rank() int
	Size() int
	// Exchange sends and receives all parts at once. The n-th part that rank a sends to rank b is
	// the n-th part that b receives from a, with the same size. No rank sends to itself.
	Exchange(send, receive []DevicePart) error
	// Gather fills in the other ranks' bytes. Rank r has bytes bounds[r] … bounds[r+1]-1 from base
	// on.
	Gather(base Ptr, bounds []int64) error
	// Synchronize waits as the Driver does, and fails if another rank is gone.
	Synchronize() error
	// Close frees the Collective's resources. Call it before the Driver's Close.
	Close() error
}

// A DevicePart is device memory that is sent to, or received from, a rank.
type DevicePart struct {
	Rank  int
	At    Ptr
	Bytes int64
}

// deal returns which of the n chunks of a Sum this rank computes.
func (m *Machine) deal(n int) (lo, hi int) {
	if r := m.options.Ranks; r != nil {
		return device.Deal(n, r.Rank(), r.Size())
	}
	return 0, n
}

// total records the sum of the gradients of n chunks. This rank has chunks lo … hi-1.
func (m *Machine) total(n, lo, hi int) {
	grads := device.Ref{Space: device.Grads}
	if m.options.Ranks == nil {
		if n > 1 {
			m.listOf(m.root).move(sumOp, grads, m.params, n)
		}
		return
	}
	if n == 0 {
		return
	}
	for _, node := range device.Nodes(lo, hi) {
		if node.Size > 1 {
			m.listOf(m.root).move(sumOp, grads.Plus((node.First-lo)*int(stride(m.params)/wordBytes)), m.params, node.Size)
		}
	}
	if m.err == nil {
		m.fail(m.receives(n))
	}
	m.listOf(m.root).move(totalOp, grads, m.params, n)
}

// slices returns which bytes of a place of gradients each rank adds up: rank r adds up bytes
// bounds[r] … bounds[r+1]-1.
func (m *Machine) slices() (bounds []int64) {
	size := m.options.Ranks.Size()
	for r := range size + 1 {
		bounds = append(bounds, int64(quads(m.params)*r/size*quad*wordBytes))
	}
	return bounds
}

// receives makes room for this rank's slices of the other ranks' nodes of n chunks.
func (m *Machine) receives(n int) error {
	bounds, r := m.slices(), m.options.Ranks
	bytes := int64(0)
	for rank := range r.Size() {
		if rank != r.Rank() {
			lo, hi := device.Deal(n, rank, r.Size())
			bytes += int64(len(device.Nodes(lo, hi))) * roundUp(bounds[r.Rank()+1]-bounds[r.Rank()], allocAlign)
		}
	}
	grown, err := m.received.fit(m.dev, bytes)
	if grown {
		m.graphs.drop()
	}
	return tooLarge(err, "gradients of the other ranks", "end other programs on the GPU, or train a smaller model")
}

// A meeting is a call of the ranks before a command: a Gather if it has bounds, else an Exchange.
type meeting struct {
	command int // the command's number; after the last command, their count
	args    int // where the parameters of earlier commands end

	send, receive []DevicePart
	base          Ptr
	bounds        []int64
}

// meet adds a meeting after the commands so far.
func (s *commandList) meet(x meeting) {
	x.command, x.args = len(s.commands), len(s.args)
	s.meetings = append(s.meetings, x)
}

// meet calls the ranks.
func (m *Machine) meet(x *meeting) error {
	if x.bounds != nil {
		return m.options.Ranks.Gather(x.base, x.bounds)
	}
	return m.options.Ranks.Exchange(x.send, x.receive)
}

// addUp appends the sum of n chunks in the first place of gradients. Each rank receives its slice
// of all nodes, adds up the slices in the order of the tree, and gives the sum to the others.
func (m *Machine) addUp(n int) {
	rank, size, bounds := m.options.Ranks.Rank(), m.options.Ranks.Size(), m.slices()
	grads, next := m.sums.spaces[device.Grads].at, m.received.at
	begin, slice := Ptr(bounds[rank]), bounds[rank+1]-bounds[rank]
	var x meeting
	var nodes []device.Node
	var at []Ptr // of this rank's slice of each node
	for r := range size {
		lo, hi := device.Deal(n, r, size)
		for _, node := range device.Nodes(lo, hi) {
			nodes = append(nodes, node)
			if r == rank {
				place := grads + Ptr(int64(node.First-lo)*stride(m.params))
				at = append(at, place+begin)
				x.send = append(x.send, m.others(place, bounds)...)
				continue
			}
			at = append(at, next)
			if slice > 0 {
				x.receive = append(x.receive, DevicePart{r, next, slice})
			}
			next += Ptr(roundUp(slice, allocAlign))
		}
	}
	m.list.meet(x)
	words := int(slice / wordBytes)
	if words > 0 {
		for to, from := range device.Merge(nodes) {
			m.move(m.moves.add, at[to], 0, at[from], 0, words, 1)
		}
		if at[0] != grads+begin {
			m.copy(grads+begin, 0, at[0], 0, words, 1)
		}
	}
	m.list.meet(meeting{base: grads, bounds: bounds})
}

// others returns the slices of a node that other ranks add up.
func (m *Machine) others(node Ptr, bounds []int64) (parts []DevicePart) {
	for r := range m.options.Ranks.Size() {
		if bytes := bounds[r+1] - bounds[r]; r != m.options.Ranks.Rank() && bytes > 0 {
			parts = append(parts, DevicePart{r, node + Ptr(bounds[r]), bytes})
		}
	}
	return parts
}

// synchronize waits for the device.
func (m *Machine) synchronize() error {
	if r := m.options.Ranks; r != nil {
		return r.Synchronize()
	}
	return m.dev.Synchronize()
}
