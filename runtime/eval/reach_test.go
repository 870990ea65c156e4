package eval

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// TestReach asks for problems up to the end of a table of positions, and longer ones. 99 +
// 99$198$ has a source of 6 tokens. As one text, 99+99=198, it has 9 rows.
func TestReach(t *testing.T) {
	for _, c := range []struct {
		name   string
		reach  Reach
		task   task.Config
		digits int
		want   string // "": nothing is wrong
	}{
		{"no table", Reach{}, task.Config{Kind: "addition", Sequence: true}, 500, ""},
		{"places fit", Reach{Places: 12}, task.Config{Kind: "addition", Sequence: true}, 10, ""},
		{"the answer has a place more", Reach{Places: 11}, task.Config{Kind: "addition", Sequence: true}, 10,
			"length 10: E0304: table = 11 of the positions has too few rows for digits 11 places from the start of a number: ask for shorter ones, or train with table = 12"},
		{"tokens fit", Reach{Tokens: 9}, task.Config{Kind: "addition", Sequence: true}, 2, ""},
		{"a token more", Reach{Tokens: 8}, task.Config{Kind: "addition", Sequence: true}, 2,
			"length 2: E0304: max = 8 of the positions is fewer than the 9 tokens of this problem: ask for shorter ones, or train with max = 9"},
		{"one token", Reach{Tokens: 1}, task.Config{Kind: "addition", Sequence: true}, 2, "E0304: max = 1 of"},
		{"one place", Reach{Places: 1}, task.Config{Kind: "addition", Sequence: true}, 2, "E0304: table = 1 of"},
		{"two stacks", Reach{Tokens: 12}, task.Config{Kind: "successor"}, 20, "is fewer than the 23 tokens of this problem"},
		{"places of two stacks", Reach{Places: 20}, task.Config{Kind: "successor"}, 20, "for digits 21 places from"},
		{"a part of a mixed task", Reach{Tokens: 30}, task.Config{Kind: "mixed", Of: []string{"successor", "addition"}, Sequence: true}, 10, "E0304"},
		{"calibrated", Reach{Rows: 22, Source: 22}, task.Config{Kind: "successor"}, 20, "length 1: E0332: the calibrated bias is of 22 tokens of the answer and 22 of the source, and this problem has 3 tokens of the answer and 4 of the source"},
		{"calibrated for these", Reach{Rows: 3, Source: 4}, task.Config{Kind: "successor"}, 1, ""},
		{"calibrated for longer answers", Reach{Rows: 4, Source: 4}, task.Config{Kind: "successor"}, 1, ""},
		{"calibrated for shorter answers", Reach{Rows: 2, Source: 4}, task.Config{Kind: "successor"}, 1, "E0332: the calibrated bias is of 2 tokens of the answer and 4 of the source, and this problem has 3"},
		{"calibrated for one row", Reach{Rows: 1}, task.Config{Kind: "successor"}, 1, "E0332"},
		{"calibrated as one text", Reach{Rows: 9}, task.Config{Kind: "addition", Sequence: true}, 2, ""},
		{"calibrated for a shorter text", Reach{Rows: 8}, task.Config{Kind: "addition", Sequence: true}, 2, "length 2: E0332: the calibrated bias is of 8 tokens of the answer, and this problem has 9 tokens of the answer: its"},
		{"a calibrated source", Reach{Source: 4}, task.Config{Kind: "successor"}, 1, ""},
		{"another calibrated source", Reach{Source: 1}, task.Config{Kind: "successor"}, 1, "E0332: the calibrated bias is of 1 of the source, and this problem has 3 tokens of the answer and 4 of the source"},
		{"an array", Reach{Tokens: 10}, task.Config{Kind: "sort", Sequence: true, LengthLo: 1, LengthHi: 5}, 3, "E0304"},
	} {
		c.task.Base, c.task.DigitsLo, c.task.DigitsHi = 10, 1, 3
		problems, err := tasks.New(c.task, 1)
		if err != nil {
			t.Fatal(err)
		}
		cells := (&Config{Digits: []int{1, c.digits}}).Cells(problems)
		err = Reaches(c.reach, problems, cells)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
