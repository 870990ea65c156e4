package kernel

import (
	"fmt"
	"slices"
)

// Run verifies k and runs its cells consecutively on bufs, one per buffer parameter in order. An
// independent loop runs from its last iteration to its first, each iteration with fresh tiles. An
// error that Verify cannot see names the statement. Such errors are an index outside its tile or
// buffer (on either side of a where), a division by zero, a negative size, and a conflict between
// cells.
func Run(k *Kernel, s Scalars, bufs []Buffer) error {
	return RunSums(k, s, bufs, nil)
}

// RunSums is Run for a device that adds products of 16-bit factors in another order; nil is the
// defined order.
func RunSums(k *Kernel, s Scalars, bufs []Buffer, add *Sums) error {
	r, err := NewRunner(k, add)
	if err != nil {
		return err
	}
	return r.Run(s, bufs)
}

// Extents verifies k and returns the shape that each buffer parameter has in a
// launch, in order.
func Extents(k *Kernel, s Scalars) ([][]int, error) {
	r, err := NewRunner(k, nil)
	if err != nil {
		return nil, err
	}
	return r.Extents(s)
}

// A Runner runs a kernel any number of times, one after another. It verifies and compiles the
// kernel once, so the kernel must not change.
type Runner struct {
	m       *machine
	buffers []*array
	sizes   []func() []int // of buffers
	shapes  [][]int        // the buffers' shapes in the launch
	grid    step           // nil until the first run
}

// NewRunner verifies a kernel and returns its Runner, which adds products as in RunSums.
func NewRunner(k *Kernel, add *Sums) (*Runner, error) {
	if err := Verify(k); err != nil {
		return nil, err
	}
	r := &Runner{m: newMachine(k.Defined(), add)}
	for _, p := range k.Params {
		if p.Mode == Scalar {
			break // they come after all buffers
		}
		a := &array{name: p.Name, typ: p.Type}
		r.m.arrays[p.Name] = a
		r.buffers, r.sizes = append(r.buffers, a), append(r.sizes, r.m.sizes(p.Shape))
	}
	return r, nil
}

// Run runs the kernel as the function Run does.
func (r *Runner) Run(s Scalars, bufs []Buffer) error {
	m := r.m
	if r.start(s); m.err == nil {
		r.bind(bufs)
	}
	if m.err == nil {
		if r.grid == nil {
			r.grid = m.grid()
		}
		r.grid()
	}
	return m.result()
}

// Extents returns the shape that each buffer parameter has in a launch, in order.
func (r *Runner) Extents(s Scalars) ([][]int, error) {
	r.start(s)
	return r.shapes, r.m.result()
}

// start sets the scalars of a launch and the shapes of its buffers.
func (r *Runner) start(s Scalars) {
	m := r.m
	m.launch, m.cell, m.err, r.shapes = s, 0, nil, nil
	for _, p := range m.k.Params[len(r.buffers):] {
		v, err := s.Value(p.Name)
		if err != nil {
			m.fail("%w", err)
		}
		*m.variable(p.Name) = v
	}
	for i, sizes := range r.sizes {
		if m.err != nil {
			break
		}
		r.shapes = append(r.shapes, slices.Clone(sizes()))
		if m.err != nil {
			m.err = fmt.Errorf("buffer %s: %w", m.k.Params[i].Name, m.err)
		}
	}
}

// bind gives the arrays of buffers their memory.
func (r *Runner) bind(bufs []Buffer) {
	m := r.m
	if len(bufs) != len(r.shapes) {
		m.fail("it has %d buffers, not %d", len(r.shapes), len(bufs))
		return
	}
	for i, b := range bufs {
		p, a, n := m.k.Params[i], r.buffers[i], count(r.shapes[i])
		a.Buffer, a.shape = b, r.shapes[i]
		if have := b.len(p.Type); have < n {
			m.fail("buffer %s%v has %d elements of %s", p.Name, a.shape, have, p.Type)
		}
		if p.Mode != In {
			a.watch(n)
		}
	}
}

// result returns the error of the run.
func (m *machine) result() error {
	if m.err == nil {
		return nil
	}
	return fmt.Errorf("kernel %s: %w", m.k.Name, m.err)
}

// grid compiles the walk over the grid. Every cell begins with fresh tiles.
func (m *machine) grid() step {
	cell := m.at(m.k.Grid, m.sequence([]step{m.body(m.k.Once), m.body(m.k.Body)}))
	each := m.loops(m.k.Grid)
	return func() {
		each(func() {
			m.cell++
			cell()
		})
	}
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
