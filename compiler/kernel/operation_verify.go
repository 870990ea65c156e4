package kernel

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// operation checks the operation's kind. If it has axes, operation checks its axes, roles, sizes
// and names, and that it uses every buffer as the buffer's mode allows.
func (c *checker) operation() {
	o := &c.k.Op
	if _, ok := kinds[o.Kind]; !ok {
		c.fail("no kind is called %q; there are %s", o.Kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	if !o.Known() {
		said := len(o.Exprs())+len(o.Results)+len(o.Args)+len(o.Steps) > 0 || o.attends()
		c.want(!said, "the operation has no axes")
		return
	}
	v := &opChecker{c, o, map[string]expr.Type{}, map[string]bool{}}
	for _, p := range c.k.Params {
		if p.Mode == Scalar {
			v.vars[p.Name] = p.Type
		}
	}
	c.at("operation", func() {
		for _, check := range []func(){v.axes, v.operands, v.product, v.site, v.steps, v.buffers} {
			check()
		}
	})
}

// An opChecker has the variables that an operation's expressions may use.
type opChecker struct {
	*checker
	o    *Operation
	vars map[string]expr.Type
	used map[string]bool // buffers that are read
}

func (c *opChecker) axes() {
	names := make([]string, len(c.o.Axes))
	for i, a := range c.o.Axes {
		names[i] = a.Var
		c.vars[a.Var] = expr.I32
		c.extents("axis "+a.Var, a.Size)
	}
	c.vars["i"] = expr.I32
	words := strings.Fields(kinds[c.o.Kind].axes)
	for _, w := range words {
		name, optional := strings.CutSuffix(w, "?")
		if len(names) > 0 && names[0] == name {
			names = names[1:]
		} else if !optional {
			c.fail("the axes of %s are %s", c.o.Kind, strings.Join(words, " "))
		}
	}
	c.want(len(names) == 0, "%s has no axis %s", c.o.Kind, strings.Join(names, ", "))
}

// operands checks the number and the names of arguments and results.
func (c *opChecker) operands() {
	var args, results []string
	for _, a := range c.o.Args {
		args = append(args, a.Name)
		c.want(!a.Trans || c.o.Family() == "matmul", "%s has no factors to transpose", c.o.Kind)
		c.want(a.Name != "_", "%q is no valid name", a.Name)
		summed := (c.o.Kind == "sum" || c.o.Kind == "segment_sum") && slices.ContainsFunc(c.o.Steps, func(s Step) bool { return s.Name == a.Name })
		if a.Name == "" || summed {
			continue
		}
		b := c.k.buffer(a.Name)
		c.want(b != nil, "no buffer is called %s", a.Name)
		c.want(b == nil || b.Mode != Out, "%s is an argument and only written", a.Name)
		c.used[a.Name] = true
	}
	for _, r := range c.o.Results {
		results = append(results, r.Name)
		c.result(r, expr.F32)
	}
	c.fits("argument", args, kinds[c.o.Kind].args)
	c.fits("result", results, kinds[c.o.Kind].results)
}

// fits checks names against the roles of a kind.
func (c *opChecker) fits(what string, names []string, roles string) {
	roles, more := strings.CutSuffix(roles, "*")
	words := strings.Fields(roles)
	c.want(len(names) <= len(words) || more, "%d %ss instead of %d", len(names), what, len(words))
	for i, w := range words {
		there := i < len(names) && names[i] != ""
		c.want(there || strings.HasSuffix(w, "?"), "%s %s is missing", what, w)
	}
}

// misread lists names with another meaning in the text of an operation.
var misread = []string{"_", "dropout", "draw", "noise"}

// result takes the name of a value. The value goes to the buffer of this name, if any.
func (c *opChecker) result(r Result, t expr.Type) {
	if r.Name == "" {
		return
	}
	b := c.k.buffer(r.Name)
	_, taken := c.vars[r.Name]
	c.want(!slices.Contains(misread, r.Name), "%q is no valid name", r.Name)
	c.want(!taken, "%s is already in use", r.Name)
	c.want(b == nil || b.Mode != In, "%s is a result and only read", r.Name)
	c.want(!r.Add || b != nil && b.Mode == InOut, "%s is added to and is no inout buffer", r.Name)
	if b != nil {
		t = b.Type
	}
	c.vars[r.Name] = t
	c.name(r.Name)
}

// product checks the sizes of a product's factors and of its result.
func (c *opChecker) product() {
	if c.err != nil || !c.o.Product() {
		return
	}
	matrix := func(name, rows, cols string, trans bool) {
		b := c.k.buffer(name)
		if b == nil {
			return
		}
		if trans {
			rows, cols = cols, rows
		}
		shape := []*expr.Expr{c.o.Size(rows), c.o.Size(cols)}
		flat := []*expr.Expr{Elements(shape)}
		fits := slices.EqualFunc(b.Shape, shape, expr.Equal) || slices.EqualFunc(b.Shape, flat, expr.Equal)
		c.want(fits, "%s is not [%s, %s]", name, shape[0], shape[1])
	}
	left, right := c.o.Arg("left"), c.o.Arg("right")
	matrix(left.Name, "r", "k", left.Trans)
	matrix(right.Name, "k", "e", right.Trans)
	matrix(c.o.Result("y").Name, "r", "e", false)
}

// site checks the fields that only attention and its biases have.
func (c *opChecker) site() {
	o := c.o
	c.want(o.Family() == "attention" || !o.attends(), "%s has neither scale, mask, bias, window nor dropout", o.Kind)
	c.want(!math.IsNaN(o.Scale) && !math.IsInf(o.Scale, 0), "a scale of %g", o.Scale)
	if o.Mask != nil {
		c.term("mask", o.Mask, expr.Bool)
	}
	if o.Bias != nil {
		c.term("bias", o.Bias, expr.F32)
	}
	if o.Drop != (Dropout{}) {
		c.dropout(o.Drop)
		c.want(o.Drop.Rows >= 0 && (o.Drop.Rows > 0) == (o.Drop.Keys > 0), "random words are counted by %d rows of %d", o.Drop.Rows, o.Drop.Keys)
	}
	if o.Window != (Window{}) {
		c.want(o.Window.Width > 0, "a window of %d keys", o.Window.Width)
		c.term("window", o.Window.Lo, expr.I32)
	}
}

func (c *opChecker) dropout(d Dropout) {
	c.want(0 < d.Rate && d.Rate < 1, "nothing is dropped at a rate of %g", d.Rate)
	c.stream(d.Stream)
}

func (c *opChecker) steps() {
	for _, s := range c.o.Steps {
		c.want(s.Name != "", "a step has no name")
		c.at(s.Name, func() { c.step(&s) })
		t := s.valueType()
		c.result(s.Result, t)
		c.want(c.vars[s.Name] == t, "%s is %s, not %s", s.Name, c.vars[s.Name], t)
	}
}

func (c *opChecker) step(s *Step) {
	switch s.Op {
	case "map":
		if s.Value == nil {
			c.fail("its value is missing")
			return
		}
		c.term("value", s.Value, s.Value.Type)
	case "dropout":
		c.dropout(s.Dropout)
		c.term("what it drops", s.Value, expr.F32)
	case "draw", "noise":
		c.want(s.Value == nil && s.Rate == 0, "%s has a stream alone", s.Op)
		c.stream(s.Stream)
	default:
		c.fail("%q is no elementwise op", s.Op)
	}
}

// term checks an expression, whose elements are in buffers.
func (c *opChecker) term(what string, e *expr.Expr, want expr.Type) {
	c.at(what, func() {
		if c.err = expr.Expect(e, want); c.err != nil {
			return
		}
		for _, v := range expr.Vars(e) {
			t, ok := c.vars[v.Name]
			c.want(ok && t == v.Type, "no %s is called %s here", v.Type, v.Name)
		}
		for _, x := range expr.Elems(e) {
			b := c.k.buffer(x.Name)
			c.want(b != nil && b.Type == x.Type && len(b.Shape) == len(x.Args), "no buffer has an element %s", x)
			c.want(b == nil || b.Mode != Out, "%s is only written", x.Name)
			c.used[x.Name] = true
		}
	})
}

// buffers checks that no buffer is left out.
func (c *opChecker) buffers() {
	for _, p := range c.k.Params {
		_, result := c.vars[p.Name]
		c.want(p.Mode == In || p.Mode == Scalar || result, "it leaves nothing in %s", p.Name)
		c.want(p.Mode != In || c.used[p.Name] || Packing(p.Name), "it does not read %s", p.Name)
	}
}
