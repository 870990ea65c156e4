package cuda

import (
	"slices"

	"github.com/arithlang/mlc/runtime/device"
)

// A Gemm says that a kernel leaves a matrix product and nothing else, so that a
// Multiplier can compute it: Out[M, N] = Left[M, K] Right[K, N] + Plus[M, N].
type Gemm struct {
	Size             func(e *device.Env) [3]int // M, N and K, of one replica
	Left, Right, Out Operand
	Plus             int // a buffer of float32, which may be that of Out; -1: nothing is added
}

// An Operand is a buffer of a kernel as a matrix: all of it, row by row.
type Operand struct {
	Buffer int
	Trans  bool // it lies column by column
	Narrow bool // of BF16, else of float32
}

// A Product is products of matrices of one size on a device, each of which is a Gemm.
type Product struct {
	M, N, K, Batch         int
	Left, Right, Plus, Out Matrix // nothing is added where Plus is at 0; it may be Out
}

// A Matrix is where the matrices of a Product are.
type Matrix struct {
	At            Ptr   // of the first
	Step          int64 // bytes to the next one
	Trans, Narrow bool  // as of an Operand
}

// A Multiplier computes products in the place of kernels, on the stream of a Driver. Its
// sums are in float32, in an order of its own.
type Multiplier interface {
	// Name says what it is, with its version.
	Name() string
	// Multiply queues a product behind all that the Driver was asked for, as a launch is:
	// Driver.Capture records it, and nothing waits.
	Multiply(p *Product) error
	// Close frees what the Multiplier has, before the Driver is closed.
	Close() error
}

// A Streamer is a Driver on whose stream another library can queue work.
type Streamer interface {
	// Enqueue calls queue on a thread where the context of the device is current, with the
	// handle of the stream. The name is blamed if the device is lost.
	Enqueue(name string, queue func(stream uintptr) error) error
	// Busy says whether something that was asked for is not through yet.
	Busy() (bool, error)
}

// Multiplier is what computes products instead of kernels, nil if nothing does.
func (m *Machine) Multiplier() Multiplier { return m.options.Multiplier }

// Multiplies says whether the Multiplier computes what it can.
func (m *Machine) Multiplies() bool { return m.multiplies }

// Product says whether a kernel, by its number, is one that a Multiplier can compute.
func (m *Machine) Product(kernel int) bool { return m.kernels[kernel].Gemm != nil }

// Multiply lets the Multiplier compute products from here on, or the kernels.
func (m *Machine) Multiply(on bool) {
	m.flush()
	m.multiplies = on && m.options.Multiplier != nil
}

// multiply appends what a Multiplier computes for a launch: one product for all sets of
// buffers if they are equally far apart and there are no replicas, else one for each, and
// for each replica where these differ in size.
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

// product is what all replicas of a group compute on one set of buffers.
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

// replica is what one replica computes, which has a size of its own.
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

// batch makes one of independent products whose matrices follow each other in equal steps,
// forwards or backwards.
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
