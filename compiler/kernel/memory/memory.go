// Package memory is what the interpreter of the kernel IR (package kernel) runs on:
// variables and arrays by name, expressions whose indices and divisors are checked,
// and the order of reductions and of random words, which defines their bits.
package memory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// A Memory holds the variables and arrays of one run. A name is one variable
// throughout: scopes do not hide one another.
type Memory struct {
	Arrays map[string]*Array // tiles and buffers
	Cell   int32             // the current cell of the grid, from 1
	vars   map[string]*expr.Value
	fault  error // of an element or divisor inside an expression, which ends the run
}

// New returns a memory of nothing.
func New() *Memory { return &Memory{Arrays: map[string]*Array{}, vars: map[string]*expr.Value{}} }

// Variable returns the variable of that name.
func (m *Memory) Variable(name string) *expr.Value {
	v := m.vars[name]
	if v == nil {
		v = new(expr.Value)
		m.vars[name] = v
	}
	return v
}

// Names calls f with the name of each variable, in no order.
func (m *Memory) Names(f func(name string)) {
	for name := range m.vars {
		f(name)
	}
}

// A Step runs one statement.
type Step func() error

// Sequence runs steps up to the first that fails.
func Sequence(steps []Step) Step {
	return func() error {
		for _, s := range steps {
			if err := s(); err != nil {
				return err
			}
		}
		return nil
	}
}

// At makes the errors of a step tell the values of variables.
func (m *Memory) At(names []string, run Step) Step {
	return func() error {
		err := run()
		if err == nil || len(names) == 0 {
			return err
		}
		var values []string
		for _, name := range names {
			values = append(values, fmt.Sprintf("%s = %d", name, m.Variable(name).I))
		}
		return fmt.Errorf("at %s: %w", strings.Join(values, ", "), err)
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
func (c *Code) Run() error {
	if len(c.index) == 0 {
		return nil
	}
	c.Code.Run()
	return c.m.fault
}

// Index returns the first n values, of an element's index; it is valid until the next
// call.
func (c *Code) Index(n int) []int {
	for i := range n {
		c.index[i] = int(c.At(i).I)
	}
	return c.index[:n]
}

// Offset returns the position in a that the first expressions are the indices of.
func (c *Code) Offset(a *Array) (int, error) { return a.Offset(c.Index(len(a.Shape))) }

// binder is a Memory as expr.Binder.
type binder struct{ *Memory }

func (b binder) Var(name string, _ expr.Type) *expr.Value { return b.Variable(name) }

func (b binder) Elem(name string, _ expr.Type) func([]int) expr.Value {
	if name == divisor {
		return b.divisor
	}
	a := b.Arrays[name]
	return func(index []int) expr.Value {
		at, err := a.Offset(index)
		if err == nil {
			err = a.Read(at, b.Cell)
		}
		if err != nil {
			b.fail(err)
			return expr.Value{}
		}
		return a.Get(at)
	}
}

// fail keeps the first error of an expression.
func (m *Memory) fail(err error) {
	if m.fault == nil {
		m.fault = err
	}
}

// divisor is the name, which no tile can have, of the element that stands for a
// checked divisor: divisor[x] is x, and an error if that is zero.
const divisor = "int.divisor"

func (m *Memory) divisor(index []int) expr.Value {
	if index[0] == 0 {
		m.fail(errors.New("division by zero"))
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
func (m *Memory) Sizes(es []*expr.Expr) func() ([]int, error) {
	if len(es) == 0 {
		return func() ([]int, error) { return nil, nil }
	}
	c := m.Code(es...)
	return func() ([]int, error) {
		if err := c.Run(); err != nil {
			return nil, err
		}
		for i := range c.index {
			c.index[i] = int(c.At(i).I)
			if c.index[i] < 0 {
				return nil, fmt.Errorf("size %s is %d", es[i], c.index[i])
			}
		}
		return c.index, nil
	}
}

// Loops compiles a nest of index variables that run up to extents: it calls f for
// all their values, the last fastest.
func (m *Memory) Loops(names []string, extents []*expr.Expr) func(f Step) error {
	vars := make([]*expr.Value, len(names))
	for i, name := range names {
		vars[i] = m.Variable(name)
	}
	sizes := m.Sizes(extents)
	return func(f Step) error {
		for _, v := range vars {
			v.I = 0
		}
		shape, err := sizes()
		if err != nil {
			return err
		}
		for range Product(shape) {
			if err := f(); err != nil {
				return err
			}
			advance(vars, shape)
		}
		return nil
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
