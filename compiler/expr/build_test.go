package expr

import (
	"math"
	"strings"
	"testing"
)

func TestConstants(t *testing.T) {
	for _, c := range []struct {
		e    *Expr
		want string
	}{
		{F(0.1), "0.1"},
		{F(math.Copysign(0, -1)), "-0.0"},
		{F(1e300), "inf"},
		{F(math.NaN()), "nan"},
		{Int(-3), "-3"},
		{U(1 << 31), "0x80000000u"},
		{B(true), "true"},
	} {
		if err := Typecheck(c.e); err != nil || c.e.String() != c.want {
			t.Errorf("got %v (%v), want %s", c.e, err, c.want)
		}
	}
	if f := F(0.1).F; f != float64(float32(0.1)) {
		t.Errorf("F(0.1) holds %v, which is no float32", f)
	}
}

func TestNewPanics(t *testing.T) {
	x, i, u, p := NewVar("x", F32), NewVar("i", I32), NewVar("u", U32), NewVar("p", Bool)
	for name, f := range map[string]func(){
		"mixed types":      func() { New(Add, x, i) },
		"too few":          func() { New(Add, x) },
		"too many":         func() { New(Neg, x, x) },
		"bool sum":         func() { New(Add, p, p) },
		"bitwise float":    func() { New(And, x, x) },
		"float remainder":  func() { New(Mod, x, x) },
		"condition":        func() { New(Where, i, x, x) },
		"branches":         func() { New(Where, p, x, i) },
		"conversion":       func() { New(ToF32, x) },
		"bits of an int":   func() { New(FBits, u) },
		"shift by a float": func() { New(Shl, i, x) },
		"leaf op":          func() { New(Var) },
		"no op":            func() { New(numOps, x) },
		"float index":      func() { NewElem("a", F32, x) },
		"unsigned index":   func() { NewElem("a", F32, u) },
		"empty name":       func() { NewVar("", F32) },
		"reserved name":    func() { NewVar("inf", F32) },
		"name with space":  func() { NewVar("a b", F32) },
		"name with digit":  func() { NewVar("1a", F32) },
		"int range":        func() { Int(1 << 31) },
		"rewritten type":   func() { Rewrite(New(Neg, x), func(*Expr) *Expr { return i }) },
		"substituted type": func() { Subst(x, map[string]*Expr{"x": i}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "BUG: ") {
					t.Errorf("panics with %q", s)
				}
			}()
			f()
		})
	}
}

func TestTypecheck(t *testing.T) {
	x, i, h := NewVar("x", F32), NewVar("i", I32), NewElem("h", F16, Int(0))
	for _, c := range []struct {
		e    *Expr
		want string
	}{
		{New(Neg, x), ""},
		{&Expr{Op: Add, Type: F32, Args: []*Expr{x, i}}, "+ wants operands of one type out of f32, i32, u32, has f32, i32"},
		{&Expr{Op: Lt, Type: F32, Args: []*Expr{x, x}}, "< has type f32, should have bool"},
		{New(Neg, &Expr{Op: Const, Type: F32, F: 0.1}), "constant f32 (F 0.1, I 0) is out of range"},
		{&Expr{Op: Const, Type: Bool, I: 2}, "constant bool (F 0, I 2) is out of range"},
		{&Expr{Op: Const, Type: BF16, I: 1}, "constant bf16 (F 0, I 1) is out of range"},
		{New(ToF32, h), ""},
		{&Expr{Op: Add, Type: F16, Args: []*Expr{h, h}}, "+ wants operands of one type out of f32, i32, u32, has f16, f16"},
		{&Expr{Op: Lt, Type: Bool, Args: []*Expr{h, h}}, "< wants operands of one type out of f32, i32, u32, has f16, f16"},
		{&Expr{Op: Where, Type: F16, Args: []*Expr{B(true), h, h}}, "where wants operands of f32, i32, u32, bool, has bool, f16, f16"},
		{&Expr{Op: ToBF16, Type: BF16, Args: []*Expr{h}}, "bf16 wants an operand of f32, has f16"},
		{&Expr{Op: Elem, Type: F32, Name: "a", Args: []*Expr{x}}, "a wants i32 indices, has f32"},
		{&Expr{Op: Var, Type: F32, Name: "2x"}, `"2x" is no valid name`},
	} {
		got := ""
		if err := Typecheck(c.e); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestTable: each op has a unique name. It has a function for exactly the types that its
// typing rule accepts, or an expansion.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for op := Add; op < numOps; op++ {
		r := &ops[op]
		if key := strings.Repeat(".", r.arity) + r.name; names[key] {
			t.Errorf("%s of %d operands stands for two ops", r.name, r.arity)
		} else {
			names[key] = true
		}
		if found, ok := FuncByName(r.name); ok != (r.prec == 0) || ok && found != op {
			t.Errorf("FuncByName(%q) = %v, %v", r.name, found, ok)
		}
		for in := F32; in <= Bool; in++ {
			types := []Type{in, in, in}[:r.arity]
			if op == Where {
				types[0] = Bool
			}
			_, wants := r.typ(types)
			typed, rounds := wants == "", expansions[op] != nil && !op.Transcendental()
			if has := r.impl.at(in, true) != nil; has != (typed && !rounds) {
				t.Errorf("%v on %v: typed %v, has a value %v", op, in, typed, has)
			}
			if has := r.impl.at(in, false) != nil; typed && has == (expansions[op] != nil) {
				t.Errorf("%v on %v: has a 32-bit value: %v", op, in, has)
			}
		}
		if op.Transcendental() && expansions[op] == nil {
			t.Errorf("%v is transcendental and has no expansion", op)
		}
		for _, in := range []Type{BF16, F16} {
			_, wants := r.typ([]Type{in, in, in}[:r.arity])
			if typed := wants == ""; typed != (op == ToF32 || op == AsU32) {
				t.Errorf("%v on %v: typed %v", op, in, typed)
			}
		}
	}
	for typ := F32; typ <= F16; typ++ {
		if found, ok := TypeByName(typ.String()); !ok || found != typ {
			t.Errorf("TypeByName(%q) = %v, %v", typ.String(), found, ok)
		}
	}
}
