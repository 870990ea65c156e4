package train

import (
	"fmt"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
)

// collectAll prints the table of trainings with their current state, and trains nothing. It
// serves while other processes train, or while tasks of a launcher wait.
func collectAll(b *build.Builder, where project.Folders, all []project.Training, line Line) error {
	s := &series{Builder: b, where: where, flags: line.Flags}
	if s.flags.Resume == flags.Begins {
		s.flags.Resume = flags.Resumes
	}
	if err := s.plan(all); err != nil {
		return err
	}
	for i := range s.jobs {
		if j := &s.jobs[i]; j.state == waiting && s.flags.reached(j) == "" {
			j.state = done
		}
	}
	if err := s.table(); err != nil {
		return err
	}
	if n := s.count(failed); n > 0 {
		return shell.ErrShown
	}
	b.Say("%d of %d trainings are done", s.count(done), len(s.jobs))
	return nil
}

// reached describes the progress of a training without a result. It returns "" if the
// training has a result.
func (f Flags) reached(j *job) string {
	dir := f.dir(j)
	if dir == "" || !paths.Exists(record.Path(dir)) {
		if dir != "" && lock.Held(damage.At(dir)) {
			return "running: " + lock.Owner(dir)
		}
		return "not begun"
	}
	r := list.Of(dir)
	step := fmt.Sprintf("step %d", r.Step)
	if steps := j.budget.Steps; steps > 0 && !j.staged {
		step = fmt.Sprintf("step %d of %d", r.Step, steps)
	}
	if r.Stage != "" {
		step = "stage " + r.Stage + ", " + step
	}
	switch r.State {
	case list.Tested:
		return ""
	case list.Running:
		return fmt.Sprintf("running: %s, %s", step, lock.Owner(dir))
	case list.Damaged:
		return "unreadable: " + r.Problem
	case list.Trained:
		return "trained, not tested"
	}
	return "stopped: " + step
}
