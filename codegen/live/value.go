package live

import (
	"slices"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A value is an I32 or Bool expression of a launch: false is 0, true is 1. As in
// generated programs an I32 is a whole int. loops are the variables of the loops around
// it, the outermost first.
type value func(e *device.Env, loops []int) int

// operations are the ops of one or two operands.
var operations = map[expr.Op]func(a, b int) int{
	expr.Add: func(a, b int) int { return a + b },
	expr.Sub: func(a, b int) int { return a - b },
	expr.Mul: func(a, b int) int { return a * b },
	expr.Div: func(a, b int) int { return a / b },
	expr.Mod: func(a, b int) int { return a % b },
	expr.Min: func(a, b int) int { return min(a, b) },
	expr.Max: func(a, b int) int { return max(a, b) },
	expr.Neg: func(a, _ int) int { return -a },
	expr.Abs: func(a, _ int) int { return max(a, -a) },
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

// ofLaunch is an expression over the scalars of a launch as a function of them.
func ofLaunch(x *expr.Expr) func(e *device.Env) int {
	var none scope
	v := none.value(x)
	return func(e *device.Env) int { return v(e, nil) }
}

// A scope is the names of the variables of loops, the outermost first.
type scope []string

// value compiles an expression, so that its names are looked up once.
func (s scope) value(x *expr.Expr) value {
	if x.Type != expr.I32 && x.Type != expr.Bool {
		panic("BUG: no integer of a launch: " + x.String())
	}
	switch x.Op {
	case expr.Const:
		n := int(x.I)
		return func(*device.Env, []int) int { return n }
	case expr.Var:
		return s.variable(x.Name)
	case expr.Not:
		a := s.value(x.Args[0])
		if x.Type == expr.Bool {
			return func(e *device.Env, loops []int) int { return 1 - a(e, loops) }
		}
		return func(e *device.Env, loops []int) int { return ^a(e, loops) }
	case expr.Where:
		cond, a, b := s.value(x.Args[0]), s.value(x.Args[1]), s.value(x.Args[2])
		return func(e *device.Env, loops []int) int {
			if cond(e, loops) != 0 {
				return a(e, loops)
			}
			return b(e, loops)
		}
	}
	f := operations[x.Op]
	if f == nil {
		panic("BUG: no integer of a launch: " + x.String())
	}
	a := s.value(x.Args[0])
	if len(x.Args) == 1 {
		return func(e *device.Env, loops []int) int { return f(a(e, loops), 0) }
	}
	b := s.value(x.Args[1])
	return func(e *device.Env, loops []int) int { return f(a(e, loops), b(e, loops)) }
}

func (s scope) variable(name string) value {
	if i := slices.Index(s, name); i >= 0 {
		return func(_ *device.Env, loops []int) int { return loops[i] }
	}
	of, known := abi.Find(name)
	if !known || of.Type != abi.I32 {
		panic("BUG: no integer of a launch is called " + name)
	}
	bits := device.Bits(of)
	return func(e *device.Env, _ []int) int { return int(int32(bits(e))) }
}

// tally compiles a count of operations.
func (s scope) tally(t cost.Tally) value {
	count := s.value(expr.Simplify(t.Count))
	var loops []value
	for _, l := range t.Loops {
		loops = append(loops, s.loop(l))
	}
	return func(e *device.Env, outer []int) int {
		n := count(e, outer)
		for _, l := range loops {
			n += l(e, outer)
		}
		return n
	}
}

func (s scope) loop(l cost.Loop) value {
	if l.Cond != nil {
		cond, inner := s.value(expr.Simplify(l.Cond)), s.tally(l.Tally)
		return func(e *device.Env, outer []int) int {
			if cond(e, outer) == 0 {
				return 0
			}
			return inner(e, outer)
		}
	}
	lo, hi := s.value(expr.Simplify(l.Lo)), s.value(expr.Simplify(l.Hi))
	inner := append(slices.Clone(s), l.Name).tally(l.Tally)
	return func(e *device.Env, outer []int) int {
		n, all := 0, append(slices.Clone(outer), 0)
		for i, end := lo(e, outer), hi(e, outer); i < end; i++ {
			all[len(outer)] = i
			n += inner(e, all)
		}
		return n
	}
}
