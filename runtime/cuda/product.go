package cuda

import (
	"slices"

	"github.com/arithlang/mlc/runtime/device"
)

// A Gemm describes a kernel that is only a matrix product, so that a Multiplier can compute it:
// Out[M, N] = Left[M, K] Right[K, N] + Plus[M, N].
type Gemm struct {
	Size             func(e *device.Env) [3]int // M, N and K, of one replica
	Left, Right, Out Operand
	Plus             int // a float32 buffer, possibly Out's; -1: nothing is added
}

// An Operand is a whole buffer of a kernel as a matrix, in row-major order.
type Operand struct {
	Buffer int
	Trans  bool // in column-major order
	Narrow bool // BF16, else float32
}

// A Product is a batch of matrix products of one size on a device, each a Gemm.
type Product struct {
	M, N, K, Batch         int
	Left, Right, Plus, Out Matrix // nothing is added if Plus is at 0; Plus may be Out
}

// A Matrix locates the matrices of a Product's batch.
type Matrix struct {
	At            Ptr   // address of the first
	Step          int64 // bytes to the next one
	Trans, Narrow bool  // as in Operand
}

// A Multiplier computes products instead of kernels, on the stream of a Driver. It sums in
// float32, in its own order.
type Multiplier interface {
	// Name returns the Multiplier's name and version.
	Name() string
	// Multiply queues a product after all work of the Driver, like a launch: it does not wait, and
	// Driver.Capture records it.
	Multiply(p *Product) error
	// Close frees the Multiplier's resources. Call it before the Driver's Close.
	Close() error
}

// A Streamer is a Driver that lets other libraries queue work on its stream.
type Streamer interface {
	// Enqueue calls queue with the handle of the stream, on a thread where the device's context is
	// current. If the device is lost, the error blames name.
	Enqueue(name string, queue func(stream uintptr) error) error
	// Busy reports whether any queued work has not ended.
	Busy() (bool, error)
}

// Multiplier returns the Multiplier that can compute products, or nil.
func (m *Machine) Multiplier() Multiplier { return m.options.Multiplier }

// Multiplies reports whether the Multiplier computes the products that it can.
func (m *Machine) Multiplies() bool { return m.multiplies }

// Product reports whether a Multiplier can compute a kernel, by its number.
func (m *Machine) Product(kernel int) bool { return m.kernels[kernel].Gemm != nil }

// Multiply lets the Multiplier, or else the kernels, compute products from here on.
func (m *Machine) Multiply(on bool) {
	m.flush()
	m.multiplies = on && m.options.Multiplier != nil
}

// multiply appends the products of a launch: one for each set of buffers, or one for each replica
// of a set if only some replicas take part or if they differ in size. Single products of one size
// at equal steps become a batch.
func (m *Machine) multiply(g *group, x *item) {
	s, k, each := &m.list, m.kernels[x.kernel], len(x.refs)/x.sets
	first := len(s.products)
	var sizes [][3]int
	for replica := range g.replicas(x.forms) {
		t, o := x.of(g, replica)
		sizes = append(sizes, t.sizes[o.size-1])
	}
	together := len(sizes) == len(g.lists) && len(slices.Compact(slices.Clone(sizes))) == 1
	for refs := x.refs; len(refs) > 0; refs = refs[each:] {
		p := m.product(g, k.Gemm, refs[:each])
		if together {
			p.M, p.N, p.K = sizes[0][0], sizes[0][1], sizes[0][2]
			s.products = append(s.products, p)
			continue
		}
		n := 0
		for replica := range g.replicas(x.forms) {
			s.products = append(s.products, p.replica(replica, sizes[n]))
			n++
		}
	}
	if all, ok := batch(s.products[first:]); ok {
		s.products = append(s.products[:first], all)
	}
	for i := range s.products[first:] {
		s.commands = append(s.commands, command{k: k, product: first + i + 1})
	}
}

// product returns the product of all replicas of a group on one set of buffers, without its size.
func (m *Machine) product(g *group, k *Gemm, refs []device.Ref) Product {
	matrix := func(o Operand) Matrix {
		at, step := m.address(g, refs[o.Buffer], 0)
		return Matrix{At: at, Step: step, Trans: o.Trans, Narrow: o.Narrow}
	}
	p := Product{Batch: len(g.lists), Left: matrix(k.Left), Right: matrix(k.Right), Out: matrix(k.Out)}
	if k.Plus >= 0 {
		p.Plus = matrix(Operand{Buffer: k.Plus})
	}
	return p
}

// replica returns the product of one replica, with its own size.
func (p Product) replica(number int, size [3]int) Product {
	p.M, p.N, p.K, p.Batch = size[0], size[1], size[2], 1
	for _, x := range p.matrices() {
		if x.At != 0 {
			x.At += Ptr(int64(number) * x.Step)
		}
		x.Step = 0
	}
	return p
}

// batch combines independent products whose matrices follow each other in equal steps, forwards or
// backwards.
func batch(all []Product) (p Product, ok bool) {
	sized := func(x Product) bool { return [4]int{x.M, x.N, x.K, x.Batch} == [4]int{all[0].M, all[0].N, all[0].K, 1} }
	if len(all) == 1 || slices.ContainsFunc(all, func(x Product) bool { return !sized(x) }) {
		return p, false
	}
	if all[1].Out.At < all[0].Out.At {
		slices.Reverse(all)
	}
	p = all[0]
	p.Batch = len(all)
	second := all[1].matrices()
	for i, m := range p.matrices() {
		m.Step = int64(second[i].At - m.At)
		for n := range all {
			if m.Step < 0 || all[n].matrices()[i].At != m.At+Ptr(int64(n)*m.Step) {
				return p, false
			}
		}
	}
	return p, true
}

func (p *Product) matrices() [4]*Matrix { return [4]*Matrix{&p.Left, &p.Right, &p.Plus, &p.Out} }
