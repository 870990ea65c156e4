package verbs

import (
	"context"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// Questions are the questions to a model during its training.
type Questions struct{ eval.Model }

// sample returns problems first … first+n-1 of the held-out problems, or of the training
// problems.
func (q Questions) sample(heldOut bool, first, n int) []task.Problem {
	problem := q.Task.Train
	if heldOut {
		problem = q.Task.HeldOut
	}
	sample := make([]task.Problem, n)
	for i := range sample {
		sample[i] = problem(int64(first + i))
		sample[i].Fillers = nil // padding before a problem is not asked for
	}
	return sample
}

// Match is a train.Match.
func (q Questions) Match(heldOut bool, first, n int) (float64, error) {
	right, err := q.Verify(context.Background(), q.sample(heldOut, first, n), eval.ExactMatch)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, ok := range right {
		if ok {
			count++
		}
	}
	return float64(count) / float64(n), nil
}

// score is a train.Measure.
func (q Questions) score(heldOut bool, n int) (train.Score, error) {
	s, err := q.Score(context.Background(), q.sample(heldOut, 0, n))
	out := train.Score{Loss: s.Loss}
	if match := float64(s.Right) / float64(n); !q.Task.Reads() {
		out.ExactMatch = &match
	}
	return out, err
}

// tests returns the tests during training that a spec asks for, or nil.
func (q Questions) tests(spec *eval.Config) *train.Tests {
	if !spec.During.Any() {
		return nil
	}
	during := spec.NewDuring(q.Model)
	if len(during.Lengths()) == 0 {
		return nil
	}
	return &train.Tests{Lengths: during.Lengths(), Every: spec.During.Every, Tokens: during.Tokens(),
		Measure: func() ([]track.Length, error) { return during.Run(context.Background()) }}
}

// sizes returns the tokens of a report, and of the test after training, which a stage may not
// have.
func (q Questions) sizes(m *program.Model, evaluates bool) (s train.Asked) {
	source, target := q.Task.Longest()
	s.Report = float64(m.Train.Problems() * (source + target))
	if m.Train.Report.Full {
		s.Report *= 2
	}
	if m.Eval.Greedy || !evaluates {
		return s
	}
	test := eval.Test{Model: q.Model, Settings: eval.Settings{Mode: eval.ModeVerify, Samples: m.Eval.Samples}}
	test.Task = q.Task.WithPad(m.Eval.Pad)
	test.Cells = m.Eval.Cells(test.Task)
	for _, times := range append([]int{m.Eval.Own()}, m.Eval.Times...) {
		s.After += test.WithTimes(times).Tokens(m.Eval.Loop)
	}
	return s
}
