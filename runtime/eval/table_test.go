package eval

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/task"
)

// TestNotes ends a table with notes: how often the loop ran, and how many problems were trained
// on, if not few.
func TestNotes(t *testing.T) {
	line := []Cell{{Pair{6, 6}, 30, 30, 0}, {Pair{7, 7}, 30, 15, 0}, {Pair{8, 8}, 30, 0, 0}}
	head := " digits  problems  exact match\n      6        30     100.00 %\n      7        30      50.00 %\n      8        30       0.00 %\n"
	for _, c := range []struct {
		name string
		r    Result
		want string // after the lines
	}{
		{"nothing", Result{}, ""},
		{"runs", Result{MeanRuns: 3.25}, "after 3.2 runs of the loop\n"},
		{"fewer than one in twenty", Result{Trained: &[2]int{7, 7}, TrainedOn: 2}, ""},
		{"one in twenty", Result{Trained: &[2]int{7, 7}, TrainedOn: 3}, "60 problems have trained lengths, and about 3 of them were trained on\n"},
		{"of the shorter half", Result{Trained: &[2]int{6, 6}, TrainedOn: 2}, "30 problems have trained lengths, and about 2 of them were trained on\n"},
		{"not said", Result{TrainedOn: 60}, ""},
	} {
		c.r.Metric, c.r.ByCell = ExactMatch, line
		if diff := cmp.Diff(head+c.want, c.r.Table(80)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	file := &Result{Settings: Settings{Metric: FirstToken}, Tested: task.OfHeldOut, ByCell: []Cell{{Pair{3, 0}, 4, 3, 0}}}
	want := " prompt length  problems  first token\n             3         4      75.00 %\n       overall         4      75.00 %\nof " + task.OfHeldOut + "; lengths are in tokens\n"
	if diff := cmp.Diff(want, file.Table(80)); diff != "" {
		t.Error(diff)
	}
	square := &Result{Settings: Settings{Metric: ExactMatch}, MeanRuns: 2, TrainedOn: 9, Trained: &[2]int{1, 2}}
	for i := 1; i <= 2; i++ {
		for j := 1; j <= 2; j++ {
			if i*j < 4 { // cells that were not tested
				square.ByCell = append(square.ByCell, Cell{Pair{i, j}, 10, 10, 0})
			}
		}
	}
	want = "exact match: ; after 2.0 runs of the loop\n\n    12\n  1 ██\n    ──\n  2 █ \n20 problems have trained lengths, and about 9 of them were trained on\n\n█ all right"
	if got := square.Table(80); !strings.HasPrefix(got, want) {
		t.Errorf("a grid is\n%s, want\n%s", got, want)
	}
}

// TestShade has a character for each tenth; 0 and 1 have their own.
func TestShade(t *testing.T) {
	for x, want := range map[float64]rune{0: '·', 0.04: '1', 0.1: '1', 0.5: '5', 0.94: '9', 0.99: '9', 1: '█'} {
		if got := shade(x); got != want {
			t.Errorf("%g is %c, want %c", x, got, want)
		}
	}
}

// TestNarrowGrid draws one character for several cells if there is no room for all. It is
// inside of the line around the trained lengths if all its cells are.
func TestNarrowGrid(t *testing.T) {
	r := &Result{Settings: Settings{Metric: ExactMatch}, Trained: &[2]int{3, 4}}
	for i := 1; i <= 5; i++ {
		for j := 1; j <= 6; j++ {
			r.ByCell = append(r.ByCell, Cell{Pair{i, j}, 10, min(10, 14-i-j), 0})
		}
	}
	for width, want := range map[int]string{
		80: "    1    6\n  1 ███9│87\n  2 ██98│76\n  3 █987│65\n    ────┘\n  4 987654\n  5 876543\n",
		12: "    1    6\n  1 ███9│87\n  2 ██98│76\n  3 █987│65\n    ────┘\n  4 987654\n  5 876543\n",
		11: "    1 6\n  1 █9│7\n    ──┘\n  3 975\n  5 864\n",
		9:  "    1 6\n  1 █9│7\n    ──┘\n  3 975\n  5 864\n",
	} {
		got := r.Table(width)
		_, got, _ = strings.Cut(got, "\n\n")
		if got, _, _ = strings.Cut(got, "\n\n"); got+"\n" != want {
			t.Errorf("%d columns:\n%s, want\n%s", width, got, want)
		}
	}
}
