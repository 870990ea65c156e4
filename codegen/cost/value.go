package cost

import (
	"maps"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Value is an integer expression in a launch.
func Value(x *expr.Expr, s kernel.Scalars) int { return Compile(x, scalar)(s) }

// Total is the number that a tally stands for in a launch.
func (t Tally) Total(s kernel.Scalars) float64 { return t.Compile()(s) }

// Compile is Total for many launches.
func (t Tally) Compile() func(kernel.Scalars) float64 {
	f := frame{}
	total := t.compile(f)
	return func(s kernel.Scalars) float64 {
		values := make([]int, len(f))
		for name, i := range f {
			values[i] = int(s[name])
		}
		return float64(total(values))
	}
}

// Vars are the names of scalars that tallies depend on, and of the variables of their loops.
func Vars(tallies ...Tally) map[string]bool {
	names := map[string]bool{}
	add := func(es ...*expr.Expr) {
		for _, e := range es {
			if e != nil {
				for _, v := range expr.Vars(e) {
					names[v.Name] = true
				}
			}
		}
	}
	for _, t := range tallies {
		add(t.Count)
		for _, l := range t.Loops {
			add(l.Lo, l.Hi, l.Cond)
			maps.Copy(names, Vars(l.Tally))
		}
	}
	return names
}

func scalar(name string) func(kernel.Scalars) int {
	return func(s kernel.Scalars) int { return int(s[name]) }
}

// A frame gives each scalar and each variable of a loop a place among values.
type frame map[string]int

func (f frame) place(name string) int {
	i, known := f[name]
	if !known {
		i = len(f)
		f[name] = i
	}
	return i
}

func (f frame) read(name string) func([]int) int {
	i := f.place(name)
	return func(values []int) int { return values[i] }
}

func (f frame) compile(x *expr.Expr) func([]int) int { return Compile(expr.Simplify(x), f.read) }

// compile makes a function of a tally.
func (t Tally) compile(f frame) func([]int) int {
	count := f.compile(t.Count)
	var loops []func([]int) int
	for _, l := range t.Loops {
		loops = append(loops, l.compile(f))
	}
	return func(values []int) int {
		n := count(values)
		for _, l := range loops {
			n += l(values)
		}
		return n
	}
}

func (l Loop) compile(f frame) func([]int) int {
	iteration := l.Tally.compile(f)
	if l.Cond != nil {
		cond := f.compile(l.Cond)
		return func(values []int) int {
			if cond(values) == 0 {
				return 0
			}
			return iteration(values)
		}
	}
	lo, hi, i := f.compile(l.Lo), f.compile(l.Hi), f.place(l.Name)
	return func(values []int) int {
		n := 0
		for at, end := lo(values), hi(values); at < end; at++ {
			values[i] = at
			n += iteration(values)
		}
		return n
	}
}

// Compile makes an I32 or Bool expression a function of what its variables are read
// from: false is 0, true is 1, and as in generated programs an I32 is a whole int.
func Compile[From any](x *expr.Expr, read func(name string) func(From) int) func(From) int {
	var args []func(From) int
	for _, a := range x.Args {
		args = append(args, Compile(a, read))
	}
	switch {
	case x.Op == expr.Const && x.Type != expr.F32:
		return func(From) int { return int(x.I) }
	case x.Op == expr.Var:
		return read(x.Name)
	case x.Op == expr.Where:
		return func(from From) int {
			if args[0](from) != 0 {
				return args[1](from)
			}
			return args[2](from)
		}
	case x.Op == expr.Not && x.Type == expr.Bool:
		return func(from From) int { return 1 - args[0](from) }
	}
	f := arithmetic[x.Op]
	if f == nil {
		panic("BUG: no integer of a launch: " + x.String())
	}
	a, b := args[0], args[len(args)-1]
	return func(from From) int { return f(a(from), b(from)) }
}

// arithmetic is the ops of two operands, or of one, which is both.
var arithmetic = map[expr.Op]func(a, b int) int{
	expr.Add: func(a, b int) int { return a + b },
	expr.Sub: func(a, b int) int { return a - b },
	expr.Mul: func(a, b int) int { return a * b },
	expr.Div: func(a, b int) int { return a / b },
	expr.Mod: func(a, b int) int { return a % b },
	expr.Min: func(a, b int) int { return min(a, b) },
	expr.Max: func(a, b int) int { return max(a, b) },
	expr.Neg: func(a, _ int) int { return -a },
	expr.Abs: func(a, _ int) int { return max(a, -a) },
	expr.Not: func(a, _ int) int { return ^a },
	expr.Lt:  func(a, b int) int { return truth(a < b) },
	expr.Le:  func(a, b int) int { return truth(a <= b) },
	expr.Eq:  func(a, b int) int { return truth(a == b) },
	expr.Ne:  func(a, b int) int { return truth(a != b) },
	expr.And: func(a, b int) int { return a & b },
	expr.Or:  func(a, b int) int { return a | b },
	expr.Xor: func(a, b int) int { return a ^ b },
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
