// Package thinking follows the answer of a looped model through the runs of its loop. Only
// programs of specs with a loop link it.
package thinking

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
)

// A Thinking holds the answers of a looped model after each run of its loop (McLeish et al.,
// arXiv:2405.17399, appendix A.7.1 and figure 15). The model answers greedily with all runs.
// Then it reads that answer again with fewer runs, through the same output.
type Thinking struct {
	Problem  string   `json:"problem"`
	Answer   string   `json:"answer"`   // the model's answer with all runs
	Expected string   `json:"expected"` // the right answer
	Right    bool     `json:"right"`    // they are the same
	After    [][]Said `json:"after"`    // after 1, 2, … runs, each token of the answer
	Settled  int      `json:"settled"`
}

// A Said is one token of an answer, in written order.
type Said struct {
	Token string `json:"token"`
	Right bool   `json:"right"`
}

// Table writes one line a run, wrong tokens in red if colours is set.
func (t *Thinking) Table(colours bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, after each run of the loop:\n", t.Problem)
	for r, line := range t.After {
		count := 0
		fmt.Fprintf(&b, "%3d  ", r+1)
		for _, s := range line {
			switch {
			case s.Right:
				count++
				b.WriteString(s.Token)
			case colours:
				b.WriteString("\x1b[31m" + s.Token + "\x1b[0m")
			default:
				b.WriteString(s.Token)
			}
		}
		fmt.Fprintf(&b, "  %d of %d right\n", count, len(line))
	}
	fmt.Fprintf(&b, "%s, settled after %d of %d runs\n", t.Answer, t.Settled, len(t.After))
	return b.String()
}

// Think follows a problem through the given number of runs of the loop, or through as many as
// its length determines. Settled is the number of runs until the answer is stable.
func Think(ctx context.Context, m *eval.Model, p task.Problem, runs int) (eval.Thought, error) {
	all := *m
	all.Runs = runs
	replies, err := all.Decode(ctx, []task.Problem{p})
	if err != nil {
		return nil, err
	}
	reply := replies[0]
	said, err := all.Reread(ctx, p, reply)
	if err != nil {
		return nil, err
	}
	b, err := m.Task.One(p)
	if err != nil {
		return nil, err
	}
	want := b.Labels[max(m.Task.Prompt(p)-1, 0):]
	t := &Thinking{Problem: m.Task.Text(p), Answer: m.Task.Decode(p, reply), Expected: p.Answer, Settled: 1}
	t.Right = t.Answer == t.Expected
	for r, tokens := range said {
		var line []Said
		for i, id := range tokens {
			line = append(line, Said{m.Task.Symbol(id), i < len(want) && id == want[i]})
		}
		t.After = append(t.After, line)
		if r > 0 && !slices.Equal(tokens, said[r-1]) {
			t.Settled = r + 1
		}
	}
	return t, nil
}
