package eval

import (
	"testing"

	"github.com/arithlang/mlc/runtime/task"
)

// NewPupil returns a model with a loop that adds, with problems, and the number of runs after
// which its answers are stable.
func NewPupil(t *testing.T) (m *Model, problems []task.Problem, calm int) {
	p, problems := newPupil(t, sequences["addition"], cellsOf)
	return p.model(), problems, p.calm
}
