package kernel

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// reserved are the words that the text form would misread as a name.
var reserved = []string{"for", "until", "of", "from", "random", "true", "false", "inf", "nan"}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// MaxStream is the last stream for kernels. The host draws from later ones.
const MaxStream = 0xFEFF

// Verify returns an error that names the first declaration or statement that breaks a rule of the
// kernel IR. The rules concern names, scopes, types, ranks, modes and the assumptions of back
// ends. Run checks rules that depend on sizes.
func Verify(k *Kernel) error {
	if k.Span != nil {
		return Verify(k.Cut(1))
	}
	c := &checker{k: k, names: map[string]name{}, tiles: map[string]bool{}, written: map[string]bool{}}
	if c.kernel(); c.err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, c.err)
	}
	return nil
}

// A name describes a name in scope.
type name struct {
	class class
	typ   expr.Type
	mode  Mode // of a buffer
	rank  int  // of an array
}

type class uint8

const (
	scalar   class = iota // a parameter, or bound by a statement: its value stays
	variable              // set by statements
	tile
	buffer
)

var classes = [...]string{scalar: "scalar", variable: "variable", tile: "tile", buffer: "buffer"}

// array reports whether a name has elements.
func (n name) array() bool { return n.class >= tile }

// A checker walks a kernel in the order of its text. The first error stays; later checks do not
// matter.
type checker struct {
	k           *Kernel
	names       map[string]name // in scope
	bound       []string        // names of the open scopes, in order
	tiles       map[string]bool // all so far
	written     map[string]bool // names written so far
	independent bool            // in a loop whose iterations are independent
	err         error
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// want fails with a message unless a rule is kept.
func (c *checker) want(kept bool, format string, args ...any) {
	if !kept {
		c.fail(format, args...)
	}
}

// at runs a check and prefixes its error with where.
func (c *checker) at(where string, check func()) {
	if c.err != nil {
		return
	}
	if check(); c.err != nil {
		c.err = fmt.Errorf("%s: %w", where, c.err)
	}
}

func (c *checker) kernel() {
	c.name(c.k.Name)
	c.params()
	c.packed()
	c.want(c.k.Family() != "", "no kind is called %q; there are %s", c.k.Kind, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	for _, a := range c.k.Grid { // sizes see no axis of the grid
		c.extents("grid axis "+a.Var, a.Size)
	}
	for _, s := range c.k.Once {
		if _, ok := s.(*Tile); !ok {
			c.fail("%s: once for all cells there are only tiles", c.k.Describe(s))
		}
		c.stmt(s)
	}
	for _, a := range c.k.Grid {
		c.bind(a.Var, name{typ: expr.I32})
	}
	c.body(c.k.Body)
	for _, p := range c.k.Params {
		c.want(p.Mode == In || p.Mode == Scalar || c.written[p.Name], "no statement writes %s", p.Name)
	}
}

func (c *checker) params() {
	scalars := false
	for _, p := range c.k.Params {
		if p.Mode != Scalar {
			c.want(!scalars, "buffer %s stands after a scalar", p.Name)
			c.want(p.Type == expr.F32 || p.Type == expr.I32 || p.Type.Narrow(), "buffer %s: a buffer holds no %s", p.Name, p.Type)
			c.bind(p.Name, name{buffer, p.Type, p.Mode, len(p.Shape)})
			continue
		}
		scalars = true
		t, ok := ScalarType(p.Name)
		if !ok {
			c.fail("no scalar is called %s; there are %s", p.Name, strings.Join(ScalarNames(), ", "))
		}
		c.want(t == p.Type, "scalar %s is %s, not %s", p.Name, t, p.Type)
		c.want(len(p.Shape) == 0, "scalar %s has a shape", p.Name)
		c.bind(p.Name, name{typ: t})
	}
	for _, p := range c.k.Params {
		c.extents("buffer "+p.Name, p.Shape...)
	}
}

// extents checks sizes, which must not depend on memory.
func (c *checker) extents(what string, sizes ...*expr.Expr) {
	for _, e := range sizes {
		if c.expr(what, e, expr.I32); c.err != nil {
			return
		}
		if xs := expr.Elems(e); len(xs) > 0 {
			c.fail("%s: its size depends on %s", what, xs[0])
		}
	}
}

// bind takes a name into scope. The name must be free. Only a parameter may have the name of a
// scalar, because back ends print scalars by their names.
func (c *checker) bind(id string, n name) {
	_, taken := c.names[id]
	c.want(!taken, "%s is already in use", id)
	_, scalar := ScalarType(id)
	c.want(!scalar || slices.ContainsFunc(c.k.Params, func(p Param) bool { return p.Name == id }), "%s is the name of a scalar", id)
	c.names[id] = n
	c.bound = append(c.bound, id)
	c.name(id)
}

// leave ends the scope that began at this length of c.bound.
func (c *checker) leave(bound int) {
	for _, id := range c.bound[bound:] {
		delete(c.names, id)
	}
	c.bound = c.bound[:bound]
}

// name checks that a text is a name.
func (c *checker) name(id string) {
	c.want(identifier.MatchString(id) && !slices.Contains(reserved, id), "%q is no valid name", id)
}

// expr checks an expression: its own typing, its type, and that its names are in scope and have
// values.
func (c *checker) expr(what string, e *expr.Expr, want expr.Type) {
	c.at(what, func() {
		if c.err = expr.Expect(e, want); c.err != nil {
			return
		}
		for _, v := range expr.Vars(e) {
			n, ok := c.names[v.Name]
			c.want(ok, "%s is not known here", v.Name)
			c.want(!n.array(), "%s is a %s, which has elements", v.Name, classes[n.class])
			c.want(n.typ == v.Type, "%s is %s, not %s", v.Name, n.typ, v.Type)
			c.want(n.class != variable || c.written[v.Name], "variable %s is read before anything is written to it", v.Name)
		}
		for _, x := range expr.Elems(e) {
			c.elem(x)
			n := c.names[x.Name]
			c.want(n.class != buffer || n.mode != Out, "buffer %s is written only", x.Name)
			c.want(n.class != tile || c.written[x.Name], "tile %s is read before anything is written to it", x.Name)
		}
	})
}

// elem checks that an element is one of an array, with an index a dimension.
func (c *checker) elem(x *expr.Expr) {
	n, ok := c.names[x.Name]
	c.want(ok, "no tile or buffer is called %s", x.Name)
	c.want(n.array(), "%s is a %s, which has no elements", x.Name, classes[n.class])
	c.want(n.typ == x.Type, "%s %s is %s, not %s", classes[n.class], x.Name, n.typ, x.Type)
	c.want(n.rank == len(x.Args), "%s %s has rank %d, not %d", classes[n.class], x.Name, n.rank, len(x.Args))
}

// writes checks that a statement may write a name, and notes that it does.
func (c *checker) writes(id string, cs ...class) {
	n, ok := c.names[id]
	c.want(ok, "nothing is called %s", id)
	c.want(slices.Contains(cs, n.class), "%s is a %s, which it cannot write", id, classes[n.class])
	c.want(n.class != buffer || n.mode != In, "buffer %s is read only", id)
	c.written[id] = true
}

// over runs check with the axes in scope; their sizes do not see one another.
func (c *checker) over(axes []Axis, check func()) {
	for _, a := range axes {
		c.expr("axis "+a.Var, a.Size, expr.I32)
	}
	outer := len(c.bound)
	for _, a := range axes {
		c.bind(a.Var, name{typ: expr.I32})
	}
	if c.err == nil {
		check()
	}
	c.leave(outer)
}
