package eval

import (
	"context"
	"slices"
	"sync"

	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
)

// A During tests a few lengths while a model is trained. It verifies like the test after
// training, with losses, on problems that training never sees. If there are enough problems,
// they are others than in that test. The plan's Forward must have losses.
type During struct {
	Model
	cells    []Pair
	samples  int
	loop     int                     // most runs in training
	problems func() [][]task.Problem // by cell
}

// NewDuring returns the test during training that a Config asks for, padded like the test after
// training. It leaves out lengths whose problems are all trained on, even if some were to be
// held out.
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

// Lengths returns the tested lengths: digits of the first operand, or of each number.
func (d *During) Lengths() (all []int) {
	for _, p := range d.cells {
		all = append(all, p.I)
	}
	return all
}

// Tokens estimates how many tokens one test reads, in equivalents of a training pass. It counts
// a token once for each run of the loop and divides by the most runs in training.
func (d *During) Tokens() float64 {
	return d.tokens(d.cells, d.samples) / float64(max(d.loop, 1))
}

// Run tests all lengths.
func (d *During) Run(ctx context.Context) ([]track.Length, error) {
	cells := d.problems()
	answers, err := d.Losses(ctx, slices.Concat(cells...))
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
		for range cells[k] { // in this order, so that sums do not depend on launches
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
