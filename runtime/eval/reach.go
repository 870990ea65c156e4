package eval

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/runtime/task"
)

// A Reach is how far the tables of positions go that a model has. Kernels read the
// last row for what lies beyond, so that an answer there says nothing.
type Reach struct {
	Tokens int // rows of a table with one for each token of a text; 0: there is none
	Places int // rows of a table with one for each place in a number, and the first for other tokens; 0: there is none
}

// Cells is an error where a problem of one of some cells is longer than the tables: the
// finding E0304 of a spec, for lengths that are asked for when it runs.
func (r Reach) Cells(t *task.Task, cells []Pair) error {
	if r == (Reach{}) {
		return nil
	}
	for _, cell := range cells {
		for _, p := range t.LongestIn(cell.I, cell.J) {
			if err := r.Problem(t, p); err != nil {
				return fmt.Errorf("%s: %w", cell, err)
			}
		}
	}
	return nil
}

// Problem is an error where a problem is longer than the tables.
func (r Reach) Problem(t *task.Task, p task.Problem) error {
	if r == (Reach{}) {
		return nil
	}
	b, err := t.One(p)
	if err != nil {
		return err
	}
	tokens, places := max(b.S, b.T), 0
	for _, text := range [][]int32{b.Source, b.Target} {
		places = max(places, int(slices.Max(append(t.Runs(text), 0))))
	}
	switch {
	case r.Tokens > 0 && tokens > r.Tokens:
		return fmt.Errorf("E0304: max = %d of the positions is fewer than the %d of this problem: the model knows no others, so ask for shorter ones, or train with a max of %d",
			r.Tokens, tokens, tokens)
	case r.Places > 0 && places >= r.Places:
		return fmt.Errorf("E0304: table = %d of the positions has too few rows for digits %d places from the start of a number: the model knows no others, so ask for shorter ones, or train with table = %d",
			r.Places, places, places+1)
	}
	return nil
}
