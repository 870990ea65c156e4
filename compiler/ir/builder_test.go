package ir_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/dsl/diag"
)

var x0 = ir.X(0, expr.F32)

// TestBuilder builds a small model and compares it with its text.
func TestBuilder(t *testing.T) {
	at := func(line int) diag.Pos { return diag.Pos{File: "m.arith", Line: line, Col: 1} }
	b := ir.NewBuilder("model", at(1))
	x := b.Param("x", ir.T(ir.Sym("B"), ir.Sym("T"), ir.N(4)), ir.Input)
	cache := b.Param("cache", ir.T(ir.Sym("B"), ir.Sym("C"), ir.N(4)), ir.Input)
	b.Pos(at(2))
	q := b.Label(b.Map(expr.New(expr.Mul, x0, expr.F(0.5)), x), "q")
	labels := b.Param("labels", ir.Ints(ir.Sym("B"), ir.Sym("T")), ir.Input)
	k := b.Append(cache, b.Map(expr.New(expr.Max, x0, expr.F(0)), x))
	r := b.Param("r", ir.T(), ir.Weight)
	site := ir.AttnAttr{Heads: 2, Scale: 0.5, Params: []string{"r"}, Bias: expr.NewElem("r", expr.F32)}
	a := b.Attention(q, k, k, site, 0.25, 3, r)
	b.Pos(at(3))
	y := b.Mul(b.Dropout(a, 0.5, 7), b.Zeros(ir.N(4)))
	b.Result("loss", b.CrossEntropy(y, labels, 0), false)
	b.Result("pred", b.ArgMax(y), false)
	b.Result("total", b.SumTo(y, []ir.Dim{ir.N(1), ir.N(4)}), true)
	f, err := b.Func()
	if err != nil {
		t.Fatal(err)
	}
	want := `func model @m.arith:1:1
  v0 = param x input : f32[B, T, 4] @1:1
  v1 = param cache input : f32[B, C, 4] @1:1
  v2 = param labels input : i32[B, T] @2:1
  v3 = param r weight : f32[] @2:1
  v4 = map v0 {name = q; expr = x0 * 0.5} : f32[B, T, 4] @2:1
  v5 = map v0 {expr = max(x0, 0.0)} : f32[B, T, 4] @2:1
  v6 = append v1 v5 : f32[B, C, 4] @2:1
  v7 = attention v4 v6 v6 v3 {rate = 0.25; stream = 3; heads = 2; scale = 0.5; parameters = r; bias = r[]} : f32[B, T, 4] @2:1
  v8 = dropout v7 {rate = 0.5; stream = 7} : f32[B, T, 4] @3:1
  v9 = map {shape = [4]; expr = 0.0} : f32[4] @3:1
  v10 = map v8 v9 {expr = x0 * x1} : f32[B, T, 4] @3:1
  v11 = cross_entropy v10 v2 : f32[B, T] @3:1
  v12 = argmax v10 : i32[B, T] @3:1
  v13 = sum v10 {axes = 0 1} : f32[4] @3:1
  v14 = reshape v13 {shape = [1, 4]} : f32[1, 4] @3:1
  result loss v11
  result pred v12
  result total v14 accumulate
end
`
	if diff := cmp.Diff(want, f.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBuilderMistake: Func reports the first mistake, and later calls are harmless.
func TestBuilderMistake(t *testing.T) {
	b := ir.NewBuilder("model", diag.Pos{})
	x := b.Param("x", ir.T(ir.Sym("B"), ir.N(4)), ir.Input)
	bad := b.MatMul(x, x, false, false)
	sum := b.Keep(b.Sum(bad, 1), bad, 1)
	b.Result("y", b.SumTo(b.Dropout(b.Add(bad, sum), 0, 0), x.Type.Shape), false)
	if _, err := b.Func(); err == nil || !strings.Contains(err.Error(), "model: matmul: b is f32[B, 4], not f32[*? K N] where * = [], K = 4") {
		t.Errorf("got %v", err)
	}
}

// TestVerify breaks a valid function in ways that text cannot express.
func TestVerify(t *testing.T) {
	cases := []struct {
		want string
		harm func(f *ir.Func)
	}{
		{"1 parameters, 0 roles", func(f *ir.Func) { f.Roles = nil }},
		{"no known role", func(f *ir.Func) { f.Roles[0] = 99 }},
		{"parameter 0 is not value 0", func(f *ir.Func) { f.Params[0] = f.Values[1] }},
		{"parameter that is not in Params", func(f *ir.Func) { f.Params, f.Roles = nil, nil; f.Values = f.Values[:1] }},
		{"used before its definition", func(f *ir.Func) { f.Values[1].Args[0] = f.Values[2] }},
		{"is defined twice", func(f *ir.Func) { f.Values = append(f.Values, f.Values[2]) }},
		{"v7 after v7", func(f *ir.Func) { f.Values[1].ID, f.Values[2].ID = 7, 7 }},
		{"has no known op", func(f *ir.Func) { f.Values[2].Op = 200 }},
		{"bad name", func(f *ir.Func) { f.Values[2].Attr.Name = "a b" }},
		{"bad function name", func(f *ir.Func) { f.Name = "" }},
		{"no value of the function", func(f *ir.Func) { f.Results[0].Value = &ir.Value{} }},
		{"constant", func(f *ir.Func) { f.Values[1].Attr.Expr = &expr.Expr{Op: expr.Const, Type: expr.F32, F: 0.1} }},
	}
	for _, c := range cases {
		b := ir.NewBuilder("f", diag.Pos{})
		x := b.Param("x", ir.T(ir.N(4)), ir.Input)
		double := expr.New(expr.Mul, x0, expr.F(2))
		b.Result("y", b.Map(double, b.Map(double, x)), false)
		f, err := b.Func()
		if err != nil {
			t.Fatal(err)
		}
		c.harm(f)
		if err := ir.Verify(f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
