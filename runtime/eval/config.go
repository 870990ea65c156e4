package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// A Config describes the tests after training. Generated code holds one.
type Config config.Eval

// The sizes of tests, and the reach of a model's positions.
type (
	Span  = config.Span
	Grid  = config.Grid
	Reach = config.Reach
)

// A Pair names a cell of problems. Its numbers are the digits of the first and second operand,
// or of the only operand and 0, or the digits and the number of entries.
type Pair struct{ I, J int }

// String names the cell for people.
func (p Pair) String() string {
	if p.J == 0 || p.I == p.J {
		return "length " + strconv.Itoa(p.I)
	}
	return fmt.Sprintf("%d × %d", p.I, p.J)
}

// Cells lists the cells that are tested, each once, short problems first.
func (c *Config) Cells(t *task.Task) []Pair {
	var out []Pair
	if t.Listed() { // the file has the lengths
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
		case t.Many(): // n digits in each number
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

// duringCells lists the cells that are tested during training. They have the lengths that the
// spec gives, or else are the longest trained one of Cells and three longer ones. For a listed
// task it returns four cells, evenly spaced.
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

// holds reports whether problems of cell q are no longer than problems of cell p.
func (p Pair) holds(q Pair) bool { return q.I <= p.I && q.J <= p.J }

// spread returns n evenly spaced cells of a list, including the last.
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

// Own returns how often the loop runs by default; 0 if the model has no loop, or if the length
// of a problem determines it.
func (c *Config) Own() int {
	if c.ByLength {
		return 0
	}
	return c.Loop
}
