// Package memory is what the interpreter of the kernel IR (package kernel) runs on:
// variables and arrays by name, expressions whose indices and divisors are checked,
// and the order of reductions, which defines their bits.
package memory

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// A Memory holds the variables and arrays of one run. A name is one variable
// throughout: scopes do not hide one another. The first error stays and ends the run:
// what comes after it does not matter.
type Memory struct {
	Arrays map[string]*Array // tiles and buffers
	Cell   int32             // the current cell of the grid, from 1
	Err    error
	vars   map[string]*expr.Value
}

// New returns a memory of nothing.
func New() *Memory { return &Memory{Arrays: map[string]*Array{}, vars: map[string]*expr.Value{}} }

// Fail ends the run with an error, unless it has one.
func (m *Memory) Fail(format string, args ...any) {
	if m.Err == nil {
		m.Err = fmt.Errorf(format, args...)
	}
}

// Variable returns the variable of that name.
func (m *Memory) Variable(name string) *expr.Value {
	v := m.vars[name]
	if v == nil {
		v = new(expr.Value)
		m.vars[name] = v
	}
	return v
}

// A Step runs one statement.
type Step func()

// Sequence runs steps up to the first that fails.
func (m *Memory) Sequence(steps []Step) Step {
	return func() {
		for _, s := range steps {
			if s(); m.Err != nil {
				return
			}
		}
	}
}

// At makes the error of a step tell the values of variables.
func (m *Memory) At(names []string, run Step) Step {
	return func() {
		if run(); m.Err == nil || len(names) == 0 {
			return
		}
		var values []string
		for _, name := range names {
			values = append(values, fmt.Sprintf("%s = %d", name, m.Variable(name).I))
		}
		m.Err = fmt.Errorf("at %s: %w", strings.Join(values, ", "), m.Err)
	}
}

// Code is compiled expressions whose element reads are checked.
type Code struct {
	*expr.Code
	m     *Memory
	index []int
}

// Code compiles expressions, which one run computes together.
func (m *Memory) Code(es ...*expr.Expr) *Code {
	guarded := make([]*expr.Expr, len(es))
	for i, e := range es {
		guarded[i] = expr.Rewrite(e, guardDivisor)
	}
	return &Code{Code: expr.Compile32(binder{m}, guarded...), m: m, index: make([]int, len(es))}
}

// Run computes the expressions; At then gives their values.
func (c *Code) Run() {
	if len(c.index) > 0 {
		c.Code.Run()
	}
}

// Index returns the first n values, of an element's index; it is valid until the next
// call.
func (c *Code) Index(n int) []int {
	for i := range n {
		c.index[i] = int(c.At(i).I)
	}
	return c.index[:n]
}

// binder is a Memory as expr.Binder.
type binder struct{ *Memory }

func (b binder) Var(name string, _ expr.Type) *expr.Value { return b.Variable(name) }

func (b binder) Elem(name string, _ expr.Type) func([]int) expr.Value {
	if name == divisor {
		return b.divisor
	}
	a := b.Arrays[name]
	return func(index []int) expr.Value {
		at := b.Offset(a, index)
		if b.Read(a, at); b.Err != nil {
			return expr.Value{}
		}
		return a.Get(at)
	}
}

// divisor is the name, which no tile can have, of the element that stands for a
// checked divisor: divisor[x] is x, and an error if that is zero.
const divisor = "int.divisor"

func (m *Memory) divisor(index []int) expr.Value {
	if index[0] == 0 {
		m.Fail("division by zero")
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

// Sizes compiles extents; the result is valid until the next call.
func (m *Memory) Sizes(es []*expr.Expr) func() []int {
	c := m.Code(es...)
	return func() []int {
		c.Run()
		shape := c.Index(len(es))
		for i, n := range shape {
			if n < 0 {
				m.Fail("size %s is %d", es[i], n)
			}
		}
		return shape
	}
}

// Loops compiles a nest of index variables that run up to extents: it calls f for
// all their values, the last fastest.
func (m *Memory) Loops(names []string, extents []*expr.Expr) func(f Step) {
	vars := make([]*expr.Value, len(names))
	for i, name := range names {
		vars[i] = m.Variable(name)
	}
	sizes := m.Sizes(extents)
	return func(f Step) {
		for _, v := range vars {
			v.I = 0
		}
		shape := sizes()
		for n := Product(shape); n > 0 && m.Err == nil; n-- {
			f()
			advance(vars, shape)
		}
	}
}

// advance counts the last variable up and carries over to those before it.
func advance(vars []*expr.Value, shape []int) {
	for d := len(vars) - 1; d >= 0; d-- {
		vars[d].I++
		if vars[d].I < int64(shape[d]) {
			return
		}
		vars[d].I = 0
	}
}
