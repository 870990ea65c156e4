package eval

import (
	"fmt"

	"github.com/arithlang/mlc/runtime/task"
)

// Reaches returns an error if a problem of one of the cells does not fit the model's positions
// or its calibrated bias. It is finding E0304 or E0332 of a spec, for lengths that are asked
// for at run time.
func Reaches(r Reach, t *task.Task, cells []Pair) error {
	if r == (Reach{}) {
		return nil
	}
	for _, cell := range cells {
		for _, p := range t.LongestIn(cell.I, cell.J) {
			if err := ReachesProblem(r, t, p); err != nil {
				return fmt.Errorf("%s: %w", cell, err)
			}
		}
	}
	return nil
}

// ReachesProblem is Reaches for one problem.
func ReachesProblem(r Reach, t *task.Task, p task.Problem) error {
	if r == (Reach{}) {
		return nil
	}
	b, err := t.One(p)
	if err != nil {
		return err
	}
	tokens, places := max(b.S, b.T), 0
	for _, text := range [][]int32{b.Source, b.Target} {
		for _, place := range t.Runs(text) {
			places = max(places, int(place))
		}
	}
	switch {
	case r.Tokens > 0 && tokens > r.Tokens:
		return fmt.Errorf("E0304: max = %d of the positions is fewer than the %d tokens of this problem: ask for shorter ones, or train with max = %d",
			r.Tokens, tokens, tokens)
	case r.Places > 0 && places >= r.Places:
		return fmt.Errorf("E0304: table = %d of the positions has too few rows for digits %d places from the start of a number: ask for shorter ones, or train with table = %d",
			r.Places, places, places+1)
	case r.Rows > 0 && b.T > r.Rows, r.Source > 0 && b.S != r.Source:
		return fmt.Errorf("E0332: the calibrated bias is of %s, and this problem has %s: its lines would miss the digits, so pad to the calibrated width, or calibrate again for this one",
			sizes(r.Rows, r.Source), sizes(b.T, b.S))
	}
	return nil
}

// sizes names the tokens of an answer and of a source; 0 leaves one out.
func sizes(answer, source int) string {
	switch {
	case source == 0:
		return fmt.Sprintf("%d tokens of the answer", answer)
	case answer == 0:
		return fmt.Sprintf("%d of the source", source)
	}
	return fmt.Sprintf("%d tokens of the answer and %d of the source", answer, source)
}
