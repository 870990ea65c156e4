package ir_test

import (
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

func parseMask(t *testing.T, text string) *expr.Expr {
	t.Helper()
	e, err := expr.Parse(text, func(string) (expr.Type, bool) { return expr.I32, true })
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestWindowHoldsEveryOpenKey tries masks at all small lengths: no open key lies
// outside its window, an exact window has no closed one within 0 … J-1, and a
// narrow one holds the same keys.
func TestWindowHoldsEveryOpenKey(t *testing.T) {
	for _, c := range []struct {
		mask  string
		exact bool
		width int // 0 where not narrow
	}{
		{"j <= i", true, 0},
		{"j <= i && i - j <= 1", true, 2},
		{"abs(J - 2 - i - j) <= 1", true, 3},
		{"J - 4 - 2*i <= j && j <= J - 1 - 2*i", true, 4},
		{"2*i - 1 <= j && j <= 2*i + 1", true, 3},
		{"j <= i && i - 1 <= j && j <= i + 2 && i - 5 <= j", true, 2},
		{"j <= i && i - 2 <= j && j <= 5", true, 3},
		{"j <= i && i - 2 <= j && h + j < 4", true, 3},
		{"j <= i && i - j <= 3 && (i - j) % 2 == 0", false, 4},
		{"i - j < 8 && j <= i", true, 8},
		{"i - j < 9 && j <= i", true, 0},
		{"j < 3 && 0 <= j && i % 2 == 1", false, 3},
		{"j < i && 3 < j + h", true, 0},
		{"i - j < 4 && 2*j <= i", false, 0},
		{"j <= i && (i - j) % 2 == 0", false, 0},
		{"j == i || j == 0", false, 0},
		{"i <= 3 && j <= i", false, 0},
		{"-(j) <= 0 - i + 1 && j <= i", true, 2},
		{"5 <= j && j <= 3", true, 0},
		{"true", true, 0},
	} {
		mask := parseMask(t, c.mask)
		w := ir.WindowOf(mask)
		width := 0
		if w.Narrow != nil {
			width = w.Narrow.Width
		}
		if w.Exact != c.exact || width != c.width {
			t.Errorf("%s: exact is %v, width %d", c.mask, w.Exact, width)
		}
		for J := int64(1); J <= 9; J++ {
			for i := range int64(12) {
				checkRow(t, c.mask, w, mask, i, J)
			}
		}
	}
}

// checkRow compares a window with its mask for one query.
func checkRow(t *testing.T, text string, w ir.Window, mask *expr.Expr, i, J int64) {
	t.Helper()
	env := expr.Bindings{"J": {I: J}, "i": {I: i}, "h": {I: 1}}
	at := func(e *expr.Expr) int64 { return expr.Eval64(e, env).I }
	for j := range J {
		env["j"] = expr.Value{I: j}
		open, within := at(mask) != 0, true
		for _, l := range w.Lows {
			within = within && at(l) <= j
		}
		for _, h := range w.Highs {
			within = within && j < at(h)
		}
		if open && !within || within && w.Exact && !open {
			t.Errorf("%s: i = %d, j = %d, J = %d: open %v, within the window %v", text, i, j, J, open, within)
		}
		if n := w.Narrow; n != nil {
			lo := at(n.Lo)
			inside := lo <= j && j < lo+int64(n.Width) && (n.Rest == nil || at(n.Rest) != 0)
			if inside != open {
				t.Errorf("%s: i = %d, j = %d, J = %d: open %v, in the narrow window %v", text, i, j, J, open, inside)
			}
		}
	}
}
