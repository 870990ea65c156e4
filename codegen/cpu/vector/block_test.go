package vector

import (
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
)

// TestRowsShareAddresses checks that rows that differ by a constant share a pointer and that
// other rows do not.
func TestRowsShareAddresses(t *testing.T) {
	f := newFn(newAMD64().machines("vector", "")[0])
	e, n := expr.NewVar("e", expr.I32), expr.NewVar("n", expr.I32)
	b := f.newBlock("e", f.lanes)
	row := func(rest *expr.Expr) *value {
		return b.value(expr.NewElem("x", expr.F32, expr.New(expr.Add, rest, e)))
	}
	scaled := func(plus int64) *expr.Expr {
		return expr.New(expr.Mul, expr.New(expr.Add, n, expr.Int(plus)), expr.Int(8))
	}
	first, second, other, before := row(scaled(0)), row(scaled(3)), row(n), row(scaled(-1))
	if first.ptr != second.ptr || first.plus != 0 || second.plus != 24 {
		t.Errorf("rows 24 apart are at %+v + %d and %+v + %d", first.ptr, first.plus, second.ptr, second.plus)
	}
	if other.ptr == first.ptr {
		t.Error("rows at 8n and at n have one address")
	}
	if before.ptr == first.ptr || before.plus != 0 {
		t.Error("a row before the address is counted from it")
	}
}
