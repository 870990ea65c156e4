package kernel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// body checks statements in order. The names that they bind go out of scope at its
// end.
func (c *checker) body(body []Stmt) {
	outer := len(c.bound)
	for _, s := range body {
		c.stmt(s)
		c.inner(s)
	}
	c.leave(outer)
}

// inner checks the body of a statement.
func (c *checker) inner(s Stmt) {
	l, loop := s.(*For)
	outer := c.independent
	c.independent = c.independent || loop && l.Independent
	c.body(Within(s))
	c.independent = outer
	if loop {
		delete(c.names, l.Var)
	}
}

// stmt checks a statement without its body. The error names the statement.
func (c *checker) stmt(s Stmt) {
	if c.err != nil {
		return
	}
	if c.rules(s); c.err != nil {
		c.err = fmt.Errorf("%s: %w", c.k.Describe(s), c.err)
	}
}

func (c *checker) rules(s Stmt) {
	switch s := s.(type) {
	case *Let:
		if s.Value == nil {
			c.fail("it has no value")
			return
		}
		c.expr("value", s.Value, s.Value.Type)
		c.scalar(s.Name, name{typ: s.Value.Type})
	case *Tile:
		c.tile(s)
	case *Var:
		c.written[s.Name] = s.Value != nil // an earlier variable may have the name
		if s.Value != nil {
			c.expr("value", s.Value, s.Type)
		}
		c.scalar(s.Name, name{class: variable, typ: s.Type})
	case *Set:
		c.set(s)
	case *Random:
		c.random(s)
	case *Dot:
		c.dot(s)
	case *Reduce:
		c.want(findReduction(s.Op) != nil, "%s is no reduction", s.Op)
		c.over([]Axis{s.Axis}, func() { c.expr("value", s.Value, expr.F32) })
		c.bind(s.Name, name{typ: expr.F32})
	case *For:
		c.loop(s)
	case *If:
		c.expr("condition", s.Cond, expr.Bool)
	default:
		panic(fmt.Sprintf("BUG: unknown statement %T", s))
	}
}

// scalar takes the name of a scalar or variable into scope.
func (c *checker) scalar(id string, n name) {
	c.want(!n.typ.Narrow(), "%s is a type of elements alone", n.typ)
	c.bind(id, n)
}

// tile checks a tile, whose name must be unique in the kernel.
func (c *checker) tile(s *Tile) {
	c.want(!c.tiles[s.Name], "there are two tiles of this name")
	c.want(s.Type != expr.Bool, "a tile holds no %s", s.Type)
	c.want(len(s.Shape) > 0, "a tile has an extent; what has none is a variable")
	c.tiles[s.Name] = true
	c.extents("extent", s.Shape...)
	c.bind(s.Name, name{class: tile, typ: s.Type, rank: len(s.Shape)})
}

func (c *checker) set(s *Set) {
	if s.Dst == nil {
		c.fail("it sets nothing")
		return
	}
	c.over(s.Axes, func() {
		c.expr("value", s.Value, s.Dst.Type)
		switch s.Dst.Op {
		case expr.Elem:
			c.element(s)
		case expr.Var:
			c.assigned(s.Dst, len(s.Axes) > 0)
		default:
			c.fail("%s is nothing that can be set", s.Dst)
		}
	})
}

// assigned checks that a variable can be set.
func (c *checker) assigned(dst *expr.Expr, axes bool) {
	n, ok := c.names[dst.Name]
	c.want(!ok || n.typ == dst.Type, "%s is %s, not %s", dst.Name, n.typ, dst.Type)
	c.want(!axes, "a variable has no elements for axes")
	c.writes(dst.Name, variable)
}

// element checks a Set of elements. Every axis must appear in the index. The value may read the
// array only at the element that is set.
func (c *checker) element(s *Set) {
	c.elem(s.Dst)
	for i, e := range s.Dst.Args {
		c.expr(fmt.Sprintf("index %d of %s", i, s.Dst.Name), e, expr.I32)
	}
	if c.err != nil {
		return
	}
	for _, a := range s.Axes {
		moves := func(e *expr.Expr) bool { return expr.Depends(e, a.Var) }
		c.want(slices.ContainsFunc(s.Dst.Args, moves), "axis %s does not appear in the index of %s", a.Var, s.Dst.Name)
	}
	for _, x := range expr.Elems(append(slices.Clone(s.Dst.Args), s.Value)...) {
		c.want(x.Name != s.Dst.Name || expr.Equal(x, s.Dst), "it reads %s, but of %s it may read only %s", x, x.Name, s.Dst)
	}
	c.writes(s.Dst.Name, tile, buffer)
}

func (c *checker) random(s *Random) {
	n := c.names[s.Dst]
	c.want(n.class != tile || n.typ == expr.U32 && n.rank == 1,
		"random words go to a tile of u32 and rank 1, not %s and rank %d", n.typ, n.rank)
	c.want(s.Stream <= MaxStream, "stream %d is above %d", s.Stream, MaxStream)
	c.extents("size", s.Size)
	c.expr("base", s.Base, expr.I32)
	c.expr("example", s.Example, expr.U32)
	if c.err == nil && (expr.Mentions(s.Base, s.Dst) || expr.Mentions(s.Example, s.Dst)) {
		c.fail("%s is written while it is read", s.Dst)
	}
	c.writes(s.Dst, tile)
}

func (c *checker) dot(s *Dot) {
	n := len(s.Axes)
	c.want(!c.independent, "all threads of a block compute a product, not one iteration of a loop that is independent")
	c.want(1 <= n && n <= 3 && (n == 1) == (s.Dst.Op == expr.Var),
		"it wants the axes of rows, columns and the sum; of columns and the sum; or, where it sets a variable, of the sum")
	c.want(s.Dst.Name != s.A.Name && s.Dst.Name != s.B.Name, "%s is written while it is read", s.Dst.Name)
	c.want(s.MostRows >= 0 && s.MostCols >= 0, "a bound is negative")
	c.want(n != 1 || !s.Zero, "a product of one value is added to it")
	for _, a := range s.Axes {
		c.extents("axis "+a.Var, a.Size)
	}
	c.over(s.Axes, func() {
		axes := s.axesOr1()
		rows, cols, sum := axes[0].Var, axes[1].Var, axes[2].Var
		c.operand(s, s.A, rows, sum)
		c.operand(s, s.B, sum, cols)
		c.want(s.A.Type == s.B.Type, "its factors are %s and %s", s.A.Type, s.B.Type)
		c.want(!s.Split || s.A.Type == expr.F32 && n > 1, "it splits other factors than f32 of columns")
		c.result(s, rows, cols)
	})
}

// operand checks a side of a product. It must be linear in two axes and independent of the third.
func (c *checker) operand(s *Dot, e *expr.Expr, over ...string) {
	c.want(e.Op == expr.Elem, "%s is no element", e)
	want := expr.F32
	if e.Type.Narrow() {
		want = e.Type
	}
	c.expr("operand", e, want)
	c.linear(s, e, over...)
}

// linear checks the index of an element that is valid otherwise.
func (c *checker) linear(s *Dot, e *expr.Expr, over ...string) {
	if c.err != nil {
		return
	}
	for i, x := range e.Args {
		for _, a := range s.Axes {
			coef, rest, ok := expr.Affine(x, a.Var)
			if !ok || slices.ContainsFunc(s.Axes, func(b Axis) bool { return expr.Depends(coef, b.Var) }) {
				c.fail("index %d of %s is not linear in %s", i, e.Name, a.Var)
				return
			}
			c.want(slices.Contains(over, a.Var) || expr.IsInt(coef, 0), "%s has the axis %s, which it must not", e, a.Var)
			c.want(!coef.IsConst() || coef.I >= 0, "index %d of %s falls with %s", i, e.Name, a.Var)
			x = rest
		}
	}
}

// result checks the destination of a product. Its columns must be adjacent.
func (c *checker) result(s *Dot, rows, cols string) {
	if s.Dst.Op == expr.Var {
		c.expr("result", s.Dst, expr.F32)
		c.assigned(s.Dst, false)
		return
	}
	c.elem(s.Dst)
	c.want(s.Dst.Type == expr.F32, "result: %s is %s, not f32", s.Dst, s.Dst.Type)
	es := s.Dst.Args
	if !s.Zero {
		es = []*expr.Expr{s.Dst}
	}
	for _, e := range es {
		c.expr("result", e, e.Type)
	}
	c.linear(s, s.Dst, rows, cols)
	if c.err != nil {
		return
	}
	last := len(s.Dst.Args) - 1
	for i, e := range s.Dst.Args {
		coef, _, _ := expr.Affine(e, cols)
		c.want(expr.IsInt(coef, 0) && i < last || expr.IsInt(coef, 1) && i == last, "the columns of %s do not lie side by side", s.Dst.Name)
	}
	c.writes(s.Dst.Name, tile, buffer)
}

func (c *checker) loop(s *For) {
	c.expr("first", s.Lo, expr.I32)
	c.expr("end", s.Hi, expr.I32)
	c.want(s.Independent || len(s.Own) == 0, "its iterations follow one another, but have tiles of their own")
	for _, id := range slices.Sorted(maps.Keys(s.Own)) {
		n, ok := c.names[id]
		c.want(ok || makes(s.Body, id), "no tile or variable is called %s", id)
		c.want(!ok || n.class == tile || n.class == variable, "%s is a %s, which no iteration can have for itself", id, classes[n.class])
	}
	c.bind(s.Var, name{typ: expr.I32})
}

// makes reports whether a body makes a tile or variable, at any depth.
func makes(body []Stmt, id string) bool {
	return Has(body, func(s Stmt) bool { return (Is[*Tile](s) || Is[*Var](s)) && Bound(s) == id })
}
