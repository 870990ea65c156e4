package kernel

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// A machine runs a kernel: it has variables and arrays by name, and statements compiled to steps.
// A name is one variable throughout: scopes do not hide one another. The first error ends the
// run.
type machine struct {
	k      *Kernel
	launch Scalars
	arrays map[string]*array // tiles and buffers
	vars   map[string]*expr.Value
	cell   int32 // the current cell of the grid, from 1
	add    *Sums // sums of products of 16-bit factors; nil: as defined
	err    error
}

func newMachine(k *Kernel, add *Sums) *machine {
	return &machine{k: k, add: add, arrays: map[string]*array{}, vars: map[string]*expr.Value{}}
}

// fail ends the run with an error, unless it has one.
func (m *machine) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// variable returns the variable of that name.
func (m *machine) variable(name string) *expr.Value {
	v := m.vars[name]
	if v == nil {
		v = new(expr.Value)
		m.vars[name] = v
	}
	return v
}

// A step runs one statement.
type step func()

// sequence runs steps up to the first that fails.
func (m *machine) sequence(steps []step) step {
	return func() {
		for _, s := range steps {
			if s(); m.err != nil {
				return
			}
		}
	}
}

// at makes the error of a step tell the values of axes.
func (m *machine) at(axes []Axis, run step) step {
	return func() {
		if run(); m.err == nil || len(axes) == 0 {
			return
		}
		var values []string
		for _, a := range axes {
			values = append(values, fmt.Sprintf("%s = %d", a.Var, m.variable(a.Var).I))
		}
		m.err = fmt.Errorf("at %s: %w", strings.Join(values, ", "), m.err)
	}
}

// code is compiled expressions whose element reads are checked.
type code struct {
	*expr.Code
	ints []int
}

// code compiles expressions, which one run computes together.
func (m *machine) code(es ...*expr.Expr) *code {
	guarded := make([]*expr.Expr, len(es))
	for i, e := range es {
		guarded[i] = expr.Rewrite(e, guardDivisor)
	}
	return &code{expr.Compile32(binder{m}, guarded...), make([]int, len(es))}
}

// run computes the expressions; At then gives their values.
func (c *code) run() {
	if len(c.ints) > 0 {
		c.Code.Run()
	}
}

// index returns the first n values, of an element's index; it is valid until the next
// call.
func (c *code) index(n int) []int {
	for i := range n {
		c.ints[i] = int(c.At(i).I)
	}
	return c.ints[:n]
}

// binder is a machine as expr.Binder.
type binder struct{ *machine }

func (b binder) Var(name string, _ expr.Type) *expr.Value { return b.variable(name) }

func (b binder) Elem(name string, _ expr.Type) func([]int) expr.Value {
	if name == divisor {
		return b.divisor
	}
	a := b.arrays[name]
	return func(index []int) expr.Value {
		at := b.offset(a, index)
		if b.read(a, at); b.err != nil {
			return expr.Value{}
		}
		return a.get(at)
	}
}

// divisor names the element that stands for a checked divisor: divisor[x] is x, and an error if x
// is zero. No tile can have this name.
const divisor = "int.divisor"

func (m *machine) divisor(index []int) expr.Value {
	if index[0] == 0 {
		m.fail("division by zero")
		return expr.Value{I: 1}
	}
	return expr.Value{I: int64(index[0])}
}

// guardDivisor checks the divisor of an integer division.
func guardDivisor(e *expr.Expr) *expr.Expr {
	if e.Op != expr.Div && e.Op != expr.Mod || e.Type == expr.F32 {
		return e
	}
	by := e.Args[1]
	switch {
	case by.IsConst() && by.I != 0:
		return e
	case by.Type == expr.U32:
		by = expr.New(expr.AsU32, expr.NewElem(divisor, expr.I32, expr.New(expr.AsI32, by)))
	default:
		by = expr.NewElem(divisor, expr.I32, by)
	}
	return expr.New(e.Op, e.Args[0], by)
}

// sizes compiles extents; the result is valid until the next call.
func (m *machine) sizes(es []*expr.Expr) func() []int {
	c := m.code(es...)
	return func() []int {
		c.run()
		shape := c.index(len(es))
		for i, n := range shape {
			if n < 0 {
				m.fail("size %s is %d", es[i], n)
			}
		}
		return shape
	}
}

// loops compiles a nest of axes: it calls f for all their values, the last fastest.
func (m *machine) loops(axes []Axis) func(f step) {
	vars := make([]*expr.Value, len(axes))
	for i, a := range axes {
		vars[i] = m.variable(a.Var)
	}
	sizes := m.sizes(Sizes(axes))
	return func(f step) {
		for _, v := range vars {
			v.I = 0
		}
		shape := sizes()
		for n := count(shape); n > 0 && m.err == nil; n-- {
			f()
			advance(vars, shape)
		}
	}
}

// advance counts the last variable up and carries over to earlier ones.
func advance(vars []*expr.Value, shape []int) {
	for d := len(vars) - 1; d >= 0; d-- {
		vars[d].I++
		if vars[d].I < int64(shape[d]) {
			return
		}
		vars[d].I = 0
	}
}
