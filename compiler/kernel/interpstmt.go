package kernel

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// stmt compiles a statement; what it defines enters the scope.
func (m *machine) stmt(s Stmt, sc scope) step {
	switch s := s.(type) {
	case *Let:
		return m.located(s, sc, nil, m.let(s, sc))
	case *Load:
		return m.located(s, sc, s.Axes, m.load(s))
	case *Store:
		return m.located(s, sc, s.Axes, m.store(s))
	case *Fill:
		if s.Rand != nil {
			return m.located(s, sc, nil, m.random(s))
		}
		return m.located(s, sc, nil, m.fill(s))
	case *Map:
		return m.located(s, sc, s.Axes, m.mapping(s))
	case *Dot:
		return m.located(s, sc, nil, m.dot(s))
	case *Reduce:
		return m.located(s, sc, []Axis{s.Axis}, m.reduce(s, sc))
	case *For:
		return m.forLoop(s, sc)
	case *If:
		return m.branch(s, sc)
	}
	panic(fmt.Sprintf("BUG: unknown statement %T", s))
}

func (m *machine) let(s *Let, sc scope) step {
	value, v := m.code(s.Value), m.variable(s.Name)
	tiles := m.define(sc, s.Name)
	return func() error {
		if err := value.run(); err != nil {
			return err
		}
		*v = value.At(0)
		return tiles()
	}
}

func (m *machine) load(s *Load) step {
	src, dst := m.arrays[s.Buf], m.arrays[s.Dst]
	each, from := m.loops(s.Axes), m.code(s.Index...)
	var vars []*expr.Value
	for _, a := range s.Axes {
		vars = append(vars, m.variable(a.Var))
	}
	index := make([]int, len(vars))
	one := func() error {
		if err := from.run(); err != nil {
			return err
		}
		at, err := from.offset(src)
		if err != nil {
			return err
		}
		if err := src.read(at, m.cell); err != nil {
			return err
		}
		for i, v := range vars {
			index[i] = int(v.I)
		}
		into, err := dst.offset(index)
		if err != nil {
			return err
		}
		dst.set(into, src.get(at))
		return nil
	}
	return func() error { return each(one) }
}

func (m *machine) store(s *Store) step {
	dst := m.arrays[s.Buf]
	return m.assign(dst, s.Index, s.Axes, s.Value, func(at int) error { return dst.write(at, m.cell) })
}

func (m *machine) mapping(s *Map) step {
	return m.assign(m.arrays[s.Dst], s.At, s.Axes, s.Value, func(int) error { return nil })
}

// assign compiles dst[index] = value for all values of axes.
func (m *machine) assign(dst *array, index []*expr.Expr, axes []Axis, value *expr.Expr, note func(at int) error) step {
	each := m.loops(axes)
	c := m.code(append(slices.Clip(index), value)...)
	one := func() error {
		if err := c.run(); err != nil {
			return err
		}
		at, err := c.offset(dst)
		if err != nil {
			return err
		}
		if err := note(at); err != nil {
			return err
		}
		dst.set(at, c.At(len(index)))
		return nil
	}
	return func() error { return each(one) }
}

func (m *machine) fill(s *Fill) step {
	dst, value := m.arrays[s.Dst], m.code(s.Value)
	return func() error {
		if err := value.run(); err != nil {
			return err
		}
		for at := range product(dst.shape) {
			dst.set(at, value.At(0))
		}
		return nil
	}
}

// random compiles a Fill with the words that Rand documents.
func (m *machine) random(s *Fill) step {
	dst, c := m.arrays[s.Dst], m.code(s.Rand.Base, s.Rand.Example)
	return func() error {
		if err := c.run(); err != nil {
			return err
		}
		base, example := c.At(0).I, uint32(c.At(1).I)
		if base < 0 {
			return fmt.Errorf("the first word is %d", base)
		}
		var launch [4]uint32
		for i, name := range []string{"seed0", "seed1", "step", "layer"} {
			v, err := m.launch.value(name)
			if err != nil {
				return err
			}
			launch[i] = uint32(v.I)
		}
		for e := range dst.i {
			n := base + int64(e)
			counter := [4]uint32{uint32(n / 4), example, launch[2], s.Rand.Stream<<16 + launch[3]}
			dst.i[e] = int32(philox(counter, [2]uint32{launch[0], launch[1]})[n%4])
		}
		return nil
	}
}

func (m *machine) dot(s *Dot) step {
	dst, a, b := m.arrays[s.Dst], m.arrays[s.A], m.arrays[s.B]
	return func() error {
		depth, cols, rows := b.shape[0], product(b.shape[1:]), 1
		wantA, wantDst := []int{depth}, slices.Clone(b.shape[1:])
		rowStep, step := depth, 1
		if len(dst.shape) == 2 {
			rows = dst.shape[0]
			wantA, wantDst = []int{rows, depth}, []int{rows, cols}
		}
		if s.TransA {
			slices.Reverse(wantA)
			rowStep, step = 1, rows
		}
		if !slices.Equal(a.shape, wantA) || !slices.Equal(dst.shape, wantDst) {
			return fmt.Errorf("shapes %v += %v * %v do not fit", dst.shape, a.shape, b.shape)
		}
		for r := range rows {
			c := dst.f[r*cols:][:cols]
			for k := range depth {
				x := a.f[r*rowStep+k*step]
				for n, y := range b.f[k*cols:][:cols] {
					c[n] = FMA32(x, y, c[n])
				}
			}
		}
		return nil
	}
}

func (m *machine) reduce(s *Reduce, sc scope) step {
	r, result := findReduce(s.Op), m.variable(s.Name)
	each, value := m.loops([]Axis{s.Axis}), m.code(s.Value)
	e, tiles := m.variable(s.Axis.Var), m.define(sc, s.Name)
	return func() error {
		p := r.begin()
		err := each(func() error {
			err := value.run()
			lane := &p[e.I%lanes]
			*lane = r.take(*lane, float32(value.At(0).F))
			return err
		})
		if err != nil {
			return err
		}
		result.F = float64(r.combine(p))
		return tiles()
	}
}

func (m *machine) forLoop(s *For, sc scope) step {
	v, bounds := m.variable(s.Var), m.code(s.Lo, s.Hi)
	enter := m.located(s, sc, nil, bounds.run)
	inner := sc.with(s.Var)
	fresh := m.located(s, inner, nil, m.define(inner, s.Var))
	body := m.body(s.Body, inner)
	return func() error {
		if err := enter(); err != nil {
			return err
		}
		lo, hi := bounds.At(0).I, bounds.At(1).I
		for i := lo; i < hi; i++ {
			v.I = i
			if err := fresh(); err != nil {
				return err
			}
			if err := body(); err != nil {
				return err
			}
		}
		return nil
	}
}

func (m *machine) branch(s *If, sc scope) step {
	cond := m.code(s.Cond)
	test := m.located(s, sc, nil, cond.run)
	then := m.body(s.Then, sc)
	return func() error {
		if err := test(); err != nil || cond.At(0).I == 0 {
			return err
		}
		return then()
	}
}
