package kernel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// body checks statements in order. The names that they bind go out of scope at its
// end.
func (c *checker) body(body []Stmt) error {
	outer := maps.Clone(c.names)
	defer func() { c.names = outer }()
	for _, s := range body {
		if err := c.named(s); err != nil {
			return err
		}
		if err := c.inner(s); err != nil {
			return err
		}
	}
	return nil
}

// inner checks the body that a statement holds.
func (c *checker) inner(s Stmt) error {
	if l, ok := s.(*For); ok {
		outer := c.apart
		c.apart = c.apart || l.Apart
		err := c.body(l.Body)
		delete(c.names, l.Var)
		c.apart = outer
		return err
	}
	return c.body(Within(s))
}

// named checks a statement by itself, which its error names.
func (c *checker) named(s Stmt) error {
	if err := c.stmt(s); err != nil {
		return fmt.Errorf("%s: %w", c.k.Describe(s), err)
	}
	return nil
}

func (c *checker) stmt(s Stmt) error {
	switch s := s.(type) {
	case *Let:
		if s.Value == nil {
			return fmt.Errorf("it has no value")
		}
		if err := c.expr("value", s.Value, s.Value.Type); err != nil {
			return err
		}
		return c.bind(s.Name, name{typ: s.Value.Type})
	case *Tile:
		return c.tile(s)
	case *Var:
		return c.variable(s)
	case *Set:
		return c.set(s)
	case *Random:
		return c.random(s)
	case *Dot:
		return c.dot(s)
	case *Reduce:
		if memory.FindReduction(s.Op) == nil {
			return fmt.Errorf("%s is no reduction", s.Op)
		}
		err := c.over([]Axis{s.Axis}, func() error { return c.expr("value", s.Value, expr.F32) })
		if err != nil {
			return err
		}
		return c.bind(s.Name, name{typ: expr.F32})
	case *For:
		return c.loop(s)
	case *If:
		return c.expr("condition", s.Cond, expr.Bool)
	}
	panic(fmt.Sprintf("BUG: unknown statement %T", s))
}

// tile checks the making of a tile, whose name no other in the kernel has.
func (c *checker) tile(s *Tile) error {
	switch {
	case c.tiles[s.Name]:
		return fmt.Errorf("there are two tiles of this name")
	case s.Type != expr.F32 && s.Type != expr.I32 && s.Type != expr.U32:
		return fmt.Errorf("a tile holds no %s", s.Type)
	case len(s.Shape) == 0:
		return fmt.Errorf("a tile has an extent; what has none is a variable")
	}
	c.tiles[s.Name] = true
	if err := c.extents("extent", s.Shape...); err != nil {
		return err
	}
	return c.bind(s.Name, name{class: tile, typ: s.Type, rank: len(s.Shape)})
}

func (c *checker) variable(s *Var) error {
	c.written[s.Name] = s.Value != nil // another of that name may have been
	if s.Value != nil {
		if err := c.expr("value", s.Value, s.Type); err != nil {
			return err
		}
	}
	return c.bind(s.Name, name{class: variable, typ: s.Type})
}

func (c *checker) set(s *Set) error {
	if s.Dst == nil {
		return fmt.Errorf("it sets nothing")
	}
	return c.over(s.Axes, func() error {
		if err := c.expr("value", s.Value, s.Dst.Type); err != nil {
			return err
		}
		switch s.Dst.Op {
		case expr.Elem:
			return c.element(s)
		case expr.Var:
			return c.assigned(s.Dst, len(s.Axes) > 0)
		}
		return fmt.Errorf("%s is nothing that can be set", s.Dst)
	})
}

// assigned checks that a variable can be set.
func (c *checker) assigned(dst *expr.Expr, axes bool) error {
	if n, ok := c.names[dst.Name]; ok && n.typ != dst.Type {
		return fmt.Errorf("%s is %s, not %s", dst.Name, n.typ, dst.Type)
	}
	if axes {
		return fmt.Errorf("a variable has no elements for axes")
	}
	return c.writes(dst.Name, variable)
}

// element checks the setting of elements: each axis moves the element, so that none
// is set twice by the axes alone, and the value reads of the array no other than the
// one that is set.
func (c *checker) element(s *Set) error {
	if err := c.elem(s.Dst); err != nil {
		return err
	}
	for i, e := range s.Dst.Args {
		if err := c.expr(fmt.Sprintf("index %d of %s", i, s.Dst.Name), e, expr.I32); err != nil {
			return err
		}
	}
	for _, a := range s.Axes {
		if !slices.ContainsFunc(s.Dst.Args, func(e *expr.Expr) bool { return expr.Depends(e, a.Var) }) {
			return fmt.Errorf("axis %s does not appear in the index of %s", a.Var, s.Dst.Name)
		}
	}
	for _, x := range expr.Elems(append(slices.Clone(s.Dst.Args), s.Value)...) {
		if x.Name == s.Dst.Name && !expr.Equal(x, s.Dst) {
			return fmt.Errorf("it reads %s, but of %s it may read only %s", x, x.Name, s.Dst)
		}
	}
	return c.writes(s.Dst.Name, tile, buffer)
}

func (c *checker) random(s *Random) error {
	switch n, ok := c.names[s.Dst]; {
	case ok && n.class == tile && (n.typ != expr.U32 || n.rank != 1):
		return fmt.Errorf("random words go to a tile of u32 and rank 1, not %s and rank %d", n.typ, n.rank)
	case s.Stream > MaxStream:
		return fmt.Errorf("stream %d is above %d", s.Stream, MaxStream)
	}
	if err := c.extents("size", s.Size); err != nil {
		return err
	}
	if err := c.expr("base", s.Base, expr.I32); err != nil {
		return err
	}
	if err := c.expr("example", s.Example, expr.U32); err != nil {
		return err
	}
	for _, x := range expr.Elems(s.Base, s.Example) {
		if x.Name == s.Dst {
			return fmt.Errorf("%s is written while it is read", s.Dst)
		}
	}
	return c.writes(s.Dst, tile)
}

func (c *checker) dot(s *Dot) error {
	n := len(s.Axes)
	switch {
	case c.apart:
		return fmt.Errorf("all threads of a block compute a product, not one iteration of a loop that is apart")
	case n < 1 || n > 3 || (n == 1) != (s.Dst.Op == expr.Var):
		return fmt.Errorf("it wants the axes of rows, columns and the sum; of columns and the sum; or, where it sets a variable, of the sum")
	case s.Dst.Name == s.A.Name || s.Dst.Name == s.B.Name:
		return fmt.Errorf("%s is written while it is read", s.Dst.Name)
	case s.MostRows < 0 || s.MostCols < 0:
		return fmt.Errorf("a bound is negative")
	case n == 1 && s.Zero:
		return fmt.Errorf("a product of one value is added to it")
	}
	return c.over(s.Axes, func() error {
		for _, a := range s.Axes {
			if xs := expr.Elems(a.Size); len(xs) > 0 {
				return fmt.Errorf("axis %s: its size depends on %s", a.Var, xs[0])
			}
		}
		rows, cols, sum := s.axes()
		if err := c.operand(s, s.A, rows, sum); err != nil {
			return err
		}
		if err := c.operand(s, s.B, sum, cols); err != nil {
			return err
		}
		return c.result(s, rows, cols)
	})
}

// operand checks a side of a product, which is linear in two of its axes and does not
// have the third.
func (c *checker) operand(s *Dot, e *expr.Expr, over ...string) error {
	if e.Op != expr.Elem {
		return fmt.Errorf("%s is no element", e)
	}
	if err := c.expr("operand", e, expr.F32); err != nil {
		return err
	}
	return linear(s, e, over)
}

func linear(s *Dot, e *expr.Expr, over []string) error {
	for i, x := range e.Args {
		for _, a := range s.Axes {
			coef, rest, ok := expr.Affine(x, a.Var)
			switch {
			case !ok || slices.ContainsFunc(s.Axes, func(b Axis) bool { return expr.Depends(coef, b.Var) }):
				return fmt.Errorf("index %d of %s is not linear in %s", i, e.Name, a.Var)
			case !slices.Contains(over, a.Var) && !expr.IsInt(coef, 0):
				return fmt.Errorf("%s has the axis %s, which it must not", e, a.Var)
			case coef.IsConst() && coef.I < 0:
				return fmt.Errorf("index %d of %s falls with %s", i, e.Name, a.Var)
			}
			x = rest
		}
	}
	return nil
}

// result checks what a product is added to. Its columns lie side by side.
func (c *checker) result(s *Dot, rows, cols string) error {
	if s.Dst.Op == expr.Var {
		if err := c.expr("result", s.Dst, expr.F32); err != nil {
			return err
		}
		return c.assigned(s.Dst, false)
	}
	if err := c.elem(s.Dst); err != nil {
		return err
	}
	es := s.Dst.Args
	if !s.Zero {
		es = []*expr.Expr{s.Dst}
	}
	for _, e := range es {
		if err := c.expr("result", e, e.Type); err != nil {
			return err
		}
	}
	if err := linear(s, s.Dst, []string{rows, cols}); err != nil {
		return err
	}
	for i, e := range s.Dst.Args {
		step := int64(0)
		if i == len(s.Dst.Args)-1 {
			step = 1
		}
		if coef, _, _ := expr.Affine(e, cols); !expr.IsInt(coef, step) {
			return fmt.Errorf("the columns of %s do not lie side by side", s.Dst.Name)
		}
	}
	return c.writes(s.Dst.Name, tile, buffer)
}

// axes are the variables of rows, columns and the sum; "" where there is none.
func (s *Dot) axes() (rows, cols, sum string) {
	n := len(s.Axes)
	if n > 2 {
		rows = s.Axes[n-3].Var
	}
	if n > 1 {
		cols = s.Axes[n-2].Var
	}
	return rows, cols, s.Axes[n-1].Var
}

func (c *checker) loop(s *For) error {
	if err := c.expr("first", s.Lo, expr.I32); err != nil {
		return err
	}
	if err := c.expr("end", s.Hi, expr.I32); err != nil {
		return err
	}
	if !s.Apart && len(s.Own) > 0 {
		return fmt.Errorf("its iterations follow one another, but have tiles of their own")
	}
	for _, id := range slices.Sorted(maps.Keys(s.Own)) {
		switch n, ok := c.names[id]; {
		case !ok && !makes(s.Body, id):
			return fmt.Errorf("no tile or variable is called %s", id)
		case ok && n.class != tile && n.class != variable:
			return fmt.Errorf("%s is a %s, which no iteration can have for itself", id, classes[n.class])
		}
	}
	return c.bind(s.Var, name{typ: expr.I32})
}

// makes says whether statements, or those in their bodies, make a tile or variable.
func makes(body []Stmt, id string) bool {
	for s := range All(body) {
		switch s.(type) {
		case *Tile, *Var:
			if Bound(s) == id {
				return true
			}
		}
	}
	return false
}
