package flat

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// Run verifies k and runs its cells one after another on bufs, one a buffer
// parameter in order. It gives the bits of kernel.Run. What may happen in any order
// happens in another one: turns of a loop that are apart come last to first, each
// with fresh tiles of its own. What Verify cannot see is an error that names the
// node: an index outside its slice (also on the side of a where that is not taken),
// a tile that is too small, a division by zero, a negative size, a cell that reads
// or writes what another cell writes.
func Run(k Kernel, s kernel.Scalars, bufs []kernel.Buffer) error {
	if err := Verify(k); err != nil {
		return err
	}
	m := &machine{memory.New(), s}
	err := m.bind(k.Head, bufs)
	if err == nil {
		err = m.run(k)
	}
	if err != nil {
		return fmt.Errorf("flat form of %s: %w", k.Head.Name, err)
	}
	return nil
}

// machine is one run of a kernel. Nodes are compiled to steps over its memory.
type machine struct {
	*memory.Memory
	launch kernel.Scalars
}

// bind gives scalars their values, and buffers their elements.
func (m *machine) bind(head *kernel.Kernel, bufs []kernel.Buffer) error {
	for _, p := range head.Params {
		if p.Mode == kernel.Scalar {
			v, err := m.launch.Value(p.Name)
			if err != nil {
				return err
			}
			*m.Variable(p.Name) = v
		}
	}
	for i, p := range head.Params {
		if p.Mode == kernel.Scalar {
			break
		}
		if i >= len(bufs) {
			return fmt.Errorf("there is no buffer for %s", p.Name)
		}
		shape, err := m.Sizes(p.Shape)()
		if err != nil {
			return fmt.Errorf("buffer %s: %w", p.Name, err)
		}
		n, b := memory.Product(shape), bufs[i]
		if len(b.F)+len(b.I) < n {
			return fmt.Errorf("buffer %s has %d elements, not %d", p.Name, len(b.F)+len(b.I), n)
		}
		a := &memory.Array{Name: p.Name, Type: p.Type, Shape: []int{n}, F: b.F, I: b.I}
		if p.Mode != kernel.In {
			a.Watch(n)
		}
		m.Arrays[p.Name] = a
	}
	return nil
}

// run walks the grid. What a cell leaves in tiles is nothing to the next one.
func (m *machine) run(k Kernel) error {
	var names []string
	var sizes []*expr.Expr
	for _, a := range k.Head.Grid {
		names, sizes = append(names, a.Var), append(sizes, a.Size)
	}
	cell := memory.Sequence([]memory.Step{m.nodes(k.Pre), m.nodes(k.Body)})
	cell = m.At(names, cell)
	return m.Loops(names, sizes)(func() error {
		m.Cell++
		return cell()
	})
}

func (m *machine) nodes(ns []Node) memory.Step {
	steps := make([]memory.Step, len(ns))
	for i, n := range ns {
		steps[i] = m.node(n)
	}
	return memory.Sequence(steps)
}

// node compiles a node, whose errors name it.
func (m *machine) node(n Node) memory.Step {
	switch n := n.(type) {
	case *Let:
		return located(n, m.set(n.Name, n.Value))
	case *Alloc:
		return located(n, m.alloc(n))
	case *Assign:
		return located(n, m.assign(n))
	case *Fill:
		return located(n, m.fill(n))
	case *Random:
		return located(n, m.random(n))
	case *Dot:
		return located(n, m.dot(n))
	case *Reduce:
		return located(n, m.reduce(n))
	case *Loop:
		return m.loop(n)
	case *Branch:
		cond, body := m.Code(n.Cond), m.nodes(n.Body)
		test := located(n, cond.Run)
		return func() error {
			if err := test(); err != nil || cond.At(0).I == 0 {
				return err
			}
			return body()
		}
	}
	panic(fmt.Sprintf("BUG: unknown node %T", n))
}

func located(n Node, run memory.Step) memory.Step {
	return func() error {
		if err := run(); err != nil {
			return fmt.Errorf("%s: %w", Describe(n), err)
		}
		return nil
	}
}

// set gives a variable a value.
func (m *machine) set(name string, value *expr.Expr) memory.Step {
	c, v := m.Code(value), m.Variable(name)
	return func() error {
		err := c.Run()
		*v = c.At(0)
		return err
	}
}

// undefined is what a variable holds before it is set.
var undefined = expr.Value{F: math.NaN(), I: memory.Poison}

func (m *machine) alloc(n *Alloc) memory.Step {
	if n.Size == nil {
		if n.Value != nil {
			return m.set(n.Name, n.Value)
		}
		v := m.Variable(n.Name)
		return func() error { *v = undefined; return nil }
	}
	a, sizes := &memory.Array{Name: n.Name, Type: n.Type, Shape: []int{0}}, m.Sizes([]*expr.Expr{n.Size})
	m.Arrays[n.Name] = a
	return func() error {
		shape, err := sizes()
		if err == nil {
			a.Fresh(shape)
		}
		return err
	}
}

func (m *machine) assign(n *Assign) memory.Step {
	if n.Dst.Op == expr.Var {
		return m.set(n.Dst.Name, n.Value)
	}
	var names []string
	var sizes []*expr.Expr
	for _, a := range n.Axes {
		names, sizes = append(names, a.Var), append(sizes, a.Size)
	}
	dst, c := m.Arrays[n.Dst.Name], m.Code(n.Dst.Args[0], n.Value)
	each := m.Loops(names, sizes)
	one := m.At(names, func() error {
		if err := c.Run(); err != nil {
			return err
		}
		at, err := c.Offset(dst)
		if err == nil {
			err = dst.Write(at, m.Cell)
		}
		if err == nil {
			dst.Set(at, c.At(1))
		}
		return err
	})
	return func() error { return each(one) }
}

// part compiles the number of elements of a tile that a node writes.
func (m *machine) part(dst *memory.Array, size *expr.Expr) func() (int, error) {
	sizes := m.Sizes([]*expr.Expr{size})
	return func() (int, error) {
		shape, err := sizes()
		if err != nil {
			return 0, err
		}
		if shape[0] > dst.Shape[0] {
			return 0, fmt.Errorf("%s has %d elements, not %d", dst.Name, dst.Shape[0], shape[0])
		}
		return shape[0], nil
	}
}

func (m *machine) fill(n *Fill) memory.Step {
	if n.Size == nil {
		return m.set(n.Dst, n.Value)
	}
	dst, value := m.Arrays[n.Dst], m.Code(n.Value)
	part := m.part(dst, n.Size)
	return func() error {
		size, err := part()
		if err == nil {
			err = value.Run()
		}
		if err != nil {
			return err
		}
		for at := range size {
			dst.Set(at, value.At(0))
		}
		return nil
	}
}

func (m *machine) random(n *Random) memory.Step {
	dst, c := m.Arrays[n.Dst], m.Code(n.Base, n.Example)
	part := m.part(dst, n.Size)
	return func() error {
		size, err := part()
		if err == nil {
			err = c.Run()
		}
		if err != nil {
			return err
		}
		return m.launch.Words(dst.I[:size], n.Stream, uint32(c.At(1).I), c.At(0).I)
	}
}

// A strided is an operand of a product while it runs.
type strided struct {
	array       *memory.Array
	off, rs, cs int
}

// at is the position of an element, which must lie in the slice.
func (x *strided) at(i, j int) (int, error) {
	at := x.off + i*x.rs + j*x.cs
	if at < 0 || at >= x.array.Shape[0] {
		return 0, fmt.Errorf("element (%d, %d) at %d is outside %s%v", i, j, at, x.array.Name, x.array.Shape)
	}
	return at, nil
}

// get reads an element.
func (x *strided) get(i, j int, cell int32) (float32, error) {
	at, err := x.at(i, j)
	if err == nil {
		err = x.array.Read(at, cell)
	}
	if err != nil {
		return 0, err
	}
	return x.array.F[at], nil
}

// dot compiles a product, each output in ascending k.
func (m *machine) dot(n *Dot) memory.Step {
	one, single := expr.Int(1), n.M == nil
	rows, cols := n.M, n.N
	if single {
		rows, cols = one, one
	}
	es := []*expr.Expr{rows, cols, n.K}
	xs := [3]strided{}
	for i, o := range []Operand{n.A, n.B, n.C} {
		xs[i].array = m.Arrays[o.Slice]
		es = append(es, o.Off, o.RS, o.CS)
	}
	sizes, v := m.Code(es...), m.Variable(n.C.Slice)
	return func() error {
		if err := sizes.Run(); err != nil {
			return err
		}
		for i := range xs {
			xs[i].off, xs[i].rs, xs[i].cs = int(sizes.At(3+3*i).I), int(sizes.At(4+3*i).I), int(sizes.At(5+3*i).I)
		}
		rows, cols, depth := int(sizes.At(0).I), int(sizes.At(1).I), int(sizes.At(2).I)
		if depth < 0 || rows < 0 || cols < 0 {
			return fmt.Errorf("its sizes are %d, %d, %d", rows, cols, depth)
		}
		if n.MostM > 0 && rows > n.MostM || n.MostN > 0 && cols > n.MostN {
			return fmt.Errorf("%d rows and %d columns are above the bounds", rows, cols)
		}
		if single {
			sum, err := m.chain(xs[:2], 0, 0, depth, float32(v.F))
			v.F = float64(sum)
			return err
		}
		return m.product(xs[:], rows, cols, depth, n.Zero)
	}
}

// product computes the elements of the result in any order.
func (m *machine) product(xs []strided, rows, cols, depth int, zero bool) error {
	c := &xs[2]
	for i := range rows {
		for j := range cols {
			at, err := c.at(i, j)
			if err != nil {
				return err
			}
			sum := float32(0)
			if !zero {
				if sum, err = c.get(i, j, m.Cell); err != nil {
					return err
				}
			}
			if sum, err = m.chain(xs, i, j, depth, sum); err != nil {
				return err
			}
			if err := c.array.Write(at, m.Cell); err != nil {
				return err
			}
			c.array.F[at] = sum
		}
	}
	return nil
}

// chain adds the products of one element in ascending k.
func (m *machine) chain(xs []strided, i, j, depth int, sum float32) (float32, error) {
	for k := range depth {
		x, err := xs[0].get(i, k, m.Cell)
		if err != nil {
			return 0, err
		}
		y, err := xs[1].get(k, j, m.Cell)
		if err != nil {
			return 0, err
		}
		sum = kernel.FMA32(x, y, sum)
	}
	return sum, nil
}

func (m *machine) reduce(n *Reduce) memory.Step {
	r, result, e := memory.FindReduction(n.Op), m.Variable(n.Name), m.Variable(n.Axis.Var)
	each, value := m.Loops([]string{n.Axis.Var}, []*expr.Expr{n.Axis.Size}), m.Code(n.Value)
	return func() error {
		p := r.Begin()
		err := each(func() error {
			err := value.Run()
			r.Take(&p, e.I, float32(value.At(0).F))
			return err
		})
		*result = expr.Value{F: float64(r.Combine(p))}
		return err
	}
}

// loop compiles a loop, one that is apart from its last turn to its first.
func (m *machine) loop(n *Loop) memory.Step {
	v, bounds, body := m.Variable(n.Name), m.Code(n.Lo, n.Hi), m.nodes(n.Body)
	enter := located(n, bounds.Run)
	turn := m.At([]string{n.Name}, body)
	return func() error {
		if err := enter(); err != nil {
			return err
		}
		lo, hi := bounds.At(0).I, bounds.At(1).I
		turns := make([]int64, 0, max(hi-lo, 0))
		for i := lo; i < hi; i++ {
			turns = append(turns, i)
		}
		if n.Apart {
			slices.Reverse(turns)
		}
		for _, i := range turns {
			v.I = i
			m.forget(n)
			if err := turn(); err != nil {
				return err
			}
		}
		return nil
	}
}

// forget makes the tiles that each turn of a loop has for itself undefined.
func (m *machine) forget(n *Loop) {
	for id := range n.Own {
		if a := m.Arrays[id]; a != nil {
			a.Fresh(a.Shape)
		} else {
			*m.Variable(id) = undefined
		}
	}
}
