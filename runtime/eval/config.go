package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// A Config says what is tested after training. Generated code holds one.
type Config config.Eval

// The sizes of tests, and how far a model's positions reach.
type (
	Span  = config.Span
	Grid  = config.Grid
	Reach = config.Reach
)

// A Pair is what the problems of a cell have in common: the digits of the first
// operand and of the second, or of the only one and 0, or digits and entries.
type Pair struct{ I, J int }

// String is what a person calls the cell.
func (p Pair) String() string {
	if p.J == 0 || p.I == p.J {
		return "length " + strconv.Itoa(p.I)
	}
	return fmt.Sprintf("%d × %d", p.I, p.J)
}

// Cells lists what is tested of a task, each cell once, short problems first.
func (c *Config) Cells(t *task.Task) []Pair {
	var out []Pair
	if t.Listed() { // lengths are what the file has
		for _, n := range t.Lengths() {
			out = append(out, Pair{I: n})
		}
		return out
	}
	_, entries := t.Extent()
	for _, i := range c.Grid.First.Lengths() {
		for _, j := range c.Grid.Second.Lengths() {
			out = append(out, Pair{i, j})
		}
	}
	for _, n := range slices.Concat(c.Diagonal.Lengths(), c.Digits) {
		switch {
		case t.Sums() && len(c.Operands) > 0:
			for _, m := range c.Operands {
				out = append(out, Pair{n, m})
			}
		case t.Many(): // n is of the numbers in it
			out = append(out, Pair{n, entries})
		default:
			out = append(out, Pair{n, n})
		}
	}
	if t.Arity() == 1 {
		for i := range out {
			out[i].J = 0
		}
	}
	slices.SortFunc(out, Pair.compare)
	return slices.Compact(out)
}

// duringCells lists what is tested of a task while training: the lengths that the spec gives,
// else the longest of Cells that training has and three longer ones, or four of a file.
func (c *Config) duringCells(t *task.Task) []Pair {
	if len(c.During.Digits) > 0 {
		asked := Config{Digits: c.During.Digits, Operands: c.Operands}
		return asked.Cells(t)
	}
	all := c.Cells(t)
	if t.Listed() {
		return spread(all, 4)
	}
	if equal := slices.DeleteFunc(slices.Clone(all), func(p Pair) bool { return p.J > 0 && p.I != p.J }); len(equal) > 0 && !t.Sums() {
		all = equal
	}
	var trained Pair
	trained.I, trained.J = t.Extent()
	longer := slices.DeleteFunc(slices.Clone(all), trained.holds)
	if i := slices.IndexFunc(all, trained.holds); i >= 0 {
		trained = slices.MaxFunc(slices.DeleteFunc(all, func(p Pair) bool { return !trained.holds(p) }), Pair.compare)
	}
	return append([]Pair{trained}, spread(longer, 3)...)
}

// holds reports whether problems of cell q are no longer than those of p.
func (p Pair) holds(q Pair) bool { return q.I <= p.I && q.J <= p.J }

// spread is so many cells of a list, evenly spaced, the last among them.
func spread(all []Pair, n int) []Pair {
	if len(all) <= n {
		return all
	}
	out := make([]Pair, n)
	for k := range out {
		out[k] = all[ceil(len(all)*(k+1), n)-1]
	}
	return out
}

// compare orders cells by the length of their problems.
func (p Pair) compare(q Pair) int {
	return cmp.Or(cmp.Compare(p.I+p.J, q.I+q.J), cmp.Compare(p.I, q.I))
}

// Own is how often the loop runs where nothing else is asked for; 0: there is none, or
// the length of a problem says it.
func (c *Config) Own() int {
	if c.ByLength {
		return 0
	}
	return c.Loop
}
