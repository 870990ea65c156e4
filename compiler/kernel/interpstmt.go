package kernel

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel/memory"
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
	value, v := m.Code(s.Value), m.Variable(s.Name)
	tiles := m.define(sc, s.Name)
	return func() error {
		if err := value.Run(); err != nil {
			return err
		}
		*v = value.At(0)
		return tiles()
	}
}

func (m *machine) load(s *Load) step {
	src, dst := m.Arrays[s.Buf], m.Arrays[s.Dst]
	each, from := m.loops(s.Axes), m.Code(s.Index...)
	var vars []*expr.Value
	for _, a := range s.Axes {
		vars = append(vars, m.Variable(a.Var))
	}
	index := make([]int, len(vars))
	one := func() error {
		if err := from.Run(); err != nil {
			return err
		}
		at, err := from.Offset(src)
		if err != nil {
			return err
		}
		if err := src.Read(at, m.Cell); err != nil {
			return err
		}
		for i, v := range vars {
			index[i] = int(v.I)
		}
		into, err := dst.Offset(index)
		if err != nil {
			return err
		}
		dst.Set(into, src.Get(at))
		return nil
	}
	return func() error { return each(one) }
}

func (m *machine) store(s *Store) step {
	dst := m.Arrays[s.Buf]
	return m.assign(dst, s.Index, s.Axes, s.Value, func(at int) error { return dst.Write(at, m.Cell) })
}

func (m *machine) mapping(s *Map) step {
	return m.assign(m.Arrays[s.Dst], s.At, s.Axes, s.Value, func(int) error { return nil })
}

// assign compiles dst[index] = value for all values of axes.
func (m *machine) assign(dst *memory.Array, index []*expr.Expr, axes []Axis, value *expr.Expr, note func(at int) error) step {
	each := m.loops(axes)
	c := m.Code(append(slices.Clip(index), value)...)
	one := func() error {
		if err := c.Run(); err != nil {
			return err
		}
		at, err := c.Offset(dst)
		if err != nil {
			return err
		}
		if err := note(at); err != nil {
			return err
		}
		dst.Set(at, c.At(len(index)))
		return nil
	}
	return func() error { return each(one) }
}

func (m *machine) fill(s *Fill) step {
	dst, value := m.Arrays[s.Dst], m.Code(s.Value)
	return func() error {
		if err := value.Run(); err != nil {
			return err
		}
		for at := range memory.Product(dst.Shape) {
			dst.Set(at, value.At(0))
		}
		return nil
	}
}

// random compiles a Fill with the words that Rand documents.
func (m *machine) random(s *Fill) step {
	dst, c := m.Arrays[s.Dst], m.Code(s.Rand.Base, s.Rand.Example)
	return func() error {
		if err := c.Run(); err != nil {
			return err
		}
		return m.launch.Words(dst.I, s.Rand.Stream, uint32(c.At(1).I), c.At(0).I)
	}
}

func (m *machine) dot(s *Dot) step {
	dst, a, b := m.Arrays[s.Dst], m.Arrays[s.A], m.Arrays[s.B]
	return func() error {
		depth, cols, rows := b.Shape[0], memory.Product(b.Shape[1:]), 1
		wantA, wantDst := []int{depth}, slices.Clone(b.Shape[1:])
		rowStep, step := depth, 1
		if len(dst.Shape) == 2 {
			rows = dst.Shape[0]
			wantA, wantDst = []int{rows, depth}, []int{rows, cols}
		}
		if s.TransA {
			slices.Reverse(wantA)
			rowStep, step = 1, rows
		}
		if !slices.Equal(a.Shape, wantA) || !slices.Equal(dst.Shape, wantDst) {
			return fmt.Errorf("shapes %v += %v * %v do not fit", dst.Shape, a.Shape, b.Shape)
		}
		for r := range rows {
			c := dst.F[r*cols:][:cols]
			for k := range depth {
				x := a.F[r*rowStep+k*step]
				for n, y := range b.F[k*cols:][:cols] {
					c[n] = FMA32(x, y, c[n])
				}
			}
		}
		return nil
	}
}

func (m *machine) reduce(s *Reduce, sc scope) step {
	r, result := memory.FindReduction(s.Op), m.Variable(s.Name)
	each, value := m.loops([]Axis{s.Axis}), m.Code(s.Value)
	e, tiles := m.Variable(s.Axis.Var), m.define(sc, s.Name)
	return func() error {
		p := r.Begin()
		err := each(func() error {
			err := value.Run()
			r.Take(&p, e.I, float32(value.At(0).F))
			return err
		})
		if err != nil {
			return err
		}
		result.F = float64(r.Combine(p))
		return tiles()
	}
}

func (m *machine) forLoop(s *For, sc scope) step {
	v, bounds := m.Variable(s.Var), m.Code(s.Lo, s.Hi)
	enter := m.located(s, sc, nil, bounds.Run)
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
	cond := m.Code(s.Cond)
	test := m.located(s, sc, nil, cond.Run)
	then := m.body(s.Then, sc)
	return func() error {
		if err := test(); err != nil || cond.At(0).I == 0 {
			return err
		}
		return then()
	}
}
