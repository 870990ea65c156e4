package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel/memory"
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
		v := m.Variable(s.Name)
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

// undefined is what a variable holds before it is set.
var undefined = expr.Value{F: math.NaN(), I: memory.Poison}

// assign gives a variable a value.
func (m *machine) assign(name string, value *expr.Expr) step {
	c, v := m.Code(value), m.Variable(name)
	return func() {
		c.Run()
		*v = c.At(0)
	}
}

func (m *machine) tile(s *Tile) step {
	a, sizes := &memory.Array{Name: s.Name, Type: s.Type}, m.Sizes(s.Shape)
	m.Arrays[s.Name] = a
	return func() {
		if shape := sizes(); m.Err == nil {
			a.Fresh(shape)
		}
	}
}

func (m *machine) set(s *Set) step {
	names, sizes := nest(s.Axes)
	dst, n := m.Arrays[s.Dst.Name], len(s.Dst.Args)
	c := m.Code(append(slices.Clip(s.Dst.Args), s.Value)...)
	each := m.Loops(names, sizes)
	one := m.At(names, func() {
		c.Run()
		at := m.Offset(dst, c.Index(n))
		if m.Write(dst, at); m.Err == nil {
			dst.Set(at, c.At(n))
		}
	})
	return func() { each(one) }
}

func (m *machine) random(s *Random) step {
	dst, c, sizes := m.Arrays[s.Dst], m.Code(s.Base, s.Example), m.Sizes([]*expr.Expr{s.Size})
	return func() {
		size := sizes()[0]
		if size > dst.Shape[0] {
			m.Fail("%s has %d elements, not %d", dst.Name, dst.Shape[0], size)
		}
		if c.Run(); m.Err != nil {
			return
		}
		if err := m.launch.Words(dst.I[:size], s.Stream, uint32(c.At(1).I), c.At(0).I); err != nil {
			m.Fail("%w", err)
		}
	}
}

func (m *machine) reduce(s *Reduce) step {
	r, result, e := memory.FindReduction(s.Op), m.Variable(s.Name), m.Variable(s.Axis.Var)
	each, value := m.Loops([]string{s.Axis.Var}, []*expr.Expr{s.Axis.Size}), m.Code(s.Value)
	one := m.At([]string{s.Axis.Var}, value.Run)
	return func() {
		p := r.Begin()
		each(func() {
			one()
			r.Take(&p, e.I, float32(value.At(0).F))
		})
		*result = expr.Value{F: float64(r.Combine(p))}
	}
}

// loop compiles a loop, one that is apart from its last iteration to its first.
func (m *machine) loop(s *For) step {
	v, bounds, body := m.Variable(s.Var), m.Code(s.Lo, s.Hi), m.body(s.Body)
	enter := m.located(s, bounds.Run)
	turn := m.At([]string{s.Var}, body)
	return func() {
		enter()
		lo, hi := bounds.At(0).I, bounds.At(1).I
		for n := int64(0); n < hi-lo && m.Err == nil; n++ {
			if v.I = lo + n; s.Apart {
				v.I = hi - 1 - n
			}
			m.forget(s.Own)
			turn()
		}
	}
}

// forget makes what each iteration of a loop has for itself undefined.
func (m *machine) forget(own map[string]bool) {
	for id := range own {
		if a := m.Arrays[id]; a != nil {
			a.Fresh(slices.Clone(a.Shape))
		} else {
			*m.Variable(id) = undefined
		}
	}
}

func (m *machine) branch(s *If) step {
	cond, body := m.Code(s.Cond), m.body(s.Body)
	test := m.located(s, cond.Run)
	return func() {
		if test(); m.Err == nil && cond.At(0).I != 0 {
			body()
		}
	}
}
