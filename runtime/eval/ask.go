package eval

import (
	"context"
	"fmt"

	"github.com/arithlang/mlc/runtime/task"
)

// A Question is what a test wants to know of a model's answers to problems.
type Question struct {
	Mode     string // ModeVerify, ModeGreedy or ModeSettle
	Metric   string // what of an answer has to be right
	Losses   bool   // of verified answers, too
	Runs     int    // of the loop; where it settles, at most
	Seed     uint64
	Pad      task.Pad // how wide problems are
	Problems []task.Problem
}

// An Answer is what is to be known of one problem.
type Answer struct {
	Right  bool
	Runs   int     // of the loop, until the answer stayed the same
	Loss   float64 // of all labels, nats; 0 if losses are not wanted
	Labels int
}

// Ranks are processes that have the same model, and share the work of questions.
type Ranks interface {
	// Ask returns the answers to all problems of a question. Own answers those that are this
	// process's.
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

// Answer answers a question on the machine of the model, whose task is as wide as the
// question says.
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

// Verify says of each problem whether greedy decoding would answer it. It does
// when at every row the most likely token, given the right ones before it, is the
// right one: one pass shows that, without decoding. Where hints are not looked at
// a pass may leave the answer open; those problems are decoded.
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

// A Score is how well a model answers some problems.
type Score struct {
	Right int     // whole answers
	Loss  float64 // of a label on average, in nats
}

// Score verifies whole answers in a pass that has losses: the plan's Forward has them
// if reports do.
func (m *Model) Score(ctx context.Context, problems []task.Problem) (Score, error) {
	answers, err := m.losses(ctx, problems)
	var s Score
	labels := 0
	for _, a := range answers { // in this order, whatever the launches were
		s.Loss += a.Loss
		labels += a.Labels
		if a.Right {
			s.Right++
		}
	}
	s.Loss /= float64(max(labels, 1))
	return s, err
}

// losses verifies whole answers, with losses.
func (m *Model) losses(ctx context.Context, problems []task.Problem) ([]Answer, error) {
	return m.ask(ctx, Question{Mode: ModeVerify, Metric: ExactMatch, Losses: true, Problems: problems})
}
