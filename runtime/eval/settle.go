package eval

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// A Thought is the answers of a looped model to a problem after each run of its loop. A
// Thinker makes one. Package thinking has both.
type (
	Thought interface{ Table(colours bool) string }
	Thinker func(ctx context.Context, m *Model, p task.Problem, runs int) (Thought, error)
)

// A Reader tests a model of text, and continues texts. A model of problems has none.
type Reader interface {
	Test(ctx context.Context, m *Model) (Text, error)
	// Continue writes a prompt and its continuation, in JSON apart.
	Continue(ctx context.Context, m *Model, prompt string, how config.Sampling, json bool, out io.Writer) error
}

// Reread returns the model's predictions at each token of its reply after 1, 2, … runs.
func (m *Model) Reread(ctx context.Context, p task.Problem, reply []int32) ([][]int32, error) {
	said := make([][]int32, m.runs(p))
	err := m.each(ctx, []task.Problem{p}, &m.Plan.Forward, maxTokens, func(w device.Worker, _ launch, b task.Batch) {
		first := max(m.Task.Prompt(p)-1, 0)
		b.Target = append(slices.Clone(b.Target[:first+1]), reply[:len(reply)-1]...)
		b.T = len(b.Target)
		for r := range said {
			now := b
			now.Target = slices.Clone(b.Target)
			said[r] = m.predict(w, now, r+1, nil)[first:]
		}
	})
	return said, err
}

// Settle answers each problem with more and more runs of the loop, up to most, until two
// consecutive answers are equal. It needs no right answer to stop. It returns the runs that
// each problem took.
func (m *Model) Settle(ctx context.Context, problems []task.Problem, most int) (replies [][]int32, runs []int, err error) {
	replies, runs = make([][]int32, len(problems)), make([]int, len(problems))
	open := make([]int, len(problems))
	for i := range open {
		open[i] = i
	}
	for n := 1; n <= most && len(open) > 0; n++ {
		some := make([]task.Problem, len(open))
		for k, i := range open {
			some[k] = problems[i]
		}
		with := *m
		with.Runs = n
		now, err := with.Decode(ctx, some)
		if err != nil {
			return nil, nil, fmt.Errorf("%d runs: %w", n, err)
		}
		var still []int
		for k, i := range open {
			runs[i] = n
			if n == 1 || !slices.Equal(now[k], replies[i]) {
				still = append(still, i)
			}
			replies[i] = now[k]
		}
		open = still
	}
	return replies, runs, nil
}
