package kernel

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// operation checks what is said of the operation: that the kind is one, and where
// more is known, its axes, roles, sizes, names, and that each buffer has a part in
// it that its mode allows.
func (c *checker) operation() error {
	o := &c.k.Op
	if _, ok := kinds[o.Kind]; !ok {
		return fmt.Errorf("no kind is called %q; there are %s", o.Kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	if !o.Known() {
		if len(o.Exprs())+len(o.Results)+len(o.Args)+len(o.Steps) > 0 || o.Drop != nil || o.Scale != 0 {
			return fmt.Errorf("the operation has no axes")
		}
		return nil
	}
	v := &opChecker{c, map[string]expr.Type{}, map[string]bool{}}
	for _, p := range c.k.Params {
		if p.Mode == Scalar {
			v.vars[p.Name] = p.Type
		}
	}
	for _, check := range []func(*Operation) error{v.axes, v.operands, v.product, v.site, v.steps, v.buffers} {
		if err := check(o); err != nil {
			return fmt.Errorf("operation: %w", err)
		}
	}
	return nil
}

// An opChecker has the variables that an operation's expressions may use.
type opChecker struct {
	*checker
	vars map[string]expr.Type
	used map[string]bool // buffers that are read
}

func (c *opChecker) axes(o *Operation) error {
	var names []string
	for _, a := range o.Axes {
		names = append(names, a.Var)
		if err := c.extents("axis "+a.Var, a.Size); err != nil {
			return err
		}
	}
	words := strings.Fields(kinds[o.Kind].axes)
	for _, w := range words {
		name, optional := strings.CutSuffix(w, "?")
		if len(names) > 0 && names[0] == name {
			names = names[1:]
		} else if !optional {
			return fmt.Errorf("the axes of %s are %s", o.Kind, strings.Join(words, " "))
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("%s has no axis %s", o.Kind, names[0])
	}
	for _, a := range append(o.Axes, Axis{Var: "i"}) {
		c.vars[a.Var] = expr.I32
	}
	return nil
}

// operands checks arguments and results: their number, and what is called so.
func (c *opChecker) operands(o *Operation) error {
	var args, results []string
	for _, a := range o.Args {
		args = append(args, a.Name)
		if a.Trans && o.Family() != "matmul" {
			return fmt.Errorf("%s has no factors to transpose", o.Kind)
		}
		switch b := c.k.buffer(a.Name); {
		case a.Name == misread[0]:
			return fmt.Errorf("%q is no valid name", a.Name)
		case a.Name == "" || slices.ContainsFunc(o.Steps, func(s Step) bool { return o.Kind == "sum" && s.Name == a.Name }):
		case b == nil:
			return fmt.Errorf("no buffer is called %s", a.Name)
		case b.Mode == Out:
			return fmt.Errorf("%s is an argument and only written", a.Name)
		}
		c.used[a.Name] = true
	}
	for _, r := range o.Results {
		results = append(results, r.Name)
		if err := c.result(r, expr.F32); err != nil {
			return err
		}
	}
	if err := fits("argument", args, kinds[o.Kind].args); err != nil {
		return err
	}
	return fits("result", results, kinds[o.Kind].results)
}

// fits holds names to the roles of a kind.
func fits(what string, names []string, roles string) error {
	roles, more := strings.CutSuffix(roles, "*")
	words := strings.Fields(roles)
	if len(names) > len(words) && !more {
		return fmt.Errorf("%d %ss instead of %d", len(names), what, len(words))
	}
	for i, w := range words {
		if (i >= len(names) || names[i] == "") && !strings.HasSuffix(w, "?") {
			return fmt.Errorf("%s %s is missing", what, w)
		}
	}
	return nil
}

// misread are names that the text of an operation would take for something else.
var misread = []string{"_", "dropout", "draw", "noise"}

// result takes the name of a value, which goes to the buffer of that name if there
// is one.
func (c *opChecker) result(r Result, t expr.Type) error {
	if r.Name == "" {
		return nil
	}
	b := c.k.buffer(r.Name)
	_, taken := c.vars[r.Name]
	switch {
	case slices.Contains(misread, r.Name):
		return fmt.Errorf("%q is no valid name", r.Name)
	case taken:
		return fmt.Errorf("%s is already in use", r.Name)
	case b != nil && b.Mode == In:
		return fmt.Errorf("%s is a result and only read", r.Name)
	case r.Add && (b == nil || b.Mode != InOut):
		return fmt.Errorf("%s is added to and is no inout buffer", r.Name)
	case b != nil:
		t = b.Type
	}
	c.vars[r.Name] = t
	return checkName(r.Name)
}

// product checks the sizes of a product's factors and of its result.
func (c *opChecker) product(o *Operation) error {
	if !o.Product() {
		return nil
	}
	check := func(name string, rows, cols string, trans bool) error {
		b := c.k.buffer(name)
		if b == nil {
			return nil
		}
		if trans {
			rows, cols = cols, rows
		}
		shape := []*expr.Expr{o.Size(rows), o.Size(cols)}
		flat := []*expr.Expr{Elements(shape)}
		if !slices.EqualFunc(b.Shape, shape, expr.Equal) && !slices.EqualFunc(b.Shape, flat, expr.Equal) {
			return fmt.Errorf("%s is not [%s, %s]", name, shape[0], shape[1])
		}
		return nil
	}
	left, right := o.Arg("left"), o.Arg("right")
	if err := check(left.Name, "r", "k", left.Trans); err != nil {
		return err
	}
	if err := check(right.Name, "k", "e", right.Trans); err != nil {
		return err
	}
	return check(o.Result("y").Name, "r", "e", false)
}

// site checks what only attention and its biases have.
func (c *opChecker) site(o *Operation) error {
	if o.Family() != "attention" && (o.Scale != 0 || o.Mask != nil || o.Bias != nil || o.Window != nil || o.Drop != nil) {
		return fmt.Errorf("%s has neither scale, mask, bias, window nor dropout", o.Kind)
	}
	if math.IsNaN(o.Scale) || math.IsInf(o.Scale, 0) {
		return fmt.Errorf("a scale of %g", o.Scale)
	}
	if o.Mask != nil {
		if err := c.term("mask", o.Mask, expr.Bool); err != nil {
			return err
		}
	}
	if o.Bias != nil {
		if err := c.term("bias", o.Bias, expr.F32); err != nil {
			return err
		}
	}
	if o.Drop != nil {
		if err := o.Drop.check(); err != nil {
			return err
		}
	}
	if o.Window == nil {
		return nil
	}
	if o.Window.Width < 1 {
		return fmt.Errorf("a window of %d keys", o.Window.Width)
	}
	return c.term("window", o.Window.Lo, expr.I32)
}

func (d Dropout) check() error {
	if !(d.Rate > 0 && d.Rate < 1) {
		return fmt.Errorf("nothing is dropped at a rate of %g", d.Rate)
	}
	return d.stream()
}

func (d Dropout) stream() error {
	if d.Stream > MaxStream {
		return fmt.Errorf("stream %d is above %d", d.Stream, MaxStream)
	}
	return nil
}

func (c *opChecker) steps(o *Operation) error {
	for _, s := range o.Steps {
		if s.Name == "" {
			return fmt.Errorf("a step has no name")
		}
		if err := c.step(&s); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if err := c.result(s.Result, s.valueType()); err != nil {
			return err
		}
		if t := c.vars[s.Name]; t != s.valueType() {
			return fmt.Errorf("%s is %s, not %s", s.Name, t, s.valueType())
		}
	}
	return nil
}

func (c *opChecker) step(s *Step) error {
	switch s.Op {
	case "map":
		if s.Value == nil {
			return fmt.Errorf("its value is missing")
		}
		return c.term("value", s.Value, s.Value.Type)
	case "dropout":
		if err := s.Dropout.check(); err != nil {
			return err
		}
		return c.term("what it drops", s.Value, expr.F32)
	case "draw", "noise":
		if s.Value != nil || s.Rate != 0 {
			return fmt.Errorf("%s has a stream alone", s.Op)
		}
		return s.stream()
	}
	return fmt.Errorf("%q is no elementwise op", s.Op)
}

// term checks an expression, whose elements are those of buffers.
func (c *opChecker) term(what string, e *expr.Expr, want expr.Type) error {
	if err := expr.Expect(e, want); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, v := range expr.Vars(e) {
		if t, ok := c.vars[v.Name]; !ok || t != v.Type {
			return fmt.Errorf("%s: no %s is called %s here", what, v.Type, v.Name)
		}
	}
	for _, x := range expr.Elems(e) {
		switch b := c.k.buffer(x.Name); {
		case b == nil || b.Type != x.Type || len(b.Shape) != len(x.Args):
			return fmt.Errorf("%s: no buffer has an element %s", what, x)
		case b.Mode == Out:
			return fmt.Errorf("%s: %s is only written", what, x.Name)
		}
		c.used[x.Name] = true
	}
	return nil
}

// buffers checks that no buffer is left out.
func (c *opChecker) buffers(o *Operation) error {
	for _, p := range c.k.Params {
		_, result := c.vars[p.Name]
		switch {
		case p.Mode == Scalar:
		case (p.Mode == Out || p.Mode == InOut) && !result:
			return fmt.Errorf("it leaves nothing in %s", p.Name)
		case p.Mode == In && !c.used[p.Name]:
			return fmt.Errorf("it does not read %s", p.Name)
		}
	}
	return nil
}
