package kernel

import (
	"fmt"
	"slices"
)

// Run verifies k and runs its cells one after another on bufs, one a buffer
// parameter in order. What may happen in any order happens in another one:
// iterations of a loop that are independent come last to first, each with fresh tiles of its
// own. What Verify cannot see is an error that names the statement: an index outside
// its tile or buffer (also on the side of a where that is not taken), a division by
// zero, a negative size, a cell that reads or writes what another cell writes.
func Run(k *Kernel, s Scalars, bufs []Buffer) error {
	return RunSums(k, s, bufs, nil)
}

// Extents verifies k and returns the shape that each buffer parameter has in a
// launch, in order.
func Extents(k *Kernel, s Scalars) ([][]int, error) {
	_, shapes, err := start(k, s)
	return shapes, err
}

// start verifies a kernel, and returns a machine that has the scalars of a launch,
// and the shapes of its buffers.
func start(k *Kernel, s Scalars) (*machine, [][]int, error) {
	if err := Verify(k); err != nil {
		return nil, nil, err
	}
	m := newMachine(k, s)
	var shapes [][]int
	for _, p := range k.Params {
		if p.Mode == Scalar {
			v, err := s.Value(p.Name)
			if err != nil {
				m.fail("%w", err)
			}
			*m.variable(p.Name) = v
		}
	}
	for _, p := range k.Params {
		if p.Mode == Scalar || m.err != nil {
			break
		}
		shapes = append(shapes, slices.Clone(m.sizes(p.Shape)()))
		if m.err != nil {
			m.err = fmt.Errorf("buffer %s: %w", p.Name, m.err)
		}
	}
	return m, shapes, m.result()
}

// result is the error of the run.
func (m *machine) result() error {
	if m.err == nil {
		return nil
	}
	return fmt.Errorf("kernel %s: %w", m.k.Name, m.err)
}

// bindBuffers makes arrays of the buffers, whose parameters come first.
func (m *machine) bindBuffers(shapes [][]int, bufs []Buffer) {
	if len(bufs) != len(shapes) {
		m.fail("it has %d buffers, not %d", len(shapes), len(bufs))
		return
	}
	for i, b := range bufs {
		p, n := m.k.Params[i], count(shapes[i])
		a := &array{Buffer: b, name: p.Name, typ: p.Type, shape: shapes[i]}
		if have := b.len(p.Type); have < n {
			m.fail("buffer %s%v has %d elements of %s", p.Name, a.shape, have, p.Type)
		}
		if p.Mode != In {
			a.watch(n)
		}
		m.arrays[p.Name] = a
	}
}

// run walks the grid. What a cell leaves in tiles is nothing to the next one.
func (m *machine) run() {
	cell := m.at(m.k.Grid, m.sequence([]step{m.body(m.k.Once), m.body(m.k.Body)}))
	m.loops(m.k.Grid)(func() {
		m.cell++
		cell()
	})
}

func (m *machine) body(body []Stmt) step {
	steps := make([]step, len(body))
	for i, s := range body {
		steps[i] = m.stmt(s)
	}
	return m.sequence(steps)
}

// located makes the error of a step name its statement.
func (m *machine) located(s Stmt, run step) step {
	return func() {
		if run(); m.err != nil {
			m.err = fmt.Errorf("%s: %w", m.k.Describe(s), m.err)
		}
	}
}
