package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/task"
)

// A Config says what is tested after training. Generated code holds one.
type Config struct {
	Grid       Grid  // cells, every pair of lengths
	Diagonal   Span  // cells, both operands of one length
	Digits     []int // the same, for lengths one by one
	Samples    int   // problems a cell
	Pad        task.Pad
	FirstToken bool  // an answer counts when its first token is right
	Greedy     bool  // decode row by row instead of verifying
	Loop       int   // runs of the loop in training; 0: the model has none
	Times      []int // runs of the loop that are tested besides
	Settle     int   // most runs in a test besides that takes as many as an answer needs; 0: none
	Reach      Reach // of the model's positions
}

// A Span is the lengths Lo … Hi; none when Hi is 0.
type Span struct{ Lo, Hi int }

// A Grid is all pairs of a length of First and one of Second: digits of the two
// operands, for an array digits and entries.
type Grid struct{ First, Second Span }

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

// all lists the lengths of a span.
func (s Span) all() []int {
	var out []int
	for n := max(s.Lo, 1); n <= s.Hi; n++ {
		out = append(out, n)
	}
	return out
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
	for _, i := range c.Grid.First.all() {
		for _, j := range c.Grid.Second.all() {
			out = append(out, Pair{i, j})
		}
	}
	for _, n := range slices.Concat(c.Diagonal.all(), c.Digits) {
		p := Pair{n, n}
		if t.Arrays() { // n is of the numbers in it
			p.J = entries
		}
		out = append(out, p)
	}
	if t.Arity() == 1 {
		for i := range out {
			out[i].J = 0
		}
	}
	slices.SortFunc(out, Pair.compare)
	return slices.Compact(out)
}

// compare orders cells by the length of their problems.
func (p Pair) compare(q Pair) int {
	return cmp.Or(cmp.Compare(p.I+p.J, q.I+q.J), cmp.Compare(p.I, q.I))
}

// UnmarshalText reads a span as the command line has it: 101..160, or 20.
func (s *Span) UnmarshalText(text []byte) error {
	lo, hi, ok := strings.Cut(string(text), "..")
	if !ok {
		hi = lo
	}
	var errs [2]error
	s.Lo, errs[0] = strconv.Atoi(lo)
	s.Hi, errs[1] = strconv.Atoi(hi)
	if errs != [2]error{} || s.Lo < 1 || s.Hi < s.Lo {
		return fmt.Errorf("%q is no range of lengths: want 1..20, from at least 1 upwards", text)
	}
	return nil
}

// UnmarshalText reads a grid: 1..100,1..100, or one span for both.
func (g *Grid) UnmarshalText(text []byte) error {
	first, second, ok := strings.Cut(string(text), ",")
	if !ok {
		second = first
	}
	if err := g.First.UnmarshalText([]byte(first)); err != nil {
		return err
	}
	return g.Second.UnmarshalText([]byte(second))
}
