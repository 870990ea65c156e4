package task_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/config"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/rounds"
)

// layouts are ways to write problems that change their lengths.
func layouts() map[string]func(c *Config) {
	return map[string]func(c *Config){
		"plain":       func(*Config) {},
		"reversed":    func(c *Config) { c.Reversed, c.ReversedOperands = true, true },
		"interleaved": func(c *Config) { c.Interleave = true },
		"padded":      func(c *Config) { c.Pad = Pad{To: 2, Step: 1} },
		"in steps":    func(c *Config) { c.Pad = Pad{To: 3, Step: 3} },
		"narrow":      func(c *Config) { c.Pad = Pad{To: 4, Step: 2, Less: 2} },
		"wide answer": func(c *Config) { c.Pad = Pad{To: 1, Step: 1, Less: -1} },
		"woven":       func(c *Config) { c.Interleave, c.Pad = true, Pad{To: 3, Step: 2} },
		"started":     func(c *Config) { c.Started = true },
		"hinted":      func(c *Config) { c.Hints = "cyclic" },
		"hinted wide": func(c *Config) { c.Hints, c.Pad = "cyclic", Pad{To: 3, Step: 2} },
		"below":       func(c *Config) { c.DigitsLo, c.DigitsHi, c.Below = 0, 0, 101 },
		"below, wide": func(c *Config) { c.DigitsLo, c.DigitsHi, c.Below, c.Pad = 0, 0, 57, Pad{To: 2, Step: 1} },
		"below, even": func(c *Config) { c.DigitsLo, c.DigitsHi, c.Below, c.Interleave = 0, 0, 31, true },
		"one length":  func(c *Config) { c.DigitsLo = c.DigitsHi },
		"filled":      func(c *Config) { c.RandomPad = 0.2 },
		"spelled out": func(c *Config) { c.Scratchpad, c.Reversed = true, true },
		"in parts":    func(c *Config) { c.Scratchpad, c.Reversed, c.PartialProducts = true, true, true },
	}
}

// eachTask calls f with every task in every layout, in three bases, for both kinds of models.
func eachTask(t *testing.T, f func(name string, c Config)) {
	type named struct {
		name string
		c    Config
	}
	var all []named
	for _, k := range tasks.Kit().All() {
		for layout, change := range layouts() {
			for _, base := range []int{2, 3, 10} {
				for _, sequence := range []bool{false, true} {
					c := Config{Kind: k.Name, Base: base, DigitsLo: 1, DigitsHi: 3, Sequence: sequence}
					switch k.Name {
					case "sum":
						c.OperandsLo, c.OperandsHi, c.Batch, c.Pad = 2, 6, 1, Pad{To: 1, Step: 1}
					case "sort":
						c.LengthLo, c.LengthHi = 1, 4
					case "file":
						c.Problems, c.Separator = "a12=3\nbcd=4567\n9=8\n", "="
					}
					change(&c)
					if (tasks.Config{Config: &c}).Check() == nil {
						all = append(all, named{fmt.Sprintf("%s, %s, base %d, sequence %v", k.Name, layout, base, sequence), c})
					}
				}
			}
		}
	}
	for _, of := range [][]string{{"addition", "nx1"}, {"successor", "parity", "multiplication"}, {"or", "subtraction"}} {
		for layout, change := range layouts() {
			c := Config{Kind: "mixed", Of: of, Base: 10, DigitsLo: 1, DigitsHi: 3, Sequence: true}
			change(&c)
			if _, err := tasks.New(c, 1); err == nil {
				all = append(all, named{fmt.Sprintf("%v, %s", of, layout), c})
			}
		}
	}
	if len(all) < 300 {
		t.Errorf("there are only %d tasks", len(all))
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	for _, x := range full.Some(all, 301) {
		f(x.name, x.c)
	}
}

// TestLongestIsDrawn compares the stated longest problem of training with thousands of drawn ones.
// No batch is longer. One problem of few digits is as long, except that files and random fillers
// may not reach the length.
func TestLongestIsDrawn(t *testing.T) {
	eachTask(t, func(name string, c Config) { holdLongest(t, name, c) })
}

// TestLongestDifference checks the longest difference of numbers below a bound. If the bound is
// just above a power of the base, the longest numbers leave the shorter differences.
func TestLongestDifference(t *testing.T) {
	for _, c := range []Config{{Base: 10, Below: 1001}, {Base: 2, Below: 10}, {Base: 2, Below: 150}, {Base: 10, Below: 1000}} {
		c.Kind, c.Sequence = "subtraction", true
		holdLongest(t, fmt.Sprintf("below %d to the base %d", c.Below, c.Base), c)
	}
}

// holdLongest compares the stated longest problem of a task with its problems.
func holdLongest(t *testing.T, name string, c Config) {
	t.Helper()
	task := must(t, c, 3)
	var most tasks.Size
	for k := range 100 {
		b, err := task.NewDrawer(0, 0).Train(int64(8*k), 8)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		most = sized(max(most.Source, b.S), max(most.Target, b.T))
	}
	for _, p := range hardest(task) {
		width, err := task.Tight(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		source, target := task.Shape(width)
		most = sized(max(most.Source, source), max(most.Target, target))
	}
	var want tasks.Size
	want.Source, want.Target = task.Longest()
	if most.Source > want.Source || most.Target > want.Target || most != want && c.RandomPad == 0 {
		t.Errorf("%s: the longest problem that is drawn has the size %v, and %v are said", name, most, want)
	}
}

// hardest returns all problems of few numbers that training may draw, including those with most
// digits.
func hardest(t *Task) (all []Problem) {
	for _, u := range t.All() {
		if !numeric(u.Kind()) {
			if u.Many() {
				all = append(all, u.Largest())
			}
			continue
		}
		_, hi := u.Config().Digits()
		var values []string
		for n := 1; n <= hi; n++ {
			for _, x := range []string{string(u.Config().Smallest(n)), "1" + string(u.Config().Smallest(n)[1:]), nines(u.Config().Base, n)} {
				if u.Config().Below > 0 && n == hi {
					x = min(x, string(u.Config().Operand(u.Config().Highest())))
				}
				if n >= u.Config().DigitsLo && (x != "0" || u.Config().Below > 0 || !u.Config().Sequence) {
					values = append(values, x)
				}
			}
		}
		ones := make([]byte, hi)
		for i := range ones {
			ones[i] = '1'
		}
		if u.Kind().Name == "parity" && u.Config().Below == 0 {
			values = append(values, string(ones))
		}
		for _, a := range values {
			for _, b := range values {
				switch {
				case u.Kind().Arity == 1:
					all = append(all, u.Solved([]string{a}))
				case u.Sole():
					all = append(all, u.Solved([]string{a, b[:1]}), u.Solved([]string{a, nines(u.Config().Base, 1)}))
				default:
					all = append(all, u.Solved([]string{a, b}))
				}
			}
		}
	}
	return all
}

func sized(source, target int) tasks.Size { return tasks.Size{Source: source, Target: target} }

// numeric reports whether operands are one or two numbers.
func numeric(k *Kind) bool {
	return slices.ContainsFunc(Numbers(), func(n Kind) bool { return n.Name == k.Name })
}

func nines(base, n int) string {
	x := make([]byte, n)
	for i := range x {
		x[i] = Digits[base-1]
	}
	return string(x)
}

// TestSizesOfTests compares the stated sizes of tests, at any width, with the problems of a cell.
// The largest stated size is the longest problem's.
func TestSizesOfTests(t *testing.T) {
	eachTask(t, func(name string, c Config) {
		if c.Kind == "file" {
			return
		}
		for _, pad := range []Pad{c.Pad, {To: 4, Step: 1}} {
			q := c
			if q.Pad = pad; q.Kind != "mixed" && (tasks.Config{Config: &q}).Check() != nil || c.Kind == "mixed" && pad != c.Pad {
				continue
			}
			task := must(t, c, 5).WithPad(pad)
			for i := 1; i <= 3; i++ {
				for j := 1; j <= 3; j++ {
					if task.Sums() && j < 2 {
						continue
					}
					var want, most tasks.Size
					for _, s := range (tasks.Config{Config: &c}).TestSizes(pad, i, j) {
						want = sized(max(want.Source, s.Source), max(want.Target, s.Target))
					}
					problems := slices.Concat(task.Cell(i, j, 400), task.LongestIn(i, j))
					for _, p := range problems {
						width, err := task.Width(p)
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						source, target := task.Shape(width)
						most = sized(max(most.Source, source), max(most.Target, target))
					}
					if most != want {
						t.Errorf("%s, pad %v: the longest problem of %d and %d digits has the size %v, and %v are said", name, pad, i, j, most, want)
					}
				}
			}
		}
	})
}

// TestAnswers compares the bounds of answers with all operands of few digits.
func TestAnswers(t *testing.T) {
	for _, k := range tasks.Kit().All() {
		for _, base := range []int{2, 3, 10} {
			for _, way := range []bool{false, true} {
				c := Config{Kind: k.Name, Base: base, DigitsLo: 1, DigitsHi: 3, Sequence: true, Scratchpad: way, Reversed: true}
				if !numeric(&k) || (tasks.Config{Config: &c}).Check() != nil {
					continue
				}
				task := must(t, c, 1)
				for i := 1; i <= 3; i++ {
					for j := 1; j <= 2; j++ {
						least, most, ok := (tasks.Config{Config: &c}).Answers(i, j)
						longest := 0
						for p := range task.Each(i, j, 1<<17) {
							longest = max(longest, len(p.Answer))
							if len(p.Answer) < least {
								t.Errorf("%s of base %d: %v has %d places, fewer than %d", k.Name, base, p, len(p.Answer), least)
							}
						}
						if !ok || longest != most {
							t.Errorf("%s of base %d, %d and %d digits: the longest answer has %d places, and %d are said", k.Name, base, i, j, longest, most)
						}
					}
				}
			}
		}
	}
}

// TestLongestOfRounds checks for room for any answer that a model may give in rounds.
func TestLongestOfRounds(t *testing.T) {
	for _, kind := range []string{"addition", "subtraction", "multiplication", "nx1", "copy", "successor", "parity"} {
		for _, base := range []int{2, 10} {
			for _, sequence := range []bool{false, true} {
				c := Config{Kind: kind, Base: base, DigitsLo: 1, DigitsHi: 3, Sequence: sequence, Rounds: config.Rounds{Until: 5, Step: 1, Samples: 8, Votes: 1, Length: 1, Newest: 0.5}}
				if (tasks.Config{Config: &c}).Check() != nil {
					continue
				}
				task := must(t, c, 1)
				_, most := task.Longest()
				for k := range 200 {
					for _, p := range rounds.Asked(task, 1, k) {
						if b, err := task.One(p); err != nil || b.T > most {
							t.Errorf("%s of base %d: %v may be answered with %d rows, more than %d: %v", kind, base, p, b.T, most, err)
						}
					}
				}
			}
		}
	}
}

// TestSizes compares the sizes of some tests with sizes counted by hand.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		kind   string
		pad    Pad
		digits int
		want   []tasks.Size
	}{
		{"successor", Pad{}, 3, []tasks.Size{sized(5, 4), sized(6, 5)}},
		{"successor", Pad{To: 7, Step: 3}, 6, []tasks.Size{sized(9, 8)}},
		{"successor", Pad{To: 7, Step: 3}, 7, []tasks.Size{sized(12, 11)}},
		{"successor", Pad{To: 61, Step: 3}, 60, []tasks.Size{sized(63, 62)}},
		{"addition", Pad{To: 7, Step: 3}, 8, []tasks.Size{sized(23, 11)}},
		{"addition", Pad{To: 7, Step: 3, Less: 2}, 3, []tasks.Size{sized(17, 6)}},
		{"addition", Pad{To: 7, Step: 3, Less: 2}, 5, []tasks.Size{sized(23, 9)}},
		{"addition", Pad{}, 2, []tasks.Size{sized(7, 3), sized(9, 4)}},
		{"parity", Pad{}, 8, []tasks.Size{sized(10, 9)}},
		{"parity", Pad{To: 20, Step: 1}, 8, []tasks.Size{sized(22, 21)}},
		{"parity", Pad{To: 20, Step: 1, Less: 19}, 8, []tasks.Size{sized(22, 2)}},
		{"parity", Pad{To: 20, Step: 10, Less: 19}, 21, []tasks.Size{sized(32, 12)}},
	} {
		got := tasks.Config{Config: &Config{Kind: c.kind, Base: 10}}.TestSizes(c.pad, c.digits, c.digits)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s of %d digits, pad %v: sizes %v, want %v", c.kind, c.digits, c.pad, got, c.want)
		}
	}
}
