package look

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/task"
)

// TestRows folds rows at the width of a line: the tokens of each are below each other.
func TestRows(t *testing.T) {
	show := func(rows ...row) string {
		s := &sample{out: new(strings.Builder)}
		s.rows(rows...)
		return s.out.String()
	}
	if diff := cmp.Diff("  symbol    1   +   2\n  token     5  18   6\n  says      .   3\n", show(row{"symbol", []string{"1", "+", "2"}}, row{"token", []string{"5", "18", "6"}}, row{"says", []string{".", "3"}})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("  symbol      1 12345     é\n", show(row{"symbol", []string{"1", "12345", "é"}})); diff != "" {
		t.Error(diff)
	}
	long := make([]string, 2*lineTokens+1)
	for i := range long {
		long[i] = "x"
	}
	long[lineTokens] = "y"
	full := strings.Repeat("   x", lineTokens)
	if diff := cmp.Diff("  a      "+full+"\n  b         z\n  a         y"+full[4:]+"\n  b      \n  a         x\n  b      \n", show(row{"a", long}, row{"b", []string{"z"}})); diff != "" {
		t.Error(diff)
	}
	tk, err := task.New(task.Config{Kind: "successor", DigitsLo: 1, DigitsHi: 3, Base: 10}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := (&sample{task: tk}).symbols([]int32{5, -1, 0}); !cmp.Equal(got, []string{"0", ".", "$"}) {
		t.Errorf("tokens are shown as %q", got)
	}
}
