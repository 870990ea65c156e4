package task_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/internal/full"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
)

// TestDistinct counts the problems of small tasks, and checks that these include every problem
// that training draws.
func TestDistinct(t *testing.T) {
	eachTask(t, func(name string, c Config) {
		c.DigitsHi = min(c.DigitsHi, 2)
		c.DigitsLo = min(c.DigitsLo, c.DigitsHi)
		c.LengthHi, c.OperandsHi = min(c.LengthHi, 2), min(c.OperandsHi, 2)
		if c.Below > 0 || c.Kind == "file" || c.Kind == "mixed" {
			return
		}
		task := must(t, c, 1)
		all, n := map[string]bool{}, 0
		for x := range DomainOf(task) {
			p := task.Solved(texts(x))
			all[task.Text(p)] = true
			n++
		}
		if n != len(all) || float64(n) != tasks.Distinct(&c) {
			t.Errorf("%s: %g problems, and %d are listed, of which %d differ", name, tasks.Distinct(&c), n, len(all))
		}
		for k := range int64(200) {
			if p := task.Train(k); !all[task.Text(p)] {
				t.Errorf("%s: %s is drawn and not listed", name, task.Text(p))
			}
		}
	})
	if n := tasks.Distinct(&Config{Kind: "mixed", Of: []string{"addition", "parity"}, Base: 10, DigitsLo: 1, DigitsHi: 1, Sequence: true}); n != 81+9 {
		t.Errorf("a mix has %g problems, not 90", n)
	}
	if n := tasks.Distinct(&Config{Kind: "addition", Base: 10, Below: 50}); n != 2500 {
		t.Errorf("pairs below 50 are %g, not 2500", n)
	}
}

func texts(x [][]byte) (out []string) {
	for _, n := range x {
		out = append(out, string(n))
	}
	return out
}

// TestHeldOutIsNotTrained looks in small tasks for problems that are both held out and trained on.
// If the share holds out no problem, none is unseen and training uses all.
func TestHeldOutIsNotTrained(t *testing.T) {
	none, some, seeds := 0, 0, full.Either(1, 3)
	for _, kind := range []string{"parity", "copy", "successor", "addition", "nx1", "or", "sort"} {
		for _, share := range []float64{0.01, 0.3, 0.9} {
			for _, digits := range []int{1, 5} {
				for _, examples := range []int64{0, 60} {
					for seed := range uint64(seeds) {
						c := Config{Kind: kind, Base: 2, DigitsLo: 1, DigitsHi: digits, LengthLo: 1, LengthHi: 2, Holdout: share, Sequence: true, Examples: examples}
						if (tasks.Config{Config: &c}).Check() != nil {
							t.Fatal((tasks.Config{Config: &c}).Check())
						}
						task := must(t, c, seed)
						name := fmt.Sprintf("%s of 1 to %d digits, %g held out, %d examples, seed %d", kind, digits, share, examples, seed)
						trained := map[string]bool{}
						for k := range int64(600) {
							trained[task.Text(task.Train(k))] = true
						}
						if !task.HoldsOut() {
							none++
							if n := tasks.Distinct(&c); examples == 0 && digits == 1 && float64(len(trained)) != n {
								t.Errorf("%s: none is held out, and %d of %g problems are trained on", name, len(trained), n)
							}
							i, j := task.Extent()
							if task.HasUnseen(i, j) {
								t.Errorf("%s: there are unseen problems, and all are trained on", name)
							}
							continue
						}
						some++
						for k := range int64(200) {
							if p := task.HeldOut(k); trained[task.Text(p)] {
								t.Errorf("%s: %s is held out and trained on", name, task.Text(p))
								break
							}
						}
						for i := 1; i <= digits; i++ {
							j := i
							if task.Arity() == 1 {
								j = 0
							}
							for _, p := range task.Unseen(i, j, 0, 9) {
								if trained[task.Text(p)] {
									t.Errorf("%s: %s is unseen and trained on", name, task.Text(p))
									break
								}
								if !task.Arrays() && (len(p.Operands[0]) != i || j > 0 && len(p.Operands[1]) != j) {
									t.Errorf("%s: %s has not the lengths %d and %d", name, task.Text(p), i, j)
									break
								}
							}
						}
					}
				}
			}
		}
	}
	if none < 7*seeds || some < 20*seeds {
		t.Errorf("%d tasks hold out none, and %d some", none, some)
	}
}

// TestUnseenOfLongerProblems checks that unseen problems continue after the first ones of a cell,
// although shorter problems are held out.
func TestUnseenOfLongerProblems(t *testing.T) {
	task := must(t, Config{Kind: "addition", Base: 10, DigitsLo: 1, DigitsHi: 3, Holdout: 0.3}, 1)
	if !task.HoldsOut() {
		t.Fatal("nothing is held out")
	}
	want, got := task.Cell(5, 4, 12)[3:], task.Unseen(5, 4, 3, 9)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExpectedSeen compares the expected number of a cell's trained problems with the problems
// that training draws.
func TestExpectedSeen(t *testing.T) {
	const examples = 300
	for _, c := range []Config{
		{Kind: "addition", Base: 10, DigitsLo: 1, DigitsHi: 2, Sequence: true},
		{Kind: "addition", Base: 3, DigitsLo: 1, DigitsHi: 2, Holdout: 0.2},
		{Kind: "nx1", Base: 10, DigitsLo: 1, DigitsHi: 2, Holdout: 0.1},
		{Kind: "parity", Base: 2, DigitsLo: 1, DigitsHi: 9, Holdout: 0.1},
		{Kind: "or", Base: 2, DigitsLo: 1, DigitsHi: 8, Holdout: 0.1, Sequence: true},
		{Kind: "sum", Base: 10, DigitsLo: 1, DigitsHi: 2, OperandsLo: 2, OperandsHi: 3, Batch: 1, Pad: Pad{To: 3}, Holdout: 0.1},
		{Kind: "sort", Base: 3, DigitsLo: 1, DigitsHi: 2, LengthLo: 1, LengthHi: 3, Sequence: true},
		{Kind: "successor", Base: 10, Below: 400, Holdout: 0.1},
		{Kind: "mixed", Of: []string{"addition", "subtraction"}, Base: 10, DigitsLo: 1, DigitsHi: 2, Sequence: true},
	} {
		want, got, most := 0.0, 0.0, 0.0
		for seed := range uint64(20) {
			task := must(t, c, seed)
			trained := map[string]bool{}
			for k := range int64(examples) {
				p := task.Train(k)
				trained[p.Kind+task.Text(p)] = true
			}
			i, j := task.Extent()
			for _, cell := range [][2]int{{1, min(j, 2)}, {i, j}, {i + 1, j}} {
				problems := task.Cell(cell[0], cell[1], 60)
				got += task.ExpectedSeen(problems, examples)
				for _, p := range problems {
					if trained[p.Kind+task.Text(p)] {
						want++
					}
				}
				most += float64(len(problems))
			}
		}
		if math.Abs(got-want) > 0.15*want+4*math.Sqrt(want)+1 {
			t.Errorf("%s: %.0f of %.0f problems are trained on, and %.0f are expected", c.Kind, want, most, got)
		}
	}
}

// TestUnseenOfFewProblems returns the first problems of a cell too if there are too few later ones,
// after these and each once.
func TestUnseenOfFewProblems(t *testing.T) {
	task := must(t, Config{Kind: "addition", Base: 10, DigitsLo: 1, DigitsHi: 1, Holdout: 0.3}, 1)
	all := task.Unseen(1, 1, 0, 1000)
	if len(all) < 15 || len(all) > 45 {
		t.Fatalf("%d of 100 problems are held out", len(all))
	}
	if got := task.Unseen(1, 1, 1000, 1000); len(got) != len(all) {
		t.Errorf("%d of %d problems, all of them first ones", len(got), len(all))
	}
	for _, n := range []int{2, len(all) - 1} {
		later := task.Unseen(1, 1, 20, n)
		known := map[string]bool{}
		for _, p := range later {
			known[task.Text(p)] = true
		}
		if len(later) != n || len(known) != n {
			t.Errorf("%d problems, %d of them different, want %d", len(later), len(known), n)
		}
	}
}

// TestUnseenOfAMix wants no trained problem of a mix of kinds with few examples.
func TestUnseenOfAMix(t *testing.T) {
	task := must(t, with(adding, func(c *Config) {
		c.Kind, c.Of, c.DigitsHi, c.Examples, c.Holdout = "mixed", []string{"addition", "multiplication"}, 2, 12, 0.25
	}), 1)
	trained := map[string]bool{}
	for k := range task.Set(false) {
		trained[task.Text(task.Train(k))] = true
	}
	all := task.Unseen(1, 1, 0, 20)
	if len(all) == 0 {
		t.Error("no problem is new")
	}
	for _, p := range all {
		if trained[task.Text(p)] {
			t.Errorf("%s is trained on", task.Text(p))
		}
	}
}
