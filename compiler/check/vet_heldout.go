package check

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// drawn returns the task as training has it, with another share of held-out problems. It
// returns nil if the task has errors, which other rules report.
func (s *Spec) drawn(holdout float64) *task.Task {
	cfg := *s.Task.made().Config
	cfg.Holdout = holdout
	t, err := tasks.New(cfg, s.Train.Seed)
	if err != nil {
		return nil
	}
	return t
}

// holdsOut reports whether a share of held-out problems keeps any from training.
func (s *Spec) holdsOut(share float64) bool {
	if s.Task.File != nil || share == 0 {
		return share > 0
	}
	t := s.drawn(share)
	return t == nil || t.HoldsOut()
}

// seesAll reports whether training may contain all problems with operands of the given
// digits, although a share is to be held out.
func (s *Spec) seesAll(digits int, share float64) bool {
	t := s.drawn(share)
	if t == nil {
		return false
	}
	_, j := t.Extent()
	if j > 0 && !t.Many() {
		j = digits
	}
	return !t.HasUnseen(digits, j)
}

// enoughHeldOut suggests a larger share that does hold problems out, or returns "".
func (s *Spec) enoughHeldOut(before string, holdsOut func(share float64) bool) string {
	for _, percent := range []int{1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90} {
		if share := float64(percent) / 100; share > s.Task.Holdout && holdsOut(share) {
			return fmt.Sprintf("%stask.holdout = %d%%", before, percent)
		}
	}
	return ""
}

// vetHeldOut warns of a share that holds out no problem, because there are few.
func (c *checker) vetHeldOut(s *Spec) {
	if s.Task.Holdout == 0 || s.holdsOut(s.Task.Holdout) {
		return
	}
	all := tasks.Distinct(s.Task.made().Config)
	c.report("V026", c.atFirst("task.holdout", "task.operands", "task.examples", "task"), "task.holdout = %s holds out none of the %s different problems", c.get("task.holdout").text, short(all)).
		WithHelp("write task.holdout = 0%%, which has the same effect: no exact match of held-out problems is reported%s", s.enoughHeldOut("; or hold some out: ", s.holdsOut))
}
