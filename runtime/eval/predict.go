package eval

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// A Model is a trained model on a machine, and the task that it is tested on.
type Model struct {
	Machine device.Machine
	Plan    *device.Plan
	Task    *task.Task
	Seed    uint64
	Runs    int   // runs of the loop; 0: the length of a problem determines it; ignored without a loop
	Ranks   Ranks // nil: this process is the only one
}

// How many tokens, source and target, a processor takes in one launch. The sizes keep matrix
// products busy, leave activations in the cache, and give all workers something to do. Decoding
// computes one row of each problem at a time. A GPU takes as many as its memory holds.
const (
	maxTokens       = 1 << 10
	maxTokensDecode = 1 << 12
)

// A form is the shape of a problem in a batch: its width, how many of its tokens are given, and
// how often the loop runs on it.
type form struct{ width, prompt, runs int }

func (m *Model) form(p task.Problem) (form, error) {
	w, err := m.Task.Width(p)
	return form{w, m.Task.Prompt(p), m.runs(p)}, err
}

// runs returns how often the loop runs on a problem, 1 without a loop.
func (m *Model) runs(p task.Problem) int {
	if m.Runs == 0 && m.Task.ByLength() {
		return m.Task.Recurrences(p)
	}
	return max(m.Runs, 1)
}

func (f form) compare(g form) int {
	return cmp.Or(cmp.Compare(f.runs, g.runs), cmp.Compare(f.width, g.width), cmp.Compare(f.prompt, g.prompt))
}

// A launch holds problems that are computed together, at the width of the widest, with the same
// number of runs of the loop.
type launch struct {
	width int
	runs  int
	index []int  // indices into the caller's list
	forms []form // the form of each problem
}

// launches sorts problems into launches of a program, with the given number of tokens or as
// many as the machine prefers. Problems of one form share launches. If results do not depend on
// the rows of a launch, problems of narrower forms fill it up.
func (m *Model) launches(problems []task.Problem, program *device.Program, tokens int) ([]launch, error) {
	groups := map[form][]int{}
	for i, p := range problems {
		f, err := m.form(p)
		if err != nil {
			return nil, err
		}
		groups[f] = append(groups[f], i)
	}
	forms := slices.SortedFunc(maps.Keys(groups), form.compare)
	var all []launch
	for len(forms) > 0 {
		widest := forms[len(forms)-1]
		room := m.room(program, widest, tokens, len(problems))
		whole := launch{width: widest.width, runs: widest.runs}
		for last := len(forms) - 1; last >= 0; last-- {
			f := forms[last]
			if f != widest && (len(whole.index) >= room || !m.near(f, widest)) {
				break
			}
			forms = forms[:last]
			for _, i := range groups[f] {
				whole.index, whole.forms = append(whole.index, i), append(whole.forms, f)
			}
		}
		all = append(all, whole.cut(room)...)
	}
	return all, nil
}

// near reports whether a problem may share the launch of a wider one. It may waste an eighth of
// it, or a few rows.
func (m *Model) near(f, widest form) bool {
	return m.Plan.AnyLength && f.runs == widest.runs && widest.width-f.width <= max(4, widest.width/8)
}

// room returns how many problems of a form fit in a launch.
func (m *Model) room(program *device.Program, f form, tokens, problems int) int {
	source, target := m.Task.Shape(f.width)
	e := device.Env{T: target, S: source, C: target + 1, Times: f.runs}
	least := max(1, tokens/(source+target))
	most := least
	for most < problems {
		most *= 2
	}
	return m.Machine.Examples(least, most, func(examples int) float64 { return program.Bytes(examples, e) })
}

// cut splits a launch into equal ones with at most the given number of problems.
func (l launch) cut(most int) []launch {
	n := len(l.index)
	parts := ceil(n, most)
	var all []launch
	for i := range parts {
		lo, hi := n*i/parts, n*(i+1)/parts
		all = append(all, launch{l.width, l.runs, l.index[lo:hi], l.forms[lo:hi]})
	}
	return all
}

func ceil(a, b int) int { return (a + b - 1) / b }

// each calls f for every launch and its tokens on the machine's workers until ctx is done.
func (m *Model) each(ctx context.Context, problems []task.Problem, program *device.Program, tokens int, f func(w device.Worker, l launch, b task.Batch)) error {
	all, err := m.launches(problems, program, tokens)
	if err != nil {
		return err
	}
	m.Machine.Each(len(all), func(w device.Worker, i int) {
		if ctx.Err() != nil {
			return
		}
		l := all[i]
		b := m.Task.NewBatch(len(l.index), l.width)
		for row, i := range l.index {
			m.Task.Encode(problems[i], l.width, b.Slice(row, row+1))
		}
		f(w, l, b)
	})
	if err := m.Machine.Err(); err != nil {
		return err
	}
	return ctx.Err()
}

// env sets the environment of a launch with the given rows for each problem and runs of the
// loop.
func (m *Model) env(w device.Worker, b task.Batch, rows, capacity, runs int) *device.Env {
	e := w.Env()
	*e = device.Env{B: b.B, T: rows, S: b.S, C: capacity, Times: runs, Seed: m.Seed}
	return e
}

// A tally sums the losses of some labels.
type tally struct {
	sum    float64
	labels int
}

// verify is Verify on this machine. It adds the losses of each problem to losses, unless that
// is nil.
func (m *Model) verify(ctx context.Context, problems []task.Problem, metric string, losses []tally) ([]bool, error) {
	verdicts := make([]verdict, len(problems))
	err := m.each(ctx, problems, &m.Plan.Forward, maxTokens, func(w device.Worker, l launch, b task.Batch) {
		var ofRows []float32
		if losses != nil {
			ofRows = make([]float32, len(b.Labels))
		}
		pred := m.predict(w, b, l.runs, ofRows)
		for row, i := range l.index {
			r := m.rule(l.forms[row], metric)
			lo, hi := row*b.T, row*b.T+r.first+r.rows
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

// predict runs the model over all rows of a batch and returns the most likely token of each
// row. It overwrites b.Target with them. It fills in the losses of the rows unless losses is
// nil.
func (m *Model) predict(w device.Worker, b task.Batch, runs int, losses []float32) []int32 {
	e := m.env(w, b, b.T, b.T, runs)
	lay := m.Plan.Forward.Layout(e)
	w.Fit(lay.Work, lay.Ints)
	w.PutInts(lay.Source, b.Source)
	w.PutInts(lay.Target, b.Target)
	if lay.Loss != (device.Ref{}) { // only losses read the labels
		w.PutInts(lay.Labels, b.Labels)
	}
	m.Plan.Forward.Run(w.Queue(), e)
	w.GetInts(b.Target, lay.Pred)
	if losses != nil {
		w.GetFloats(losses, lay.Loss)
	}
	return b.Target
}

// Decode answers each problem greedily, one token at a time. It returns the tokens up to EOS,
// or as many as the answer should have.
func (m *Model) Decode(ctx context.Context, problems []task.Problem) ([][]int32, error) {
	replies := make([][]int32, len(problems))
	err := m.each(ctx, problems, &m.Plan.Encode, maxTokensDecode, func(w device.Worker, l launch, b task.Batch) {
		for row, reply := range m.decode(w, l, b) {
			replies[l.index[row]] = reply
		}
	})
	return replies, err
}

// decode answers the problems of a launch. The first launch computes all rows up to the first
// answer token, then each launch computes one row. If the machine fails, decode also returns,
// with useless answers.
func (m *Model) decode(w device.Worker, l launch, b task.Batch) [][]int32 {
	first, end := b.T, 0
	rules, limits := make([]rule, b.B), make([]int, b.B)
	for i := range b.B {
		rules[i] = m.rule(l.forms[i], ExactMatch)
		limits[i] = rules[i].limit(b.Labels[i*b.T:][:b.T])
		first, end = min(first, rules[i].first), max(end, rules[i].first+limits[i])
	}
	e := m.env(w, b, first+1, end, l.runs)
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
	next := make([]int32, b.B) // next token after row
	for i := range next {
		next[i] = given[i*e.T+first]
	}

	replies := make([][]int32, b.B)
	ended := make([]bool, b.B)
	e.T = 1
	for row, left := first, b.B; ; row++ {
		for i, id := range next {
			switch {
			case ended[i]:
			case row < rules[i].first:
				next[i] = b.Target[i*b.T+row+1]
			default:
				replies[i] = append(replies[i], id)
				if id == m.Task.EOS() || len(replies[i]) == limits[i] {
					ended[i] = true
					left--
				}
			}
		}
		if left == 0 {
			return replies
		}
		e.P = row + 1
		w.PutInts(lay.Target, next)
		m.Plan.Decode.Run(w.Queue(), e)
		w.GetInts(next, lay.Pred)
	}
}

// Greedy reports for each problem whether its greedily decoded reply is right by metric.
func (m *Model) Greedy(ctx context.Context, problems []task.Problem, metric string) ([]bool, error) {
	replies, err := m.Decode(ctx, problems)
	if err != nil {
		return nil, err
	}
	return m.counts(problems, replies, metric)
}

// counts reports for each problem whether its reply is right by metric.
func (m *Model) counts(problems []task.Problem, replies [][]int32, metric string) ([]bool, error) {
	counts := make([]bool, len(problems))
	for i, p := range problems {
		b, err := m.Task.One(p)
		if err != nil {
			return nil, err
		}
		f, err := m.form(p)
		if err != nil {
			return nil, err
		}
		r := m.rule(f, metric)
		counts[i] = r.accepts(p, replies[i], b.Labels)
	}
	return counts, nil
}
