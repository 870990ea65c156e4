package gocode

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/expr"
)

// TestExpr prints expressions in both dialects, with the parentheses that they need.
func TestExpr(t *testing.T) {
	x, y, i, j := expr.NewVar("x.a", expr.F32), expr.NewVar("y", expr.F32), expr.NewVar("i", expr.I32), expr.NewVar("j", expr.I32)
	word, odd := expr.NewVar("word", expr.U32), expr.NewVar("odd", expr.Bool)
	of := expr.New
	for _, c := range []struct {
		e              *expr.Expr
		single, double string // "": no code
	}{
		{of(expr.Sub, x, of(expr.Sub, y, x)), "xA - (y - xA)", "xA - (y - xA)"},
		{of(expr.Add, of(expr.Mul, x, y), y), "float32(xA*y) + y", "xA*y + y"},
		{of(expr.Div, of(expr.Add, x, y), of(expr.Div, x, y)), "(xA + y) / (xA / y)", "(xA + y) / (xA / y)"},
		{of(expr.Neg, of(expr.Neg, x)), "-(-xA)", "-(-xA)"},
		{of(expr.Not, of(expr.Or, odd, of(expr.Lt, x, y))), "!(odd || xA < y)", "!(odd || xA < y)"},
		{of(expr.And, odd, of(expr.Xor, odd, odd)), "odd && odd != odd", "odd && odd != odd"},
		{of(expr.Mod, of(expr.Mul, i, j), expr.Int(-3)), "i * j % -3", "math.Mod(i*j, -3.0)"},
		{of(expr.Max, i, of(expr.Abs, j)), "max(i, cpu.AbsInt(j))", "max(i, math.Abs(j))"},
		{of(expr.Max, x, expr.F(0.1)), "cpu.Max(xA, 0.1)", "max(xA, 0.1)"},
		{of(expr.Sub, expr.F(2), expr.F(-1)), "2 - -1", "2.0 - -1.0"},
		{of(expr.ToF32, of(expr.Add, i, j)), "float32(i + j)", "i + j"},
		{of(expr.ToI32, x), "int(xA)", "math.Trunc(xA)"},
		{of(expr.Sigmoid, x), "cpu.Sigmoid(xA)", "1.0 / (1.0 + math.Exp(-xA))"},
		{of(expr.Where, odd, i, j), "cpu.WhereOf[int](odd, i, j)", "func() float64 {\n\tif odd {\n\t\treturn i\n\t}\n\treturn j\n}()"},
		{of(expr.Add, expr.NewElem("rows", expr.I32, i), j), "int(rows[i]) + j", ""},
		{of(expr.Shl, i, j), "int(int32(i << j))", ""},
		{of(expr.AsBF16, of(expr.Shr, word, expr.U(16))), "uint16(word >> 16 & 65535)", ""},
		{of(expr.ToF32, expr.NewVar("half", expr.BF16)), "cpu.WidenBF16(half)", ""},
		{of(expr.BitsF, of(expr.Not, word)), "math.Float32frombits(^word)", ""},
		{expr.F(math.Inf(-1)), "float32(math.Inf(-1))", ""},
		{expr.F(math.NaN()), "float32(math.NaN())", ""},
		{expr.F(math.Copysign(0, -1)), "float32(math.Copysign(0, -1))", ""},
		{expr.B(true), "true", "true"},
	} {
		for d, want := range map[*Dialect]string{{id: Name}: c.single, {double: true, id: Name}: c.double} {
			if want == "" {
				continue
			}
			if got := strings.TrimPrefix(fmt.Sprintf("%#v", jen.Return(Expr(c.e, *d))), "return "); got != want {
				t.Errorf("%s is printed as %s, want %s", c.e, got, want)
			}
		}
	}
}

// TestTyped wants a variable to have the type of its value.
func TestTyped(t *testing.T) {
	d := Float32(Name)
	for want, e := range map[string]*expr.Expr{"float32(2)": expr.F(2), "uint32(2)": expr.U(2), "2": expr.Int(2), "x": expr.NewVar("x", expr.F32)} {
		if got := fmt.Sprintf("%#v", d.Typed(e)); got != want {
			t.Errorf("%s is printed as %s", e, got)
		}
	}
}
