package eval

import (
	"slices"

	"github.com/arithlang/mlc/runtime/task"
)

// A rule decides whether an answer counts, for problems of one form. It follows McLeish et al.
// (arXiv:2405.17399) and their code. An answer must end where the right one does. Tokens after
// the end do not matter, and index hints are not judged. A sorted array need not end.
type rule struct {
	task   *task.Task
	metric string
	first  int // the row that predicts the first token of the answer
	rows   int // rows that predict the answer, including its end
}

// rule returns the rule for problems of a form.
func (m *Model) rule(f form, metric string) rule {
	_, rows := m.Task.Shape(f.width)
	first := max(f.prompt-1, 0)
	return rule{m.Task, metric, first, rows - first}
}

// limit returns how many tokens are decoded: the answer's, and one more if a hint could
// displace a digit.
func (r *rule) limit(labels []int32) int {
	switch {
	case r.hinted(labels):
		return r.rows + 1
	case !r.task.Ends():
		return r.rows - 1
	}
	return r.rows
}

func (r *rule) hinted(labels []int32) bool { return slices.ContainsFunc(labels, r.task.IsHint) }

// A verdict is the outcome of one pass over the right answer.
type verdict uint8

const (
	wrong verdict = iota
	right
	open // only decoding can tell
)

// verify compares the prediction after each right token with the next right token.
func (r *rule) verify(pred, labels []int32) verdict {
	pred, labels = pred[r.first:], labels[r.first:]
	at := 0
	for at < r.rows && pred[at] == labels[at] {
		at++
	}
	hint := r.task.IsHint
	switch {
	case at == r.rows:
		return right
	case hint(pred[at]) || hint(labels[at]):
		return open
	case r.metric == FirstToken:
		if slices.ContainsFunc(labels[:at], func(id int32) bool { return !hint(id) }) {
			return right
		}
	case at == r.rows-1 && !r.task.EndCounts():
		return right
	}
	return wrong
}

// accepts reports whether the decoded reply to a problem counts.
func (r *rule) accepts(p task.Problem, reply, labels []int32) bool {
	if r.metric != FirstToken {
		return r.task.Correct(p, reply)
	}
	return r.firstPlain(reply) == r.firstPlain(labels[r.first:])
}

// firstPlain returns the first token that is not a hint, or -1.
func (r *rule) firstPlain(text []int32) int32 {
	hint := r.task.IsHint
	for _, id := range text {
		if !hint(id) {
			return id
		}
	}
	return -1
}
