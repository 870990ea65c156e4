package kernel

import (
	"fmt"
	"maps"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// body checks statements in order. The variables that they bind go out of scope
// at its end.
func (c *checker) body(body []Stmt) error {
	outer := maps.Clone(c.vars)
	defer func() { c.vars = outer }()
	for _, s := range body {
		if err := c.stmt(s); err != nil {
			return fmt.Errorf("%s: %w", c.k.describe(s), err)
		}
		if err := c.inner(s); err != nil {
			return err
		}
	}
	return nil
}

// inner checks the body that a statement holds.
func (c *checker) inner(s Stmt) error {
	switch s := s.(type) {
	case *For:
		err := c.body(s.Body)
		delete(c.vars, s.Var)
		return err
	case *If:
		return c.body(s.Then)
	}
	return nil
}

// stmt checks a statement by itself.
func (c *checker) stmt(s Stmt) error {
	switch s := s.(type) {
	case *Let:
		if s.Value == nil {
			return fmt.Errorf("it has no value")
		}
		if err := c.expr("value", s.Value, s.Value.Type); err != nil {
			return err
		}
		return c.bind(s.Name, s.Value.Type)
	case *Load:
		return c.load(s)
	case *Store:
		return c.store(s)
	case *Fill:
		return c.fill(s)
	case *Map:
		return c.mapping(s)
	case *Dot:
		return c.dot(s)
	case *Reduce:
		return c.reduce(s)
	case *For:
		if err := c.expr("first", s.Lo, expr.I32); err != nil {
			return err
		}
		if err := c.expr("end", s.Hi, expr.I32); err != nil {
			return err
		}
		return c.bind(s.Var, expr.I32)
	case *If:
		return c.expr("condition", s.Cond, expr.Bool)
	}
	panic(fmt.Sprintf("BUG: unknown statement %T", s))
}

// axes runs check with the axes in scope; their sizes do not see one another.
func (c *checker) axes(axes []Axis, check func() error) error {
	for _, a := range axes {
		if err := c.expr("axis "+a.Var, a.Size, expr.I32); err != nil {
			return err
		}
	}
	defer func() { c.axisVars = map[string]bool{} }()
	for _, a := range axes {
		if err := c.bind(a.Var, expr.I32); err != nil {
			return err
		}
		defer delete(c.vars, a.Var)
		c.axisVars[a.Var] = true
	}
	return check()
}

// index checks the subscripts of a tile or buffer of the given rank.
func (c *checker) index(name string, index []*expr.Expr, rank int) error {
	if len(index) != rank {
		return fmt.Errorf("%s has rank %d, not %d", name, rank, len(index))
	}
	for i, e := range index {
		if err := c.expr(fmt.Sprintf("index %d of %s", i, name), e, expr.I32); err != nil {
			return err
		}
	}
	return nil
}

// covers checks that every axis moves the element that is written, so that none
// is written more than once by the axes alone.
func covers(name string, index []*expr.Expr, axes []Axis) error {
	used := map[string]bool{}
	for _, v := range expr.Vars(index...) {
		used[v.Name] = true
	}
	for _, a := range axes {
		if !used[a.Var] {
			return fmt.Errorf("axis %s does not appear in the index of %s", a.Var, name)
		}
	}
	return nil
}

func (c *checker) load(s *Load) error {
	dst, err := c.tile(s.Dst)
	if err != nil {
		return err
	}
	src := c.k.buffer(s.Buf)
	switch {
	case src == nil:
		return fmt.Errorf("no buffer is called %s", s.Buf)
	case src.Mode == Out:
		return fmt.Errorf("%s is written only", s.Buf)
	case src.Type != dst.Type:
		return fmt.Errorf("%s is %s, but %s is %s", s.Dst, dst.Type, s.Buf, src.Type)
	case len(s.Axes) != len(dst.Shape):
		return fmt.Errorf("%s has rank %d, not %d", s.Dst, len(dst.Shape), len(s.Axes))
	}
	err = c.axes(s.Axes, func() error { return c.index(s.Buf, s.Index, len(src.Shape)) })
	if err == nil {
		err = notReading(s.Dst, s.Index...)
	}
	c.written[s.Dst] = true
	return err
}

// notReading checks that expressions do not use the tile that their statement writes.
func notReading(dst string, es ...*expr.Expr) error {
	for _, x := range expr.Elems(es...) {
		if x.Name == dst {
			return fmt.Errorf("%s is written while it is read", dst)
		}
	}
	return nil
}

func (c *checker) store(s *Store) error {
	dst := c.k.buffer(s.Buf)
	switch {
	case dst == nil:
		return fmt.Errorf("no buffer is called %s", s.Buf)
	case dst.Mode == In:
		return fmt.Errorf("%s is read only", s.Buf)
	}
	c.written[s.Buf] = true
	return c.axes(s.Axes, func() error {
		if err := c.index(s.Buf, s.Index, len(dst.Shape)); err != nil {
			return err
		}
		if err := covers(s.Buf, s.Index, s.Axes); err != nil {
			return err
		}
		return c.expr("value", s.Value, dst.Type)
	})
}

func (c *checker) mapping(s *Map) error {
	dst, err := c.tile(s.Dst)
	if err != nil {
		return err
	}
	err = c.axes(s.Axes, func() error {
		if err := c.index(s.Dst, s.At, len(dst.Shape)); err != nil {
			return err
		}
		if err := covers(s.Dst, s.At, s.Axes); err != nil {
			return err
		}
		if err := notReading(s.Dst, s.At...); err != nil {
			return err
		}
		return c.expr("value", s.Value, dst.Type)
	})
	if err != nil {
		return err
	}
	at := expr.NewElem(s.Dst, dst.Type, s.At...)
	for _, x := range expr.Elems(s.Value) {
		if x.Name == s.Dst && !expr.Equal(x, at) {
			return fmt.Errorf("value: it reads %s, but of %s it may read only %s", x, s.Dst, at)
		}
	}
	c.written[s.Dst] = true
	return nil
}

func (c *checker) fill(s *Fill) error {
	dst, err := c.tile(s.Dst)
	if err != nil {
		return err
	}
	defer func() { c.written[s.Dst] = true }()
	r := s.Rand
	switch {
	case (r == nil) == (s.Value == nil):
		return fmt.Errorf("it wants either a value or random words")
	case r == nil:
		if err := c.expr("value", s.Value, dst.Type); err != nil {
			return err
		}
		return notReading(s.Dst, s.Value)
	case dst.Type != expr.U32 || len(dst.Shape) != 1:
		return fmt.Errorf("random words go to a tile of u32 and rank 1, not %s and rank %d", dst.Type, len(dst.Shape))
	case r.Stream > MaxStream:
		return fmt.Errorf("stream %d is above %d", r.Stream, MaxStream)
	}
	if err := c.expr("example", r.Example, expr.U32); err != nil {
		return err
	}
	if err := c.expr("base", r.Base, expr.I32); err != nil {
		return err
	}
	return notReading(s.Dst, r.Example, r.Base)
}

// dotRanks are the ranks of destination and operands that Dot knows.
var dotRanks = [][3]int{{2, 2, 2}, {1, 1, 2}, {0, 1, 1}}

func (c *checker) dot(s *Dot) error {
	var ranks [3]int
	for i, name := range []string{s.Dst, s.A, s.B} {
		t, err := c.tile(name)
		switch {
		case err != nil:
			return err
		case t.Type != expr.F32:
			return fmt.Errorf("tile %s is %s, not %s", name, t.Type, expr.F32)
		case !c.written[name]:
			return fmt.Errorf("tile %s is read before anything is written to it", name)
		}
		ranks[i] = len(t.Shape)
	}
	if s.Dst == s.A || s.Dst == s.B {
		return fmt.Errorf("%s is written while it is read", s.Dst)
	}
	if s.TransA && ranks != dotRanks[0] {
		return fmt.Errorf("%s has rank %d, so it has no transpose", s.A, ranks[1])
	}
	for _, r := range dotRanks {
		if r == ranks {
			return nil
		}
	}
	return fmt.Errorf("ranks %d += %d * %d are none of 2 += 2 * 2, 1 += 1 * 2, 0 += 1 * 1", ranks[0], ranks[1], ranks[2])
}

func (c *checker) reduce(s *Reduce) error {
	if memory.FindReduction(s.Op) == nil {
		return fmt.Errorf("%s is no reduction", s.Op)
	}
	err := c.axes([]Axis{s.Axis}, func() error { return c.expr("value", s.Value, expr.F32) })
	if err != nil {
		return err
	}
	return c.bind(s.Name, expr.F32)
}
