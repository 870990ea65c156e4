package expr

import (
	"fmt"
	"strings"
)

// An Env gives values to the leaves of an expression.
type Env interface {
	Var(name string) Value
	Elem(name string, idx []int) Value
}

// Bindings is an Env of values by printed leaf: "x", "r1[2]", "t[1, 3]", "y[]". A missing leaf panics.
type Bindings map[string]Value

// Var returns b[name].
func (b Bindings) Var(name string) Value { return b.get(name) }

// Elem returns b["name[i, j]"].
func (b Bindings) Elem(name string, idx []int) Value {
	return b.get(name + strings.ReplaceAll(fmt.Sprint(idx), " ", ", "))
}

func (b Bindings) get(leaf string) Value {
	v, ok := b[leaf]
	if !ok {
		panic("BUG: no value for " + leaf)
	}
	return v
}

// A Binder tells compiled code where leaves are stored.
type Binder interface {
	// Var returns the cell of a variable. Each run reads it.
	Var(name string, t Type) *Value
	// Elem returns the function that loads an element. The function must not keep idx. If
	// it fails, it records its error itself and returns Value{}.
	Elem(name string, t Type) func(idx []int) Value
}

// Eval64 evaluates e in float64, the reference. F32 arithmetic does not round, and
// transcendental functions are those in package math. Integers are as in Eval32. FBits
// and ToF32 round to float32, and roundings to fewer bits round to float32 first.
func Eval64(e *Expr, env Env) Value { return Compile64(envBinder{env}, e).Run() }

// Eval32 evaluates e with the bits of every back end. Each F32 operation rounds once, and
// transcendental functions are expanded by Expand.
func Eval32(e *Expr, env Env) Value { return Compile32(envBinder{env}, e).Run() }

// envBinder binds code to an Env for one run.
type envBinder struct{ env Env }

func (b envBinder) Var(name string, _ Type) *Value {
	v := b.env.Var(name)
	return &v
}

func (b envBinder) Elem(name string, _ Type) func([]int) Value {
	return func(idx []int) Value { return b.env.Elem(name, idx) }
}

// Code is a straight line of steps over registers. It computes each distinct
// subexpression once per run. Only one goroutine may use it at a time.
type Code struct {
	regs  []Value
	vars  []varStep
	steps []step
	roots []int
}

// A varStep copies a variable's cell to a register at the start of a run.
type varStep struct {
	dst  int
	cell *Value
}

// A step computes a register, by fn on three registers or by load at the indices in idx.
type step struct {
	fn      fn
	dst     int
	a, b, c int
	load    func(idx []int) Value
	idx     []int // registers of the indices
	at      []int // their values
}

// Compile64 compiles es for evaluation as in Eval64.
func Compile64(b Binder, es ...*Expr) *Code { return compile(b, true, es) }

// Compile32 compiles es for evaluation as in Eval32.
func Compile32(b Binder, es ...*Expr) *Code { return compile(b, false, es) }

func compile(b Binder, wide bool, es []*Expr) *Code {
	c := &Code{}
	in := NewInterner()
	regs := map[*Expr]int{}
	var seen memo[struct{}]
	for _, e := range es {
		root := in.Intern(ExpandBut(e, func(e *Expr) bool { return wide && e.Op.Transcendental() }))
		walk(&seen, root, func(e *Expr) {
			regs[e] = len(c.regs)
			c.regs = append(c.regs, Value{})
			c.emit(b, wide, e, regs)
		})
		c.roots = append(c.roots, regs[root])
	}
	return c
}

// emit appends the step that computes e to register regs[e]. The operands of e have registers.
func (c *Code) emit(b Binder, wide bool, e *Expr, regs map[*Expr]int) {
	dst := regs[e]
	var args []int
	for _, a := range e.Args {
		args = append(args, regs[a])
	}
	switch e.Op {
	case Const:
		c.regs[dst] = e.value()
	case Var:
		c.vars = append(c.vars, varStep{dst, b.Var(e.Name, e.Type)})
	case Elem:
		c.steps = append(c.steps, step{dst: dst, load: b.Elem(e.Name, e.Type), idx: args, at: make([]int, len(args))})
	default:
		s := step{dst: dst, fn: function(e, wide)}
		if s.fn == nil {
			panic(fmt.Sprintf("BUG: %v has no value on %v", e.Op, e.Args[len(args)-1].Type))
		}
		for i, to := range []*int{&s.a, &s.b, &s.c}[:len(args)] {
			*to = args[i]
		}
		c.steps = append(c.steps, s)
	}
}

// function returns the function of e's op for operands of its types, or nil for an op
// that Expand removes. The last operand's type decides, except in shifts, whose amount
// may have another type. The bits of narrow elements are non-negative integers.
func function(e *Expr, wide bool) fn {
	t := e.Args[len(e.Args)-1].Type
	switch {
	case e.Op == Shl || e.Op == Shr:
		t = e.Type
	case t.Narrow():
		t = I32
	}
	return ops[e.Op].impl.at(t, wide)
}

// Run computes all expressions and returns the value of the first.
func (c *Code) Run() Value {
	for _, v := range c.vars {
		c.regs[v.dst] = *v.cell
	}
	for i := range c.steps {
		s := &c.steps[i]
		if s.load == nil {
			c.regs[s.dst] = s.fn(c.regs[s.a], c.regs[s.b], c.regs[s.c])
			continue
		}
		for k, r := range s.idx {
			s.at[k] = int(c.regs[r].I)
		}
		c.regs[s.dst] = s.load(s.at)
	}
	return c.At(0)
}

// At returns the value of expression n after Run.
func (c *Code) At(n int) Value { return c.regs[c.roots[n]] }
