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
	shapes, err := Extents(k, s)
	if err != nil {
		return err
	}
	m := newMachine(k, s)
	err = m.bindScalars()
	if err == nil {
		err = m.bindBuffers(shapes, bufs)
	}
	if err == nil {
		err = m.run()
	}
	if err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return nil
}

// Extents verifies k and returns the shape that each buffer parameter has in a
// launch, in order.
func Extents(k *Kernel, s Scalars) ([][]int, error) {
	if err := Verify(k); err != nil {
		return nil, err
	}
	m := newMachine(k, s)
	if err := m.bindScalars(); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	var shapes [][]int
	for _, p := range k.Params {
		if p.Mode == Scalar {
			break
		}
		shape, err := m.Sizes(p.Shape)()
		if err != nil {
			return nil, fmt.Errorf("kernel %s: buffer %s: %w", k.Name, p.Name, err)
		}
		shapes = append(shapes, slices.Clone(shape))
	}
	return shapes, nil
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

func newMachine(k *Kernel, s Scalars) *machine {
	return &machine{memory.New(), k, s}
}

// bindScalars gives the scalar parameters their values.
func (m *machine) bindScalars() error {
	for _, p := range m.k.Params {
		if p.Mode != Scalar {
			continue
		}
		v, err := m.launch.Value(p.Name)
		if err != nil {
			return err
		}
		*m.Variable(p.Name) = v
	}
	return nil
}

// bindBuffers makes arrays of the buffers, whose parameters come first.
func (m *machine) bindBuffers(shapes [][]int, bufs []Buffer) error {
	if len(bufs) != len(shapes) {
		return fmt.Errorf("it has %d buffers, not %d", len(shapes), len(bufs))
	}
	for i, b := range bufs {
		p, n := m.k.Params[i], memory.Product(shapes[i])
		a := &memory.Array{Name: p.Name, Type: p.Type, Shape: shapes[i], F: b.F, I: b.I, H: b.H}
		if have := b.len(p.Type); have < n {
			return fmt.Errorf("buffer %s%v has %d elements of %s", p.Name, a.Shape, have, p.Type)
		}
		if p.Mode != In {
			a.Watch(n)
		}
		m.Arrays[p.Name] = a
	}
	return nil
}

// run walks the grid. What a cell leaves in tiles is nothing to the next one.
func (m *machine) run() error {
	names, sizes := nest(m.k.Grid)
	cell := m.At(names, memory.Sequence([]step{m.body(m.k.Once), m.body(m.k.Body)}))
	return m.Loops(names, sizes)(func() error {
		m.Cell++
		return cell()
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
	return memory.Sequence(steps)
}

// located makes the errors of a step name its statement.
func (m *machine) located(s Stmt, run step) step {
	return func() error {
		if err := run(); err != nil {
			return fmt.Errorf("%s: %w", m.k.Describe(s), err)
		}
		return nil
	}
}
