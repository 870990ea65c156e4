package eval

import (
	"context"
	"maps"
	"slices"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// A Model is a trained model on a machine, and the task it is asked about.
type Model struct {
	Machine device.Machine
	Plan    *device.Plan
	Task    *task.Task
	Seed    uint64
}

// maxTokens is how many tokens, source and target, go into one launch: enough to
// keep the matrix products busy, few enough that activations stay in the cache and
// that there is work for all workers.
const maxTokens = 1 << 10

// A group is all problems of one width, and room for their tokens.
type group struct {
	index []int // of the problems in the caller's list
	width int
	task.Batch
}

// A chunk is problems lo … hi-1 of a group, which share a launch.
type chunk struct {
	*group
	lo, hi int
}

// chunks sorts problems into launches. Each problem has the width that it would
// have alone, so that its answer does not depend on the others.
func (m *Model) chunks(problems []task.Problem) ([]chunk, error) {
	byWidth := map[int]*group{}
	for i, p := range problems {
		w, err := m.Task.Width(p)
		if err != nil {
			return nil, err
		}
		if byWidth[w] == nil {
			byWidth[w] = &group{width: w}
		}
		byWidth[w].index = append(byWidth[w].index, i)
	}
	var all []chunk
	for _, w := range slices.Sorted(maps.Keys(byWidth)) {
		g := byWidth[w]
		n := len(g.index)
		g.Batch = m.Task.NewBatch(n, w)
		parts := ceil(n, max(1, maxTokens/(g.S+g.T)))
		for i := range parts {
			all = append(all, chunk{g, n * i / parts, n * (i + 1) / parts})
		}
	}
	return all, nil
}

func ceil(a, b int) int { return (a + b - 1) / b }

// each calls f for every chunk and its tokens on the machine's workers until ctx
// is done.
func (m *Model) each(ctx context.Context, problems []task.Problem, f func(w device.Worker, index []int, b task.Batch)) error {
	all, err := m.chunks(problems)
	if err != nil {
		return err
	}
	m.Machine.Each(len(all), func(w device.Worker, i int) {
		if ctx.Err() != nil {
			return
		}
		c := all[i]
		index := c.index[c.lo:c.hi]
		for row, i := range index {
			m.Task.Encode(problems[i], c.width, c.Slice(c.lo+row, c.lo+row+1))
		}
		f(w, index, c.Slice(c.lo, c.hi))
	})
	if err := m.Machine.Err(); err != nil {
		return err
	}
	return ctx.Err()
}

// Verify says of each problem whether greedy decoding would answer it exactly. It
// does when at every row the most likely token, given the right ones before it, is
// the right one: one pass shows that, without decoding.
func (m *Model) Verify(ctx context.Context, problems []task.Problem) ([]bool, error) {
	right := make([]bool, len(problems))
	err := m.each(ctx, problems, func(w device.Worker, index []int, b task.Batch) {
		e := w.Env()
		*e = device.Env{B: b.B, T: b.T, S: b.S, C: b.T, Seed: m.Seed}
		lay := m.Plan.Forward.Layout(e)
		w.Fit(lay.Work, lay.Ints)
		w.PutInts(lay.Source, b.Source)
		w.PutInts(lay.Target, b.Target)
		m.Plan.Forward.Run(w.Queue(), e)
		pred := b.Target // which has been read
		w.GetInts(pred, lay.Pred)
		for row, i := range index {
			lo, hi := row*b.T, (row+1)*b.T
			right[i] = slices.Equal(pred[lo:hi], b.Labels[lo:hi])
		}
	})
	return right, err
}

// Decode answers each problem greedily, a token after the other, and returns the
// tokens up to EOS, or as many as the answer should have.
func (m *Model) Decode(ctx context.Context, problems []task.Problem) ([][]int32, error) {
	replies := make([][]int32, len(problems))
	err := m.each(ctx, problems, func(w device.Worker, index []int, b task.Batch) {
		for row, reply := range m.decode(w, b) {
			replies[index[row]] = reply
		}
	})
	return replies, err
}

// decode answers the problems of a batch. It ends also when the machine has failed,
// with answers of no use.
func (m *Model) decode(w device.Worker, b task.Batch) [][]int32 {
	e := w.Env()
	*e = device.Env{B: b.B, T: 1, S: b.S, C: b.T, Seed: m.Seed}
	lay := m.Plan.Encode.Layout(e)
	w.Fit(lay.Work, lay.Ints)
	w.PutInts(lay.Source, b.Source)
	m.Plan.Encode.Run(w.Queue(), e)

	replies := make([][]int32, b.B)
	ended := make([]bool, b.B)
	input := make([]int32, b.B)
	for i := range input {
		input[i] = b.Target[i*b.T]
	}
	for left := b.B; e.P < b.T && left > 0; e.P++ {
		w.PutInts(lay.Target, input)
		m.Plan.Decode.Run(w.Queue(), e)
		w.GetInts(input, lay.Pred)
		for i, id := range input {
			if ended[i] {
				continue
			}
			replies[i] = append(replies[i], id)
			if id == task.EOS {
				ended[i] = true
				left--
			}
		}
	}
	return replies
}

// Greedy says of each problem whether its greedily decoded reply is the label.
func (m *Model) Greedy(ctx context.Context, problems []task.Problem) ([]bool, error) {
	replies, err := m.Decode(ctx, problems)
	if err != nil {
		return nil, err
	}
	right := make([]bool, len(problems))
	for i, p := range problems {
		b, err := m.Task.Batch([]task.Problem{p})
		if err != nil {
			return nil, err
		}
		right[i] = slices.Equal(replies[i], b.Labels)
	}
	return right, nil
}
