package ir

import (
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
)

// TestOfDistance names conditions and biases that depend on j - i alone, and near misses.
func TestOfDistance(t *testing.T) {
	i, j, h := expr.NewVar("i", expr.I32), expr.NewVar("j", expr.I32), expr.NewVar("h", expr.I32)
	apart := bin(expr.Sub, i, j)
	f := func(x *expr.Expr) *expr.Expr { return expr.New(expr.ToF32, x) }
	for _, c := range []struct {
		name string
		e    *expr.Expr
		want bool
	}{
		{"a head", f(h), true},
		{"a distance", f(apart), true},
		{"twice a distance", f(bin(expr.Sub, bin(expr.Mul, expr.Int(2), j), bin(expr.Mul, expr.Int(2), i))), true},
		{"a function of a distance", expr.New(expr.Log, f(expr.New(expr.Abs, apart))), true},
		{"an element by distance", expr.NewElem("w", expr.F32, h, bin(expr.Max, apart, expr.Int(0))), true},
		{"causal", bin(expr.Le, j, i), true},
		{"a window", bin(expr.And, bin(expr.Le, bin(expr.Sub, i, expr.Int(3)), j), bin(expr.Le, j, i)), true},
		{"stripes", bin(expr.Ne, bin(expr.Mod, apart, expr.Int(3)), expr.Int(1)), true},
		{"a query", f(i), false},
		{"a sum", f(bin(expr.Add, i, j)), false},
		{"a distance and a key", bin(expr.Add, f(apart), f(j)), false},
		{"an element by key", expr.NewElem("w", expr.F32, h, j), false},
		{"a double step", bin(expr.Le, j, bin(expr.Mul, expr.Int(2), i)), false},
		{"later keys", bin(expr.Le, expr.Int(4), j), false},
		{"queries and keys as numbers", bin(expr.Lt, f(j), f(i)), false},
	} {
		if got := OfDistance(c.e); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
