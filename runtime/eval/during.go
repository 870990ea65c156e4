package eval

import (
	"context"
	"slices"
	"sync"

	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
)

// A During tests a few lengths while a model is trained: as verification does after it, on
// other problems where there are enough, none of which training sees, and with losses. The
// plan's Forward must have them.
type During struct {
	Model
	cells    []Pair
	samples  int
	loop     int                     // most runs of it in training
	problems func() [][]task.Problem // of each cell
}

// NewDuring is the test during training that a Config asks for, at the width of tests. It
// leaves out lengths whose problems are all trained on, though some were to be held out.
func (c *Config) NewDuring(m Model) *During {
	m.Task = m.Task.WithPad(c.Pad)
	seen := func(p Pair) bool { return !m.Task.HasUnseen(p.I, p.J) }
	d := &During{Model: m, cells: slices.DeleteFunc(c.duringCells(m.Task), seen), samples: c.During.Samples, loop: c.Loop}
	d.problems = sync.OnceValue(func() (all [][]task.Problem) {
		for _, p := range d.cells {
			all = append(all, m.Task.Unseen(p.I, p.J, c.Samples, c.During.Samples))
		}
		return all
	})
	return d
}

// Lengths are the lengths of the first operand, or of the numbers, that are tested.
func (d *During) Lengths() (all []int) {
	for _, p := range d.cells {
		all = append(all, p.I)
	}
	return all
}

// Tokens is about how many tokens the model reads in a test, in each run of its loop, of as
// many as it has in training.
func (d *During) Tokens() float64 {
	return d.tokens(d.cells, d.samples) / float64(max(d.loop, 1))
}

// Run tests all lengths.
func (d *During) Run(ctx context.Context) ([]track.Length, error) {
	cells := d.problems()
	answers, err := d.losses(ctx, slices.Concat(cells...))
	if err != nil {
		return nil, err
	}
	out := make([]track.Length, len(d.cells))
	at := 0
	for k, p := range d.cells {
		l := track.Length{Length: p.I, Samples: len(cells[k])}
		if d.Task.Many() {
			l.Entries = p.J
		}
		var sum tally
		count := 0
		for range cells[k] { // in this order, whatever the launches were
			sum.sum += answers[at].Loss
			sum.labels += answers[at].Labels
			if answers[at].Right {
				count++
			}
			at++
		}
		l.ExactMatch = float64(count) / float64(max(l.Samples, 1))
		l.Loss = track.Finite(sum.sum / float64(max(sum.labels, 1)))
		out[k] = l
	}
	return out, nil
}
