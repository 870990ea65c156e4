package expr

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// A source makes random well-typed expressions over the leaves of leafTypes. Their bits
// are defined: divisors are not 0, and conversions are in range.
type source struct{ *rand.Rand }

func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 1))} }

var leafTypes = map[string]Type{
	"x": F32, "y": F32, "z": F32, "a": F32, "bf": BF16, "h": F16, "a_index": I32, "i": I32, "j": I32, "n": I32, "u": U32, "v": U32, "w": U32, "p": Bool, "q": Bool, "r": Bool,
}

func leafType(name string) (Type, bool) {
	t, ok := leafTypes[name]
	return t, ok
}

// edgeFloats and edgeInts are critical numbers.
var (
	edgeFloats = []float64{
		0, math.Copysign(0, -1), 1, -1, 0.5, 2, -2, 3, math.Inf(1), math.Inf(-1), math.NaN(),
		math.MaxFloat32, -math.MaxFloat32, 0x1p-126, 0x1p-149, -0x1p-149, 0x1p24, 1e-30, 88, -88, 0.1,
	}
	edgeInts = []int64{0, 1, -1, 2, 3, 7, 31, 127, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, -2, 1 << 24}
)

func (s source) float() float64 {
	switch s.IntN(3) {
	case 0:
		return F(edgeFloats[s.IntN(len(edgeFloats))]).F
	case 1:
		return F(float64(math.Float32frombits(s.Uint32()))).F
	}
	return F(s.NormFloat64()).F
}

func (s source) value(t Type) Value {
	switch t {
	case F32:
		return Value{F: s.float()}
	case BF16, F16:
		return Value{I: int64(uint16(s.Uint32()))}
	}
	v := edgeInts[s.IntN(len(edgeInts))]
	if s.IntN(2) == 0 {
		v = int64(s.Int32())
	}
	return Value{I: wrap(t, v)}
}

// A rig is a Binder for random expressions.
type rig struct {
	vars  map[string]*Value
	elems map[Type][4]Value
}

func newRig() *rig {
	r := &rig{map[string]*Value{}, map[Type][4]Value{}}
	for name := range leafTypes {
		r.vars[name] = new(Value)
	}
	return r
}

func (r *rig) Var(name string, _ Type) *Value { return r.vars[name] }

func (r *rig) Elem(_ string, t Type) func([]int) Value {
	return func(idx []int) Value { return r.elems[t][idx[0]] }
}

// fill sets all leaves to random values.
func (s source) fill(r *rig) {
	for _, name := range slices.Sorted(maps.Keys(leafTypes)) {
		*r.vars[name] = s.value(leafTypes[name])
	}
	for _, t := range []Type{F32, BF16, F16} {
		r.elems[t] = [4]Value{s.value(t), s.value(t), s.value(t), s.value(t)}
	}
}

func (s source) leaf(t Type) *Expr {
	names := map[Type][]string{F32: {"x", "y", "z"}, I32: {"i", "j", "n"}, U32: {"u", "v", "w"}, Bool: {"p", "q", "r"}}[t]
	elem := func(name string) *Expr { return NewElem(name, t, New(And, s.leaf(I32), Int(3))) }
	switch n := s.IntN(3); {
	case t == BF16:
		return elem("bf")
	case t == F16:
		return elem("h")
	case n == 0:
		return of(t, s.value(t))
	case n == 1 && t == F32:
		return elem("a")
	}
	return NewVar(names[s.IntN(3)], t)
}

// expr returns an expression of type t. It often uses a node twice.
func (s source) expr(t Type, depth int) *Expr {
	if depth <= 0 || s.IntN(12) == 0 {
		return s.leaf(t)
	}
	args := func(ts ...Type) []*Expr {
		es := make([]*Expr, len(ts))
		for i, t := range ts {
			es[i] = s.expr(t, depth-1)
			if i > 0 && ts[0] == t && s.IntN(6) == 0 {
				es[i] = es[0]
			}
		}
		return es
	}
	for {
		op := Add + Op(s.IntN(int(numOps-Add)))
		in := Type(s.IntN(6))
		types := []Type{in, in, in}[:ops[op].arity]
		if op == Where {
			types = []Type{Bool, in, in}
		}
		if result, wants := ops[op].typ(types); wants != "" || result != t {
			continue
		}
		es := args(types...)
		switch {
		case (op == Div || op == Mod) && in != F32:
			es[1] = New(Or, es[1], of(in, Value{I: 1}))
		case op == ToI32:
			es[0] = New(Min, New(Max, es[0], F(-1e6)), F(1e6))
		case op == FBits:
			es[0] = New(Where, New(Eq, es[0], es[0]), es[0], F(0))
		}
		return New(op, es...)
	}
}

// sameBits compares values of type t. All NaNs are equal.
func sameBits(t Type, a, b Value) bool {
	if t != F32 {
		return a.I == b.I
	}
	return a.F != a.F && b.F != b.F || math.Float64bits(a.F) == math.Float64bits(b.F)
}
