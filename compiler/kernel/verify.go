package kernel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// reserved are the words that the text form would misread as a name.
var reserved = []string{"for", "until", "of", "from", "random", "true", "false", "inf", "nan"}

// MaxStream keeps kernel streams apart from those that the host draws from.
const MaxStream = 0xFEFF

// Verify returns an error that names the first declaration or statement that
// breaks a rule of the kernel IR: names and their scopes, types, ranks, modes, and
// what back ends rely on. What depends on sizes is checked by Run.
func Verify(k *Kernel) error {
	c := &checker{k: k, names: map[string]name{}, tiles: map[string]bool{}, written: map[string]bool{}}
	if err := c.kernel(); err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return nil
}

// A name is what a name in scope stands for.
type name struct {
	class class
	typ   expr.Type
	mode  Mode // of a buffer
	rank  int  // of an array
}

type class uint8

const (
	scalar   class = iota // a parameter or one that a statement binds: it keeps its value
	variable              // which statements set
	tile
	buffer
)

var classes = [...]string{scalar: "scalar", variable: "variable", tile: "tile", buffer: "buffer"}

// array says whether a name has elements.
func (n name) array() bool { return n.class >= tile }

// checker walks a kernel in the order of its text.
type checker struct {
	k       *Kernel
	names   map[string]name // in scope
	tiles   map[string]bool // that there have been anywhere
	written map[string]bool // what a statement so far writes
	apart   bool            // in a loop whose iterations are apart
}

func (c *checker) kernel() error {
	if err := c.header(); err != nil {
		return err
	}
	for _, s := range c.k.Once {
		if _, ok := s.(*Tile); !ok {
			return fmt.Errorf("%s: once for all cells there are only tiles", c.k.Describe(s))
		}
		if err := c.named(s); err != nil {
			return err
		}
	}
	for _, a := range c.k.Grid {
		if err := c.bind(a.Var, name{typ: expr.I32}); err != nil {
			return err
		}
	}
	if err := c.body(c.k.Body); err != nil {
		return err
	}
	for _, p := range c.k.Params {
		if (p.Mode == Out || p.Mode == InOut) && !c.written[p.Name] {
			return fmt.Errorf("no statement writes %s", p.Name)
		}
	}
	return nil
}

// header checks what stands before the statements. Sizes of the grid see no axis of it.
func (c *checker) header() error {
	if err := checkName(c.k.Name); err != nil {
		return err
	}
	if err := c.params(); err != nil {
		return err
	}
	if err := c.operation(); err != nil {
		return err
	}
	for _, a := range c.k.Grid {
		if err := c.extents("grid axis "+a.Var, a.Size); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) params() error {
	scalars := false
	for _, p := range c.k.Params {
		if p.Mode != Scalar {
			if scalars {
				return fmt.Errorf("buffer %s stands after a scalar", p.Name)
			}
			if p.Type != expr.F32 && p.Type != expr.I32 {
				return fmt.Errorf("buffer %s: a buffer holds no %s", p.Name, p.Type)
			}
			if err := c.bind(p.Name, name{buffer, p.Type, p.Mode, len(p.Shape)}); err != nil {
				return err
			}
			continue
		}
		scalars = true
		t, ok := ScalarType(p.Name)
		switch {
		case !ok:
			return fmt.Errorf("no scalar is called %s; there are %s", p.Name, strings.Join(ScalarNames(), ", "))
		case t != p.Type:
			return fmt.Errorf("scalar %s is %s, not %s", p.Name, t, p.Type)
		case len(p.Shape) > 0:
			return fmt.Errorf("scalar %s has a shape", p.Name)
		}
		if err := c.bind(p.Name, name{typ: t}); err != nil {
			return err
		}
	}
	for _, p := range c.k.Params {
		if err := c.extents("buffer "+p.Name, p.Shape...); err != nil {
			return err
		}
	}
	return nil
}

// extents checks sizes, which what is in memory must not decide.
func (c *checker) extents(what string, sizes ...*expr.Expr) error {
	for _, e := range sizes {
		if err := c.expr(what, e, expr.I32); err != nil {
			return err
		}
		if xs := expr.Elems(e); len(xs) > 0 {
			return fmt.Errorf("%s: its size depends on %s", what, xs[0])
		}
	}
	return nil
}

// bind takes a name into scope, which must be free there.
func (c *checker) bind(id string, n name) error {
	if _, ok := c.names[id]; ok {
		return fmt.Errorf("%s is already in use", id)
	}
	c.names[id] = n
	return checkName(id)
}

// checkName returns an error for what is no name.
func checkName(name string) error {
	valid := name != "" && !slices.Contains(reserved, name)
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		valid = valid && (letter || i > 0 && '0' <= r && r <= '9')
	}
	if !valid {
		return fmt.Errorf("%q is no valid name", name)
	}
	return nil
}

// expr checks an expression: its own typing, its type, and that it uses nothing
// but names in scope that hold something.
func (c *checker) expr(what string, e *expr.Expr, want expr.Type) error {
	if err := expr.Expect(e, want); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, v := range expr.Vars(e) {
		n, ok := c.names[v.Name]
		switch {
		case !ok:
			return fmt.Errorf("%s: %s is not known here", what, v.Name)
		case n.array():
			return fmt.Errorf("%s: %s is a %s, which has elements", what, v.Name, classes[n.class])
		case n.typ != v.Type:
			return fmt.Errorf("%s: %s is %s, not %s", what, v.Name, n.typ, v.Type)
		case n.class == variable && !c.written[v.Name]:
			return fmt.Errorf("%s: variable %s is read before anything is written to it", what, v.Name)
		}
	}
	for _, x := range expr.Elems(e) {
		if err := c.elem(x); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		n := c.names[x.Name]
		switch {
		case n.class == buffer && n.mode == Out:
			return fmt.Errorf("%s: buffer %s is written only", what, x.Name)
		case n.class == tile && !c.written[x.Name]:
			return fmt.Errorf("%s: tile %s is read before anything is written to it", what, x.Name)
		}
	}
	return nil
}

// elem checks that an element is one of an array, with an index a dimension.
func (c *checker) elem(x *expr.Expr) error {
	n, ok := c.names[x.Name]
	switch {
	case !ok:
		return fmt.Errorf("no tile or buffer is called %s", x.Name)
	case !n.array():
		return fmt.Errorf("%s is a %s, which has no elements", x.Name, classes[n.class])
	case n.typ != x.Type:
		return fmt.Errorf("%s %s is %s, not %s", classes[n.class], x.Name, n.typ, x.Type)
	case len(x.Args) != n.rank:
		return fmt.Errorf("%s %s has rank %d, not %d", classes[n.class], x.Name, n.rank, len(x.Args))
	}
	return nil
}

// writes checks that a statement may write a name, and notes that it does.
func (c *checker) writes(id string, cs ...class) error {
	n, ok := c.names[id]
	switch {
	case !ok:
		return fmt.Errorf("nothing is called %s", id)
	case !slices.Contains(cs, n.class):
		return fmt.Errorf("%s is a %s, which it cannot write", id, classes[n.class])
	case n.class == buffer && n.mode == In:
		return fmt.Errorf("buffer %s is read only", id)
	}
	c.written[id] = true
	return nil
}

// over runs check with the axes in scope; their sizes do not see one another.
func (c *checker) over(axes []Axis, check func() error) error {
	for _, a := range axes {
		if err := c.expr("axis "+a.Var, a.Size, expr.I32); err != nil {
			return err
		}
	}
	outer := maps.Clone(c.names)
	defer func() { c.names = outer }()
	for _, a := range axes {
		if err := c.bind(a.Var, name{typ: expr.I32}); err != nil {
			return err
		}
	}
	return check()
}
