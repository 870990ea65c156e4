package eval

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// TestDuringCells lists the lengths that are tested during training.
func TestDuringCells(t *testing.T) {
	many := task.Config{Kind: "sum", Pad: task.Pad{To: 8, Step: 3}, DigitsLo: 1, DigitsHi: 3, OperandsLo: 2, OperandsHi: 4, Base: 10}
	for _, c := range []struct {
		name string
		task task.Config
		cfg  Config
		want []Pair
	}{
		{"as the spec says", sequences["addition"], Config{Digits: []int{1, 2}, During: config.During{Digits: []int{9, 3}}}, []Pair{{3, 3}, {9, 9}}},
		{"as the spec says, of sums", many, Config{Digits: []int{1}, Operands: []int{2, 5}, During: config.During{Digits: []int{3}}}, []Pair{{3, 2}, {3, 5}}},
		{"the longest of training, and longer ones", sequences["addition"], Config{Diagonal: Span{Lo: 1, Hi: 15}}, []Pair{{6, 6}, {9, 9}, {12, 12}, {15, 15}}},
		{"up to three longer ones", sequences["addition"], Config{Digits: []int{2, 5, 7, 8, 9}}, []Pair{{5, 5}, {7, 7}, {8, 8}, {9, 9}}},
		{"of a grid the equal lengths", sequences["addition"], Config{Grid: spans(1, 8, 1, 8)}, []Pair{{6, 6}, {7, 7}, {8, 8}}},
		{"of a grid without equal lengths all", sequences["addition"], Config{Grid: spans(1, 2, 7, 8)}, []Pair{{6, 6}, {1, 8}, {2, 7}, {2, 8}}},
		{"training has lengths that are not tested", sequences["addition"], Config{Digits: []int{8}}, []Pair{{6, 6}, {8, 8}}},
		{"one operand", sequences["successor"], Config{Diagonal: Span{Lo: 1, Hi: 8}}, []Pair{{6, 0}, {7, 0}, {8, 0}}},
		{"sums with other counts of numbers", many, Config{Digits: []int{3, 4}, Operands: []int{3, 4, 6}}, []Pair{{3, 4}, {4, 4}, {3, 6}, {4, 6}}},
		{"a file has the lengths of its problems", task.Config{Kind: "file", Sequence: true, Separator: ": ", Problems: "a: 1\nab: 1\nabc: 1\nabcd: 1\nabcde: 1\nabcdef: 1\n"}, Config{}, []Pair{{2, 0}, {3, 0}, {5, 0}, {6, 0}}},
	} {
		tk, err := tasks.New(c.task, 1)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if diff := cmp.Diff(c.want, c.cfg.duringCells(tk)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestSpreadOfCells takes cells evenly, including the last.
func TestSpreadOfCells(t *testing.T) {
	all := []Pair{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}}
	for n, want := range map[int][]Pair{
		1: {{7, 0}}, 2: {{4, 0}, {7, 0}}, 3: {{3, 0}, {5, 0}, {7, 0}}, 6: {{2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}}, 7: all, 8: all,
	} {
		if got := spread(all, n); !slices.Equal(got, want) {
			t.Errorf("%d of seven: %v, want %v", n, got, want)
		}
	}
}

// TestOwn has no number of runs if the length of a problem determines it.
func TestOwn(t *testing.T) {
	for want, c := range map[int]Config{0: {Loop: 9, ByLength: true}, 9: {Loop: 9}} {
		if got := c.Own(); got != want {
			t.Errorf("%+v runs %d times, want %d", c, got, want)
		}
	}
}

// TestPair names a cell and orders it among others.
func TestPair(t *testing.T) {
	for want, p := range map[string]Pair{"length 7": {7, 0}, "length 8": {8, 8}, "3 × 4": {3, 4}} {
		if p.String() != want {
			t.Errorf("%v is called %s, want %s", [2]int{p.I, p.J}, p, want)
		}
	}
	for _, c := range []struct {
		q     Pair
		holds bool
	}{{Pair{3, 4}, true}, {Pair{1, 1}, true}, {Pair{4, 4}, false}, {Pair{3, 5}, false}, {Pair{4, 1}, false}} {
		if got := (Pair{3, 4}).holds(c.q); got != c.holds {
			t.Errorf("3 × 4 holds %s: %v", c.q, got)
		}
	}
}
