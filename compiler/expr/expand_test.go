package expr

import (
	"math"
	"testing"
)

// slot is a Binder with one variable.
type slot struct{ v Value }

func (s *slot) Var(string, Type) *Value             { return &s.v }
func (s *slot) Elem(string, Type) func([]int) Value { panic("BUG: no elements") }

// ulps returns how far got is from the exact value want, in units of the last
// place of a float32 at want.
func ulps(got, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(got-want) / math.Ldexp(1, max(e, -125)-24)
}

// TestExpandAccuracy checks the errors in the comment of Expand over all exponents, and
// densely where a function bends.
func TestExpandAccuracy(t *testing.T) {
	const normal = 0x1p-126
	for _, c := range []struct {
		op       Op
		lo, hi   float64 // claimed range
		from, to float64 // dense range
		most     float64
	}{
		{Exp, -87.33, 88.37, -88, 89, 1},
		{Log, normal, math.MaxFloat32, 0.5, 2, 1},
		{Tanh, -math.MaxFloat32, math.MaxFloat32, -10, 10, 2.7},
		{Sigmoid, -87.33, math.MaxFloat32, -20, 20, 2.5},
		{Erf, -math.MaxFloat32, math.MaxFloat32, -4, 4, 6.1},
		{Sin, -10000, 10000, -10000, 10000, 2.5},
		{Cos, -10000, 10000, -10, 10, 2.5},
		{Softplus, -87.33, math.MaxFloat32, -20, 20, 1.9},
	} {
		var s slot
		e := New(c.op, NewVar("x", F32))
		code, reference := Compile32(&s, e), Compile64(&s, e)
		worst, at := 0.0, 0.0
		try := func(x float64) {
			if x < c.lo || x > c.hi || x != x {
				return
			}
			s.v.F = x
			if u := ulps(code.Run().F, reference.Run().F); !(u <= worst) {
				worst, at = u, x
			}
		}
		for bits := uint64(0); bits < 1<<32; bits += 16411 {
			try(float64(math.Float32frombits(uint32(bits))))
		}
		for n := range 200_000 {
			try(F(c.from + (c.to-c.from)*float64(n)/200_000).F)
		}
		if !(worst <= c.most) || worst < c.most/3 {
			t.Errorf("%v: %.3f ulp at %v, want up to %v and not far less", c.op, worst, at, c.most)
		}
	}
}

func TestExpandEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		op      Op
		x, want float64
	}{
		{Exp, 0, 1}, {Exp, 0x1p-149, 1}, {Exp, -0x1p-149, 1}, {Exp, -87.7, 0}, {Exp, -1e30, 0}, {Exp, -inf, 0}, {Exp, 88.8, inf}, {Exp, inf, inf}, {Exp, nan, nan},
		{Log, 1, 0}, {Log, 0, -inf}, {Log, math.Copysign(0, -1), -inf}, {Log, 0x1p-149, -inf}, {Log, -1, nan}, {Log, -inf, nan}, {Log, inf, inf}, {Log, nan, nan},
		{Tanh, 0, 0}, {Tanh, 10, 1}, {Tanh, -10, -1}, {Tanh, inf, 1}, {Tanh, -inf, -1}, {Tanh, nan, nan}, {Tanh, 0x1p-149, 0x1p-149},
		{Sigmoid, 0, 0.5}, {Sigmoid, 20, 1}, {Sigmoid, inf, 1}, {Sigmoid, -inf, 0}, {Sigmoid, nan, nan},
		{Erf, 0, 0}, {Erf, 4, 1}, {Erf, -4, -1}, {Erf, inf, 1}, {Erf, -inf, -1}, {Erf, nan, nan},
		{Sin, 0, 0}, {Sin, inf, nan}, {Sin, nan, nan}, {Sin, 0x1p-149, 0x1p-149},
		{Cos, 0, 1}, {Cos, -inf, nan}, {Cos, nan, nan},
		{Softplus, 0, float64(float32(math.Ln2))}, {Softplus, 40, 40}, {Softplus, 0x1p100, 0x1p100}, {Softplus, -87.7, 0}, {Softplus, inf, inf}, {Softplus, -inf, 0}, {Softplus, nan, nan},
	} {
		got := Eval32(New(c.op, NewVar("x", F32)), Bindings{"x": {F: c.x}})
		if !sameBits(F32, got, Value{F: c.want}) {
			t.Errorf("%v(%v) = %v, want %v", c.op, c.x, got.F, c.want)
		}
	}
}

func TestExpandLeavesNothing(t *testing.T) {
	s := newSource(6)
	for range 300 {
		e := s.expr(F32, 6)
		expanded := Expand(e)
		if err := Typecheck(expanded); err != nil {
			t.Fatal(err)
		}
		plain := true
		expands := func(e *Expr) bool { return expansions[e.Op] != nil || e.Op == ToF32 && e.Args[0].Type.Narrow() }
		Walk(e, func(e *Expr) { plain = plain && !expands(e) })
		if plain != (expanded == e) {
			t.Errorf("%v: without ops to expand is %v, but the same node is %v", e, plain, expanded == e)
		}
		Walk(expanded, func(e *Expr) {
			if expands(e) {
				t.Errorf("%v is left", e.Op)
			}
		})
		kept := ExpandBut(e, func(e *Expr) bool { return e.Op == ToTF32 })
		Walk(kept, func(e *Expr) {
			if expands(e) && e.Op != ToTF32 {
				t.Errorf("%v is left", e.Op)
			}
		})
	}
}

// TestExpandSize: nested functions do not grow like trees.
func TestExpandSize(t *testing.T) {
	nodes := 0
	Walk(Expand(parse(t, "exp(tanh(exp(tanh(exp(tanh(x))))))")), func(*Expr) { nodes++ })
	if nodes > 300 {
		t.Errorf("%d nodes for six functions", nodes)
	}
}
