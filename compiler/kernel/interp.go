package kernel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// A Buffer holds the elements of one buffer parameter: F if it is F32, I if it is
// I32. It may be longer than the parameter's shape.
type Buffer struct {
	F []float32
	I []int32
}

// Run verifies k and runs its cells one after another on bufs, one a buffer
// parameter in order. What Verify cannot see is an error that names the
// statement: an index outside its tile or buffer (also on the side of a where
// that is not taken), a division by zero, a negative size, operands of a Dot that
// do not fit, a cell that reads or writes what another cell writes.
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

// scope is what a statement is compiled in: the variables that have a value, and
// in order those that count loops.
type scope struct {
	bound   map[string]bool
	counted []string
}

func (sc scope) with(name string) scope {
	bound := maps.Clone(sc.bound)
	bound[name] = true
	return scope{bound, append(slices.Clip(sc.counted), name)}
}

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
		a := &memory.Array{Name: p.Name, Type: p.Type, Shape: shapes[i], F: b.F, I: b.I}
		have := len(b.I)
		if p.Type == expr.F32 {
			have = len(b.F)
		}
		if have < n {
			return fmt.Errorf("buffer %s%v has %d elements of %s", p.Name, a.Shape, have, p.Type)
		}
		if p.Mode != In {
			a.Watch(n)
		}
		m.Arrays[p.Name] = a
	}
	return nil
}

// run walks the grid.
func (m *machine) run() error {
	for _, t := range m.k.Tiles {
		m.Arrays[t.Name] = &memory.Array{Name: t.Name, Type: t.Type}
	}
	sc := scope{bound: map[string]bool{}}
	m.Names(func(name string) { sc.bound[name] = true })
	grid := m.loops(m.k.Grid)
	for _, a := range m.k.Grid {
		sc = sc.with(a.Var)
	}
	enter := m.At(sc.counted, m.tiles(sc, func(*Tile) bool { return true }))
	body := m.body(m.k.Body, sc)
	return grid(func() error {
		m.Cell++
		if err := enter(); err != nil {
			return err
		}
		return body()
	})
}

// tiles compiles the making of those tiles among which whose shapes have become
// known in a scope.
func (m *machine) tiles(sc scope, among func(*Tile) bool) step {
	var steps []step
	for i := range m.k.Tiles {
		t := &m.k.Tiles[i]
		known := true
		for _, v := range expr.Vars(t.Shape...) {
			known = known && sc.bound[v.Name]
		}
		if !known || !among(t) {
			continue
		}
		sizes, a := m.Sizes(t.Shape), m.Arrays[t.Name]
		steps = append(steps, func() error {
			shape, err := sizes()
			if err != nil {
				return fmt.Errorf("tile %s: %w", t.Name, err)
			}
			a.Fresh(shape)
			return nil
		})
	}
	return memory.Sequence(steps)
}

// define compiles what follows when name gets a value: the tiles whose shapes use
// it become fresh.
func (m *machine) define(sc scope, name string) step {
	sc.bound[name] = true
	return m.tiles(sc, func(t *Tile) bool {
		return slices.ContainsFunc(expr.Vars(t.Shape...), func(v *expr.Expr) bool { return v.Name == name })
	})
}

// body compiles statements in a scope of their own.
func (m *machine) body(body []Stmt, sc scope) step {
	sc.bound = maps.Clone(sc.bound)
	var steps []step
	for _, s := range body {
		steps = append(steps, m.stmt(s, sc))
	}
	return memory.Sequence(steps)
}

// located makes the errors of a step name its statement and where the loops
// around it and its own axes stand.
func (m *machine) located(s Stmt, sc scope, axes []Axis, run step) step {
	names := slices.Clone(sc.counted)
	for _, a := range axes {
		names = append(names, a.Var)
	}
	run = m.At(names, run)
	return func() error {
		if err := run(); err != nil {
			return fmt.Errorf("%s: %w", m.k.describe(s), err)
		}
		return nil
	}
}

// loops compiles a nest of axes: it calls f for all their values, the last axis
// fastest.
func (m *machine) loops(axes []Axis) func(f step) error {
	var names []string
	var extents []*expr.Expr
	for _, a := range axes {
		names, extents = append(names, a.Var), append(extents, a.Size)
	}
	return m.Loops(names, extents)
}
