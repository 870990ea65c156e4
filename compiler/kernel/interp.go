package kernel

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// Run verifies k and runs its cells one after another on bufs, one a buffer
// parameter in order. What may happen in any order happens in another one:
// iterations of a loop that are apart come last to first, each with fresh tiles of its
// own. What Verify cannot see is an error that names the statement: an index outside
// its tile or buffer (also on the side of a where that is not taken), a division by
// zero, a negative size, a cell that reads or writes what another cell writes.
func Run(k *Kernel, s Scalars, bufs []Buffer) error {
	m, shapes, err := start(k, s)
	if err != nil {
		return err
	}
	m.bindBuffers(shapes, bufs)
	if m.Err == nil {
		m.run()
	}
	return m.err()
}

// Extents verifies k and returns the shape that each buffer parameter has in a
// launch, in order.
func Extents(k *Kernel, s Scalars) ([][]int, error) {
	_, shapes, err := start(k, s)
	return shapes, err
}

// machine is one run of a kernel. Statements are compiled to steps over its
// memory.
type machine struct {
	*memory.Memory
	k      *Kernel
	launch Scalars
}

// step runs one statement.
type step = memory.Step

// start verifies a kernel, and returns a machine that has the scalars of a launch,
// and the shapes of its buffers.
func start(k *Kernel, s Scalars) (*machine, [][]int, error) {
	if err := Verify(k); err != nil {
		return nil, nil, err
	}
	m := &machine{memory.New(), k, s}
	var shapes [][]int
	for _, p := range k.Params {
		if p.Mode == Scalar {
			v, err := s.Value(p.Name)
			if err != nil {
				m.Fail("%w", err)
			}
			*m.Variable(p.Name) = v
		}
	}
	for _, p := range k.Params {
		if p.Mode == Scalar || m.Err != nil {
			break
		}
		shapes = append(shapes, slices.Clone(m.Sizes(p.Shape)()))
		if m.Err != nil {
			m.Err = fmt.Errorf("buffer %s: %w", p.Name, m.Err)
		}
	}
	return m, shapes, m.err()
}

// err is the error of the run.
func (m *machine) err() error {
	if m.Err == nil {
		return nil
	}
	return fmt.Errorf("kernel %s: %w", m.k.Name, m.Err)
}

// bindBuffers makes arrays of the buffers, whose parameters come first.
func (m *machine) bindBuffers(shapes [][]int, bufs []Buffer) {
	if len(bufs) != len(shapes) {
		m.Fail("it has %d buffers, not %d", len(shapes), len(bufs))
		return
	}
	for i, b := range bufs {
		p, n := m.k.Params[i], memory.Product(shapes[i])
		a := &memory.Array{Name: p.Name, Type: p.Type, Shape: shapes[i], F: b.F, I: b.I, H: b.H}
		if have := b.len(p.Type); have < n {
			m.Fail("buffer %s%v has %d elements of %s", p.Name, a.Shape, have, p.Type)
		}
		if p.Mode != In {
			a.Watch(n)
		}
		m.Arrays[p.Name] = a
	}
}

// run walks the grid. What a cell leaves in tiles is nothing to the next one.
func (m *machine) run() {
	names, sizes := nest(m.k.Grid)
	cell := m.At(names, m.Sequence([]step{m.body(m.k.Once), m.body(m.k.Body)}))
	m.Loops(names, sizes)(func() {
		m.Cell++
		cell()
	})
}

// nest is the names and sizes of axes.
func nest(axes []Axis) (names []string, sizes []*expr.Expr) {
	for _, a := range axes {
		names = append(names, a.Var)
	}
	return names, Sizes(axes)
}

func (m *machine) body(body []Stmt) step {
	steps := make([]step, len(body))
	for i, s := range body {
		steps[i] = m.stmt(s)
	}
	return m.Sequence(steps)
}

// located makes the error of a step name its statement.
func (m *machine) located(s Stmt, run step) step {
	return func() {
		if run(); m.Err != nil {
			m.Err = fmt.Errorf("%s: %w", m.k.Describe(s), m.Err)
		}
	}
}
