package host

import (
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// TestKit wants programs to link each kind that has its own package, in a mix too. Kinds of
// numbers link a package only for sequences.
func TestKit(t *testing.T) {
	for _, k := range tasks.Kit().Kinds {
		for _, c := range []config.Task{{Kind: k.Name}, {Kind: "mixed", Of: []string{"addition", k.Name}}} {
			if n := len(kit(&check.Task{Task: c})); n != 1 {
				t.Errorf("a program of %s %v links %d parts, want 1", c.Kind, c.Of, n)
			}
		}
	}
	if n := len(kit(&check.Task{Task: config.Task{Kind: "addition", Curriculum: config.Curriculum{Carries: 0.5, Fade: 1}}})); n != 1 {
		t.Errorf("a program with carries links %d parts, want 1", n)
	}
	for _, k := range task.Numbers() {
		if n := len(kit(&check.Task{Task: config.Task{Kind: k.Name}})); n != 0 {
			t.Errorf("a program of %s links %d parts that it does not need", k.Name, n)
		}
		if n := len(kit(&check.Task{Task: config.Task{Kind: k.Name, Sequence: true}})); n != 1 {
			t.Errorf("a program of sequences of %s links %d parts, want 1", k.Name, n)
		}
	}
}
