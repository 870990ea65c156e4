package eval_test

import (
	"context"
	"testing"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/thinking"
)

// TestThink compares a model's answer after each run of its loop with decoding.
func TestThink(t *testing.T) {
	m, problems, calm := eval.NewPupil(t)
	settled := map[int]int{}
	for _, x := range problems {
		said, err := thinking.Think(context.Background(), m, x, 6)
		if err != nil {
			t.Fatal(err)
		}
		thought := said.(*thinking.Thinking)
		b, _ := m.Task.Batch([]task.Problem{x})
		last, first := "", m.Task.Prompt(x)-1
		allRight := true
		for i, s := range thought.After[5] {
			last += s.Token
			want := first+i < b.T && s.Token == m.Task.Symbol(b.Labels[first+i])
			if s.Right != want {
				t.Fatalf("%s: token %d is %s, right: %v", m.Task.Written(x), i, s.Token, s.Right)
			}
			allRight = allRight && s.Right
		}
		replies, _ := (&eval.Model{Machine: m.Machine, Plan: m.Plan, Task: m.Task, Runs: 6}).Decode(context.Background(), []task.Problem{x})
		want := ""
		for _, id := range replies[0] {
			want += m.Task.Symbol(id)
		}
		if last != want || allRight != m.Task.Correct(x, replies[0]) || thought.Answer != m.Task.Decode(x, replies[0]) ||
			thought.Expected != x.Answer || thought.Right != (thought.Answer == x.Answer) {
			t.Fatalf("%s: after all runs %q, decoded %q", m.Task.Written(x), last, want)
		}
		settled[thought.Settled]++
	}
	if settled[1] == 0 || settled[2] == 0 || settled[3] == 0 || len(settled) > 3 {
		t.Errorf("settled after: %v; the pupil calms down after %d", settled, calm)
	}
}
