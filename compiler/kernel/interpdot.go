package kernel

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// side is a side of a product while it runs: a position in an array, and how far each axis moves
// it.
type side struct {
	code  *code // of its index
	array *array
	at    int
	steps [3]int // along rows, columns, sum
}

// dot compiles a product, each output in ascending k.
func (m *machine) dot(s *Dot) step {
	axes := s.axesOr1()
	vars := [3]*expr.Value{}
	for i, a := range axes {
		vars[i] = m.variable(a.Var)
	}
	sides := []*side{m.side(s.A), m.side(s.B)}
	v := m.variable(s.Dst.Name)
	if s.Dst.Op == expr.Elem {
		sides = append(sides, m.side(s.Dst))
	}
	sizes := m.sizes(Sizes(axes[:]))
	fours := m.add.inFours(m.k, s)
	return func() {
		shape := sizes()
		if s.MostRows > 0 && shape[0] > s.MostRows || s.MostCols > 0 && shape[1] > s.MostCols {
			m.fail("%d rows and %d columns are above the bounds", shape[0], shape[1])
		}
		for n, x := range sides {
			axes := []int{3, 3, 2}[n] // the result is not over the sum
			m.place(x, vars[:axes], shape[:axes])
		}
		switch {
		case m.err != nil:
		case s.Dst.Op == expr.Var:
			v.F = float64(m.chain(s, *sides[0], *sides[1], shape[2], float32(v.F), fours))
		default:
			m.product(s, sides, shape, fours)
		}
	}
}

// axesOr1 returns the axes of rows, columns and the sum. A missing axis has size 1.
func (s *Dot) axesOr1() [3]Axis {
	axes := [3]Axis{{"dot.row", expr.Int(1)}, {"dot.col", expr.Int(1)}}
	copy(axes[3-len(s.Axes):], s.Axes)
	return axes
}

func (m *machine) side(e *expr.Expr) *side {
	return &side{code: m.code(e.Args...), array: m.arrays[e.Name]}
}

// place finds the positions of the elements, which must all lie in the array.
func (m *machine) place(x *side, vars []*expr.Value, shape []int) {
	index := func(axis int) []int {
		for i, v := range vars {
			if v.I = 0; i == axis {
				v.I = 1
			}
		}
		x.code.run()
		return x.code.index(len(x.array.shape))
	}
	first := slices.Clone(index(-1))
	last := slices.Clone(first)
	x.at, x.steps = x.array.flat(first), [3]int{}
	for a, size := range shape {
		if size == 0 || m.err != nil {
			return
		}
		next := index(a)
		x.steps[a] = x.array.flat(next) - x.at
		for d := range next {
			if next[d] < first[d] {
				m.fail("index %d of %s falls", d, x.array.name)
			}
			last[d] += (next[d] - first[d]) * (size - 1)
		}
	}
	m.offset(x.array, first)
	m.offset(x.array, last)
}

// product computes the elements of the result.
func (m *machine) product(s *Dot, sides []*side, shape []int, fours bool) {
	a, b, c := *sides[0], *sides[1], *sides[2]
	for i := range shape[0] {
		for j := range shape[1] {
			at := c.at + i*c.steps[0] + j*c.steps[1]
			sum := float32(0)
			if !s.Zero {
				m.read(c.array, at)
				sum = c.array.F[at]
			}
			row, col := a, b
			row.at += i * a.steps[0]
			col.at += j * b.steps[1]
			sum = m.chain(s, row, col, shape[2], sum, fours)
			if m.write(c.array, at); m.err != nil {
				return
			}
			c.array.F[at] = sum
		}
	}
}

// chain adds the products of one element in ascending k, or as m.add defines for such factors.
func (m *machine) chain(s *Dot, a, b side, depth int, sum float32, inFours bool) float32 {
	if m.add.takes(s, a.array.typ) {
		x, y := m.factors(a, depth), m.factors(b, depth)
		switch {
		case s.Split:
			return m.add.AddSplit(sum, x, y)
		case inFours:
			x, y = fours(x), fours(y)
		}
		return m.add.Add(sum, x, y)
	}
	if x, y := a.array, b.array; !s.Split && x.typ == expr.F32 && y.typ == expr.F32 && x.users == nil && y.users == nil {
		for range depth {
			sum = expr.FMA32(x.F[a.at], y.F[b.at], sum)
			a.at += a.steps[2]
			b.at += b.steps[2]
		}
		return sum
	}
	for range depth {
		m.read(a.array, a.at)
		m.read(b.array, b.at)
		x, y := a.array.float(a.at), b.array.float(b.at)
		if s.Split {
			xHigh, xLow := Halves(x)
			yHigh, yLow := Halves(y)
			sum = expr.FMA32(xLow, yHigh, sum)
			sum = expr.FMA32(xHigh, yLow, sum)
			x, y = xHigh, yHigh
		}
		sum = expr.FMA32(x, y, sum)
		a.at += a.steps[2]
		b.at += b.steps[2]
	}
	return sum
}

// factors returns the elements of one side of a product.
func (m *machine) factors(x side, depth int) []float32 {
	all := make([]float32, depth)
	for i := range all {
		m.read(x.array, x.at)
		all[i] = x.array.float(x.at)
		x.at += x.steps[2]
	}
	return all
}
