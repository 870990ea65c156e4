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

// TestWindowHoldsEveryOpenKey tries masks at all small lengths. No open key lies outside
// the window. An exact window has no closed key within 0 … J-1, and a narrow window with
// its rest has the same keys.
func TestWindowHoldsEveryOpenKey(t *testing.T) {
	for _, c := range []struct {
		mask  string
		exact bool
		width int // 0: not narrow
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
		{"j <= i && (h == 0 || i - j < 3)", true, 0},
		{"(i - j < 3 && j <= i || layer % 2 == 1) && j < 5", true, 0},
		{"h < 1 || layer > 0 || j == i", false, 0},
		{"j <= i && i - j < 2 && (h == 0 || i - j < 3)", true, 2},
		{"h == 1 || layer == 0", false, 0},
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
				for n := range int64(4) {
					checkRow(t, c.mask, w, mask, expr.Bindings{"J": {I: J}, "i": {I: i}, "h": {I: n % 2}, "layer": {I: n / 2}})
				}
			}
		}
	}
}

// checkRow compares a window with its mask for one query.
func checkRow(t *testing.T, text string, w ir.Window, mask *expr.Expr, env expr.Bindings) {
	t.Helper()
	J := env["J"].I
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
			t.Errorf("%s: %v: open %v, within the window %v", text, env, open, within)
		}
		if n := w.Narrow; n != nil {
			lo := at(n.Lo)
			inside := lo <= j && j < lo+int64(n.Width) && (n.Rest == nil || at(n.Rest) != 0)
			if inside != open {
				t.Errorf("%s: %v: open %v, in the narrow window %v", text, env, open, inside)
			}
		}
	}
}

// TestLineOf checks indices that are constant along lines, by trying cells, and indices
// that are not.
func TestLineOf(t *testing.T) {
	for _, c := range []struct {
		index string
		slope int64
		ok    bool
	}{
		{"max(min(j - i + 7, 9), 0)", -1, true},
		{"min(max(j + i - J + 12, 0), 13)", 1, true},
		{"max(j - J + 5, 0)", 0, true},
		{"max(2*i + j, 3 - j - 2*i)", 2, true},
		{"abs(6*i - 3*j) % 4", -2, true},
		{"max(min(h, 2) + j, 0)", 0, true},
		{"max(j - i, 0) + 2*J", -1, true},
		{"j - i + 7", 0, false},         // linear
		{"max(h, 3)", 0, false},         // the same for all cells
		{"max(i - 2*j, 0)", 0, false},   // steeper than the keys
		{"max(i, j)", 0, false},         // two lines
		{"max(j - i, i + j)", 0, false}, // two slopes
		{"max(j - i, 0) + i", 0, false}, // a line and a row
		{"max(j * i, 0)", 0, false},     // a curve
		{"max(j - i, 0) * j", 0, false}, // a line and a column
	} {
		e, err := expr.Parse(c.index, func(string) (expr.Type, bool) { return expr.I32, true })
		if err != nil {
			t.Fatal(err)
		}
		slope, ok := ir.LineOf(e)
		if slope != c.slope && c.ok || ok != c.ok {
			t.Errorf("%s: slope %d, %v", c.index, slope, ok)
		}
		value := func(i, j int64) int64 {
			return expr.Eval64(e, expr.Bindings{"i": {I: i}, "j": {I: j}, "J": {I: 5}, "h": {I: 1}}).I
		}
		for i := range int64(5) {
			for j := range int64(5) {
				if ok && value(i, j) != value(0, j+slope*i) {
					t.Errorf("%s differs along the line of (%d, %d)", c.index, i, j)
				}
			}
		}
	}
}

// TestWindowHasEachBoundOnce: a mask may repeat a condition, as a spec may repeat its
// decoder's.
func TestWindowHasEachBoundOnce(t *testing.T) {
	w := ir.WindowOf(parseMask(t, "j <= i && i - 3 <= j && j <= i && j < i + 1 && i <= j + 3"))
	if len(w.Lows) != 1 || len(w.Highs) != 1 {
		t.Errorf("bounds are %v and %v, want one each", w.Lows, w.Highs)
	}
}
