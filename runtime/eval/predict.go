package eval

import (
	"cmp"
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
	Runs    int // of the loop; a model without one ignores it
}

// How many tokens, source and target, go into one launch: enough to keep the matrix
// products busy, few enough that activations stay in the cache and that there is
// work for all workers. Decoding computes one row of each problem at a time.
const (
	maxTokens       = 1 << 10
	maxTokensDecode = 1 << 12
)

// A form is what the problems of a launch have in common: their width, and how
// many tokens of it are given.
type form struct{ width, prompt int }

// A group is all problems of one form, and room for their tokens.
type group struct {
	form
	index []int // of the problems in the caller's list
	task.Batch
}

// A chunk is problems lo … hi-1 of a group, which share a launch.
type chunk struct {
	*group
	lo, hi int
}

// chunks sorts problems into launches of so many tokens. Each problem has the
// width that it would have alone, so that its answer does not depend on the others.
func (m *Model) chunks(problems []task.Problem, tokens int) ([]chunk, error) {
	groups := map[form]*group{}
	for i, p := range problems {
		w, err := m.Task.Width(p)
		if err != nil {
			return nil, err
		}
		f := form{w, m.Task.Prompt(p)}
		if groups[f] == nil {
			groups[f] = &group{form: f}
		}
		groups[f].index = append(groups[f].index, i)
	}
	var all []chunk
	for _, f := range slices.SortedFunc(maps.Keys(groups), form.compare) {
		g := groups[f]
		n := len(g.index)
		g.Batch = m.Task.NewBatch(n, f.width)
		parts := ceil(n, max(1, tokens/(g.S+g.T)))
		for i := range parts {
			all = append(all, chunk{g, n * i / parts, n * (i + 1) / parts})
		}
	}
	return all, nil
}

func (f form) compare(g form) int {
	return cmp.Or(cmp.Compare(f.width, g.width), cmp.Compare(f.prompt, g.prompt))
}

func ceil(a, b int) int { return (a + b - 1) / b }

// each calls f for every chunk and its tokens on the machine's workers until ctx
// is done.
func (m *Model) each(ctx context.Context, problems []task.Problem, tokens int, f func(w device.Worker, index []int, b task.Batch)) error {
	all, err := m.chunks(problems, tokens)
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

// env is the environment of a launch of T rows of the problems of a batch.
func (m *Model) env(w device.Worker, b task.Batch, rows, capacity int) *device.Env {
	e := w.Env()
	*e = device.Env{B: b.B, T: rows, S: b.S, C: capacity, Times: max(m.Runs, 1), Seed: m.Seed}
	return e
}

// Verify says of each problem whether greedy decoding would answer it. It does
// when at every row the most likely token, given the right ones before it, is the
// right one: one pass shows that, without decoding. Where hints are not looked at
// a pass may leave the answer open; those problems are decoded.
func (m *Model) Verify(ctx context.Context, problems []task.Problem, metric string) ([]bool, error) {
	return m.verify(ctx, problems, metric, nil)
}

// A Score is how well a model answers some problems.
type Score struct {
	Right int     // whole answers
	Loss  float64 // of a label on average, in nats
}

// Score verifies whole answers in a pass that has losses: the plan's Forward has them
// if reports do.
func (m *Model) Score(ctx context.Context, problems []task.Problem) (Score, error) {
	losses := make([]tally, len(problems))
	right, err := m.verify(ctx, problems, ExactMatch, losses)
	var s Score
	var all tally
	for i, ok := range right { // in this order, whatever the launches were
		all.sum += losses[i].sum
		all.labels += losses[i].labels
		if ok {
			s.Right++
		}
	}
	s.Loss = all.sum / float64(max(all.labels, 1))
	return s, err
}

// A tally is the losses of some labels.
type tally struct {
	sum    float64
	labels int
}

// verify is Verify, and fills in the losses of each problem if they are wanted.
func (m *Model) verify(ctx context.Context, problems []task.Problem, metric string, losses []tally) ([]bool, error) {
	verdicts := make([]verdict, len(problems))
	err := m.each(ctx, problems, maxTokens, func(w device.Worker, index []int, b task.Batch) {
		var ofRows []float32
		if losses != nil {
			ofRows = make([]float32, len(b.Labels))
		}
		pred := m.predict(w, b, ofRows)
		for row, i := range index {
			lo, hi := row*b.T, (row+1)*b.T
			r := m.rule(problems[i], b.T, metric)
			verdicts[i] = r.verify(pred[lo:hi], b.Labels[lo:hi])
			for at := lo; losses != nil && at < hi; at++ {
				if b.Labels[at] >= 0 {
					losses[i].sum += float64(ofRows[at])
					losses[i].labels++
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	counts := make([]bool, len(problems))
	var undecided []task.Problem
	for i, v := range verdicts {
		counts[i] = v == right
		if v == open {
			undecided = append(undecided, problems[i])
		}
	}
	if len(undecided) == 0 {
		return counts, nil
	}
	decided, err := m.Greedy(ctx, undecided, metric)
	if err != nil {
		return nil, err
	}
	for i, v := range verdicts {
		if v == open {
			counts[i], decided = decided[0], decided[1:]
		}
	}
	return counts, nil
}

// predict runs the model over all rows of a batch and returns what it says in each, in
// the memory of the targets, which have been read. It fills in the losses of the rows,
// if they are wanted.
func (m *Model) predict(w device.Worker, b task.Batch, losses []float32) []int32 {
	e := m.env(w, b, b.T, b.T)
	lay := m.Plan.Forward.Layout(e)
	w.Fit(lay.Work, lay.Ints)
	w.PutInts(lay.Source, b.Source)
	w.PutInts(lay.Target, b.Target)
	if lay.Loss != (device.Ref{}) { // which the labels are read for
		w.PutInts(lay.Labels, b.Labels)
	}
	m.Plan.Forward.Run(w.Queue(), e)
	w.GetInts(b.Target, lay.Pred)
	if losses != nil {
		w.GetFloats(losses, lay.Loss)
	}
	return b.Target
}

// Decode answers each problem greedily, a token after the other, and returns the
// tokens up to EOS, or as many as the answer should have.
func (m *Model) Decode(ctx context.Context, problems []task.Problem) ([][]int32, error) {
	replies := make([][]int32, len(problems))
	err := m.each(ctx, problems, maxTokensDecode, func(w device.Worker, index []int, b task.Batch) {
		r := m.rule(problems[index[0]], b.T, ExactMatch)
		for row, reply := range m.decode(w, b, r.first, r.limit(b.Labels[:b.T])) {
			replies[index[row]] = reply
		}
	})
	return replies, err
}

// decode answers the problems of a batch, each with so many tokens at most: the
// rows up to the first of the answer in one launch, then row by row. It ends also
// when the machine has failed, with answers of no use.
func (m *Model) decode(w device.Worker, b task.Batch, first, limit int) [][]int32 {
	e := m.env(w, b, first+1, first+limit)
	lay := m.Plan.Encode.Layout(e)
	w.Fit(lay.Work, lay.Ints)
	w.PutInts(lay.Source, b.Source)
	m.Plan.Encode.Run(w.Queue(), e)

	given := make([]int32, 0, b.B*e.T)
	for i := range b.B {
		given = append(given, b.Target[i*b.T:][:e.T]...)
	}
	w.PutInts(lay.Target, given)
	m.Plan.Decode.Run(w.Queue(), e)
	w.GetInts(given, lay.Pred)
	said := make([]int32, b.B)
	for i := range said {
		said[i] = given[i*e.T+first]
	}

	replies := make([][]int32, b.B)
	end := m.Task.EOS()
	ended := make([]bool, b.B)
	e.P, e.T = e.T, 1
	for left := b.B; ; e.P++ {
		for i, id := range said {
			if ended[i] {
				continue
			}
			replies[i] = append(replies[i], id)
			if id == end || len(replies[i]) == limit {
				ended[i] = true
				left--
			}
		}
		if left == 0 {
			return replies
		}
		w.PutInts(lay.Target, said)
		m.Plan.Decode.Run(w.Queue(), e)
		w.GetInts(said, lay.Pred)
	}
}

// Greedy says of each problem whether its greedily decoded reply counts.
func (m *Model) Greedy(ctx context.Context, problems []task.Problem, metric string) ([]bool, error) {
	replies, err := m.Decode(ctx, problems)
	if err != nil {
		return nil, err
	}
	return m.counts(problems, replies, metric)
}

// counts says of each problem whether its reply counts.
func (m *Model) counts(problems []task.Problem, replies [][]int32, metric string) ([]bool, error) {
	counts := make([]bool, len(problems))
	for i, p := range problems {
		b, err := m.Task.One(p)
		if err != nil {
			return nil, err
		}
		r := m.rule(p, b.T, metric)
		counts[i] = r.accepts(p, replies[i], b.Labels)
	}
	return counts, nil
}
