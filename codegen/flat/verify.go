package flat

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// Verify returns an error that names the first node that breaks a rule of the flat
// form: names and their scopes, types, what may be written, and what the back ends
// rely on. What depends on sizes is checked by Run.
func Verify(k Kernel) error {
	c := &checker{names: map[string]name{}, written: map[string]bool{}}
	err := kernel.VerifyHeader(k.Head)
	if err == nil {
		err = c.kernel(k)
	}
	if err != nil {
		return fmt.Errorf("flat form of %s: %w", k.Head.Name, err)
	}
	return nil
}

// A name is what a name in scope stands for.
type name struct {
	kind kind
	typ  expr.Type
	mode kernel.Mode // of a buffer
}

type kind uint8

const (
	scalar   kind = iota // a parameter or one that a node binds: it keeps its value
	variable             // which nodes set
	tile
	buffer
)

var kinds = [...]string{scalar: "scalar", variable: "variable", tile: "tile", buffer: "buffer"}

// slice says whether a name has elements.
func (n name) slice() bool { return n.kind >= tile }

// checker walks a kernel in the order of its text.
type checker struct {
	names   map[string]name // in scope
	written map[string]bool // tiles and variables that a node so far writes
	apart   bool            // in a loop whose turns are apart
}

func (c *checker) kernel(k Kernel) error {
	if len(k.Head.Tiles)+len(k.Head.Body) > 0 {
		return fmt.Errorf("its header has tiles or a body")
	}
	for _, p := range k.Head.Params {
		kind := buffer
		if p.Mode == kernel.Scalar {
			kind = scalar
		}
		c.names[p.Name] = name{kind, p.Type, p.Mode}
	}
	for _, n := range k.Pre {
		a, ok := n.(*Alloc)
		if !ok || a.Size == nil {
			return fmt.Errorf("%s: before the cells there are only tiles", Describe(n))
		}
		if err := c.alloc(a); err != nil {
			return fmt.Errorf("%s: %w", Describe(n), err)
		}
	}
	for _, a := range k.Head.Grid {
		if err := c.bind(a.Var, name{typ: expr.I32}); err != nil {
			return fmt.Errorf("grid: %w", err)
		}
	}
	if err := c.body(k.Body); err != nil {
		return err
	}
	for _, p := range k.Head.Params {
		if (p.Mode == kernel.Out || p.Mode == kernel.InOut) && !c.written[p.Name] {
			return fmt.Errorf("no node writes %s", p.Name)
		}
	}
	return nil
}

// body checks nodes in order. The names that they bind go out of scope at its end.
func (c *checker) body(nodes []Node) error {
	outer := maps.Clone(c.names)
	defer func() { c.names = outer }()
	for _, n := range nodes {
		if err := c.node(n); err != nil {
			return fmt.Errorf("%s: %w", Describe(n), err)
		}
		if err := c.inner(n); err != nil {
			return err
		}
	}
	return nil
}

// inner checks the body that a node holds.
func (c *checker) inner(n Node) error {
	if l, ok := n.(*Loop); ok {
		outer := c.apart
		c.apart = c.apart || l.Apart
		err := c.body(l.Body)
		delete(c.names, l.Name)
		c.apart = outer
		return err
	}
	return c.body(Within(n))
}

// node checks a node by itself.
func (c *checker) node(n Node) error {
	switch n := n.(type) {
	case *Let:
		if n.Value == nil {
			return fmt.Errorf("it has no value")
		}
		if err := c.expr("value", n.Value, n.Value.Type); err != nil {
			return err
		}
		return c.bind(n.Name, name{typ: n.Value.Type})
	case *Alloc:
		return c.alloc(n)
	case *Assign:
		return c.assign(n)
	case *Fill:
		return c.fill(n)
	case *Random:
		return c.random(n)
	case *Dot:
		return c.dot(n)
	case *Reduce:
		return c.reduce(n)
	case *Loop:
		return c.loop(n)
	case *Branch:
		return c.expr("condition", n.Cond, expr.Bool)
	}
	panic(fmt.Sprintf("BUG: unknown node %T", n))
}

// bind takes a name into scope, which must be free there.
func (c *checker) bind(id string, n name) error {
	if _, ok := c.names[id]; ok {
		return fmt.Errorf("%s is already in use", id)
	}
	c.names[id] = n
	return kernel.CheckName(id)
}

func (c *checker) alloc(n *Alloc) error {
	if n.Size == nil {
		if n.Value != nil {
			if err := c.expr("value", n.Value, n.Type); err != nil {
				return err
			}
			c.written[n.Name] = true
		} else {
			delete(c.written, n.Name) // another of that name may have been
		}
		return c.bind(n.Name, name{kind: variable, typ: n.Type})
	}
	switch {
	case n.Value != nil:
		return fmt.Errorf("a tile has no first value")
	case n.Type != expr.F32 && n.Type != expr.I32 && n.Type != expr.U32:
		return fmt.Errorf("a tile holds no %s", n.Type)
	}
	if err := c.size("size", n.Size); err != nil {
		return err
	}
	delete(c.written, n.Name)
	return c.bind(n.Name, name{kind: tile, typ: n.Type})
}

// size checks a number of elements, which what is in memory must not decide.
func (c *checker) size(what string, e *expr.Expr) error {
	if err := c.expr(what, e, expr.I32); err != nil {
		return err
	}
	if xs := expr.Elems(e); len(xs) > 0 {
		return fmt.Errorf("%s: it depends on %s", what, xs[0])
	}
	return nil
}

// expr checks an expression: its own typing, its type, and that it uses nothing but
// names in scope that hold something.
func (c *checker) expr(what string, e *expr.Expr, want expr.Type) error {
	if err := expr.Expect(e, want); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, v := range expr.Vars(e) {
		n, ok := c.names[v.Name]
		switch {
		case !ok:
			return fmt.Errorf("%s: %s is not known here", what, v.Name)
		case n.slice():
			return fmt.Errorf("%s: %s is a %s, which has elements", what, v.Name, kinds[n.kind])
		case n.typ != v.Type:
			return fmt.Errorf("%s: %s is %s, not %s", what, v.Name, n.typ, v.Type)
		case n.kind == variable && !c.written[v.Name]:
			return fmt.Errorf("%s: variable %s is read before anything is written to it", what, v.Name)
		}
	}
	for _, x := range expr.Elems(e) {
		if err := c.elem(x); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := c.readable(x.Name); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// elem checks that an element is one of a slice, at one index.
func (c *checker) elem(x *expr.Expr) error {
	n, ok := c.names[x.Name]
	switch {
	case !ok:
		return fmt.Errorf("no tile or buffer is called %s", x.Name)
	case !n.slice():
		return fmt.Errorf("%s is a %s, which has no elements", x.Name, kinds[n.kind])
	case n.typ != x.Type:
		return fmt.Errorf("%s %s is %s, not %s", kinds[n.kind], x.Name, n.typ, x.Type)
	case len(x.Args) != 1:
		return fmt.Errorf("%s has %d indices; flat elements have one", x, len(x.Args))
	}
	return nil
}

// readable checks that a slice holds something.
func (c *checker) readable(id string) error {
	n := c.names[id]
	switch {
	case n.kind == buffer && n.mode == kernel.Out:
		return fmt.Errorf("buffer %s is written only", id)
	case n.kind == tile && !c.written[id]:
		return fmt.Errorf("tile %s is read before anything is written to it", id)
	}
	return nil
}

// writes checks that a node may write a name, and notes that it does.
func (c *checker) writes(id string, ks ...kind) error {
	n, ok := c.names[id]
	switch {
	case !ok:
		return fmt.Errorf("nothing is called %s", id)
	case !slices.Contains(ks, n.kind):
		return fmt.Errorf("%s is a %s, which it cannot write", id, kinds[n.kind])
	case n.kind == buffer && n.mode == kernel.In:
		return fmt.Errorf("buffer %s is read only", id)
	}
	c.written[id] = true
	return nil
}

// over runs check with the axes in scope; their sizes do not see one another.
func (c *checker) over(axes []kernel.Axis, check func() error) error {
	for _, a := range axes {
		if err := c.expr("axis "+a.Var, a.Size, expr.I32); err != nil {
			return err
		}
	}
	for _, a := range axes {
		if err := c.bind(a.Var, name{typ: expr.I32}); err != nil {
			return err
		}
		defer delete(c.names, a.Var)
	}
	return check()
}

func (c *checker) assign(n *Assign) error {
	if n.Dst == nil {
		return fmt.Errorf("it sets nothing")
	}
	return c.over(n.Axes, func() error {
		if err := c.expr("value", n.Value, n.Dst.Type); err != nil {
			return err
		}
		switch n.Dst.Op {
		case expr.Elem:
			return c.setElem(n)
		case expr.Var:
			if d, ok := c.names[n.Dst.Name]; ok && d.typ != n.Dst.Type {
				return fmt.Errorf("%s is %s, not %s", n.Dst.Name, d.typ, n.Dst.Type)
			}
			if len(n.Axes) > 0 {
				return fmt.Errorf("a variable has no elements for axes")
			}
			return c.writes(n.Dst.Name, variable)
		}
		return fmt.Errorf("%s is nothing that can be set", n.Dst)
	})
}

// setElem checks an assignment to elements: each axis moves the element, and the
// value reads of the slice no other than the one that is set.
func (c *checker) setElem(n *Assign) error {
	if err := c.elem(n.Dst); err != nil {
		return err
	}
	if err := c.expr("index", n.Dst.Args[0], expr.I32); err != nil {
		return err
	}
	for _, a := range n.Axes {
		if !Depends(n.Dst.Args[0], a.Var) {
			return fmt.Errorf("axis %s does not move what is set", a.Var)
		}
	}
	for _, x := range expr.Elems(n.Value, n.Dst.Args[0]) {
		if x.Name == n.Dst.Name && !expr.Equal(x, n.Dst) {
			return fmt.Errorf("it reads %s, but of %s it may read only what it sets", x, x.Name)
		}
	}
	return c.writes(n.Dst.Name, tile, buffer)
}

func (c *checker) fill(n *Fill) error {
	t, ok := c.names[n.Dst]
	if !ok {
		return fmt.Errorf("no tile or variable is called %s", n.Dst)
	}
	if err := c.expr("value", n.Value, t.typ); err != nil {
		return err
	}
	if n.Size == nil {
		return c.writes(n.Dst, variable)
	}
	if slices.ContainsFunc(expr.Elems(n.Value), func(x *expr.Expr) bool { return x.Name == n.Dst }) {
		return fmt.Errorf("%s is written while it is read", n.Dst)
	}
	if err := c.size("size", n.Size); err != nil {
		return err
	}
	return c.writes(n.Dst, tile)
}

func (c *checker) random(n *Random) error {
	switch t, ok := c.names[n.Dst]; {
	case ok && t.typ != expr.U32:
		return fmt.Errorf("random words go to a tile of u32, not %s", t.typ)
	case n.Stream > kernel.MaxStream:
		return fmt.Errorf("stream %d is above %d", n.Stream, kernel.MaxStream)
	}
	if err := c.size("size", n.Size); err != nil {
		return err
	}
	if err := c.expr("base", n.Base, expr.I32); err != nil {
		return err
	}
	if err := c.expr("example", n.Example, expr.U32); err != nil {
		return err
	}
	return c.writes(n.Dst, tile)
}

func (c *checker) dot(n *Dot) error {
	switch {
	case c.apart:
		return fmt.Errorf("all threads of a block compute a product, not one turn of a loop that is apart")
	case (n.M == nil) != (n.N == nil):
		return fmt.Errorf("it has rows or columns, but not both")
	case n.C.Slice == n.A.Slice || n.C.Slice == n.B.Slice:
		return fmt.Errorf("%s is written while it is read", n.C.Slice)
	case n.MostM < 0 || n.MostN < 0:
		return fmt.Errorf("a bound is negative")
	case n.M == nil && n.Zero:
		return fmt.Errorf("a product of one value is added to it")
	}
	for _, e := range present(n.M, n.N) {
		if err := c.size("size", e); err != nil {
			return err
		}
	}
	if err := c.size("length of the sums", n.K); err != nil {
		return err
	}
	for _, o := range []Operand{n.A, n.B} {
		if err := c.operand(o); err != nil {
			return err
		}
		if err := c.readable(o.Slice); err != nil {
			return err
		}
	}
	return c.result(n)
}

// operand checks a matrix in a slice.
func (c *checker) operand(o Operand) error {
	t, ok := c.names[o.Slice]
	switch {
	case !ok:
		return fmt.Errorf("no tile or buffer is called %s", o.Slice)
	case !t.slice():
		return fmt.Errorf("%s is a %s, which has no elements", o.Slice, kinds[t.kind])
	case t.typ != expr.F32:
		return fmt.Errorf("%s %s is %s, not %s", kinds[t.kind], o.Slice, t.typ, expr.F32)
	}
	if err := c.expr("offset of "+o.Slice, o.Off, expr.I32); err != nil {
		return err
	}
	for _, e := range []*expr.Expr{o.RS, o.CS} {
		if err := c.size("stride of "+o.Slice, e); err != nil {
			return err
		}
		if e.IsConst() && e.I < 0 {
			return fmt.Errorf("stride of %s: it is %d", o.Slice, e.I)
		}
	}
	return nil
}

// result checks what a product is added to.
func (c *checker) result(n *Dot) error {
	if n.M == nil {
		v := expr.NewVar(n.C.Slice, expr.F32)
		if err := c.expr("result", v, expr.F32); err != nil {
			return err
		}
		return c.writes(n.C.Slice, variable)
	}
	if err := c.operand(n.C); err != nil {
		return err
	}
	if !IsInt(n.C.CS, 1) {
		return fmt.Errorf("the columns of %s do not lie side by side", n.C.Slice)
	}
	if !n.Zero {
		if err := c.readable(n.C.Slice); err != nil {
			return err
		}
	}
	return c.writes(n.C.Slice, tile, buffer)
}

func (c *checker) reduce(n *Reduce) error {
	if memory.FindReduction(n.Op) == nil {
		return fmt.Errorf("%s is no reduction", n.Op)
	}
	err := c.over([]kernel.Axis{n.Axis}, func() error { return c.expr("value", n.Value, expr.F32) })
	if err != nil {
		return err
	}
	return c.bind(n.Name, name{typ: expr.F32})
}

func (c *checker) loop(n *Loop) error {
	if err := c.expr("first", n.Lo, expr.I32); err != nil {
		return err
	}
	if err := c.expr("end", n.Hi, expr.I32); err != nil {
		return err
	}
	if !n.Apart && len(n.Own) > 0 {
		return fmt.Errorf("its turns follow one another, but have tiles of their own")
	}
	for _, id := range slices.Sorted(maps.Keys(n.Own)) {
		switch t, ok := c.names[id]; {
		case !ok && !makes(n.Body, id):
			return fmt.Errorf("no tile or variable is called %s", id)
		case ok && t.kind != tile && t.kind != variable:
			return fmt.Errorf("%s is a %s, which no turn can have for itself", id, kinds[t.kind])
		}
	}
	return c.bind(n.Name, name{typ: expr.I32})
}

// makes says whether nodes, or those in their bodies, make a tile or variable.
func makes(nodes []Node, id string) bool {
	return slices.ContainsFunc(nodes, func(n Node) bool {
		a, ok := n.(*Alloc)
		return ok && a.Name == id || makes(Within(n), id)
	})
}
