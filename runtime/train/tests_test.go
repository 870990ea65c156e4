package train

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/track"
)

// tests returns tests of two lengths, 5 and 9, with an exact match and a loss each. A negative
// loss is left out.
func tests(numbers ...[4]float64) (all []track.Test) {
	for i, x := range numbers {
		length := func(n int, match, loss float64) track.Length {
			l := track.Length{Length: n, ExactMatch: match}
			if loss >= 0 {
				l.Loss = &loss
			}
			return l
		}
		all = append(all, track.Test{Step: i + 1, Lengths: []track.Length{length(5, x[0], x[1]), length(9, x[2], x[3])},
			Average: []track.Length{length(5, x[2], x[3]), length(9, x[0], x[1])}})
	}
	return all
}

// TestComparable checks that training tests the lengths by which it keeps checkpoints or stops.
func TestComparable(t *testing.T) {
	at := func(n int) *config.Criterion { return &config.Criterion{At: n} }
	for _, c := range []struct {
		name    string
		best    *config.Criterion
		plateau *config.Criterion
		tests   *Tests
		want    string // "": valid
	}{
		{"neither", nil, nil, nil, ""},
		{"keep without tests", at(0), nil, nil, "train.keep goes by tests during training"},
		{"stop without tests", nil, at(0), nil, "train.stop goes by tests during training"},
		{"any length", at(0), at(0), &Tests{Lengths: []int{3}}, ""},
		{"a length that is tested", at(3), at(3), &Tests{Lengths: []int{3}}, ""},
		{"a length that is not", at(4), nil, &Tests{Lengths: []int{3}}, "train.keep counts the length 4"},
		{"a length of stop that is not", at(3), at(2), &Tests{Lengths: []int{3}}, "train.stop counts the length 2"},
		{"lengths that nobody names", at(4), nil, &Tests{}, ""},
	} {
		tr := &Trainer{Tests: c.tests}
		tr.Config.Best = c.best
		if c.plateau != nil {
			tr.Config.Plateau = &config.Plateau{By: *c.plateau}
		}
		if err := tr.comparable(); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestDamagedBest checks that the error for an unreadable best checkpoint has a remedy.
func TestDamagedBest(t *testing.T) {
	tr := &Trainer{Dir: t.TempDir(), Tests: &Tests{}}
	tr.Config.Best = &config.Criterion{}
	if err := os.Mkdir(filepath.Join(tr.Dir, Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(BestPath(tr.Dir), []byte("no checkpoint"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (&run{Trainer: tr}).openTests(); err == nil || !strings.Contains(err.Error(), Best) || !strings.Contains(err.Error(), "remove it to go on without it") {
		t.Errorf("it says %v", err)
	}
}

func TestBestOfTests(t *testing.T) {
	const nan = -1
	some := tests([4]float64{0.5, 3, 0, 5}, [4]float64{0.7, 2, 0.1, nan}, [4]float64{0.6, 1, 0.2, 2}, [4]float64{0.6, 1, 0.2, 2}, [4]float64{0.8, 2.5, 0, 4})
	for i, c := range []struct {
		by   Criterion
		of   []track.Test
		want int
	}{
		{Criterion{}, nil, -1},
		{Criterion{}, some[:1], 0},
		{Criterion{}, some, 2},           // equal to the second and the last, which have higher losses
		{Criterion{Loss: true}, some, 2}, // the first of equal ones
		{Criterion{At: 5}, some, 4},
		{Criterion{At: 9}, some, 2},
		{Criterion{Loss: true, At: 5}, some[:2], 1},
		{Criterion{Loss: true, At: 9}, some[:2], 0}, // NaN is the worst
		{Criterion{Loss: true, At: 9}, some[1:3], 1},
		{Criterion{At: 5, Average: true}, some, 2},
		{Criterion{Loss: true}, tests([4]float64{0, nan, 0, nan}, [4]float64{0, nan, 0, nan}), 0},
	} {
		if got := c.by.best(c.of); got != c.want {
			t.Errorf("case %d: %+v finds %d, want %d", i, c.by, got, c.want)
		}
	}
}

func TestFlat(t *testing.T) {
	const nan = -1
	losses := func(x ...float64) (all []track.Test) {
		for _, loss := range x {
			all = append(all, tests([4]float64{0, loss, 0, loss})...)
		}
		return all
	}
	for i, c := range []struct {
		patience int
		of       []track.Test
		want     bool
	}{
		{1, nil, false},
		{1, losses(3), false},
		{1, losses(3, 3), true}, // equal is not better
		{1, losses(3, 2), false},
		{2, losses(3, 2, 4), false},
		{2, losses(3, 2, 4, 2), true},
		{2, losses(3, 2, 4, 1.9), false},
		{2, losses(3, nan, nan), true},
		{2, losses(nan, nan, 3), false},
		{2, losses(nan, nan, nan), true},
		{3, losses(1, 2, 3), false},
		{3, losses(1, 2, 3, 4), true},
	} {
		p := &config.Plateau{Patience: c.patience, By: config.Criterion{Loss: true}}
		if got := flat(p, c.of); got != c.want {
			t.Errorf("case %d: patience %d after %d tests: %v", i, c.patience, len(c.of), got)
		}
	}
}

func TestTestsDue(t *testing.T) {
	for i, c := range []struct {
		every         Budget
		before, after State
		last, want    bool
	}{
		{Budget{Steps: 7}, State{Step: 5}, State{Step: 6}, false, false},
		{Budget{Steps: 7}, State{Step: 6}, State{Step: 7}, false, true},
		{Budget{Steps: 7}, State{Step: 7}, State{Step: 8}, false, false},
		{Budget{Steps: 7}, State{Step: 7}, State{Step: 8}, true, true},
		{Budget{Steps: 49}, State{Step: 48}, State{Step: 49}, false, true},
		{Budget{Examples: 1000}, State{Examples: 900}, State{Examples: 999}, false, false},
		{Budget{Examples: 1000}, State{Examples: 999}, State{Examples: 1128}, false, true},
		{Budget{Examples: 10}, State{Examples: 100}, State{Examples: 164}, false, true},
		{Budget{FLOP: 1e6}, State{Rows: 9_999}, State{Rows: 10_000}, false, true},
		{Budget{FLOP: 1e6}, State{Rows: 10_000}, State{Rows: 10_999}, false, false},
	} {
		tests := &tested{Tests: &Tests{Every: c.every}, flop: 100}
		if got := tests.due(c.before, c.after, c.last); got != c.want {
			t.Errorf("case %d: every %s, from %+v to %+v: %v", i, c.every, c.before, c.after, got)
		}
	}
	if (*tested)(nil).due(State{}, State{Step: 1}, true) {
		t.Error("a test is due where there are none")
	}
}
