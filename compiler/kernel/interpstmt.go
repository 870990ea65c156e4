package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// stmt compiles a statement, whose errors name it.
func (m *machine) stmt(s Stmt) step {
	switch s := s.(type) {
	case *Let:
		return m.located(s, m.assign(s.Name, s.Value))
	case *Tile:
		return m.located(s, m.tile(s))
	case *Var:
		if s.Value != nil {
			return m.located(s, m.assign(s.Name, s.Value))
		}
		v := m.variable(s.Name)
		return func() { *v = undefined }
	case *Set:
		if s.Dst.Op == expr.Var {
			return m.located(s, m.assign(s.Dst.Name, s.Value))
		}
		return m.located(s, m.set(s))
	case *Random:
		return m.located(s, m.random(s))
	case *Dot:
		return m.located(s, m.dot(s))
	case *Reduce:
		return m.located(s, m.reduce(s))
	case *For:
		return m.loop(s)
	case *If:
		return m.branch(s)
	}
	panic(fmt.Sprintf("BUG: unknown statement %T", s))
}

// undefined is the value of a variable before it is set.
var undefined = expr.Value{F: math.NaN(), I: poison}

// assign gives a variable a value.
func (m *machine) assign(name string, value *expr.Expr) step {
	c, v := m.code(value), m.variable(name)
	return func() {
		c.run()
		*v = c.At(0)
	}
}

func (m *machine) tile(s *Tile) step {
	a, sizes := &array{name: s.Name, typ: s.Type}, m.sizes(s.Shape)
	m.arrays[s.Name] = a
	return func() {
		if shape := sizes(); m.err == nil {
			a.fresh(shape)
		}
	}
}

func (m *machine) set(s *Set) step {
	dst, n := m.arrays[s.Dst.Name], len(s.Dst.Args)
	c := m.code(append(slices.Clip(s.Dst.Args), s.Value)...)
	each := m.loops(s.Axes)
	one := m.at(s.Axes, func() {
		c.run()
		at := m.offset(dst, c.index(n))
		if m.write(dst, at); m.err == nil {
			dst.set(at, c.At(n))
		}
	})
	return func() { each(one) }
}

func (m *machine) random(s *Random) step {
	dst, c, sizes := m.arrays[s.Dst], m.code(s.Base, s.Example), m.sizes([]*expr.Expr{s.Size})
	return func() {
		size := sizes()[0]
		if size > dst.shape[0] {
			m.fail("%s has %d elements, not %d", dst.name, dst.shape[0], size)
		}
		if c.run(); m.err != nil {
			return
		}
		if err := m.launch.Words(dst.I[:size], s.Stream, uint32(c.At(1).I), c.At(0).I); err != nil {
			m.fail("%w", err)
		}
	}
}

func (m *machine) reduce(s *Reduce) step {
	r, result, e := findReduction(s.Op), m.variable(s.Name), m.variable(s.Axis.Var)
	axes, value := []Axis{s.Axis}, m.code(s.Value)
	each, one := m.loops(axes), m.at(axes, value.run)
	return func() {
		p := r.begin()
		each(func() {
			one()
			r.take(&p, e.I, float32(value.At(0).F))
		})
		*result = expr.Value{F: float64(r.combine(p))}
	}
}

// loop compiles a loop. An independent one runs from its last iteration to its first.
func (m *machine) loop(s *For) step {
	v, bounds, body := m.variable(s.Var), m.code(s.Lo, s.Hi), m.body(s.Body)
	enter := m.located(s, bounds.run)
	iteration := m.at([]Axis{{Var: s.Var}}, body)
	return func() {
		enter()
		lo, hi := bounds.At(0).I, bounds.At(1).I
		for n := int64(0); n < hi-lo && m.err == nil; n++ {
			if v.I = lo + n; s.Independent {
				v.I = hi - 1 - n
			}
			m.forget(s.Own)
			iteration()
		}
	}
}

// forget makes the tiles and variables of each iteration undefined.
func (m *machine) forget(own map[string]bool) {
	for id := range own {
		if a := m.arrays[id]; a != nil {
			a.fresh(slices.Clone(a.shape))
		} else {
			*m.variable(id) = undefined
		}
	}
}

func (m *machine) branch(s *If) step {
	cond, body := m.code(s.Cond), m.body(s.Body)
	test := m.located(s, cond.run)
	return func() {
		if test(); m.err == nil && cond.At(0).I != 0 {
			body()
		}
	}
}
