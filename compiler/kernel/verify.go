package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// reserved are the words that the text form would misread as a name.
var reserved = []string{"for", "until", "of", "from", "random", "true", "false", "inf", "nan"}

// MaxStream keeps kernel streams apart from those that the host draws from.
const MaxStream = 0xFEFF

// Verify returns an error that names the first declaration or statement that
// breaks a rule of the kernel IR: names and their scopes, types, ranks, modes.
// What depends on sizes is checked by Run.
func Verify(k *Kernel) error {
	c := &checker{k: k, vars: map[string]expr.Type{}, axisVars: map[string]bool{}, names: map[string]bool{}, written: map[string]bool{}}
	err := c.header()
	if err == nil {
		err = c.body(k.Body)
	}
	if err == nil {
		err = c.stored()
	}
	if err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return nil
}

// VerifyHeader checks what a kernel declares before its body.
func VerifyHeader(k *Kernel) error {
	c := &checker{k: k, vars: map[string]expr.Type{}, axisVars: map[string]bool{}, names: map[string]bool{}}
	return c.header()
}

// checker walks a kernel in the order of its text.
type checker struct {
	k        *Kernel
	vars     map[string]expr.Type // variables in scope
	axisVars map[string]bool      // those of them that are axes of the current statement
	names    map[string]bool      // names of parameters, grid axes and tiles
	written  map[string]bool      // tiles and buffers that a statement so far writes
}

func (c *checker) header() error {
	if err := CheckName(c.k.Name); err != nil {
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
	for _, a := range c.k.Grid {
		if err := c.declare(a.Var); err != nil {
			return err
		}
		c.vars[a.Var] = expr.I32
	}
	for _, t := range c.k.Tiles {
		if err := c.declare(t.Name); err != nil {
			return err
		}
		if t.Type != expr.F32 && t.Type != expr.I32 && t.Type != expr.U32 {
			return fmt.Errorf("tile %s: a tile holds no %s", t.Name, t.Type)
		}
		if slices.Contains(t.Shape, nil) {
			return fmt.Errorf("tile %s: an extent is missing", t.Name)
		}
	}
	return nil
}

func (c *checker) params() error {
	scalars := false
	for _, p := range c.k.Params {
		if err := c.declare(p.Name); err != nil {
			return err
		}
		if p.Mode != Scalar {
			if scalars {
				return fmt.Errorf("buffer %s stands after a scalar", p.Name)
			}
			if p.Type != expr.F32 && p.Type != expr.I32 {
				return fmt.Errorf("buffer %s: a buffer holds no %s", p.Name, p.Type)
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
		c.vars[p.Name] = t
	}
	for _, p := range c.k.Params {
		if err := c.extents("buffer "+p.Name, p.Shape...); err != nil {
			return err
		}
	}
	return nil
}

// extents checks sizes that may use nothing but the variables in scope.
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

// declare takes a name that no other parameter, grid axis or tile has.
func (c *checker) declare(name string) error {
	if c.names[name] {
		return fmt.Errorf("%s is declared twice", name)
	}
	c.names[name] = true
	return CheckName(name)
}

// bind takes a variable into scope, whose name must be free there.
func (c *checker) bind(name string, t expr.Type) error {
	if _, ok := c.vars[name]; ok || c.names[name] {
		return fmt.Errorf("%s is already in use", name)
	}
	c.vars[name] = t
	return CheckName(name)
}

// CheckName returns an error for what is no name.
func CheckName(name string) error {
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
// but variables in scope and elements of tiles that hold something.
func (c *checker) expr(what string, e *expr.Expr, want expr.Type) error {
	if err := expr.Expect(e, want); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, v := range expr.Vars(e) {
		t, ok := c.vars[v.Name]
		if !ok {
			return fmt.Errorf("%s: %s is not known here", what, v.Name)
		}
		if t != v.Type {
			return fmt.Errorf("%s: %s is %s, not %s", what, v.Name, t, v.Type)
		}
	}
	for _, x := range expr.Elems(e) {
		if err := c.elem(what, x); err != nil {
			return err
		}
	}
	return nil
}

// elem checks an element that an expression reads.
func (c *checker) elem(what string, x *expr.Expr) error {
	t, err := c.tile(x.Name)
	switch {
	case c.k.buffer(x.Name) != nil:
		return fmt.Errorf("%s: %s is a buffer; load it into a tile first", what, x.Name)
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case t.Type != x.Type:
		return fmt.Errorf("%s: tile %s is %s, not %s", what, x.Name, t.Type, x.Type)
	case len(t.Shape) != len(x.Args):
		return fmt.Errorf("%s: tile %s has rank %d, not %d", what, x.Name, len(t.Shape), len(x.Args))
	case !c.written[x.Name]:
		return fmt.Errorf("%s: tile %s is read before anything is written to it", what, x.Name)
	}
	return nil
}

// tile returns a tile whose shape's variables are all in scope.
func (c *checker) tile(name string) (*Tile, error) {
	t := c.k.tile(name)
	if t == nil {
		return nil, fmt.Errorf("no tile is called %s", name)
	}
	for _, v := range expr.Vars(t.Shape...) {
		if c.axisVars[v.Name] {
			return nil, fmt.Errorf("tile %s: its size depends on the axis %s", name, v.Name)
		}
	}
	return t, c.extents("tile "+name, t.Shape...)
}

// stored checks that every output is written somewhere.
func (c *checker) stored() error {
	for _, p := range c.k.Params {
		if (p.Mode == Out || p.Mode == InOut) && !c.written[p.Name] {
			return fmt.Errorf("no statement stores to %s", p.Name)
		}
	}
	return nil
}
