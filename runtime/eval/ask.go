package eval

import (
	"context"
	"fmt"

	"github.com/arithlang/mlc/runtime/task"
)

// A Question asks how a model answers problems.
type Question struct {
	Mode     string // ModeVerify, ModeGreedy or ModeSettle
	Metric   string // which part of an answer must be right
	Losses   bool   // with losses, for ModeVerify
	Runs     int    // runs of the loop; at most so many for ModeSettle
	Seed     uint64
	Pad      task.Pad // padding of problems
	Problems []task.Problem
}

// An Answer is a model's score on one problem.
type Answer struct {
	Right  bool
	Runs   int     // runs of the loop until the answer stayed the same
	Loss   float64 // sum over all labels, in nats; 0 if not asked for
	Labels int
}

// Ranks are processes that hold the same model and share the work of questions.
type Ranks interface {
	// Ask returns the answers to all problems of a question. It calls own for the problems of
	// this process.
	Ask(q *Question, own func(problems []task.Problem) ([]Answer, error)) ([]Answer, error)
}

// ask answers a question, on all ranks if there are several.
func (m *Model) ask(ctx context.Context, q Question) ([]Answer, error) {
	q.Seed, q.Pad = m.Seed, m.Task.Pad()
	if q.Mode != ModeSettle {
		q.Runs = m.Runs
	}
	if m.Ranks == nil || len(q.Problems) == 0 {
		return m.Answer(ctx, &q)
	}
	return m.Ranks.Ask(&q, func(problems []task.Problem) ([]Answer, error) {
		part := q
		part.Problems = problems
		return m.Answer(ctx, &part)
	})
}

// Answer answers a question on the model's machine. The padding of the model's task must be the
// question's.
func (m *Model) Answer(ctx context.Context, q *Question) (answers []Answer, err error) {
	var right []bool
	var runs []int
	var losses []tally
	switch q.Mode {
	case ModeVerify:
		if q.Losses {
			losses = make([]tally, len(q.Problems))
		}
		right, err = m.verify(ctx, q.Problems, q.Metric, losses)
	case ModeGreedy:
		right, err = m.Greedy(ctx, q.Problems, q.Metric)
	case ModeSettle:
		var replies [][]int32
		if replies, runs, err = m.Settle(ctx, q.Problems, q.Runs); err == nil {
			right, err = m.counts(q.Problems, replies, q.Metric)
		}
	default:
		panic(fmt.Sprintf("BUG: no mode of a test is %q", q.Mode))
	}
	if err != nil {
		return nil, err
	}
	answers = make([]Answer, len(q.Problems))
	for i := range answers {
		answers[i].Right = right[i]
		if runs != nil {
			answers[i].Runs = runs[i]
		}
		if losses != nil {
			answers[i].Loss, answers[i].Labels = losses[i].sum, losses[i].labels
		}
	}
	return answers, nil
}

// Verify reports for each problem whether greedy decoding would answer it. One pass over the
// right answer shows this: at every row the most likely token must be the right one, given the
// right ones before it. Where hints are not judged, a pass may leave the answer open; such
// problems are decoded.
func (m *Model) Verify(ctx context.Context, problems []task.Problem, metric string) ([]bool, error) {
	answers, err := m.ask(ctx, Question{Mode: ModeVerify, Metric: metric, Problems: problems})
	if err != nil {
		return nil, err
	}
	right := make([]bool, len(answers))
	for i, a := range answers {
		right[i] = a.Right
	}
	return right, nil
}

// A Score says how well a model answers some problems.
type Score struct {
	Right int     // whole answers
	Loss  float64 // mean loss of a label, in nats
}

// Score verifies whole answers in a pass that also computes losses. The plan's Forward must
// have losses.
func (m *Model) Score(ctx context.Context, problems []task.Problem) (Score, error) {
	answers, err := m.Losses(ctx, problems)
	var s Score
	labels := 0
	for _, a := range answers { // in this order, so that sums do not depend on launches
		s.Loss += a.Loss
		labels += a.Labels
		if a.Right {
			s.Right++
		}
	}
	s.Loss /= float64(max(labels, 1))
	return s, err
}

// Losses verifies whole answers, with losses.
func (m *Model) Losses(ctx context.Context, problems []task.Problem) ([]Answer, error) {
	return m.ask(ctx, Question{Mode: ModeVerify, Metric: ExactMatch, Losses: true, Problems: problems})
}
