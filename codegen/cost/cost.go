// Package cost counts the operations and bytes of a kernel's launch, as expressions over the
// launch's scalars. Package codegen/cpu prints the counts for a trainer's benchmark; mlc
// explain compares them with the limits of a GPU.
package cost

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A Tally is a number of operations: Count, plus the tallies of loops whose iterations differ.
type Tally struct {
	Count *expr.Expr
	Loops []Loop
}

// A Loop is a tally for each Lo <= Name < Hi. Without a name, it counts if Cond holds.
type Loop struct {
	Name   string
	Lo, Hi *expr.Expr
	Cond   *expr.Expr
	Tally
}

// Operations counts the floating-point operations of a kernel. A split product counts as three.
func Operations(k *kernel.Kernel) Tally {
	return count(k, weights{dot: perProduct, element: floats, reduced: 1})
}

// Products counts the floating-point operations of a kernel's matrix products.
func Products(k *kernel.Kernel) Tally { return count(k, weights{dot: perProduct}) }

// Narrow counts the floating-point operations of a kernel's products of 16-bit factors.
func Narrow(k *kernel.Kernel) Tally {
	return products(k, func(d *kernel.Dot) bool { return d.A.Type.Narrow() })
}

// Split counts the floating-point operations of a kernel's split products.
func Split(k *kernel.Kernel) Tally { return products(k, func(d *kernel.Dot) bool { return d.Split }) }

// Others counts all operations of a kernel outside matrix products: arithmetic, comparisons,
// choices and changes of bits on elements, and operations that make random words. A processor
// has an instruction for each, on a register of elements.
func Others(k *kernel.Kernel) Tally {
	return count(k, weights{element: steps, reduced: 1, word: perWord})
}

// perWord is how many operations make a word of Philox4x32-10: four words take ten rounds of two
// products, both halves each, and four exclusive ors.
const perWord = 10 * (2*2 + 4) / 4

// weights say what is counted.
type weights struct {
	dot     func(*kernel.Dot) int64 // for a product of two elements; nil: 0
	element func(*expr.Expr) int64  // for an element's value; nil: 0
	reduced int64                   // for an element that a reduction takes
	word    int64                   // for a random word
}

func products(k *kernel.Kernel, only func(*kernel.Dot) bool) Tally {
	return count(k, weights{dot: func(d *kernel.Dot) int64 {
		if only(d) {
			return perProduct(d)
		}
		return 0
	}})
}

func count(k *kernel.Kernel, w weights) Tally {
	c := counter{k.Defined(), Scope{}, w}
	t := c.body(c.Body)
	for _, a := range slices.Backward(c.Grid) {
		t = t.Over(a.Var, zero, a.Size)
	}
	return t
}

// Bytes counts the bytes that a kernel moves if it reads and writes each buffer once.
func Bytes(k *kernel.Kernel) *expr.Expr {
	n := zero
	for _, p := range k.Params {
		if p.Mode == kernel.Scalar {
			continue
		}
		times := 1
		if p.Mode == kernel.InOut {
			times = 2
		}
		size := expr.Int(int64(times * kernel.Bytes(p.Type)))
		for _, d := range p.Shape {
			size = expr.New(expr.Mul, d, size)
		}
		n = expr.New(expr.Add, n, size)
	}
	return n
}

var zero = expr.Int(0)

// None is a tally of nothing.
func None() Tally { return Tally{Count: zero} }

// Add counts more.
func (t *Tally) Add(n *expr.Expr) { t.Count = expr.New(expr.Add, t.Count, n) }

// Join counts what another tally does.
func (t *Tally) Join(o Tally) {
	t.Add(o.Count)
	t.Loops = append(t.Loops, o.Loops...)
}

// empty says whether there is nothing to count.
func (t Tally) empty() bool { return len(t.Loops) == 0 && expr.IsInt(expr.Simplify(t.Count), 0) }

// Over is the tally of a loop.
func (t Tally) Over(name string, lo, hi *expr.Expr) Tally {
	if t.empty() {
		return t
	}
	if Vars(t)[name] {
		return Tally{zero, []Loop{{Name: name, Lo: lo, Hi: hi, Tally: t}}}
	}
	rounds := hi
	if !expr.IsInt(lo, 0) {
		rounds = expr.New(expr.Max, expr.New(expr.Sub, hi, lo), zero)
	}
	return t.times(rounds)
}

// times is n times a tally.
func (t Tally) times(n *expr.Expr) Tally {
	all := Tally{Count: expr.New(expr.Mul, n, t.Count)}
	for _, l := range t.Loops {
		l.Tally = l.times(n)
		all.Loops = append(all.Loops, l)
	}
	return all
}

// When is a tally that counts if a condition holds.
func (t Tally) When(cond *expr.Expr) Tally {
	if t.empty() {
		return t
	}
	if len(t.Loops) > 0 {
		return Tally{zero, []Loop{{Cond: cond, Tally: t}}}
	}
	return Tally{Count: expr.New(expr.Where, cond, t.Count, zero)}
}

// A counter counts what a kernel does.
type counter struct {
	*kernel.Kernel
	Scope
	weights
}

func (c *counter) body(body []kernel.Stmt) Tally {
	t := None()
	for _, s := range body {
		c.Enter(s)
		switch s := s.(type) {
		case *kernel.Let:
			t.Add(c.operations(s.Value))
		case *kernel.Set:
			if n := c.operations(s.Value); !expr.IsInt(n, 0) {
				t.Add(c.product(n, kernel.Sizes(s.Axes)...))
			}
		case *kernel.Reduce:
			t.Add(c.product(expr.New(expr.Add, c.operations(s.Value), expr.Int(c.reduced)), s.Axis.Size))
		case *kernel.Dot: // a multiplication and an addition each
			if c.dot != nil {
				t.Add(c.product(expr.Int(c.dot(s)), kernel.Sizes(s.Axes)...))
			}
		case *kernel.Random:
			t.Add(c.product(expr.Int(c.word), s.Size))
		case *kernel.For:
			lo, hi := c.Bounds(s.Lo, s.Hi)
			t.Join(c.body(s.Body).Over(s.Var, lo, hi))
		case *kernel.If:
			t.Join(c.Whether(s.Cond, c.body(s.Body)))
		}
	}
	return t
}

// perProduct is how many operations a product of two elements takes.
func perProduct(d *kernel.Dot) int64 {
	if d.Split {
		return 3 * 2
	}
	return 2
}

func (c *counter) product(n *expr.Expr, factors ...*expr.Expr) *expr.Expr {
	for _, f := range factors {
		n = expr.New(expr.Mul, c.Known(f), n)
	}
	return n
}

// alike is a value where all examples of packed rows have the same number of rows: examples of
// different lengths have no fewer operations together.
func alike(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(x *expr.Expr) *expr.Expr {
		if x.Op == expr.Elem && x.Name == kernel.ExampleLength {
			return expr.New(expr.Div, expr.NewVar("R", expr.I32), expr.NewVar("B", expr.I32))
		}
		return x
	})
}

// ofData says whether a value depends on data.
func ofData(e *expr.Expr) bool {
	found := false
	expr.Walk(e, func(e *expr.Expr) { found = found || e.Op == expr.Elem || e.Type == expr.F32 })
	return found
}

// counted are the operations that floats counts. Transcendental functions expand to them.
var counted = map[expr.Op]bool{
	expr.Add: true, expr.Sub: true, expr.Mul: true, expr.Div: true, expr.Min: true, expr.Max: true, expr.Floor: true, expr.Sqrt: true, expr.Fma: true,
}

// operations is the weight of an expression.
func (c *counter) operations(e *expr.Expr) *expr.Expr {
	if c.element == nil {
		return zero
	}
	return expr.Int(c.element(e))
}

// floats counts the floating-point operations of an expression.
func floats(e *expr.Expr) int64 {
	n := int64(0)
	functions := expr.ExpandBut(e, func(e *expr.Expr) bool { return !e.Op.Transcendental() })
	expr.Walk(functions, func(e *expr.Expr) {
		if e.Type == expr.F32 && counted[e.Op] {
			n++
		}
	})
	return n
}

// renamed are the ops that change no bit.
var renamed = map[expr.Op]bool{
	expr.BitsF: true, expr.FBits: true, expr.AsU32: true, expr.AsI32: true, expr.AsBF16: true, expr.AsF16: true,
}

// steps counts the operations of an expression on elements, without index arithmetic.
func steps(e *expr.Expr) int64 {
	n, seen := int64(0), map[*expr.Expr]bool{}
	var visit func(e *expr.Expr)
	visit = func(e *expr.Expr) {
		if seen[e] || e.Op == expr.Elem || e.Type == expr.I32 {
			return
		}
		seen[e] = true
		if len(e.Args) > 0 && !renamed[e.Op] {
			n++
		}
		for _, a := range e.Args {
			visit(a)
		}
	}
	visit(expr.Expand(e))
	return n
}
